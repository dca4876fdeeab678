// What the tile picture says in words: the sentence above it, the notes below it, and what a lane does.
Object.assign(tl, (() => {
  const VERBS = { load: "loads", store: "stores" };
  const verbOf = (kind) => VERBS[kind] || `does ${kind} on`;

  const list = (parts) => (parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts[parts.length - 1]}`);

  const placeOf = (touch) => {
    const { arg } = touch;
    const counts = tl.touchCounts(touch);
    if (counts.on + counts.bad === 0) return `nothing of \`${arg.name}\``;
    const box = tl.matrixBox ? tl.matrixBox(touch) : null;
    const range = (a, b) => (a === b ? tl.group(a) : `${tl.group(a)}…${tl.group(b)}`);
    if (box && box.full) return `\`${arg.name}[${range(box.r0, box.r1)}, ${range(box.c0, box.c1)}]\``;
    const on = tl.touchSegments(touch).filter((s) => s.state !== "masked");
    const steps = new Set(on.filter((s) => s.count > 1).map((s) => Math.abs(s.step)));
    const every = on.length === 1 && steps.size === 1 && [...steps][0] > 1 ? ` in steps of ${[...steps][0]}` : "";
    const span = counts.high - counts.low + 1;
    const gaps = !every && span > counts.on + counts.bad ? " with gaps" : "";
    return `\`${arg.name}[${range(counts.low, counts.high)}]\`${every}${gaps}`;
  };

  // Where a lane is that has no element: between those of a strided view, or outside of them all.
  const between = ({ arg }, offset) => arg.numel > 0 && offset >= 0 && offset < arg.extent;
  const badWords = (touch) => {
    const bad = tl.touchSegments(touch).filter((s) => s.state === "bad").flatMap((s) => tl.segmentEnds(s));
    const inside = bad.filter((offset) => between(touch, offset)).length;
    return inside === 0 ? "out of range" : inside === bad.length ? "between the elements" : "astray";
  };
  const laneWords = (touch, past) => {
    const c = tl.touchCounts(touch);
    const parts = [];
    if (c.lanes === 1) return c.bad ? badWords(touch) : c.masked ? "masked" : "one element";
    parts.push(c.masked + c.bad === 0 ? `all ${tl.count(c.lanes, "lane")} on` : `${tl.count(c.on, "lane")} on`);
    if (c.masked) parts.push(`${tl.group(c.masked)} masked${past && maskedPastEnd(touch) ? " past the end" : ""}`);
    if (c.bad) parts.push(`${tl.group(c.bad)} ${badWords(touch)}`);
    return parts.join(", ");
  };
  const maskedPastEnd = (touch) =>
    tl.touchSegments(touch).filter((s) => s.state === "masked").every((s) => Math.min(...tl.segmentEnds(s)) >= touch.arg.extent);

  const tileSentence = (model, program, pass) => {
    const who = `Program ${model.name(program)} of ${tl.group(model.programs)}`;
    const touches = model.now(program, pass);
    if (model.programs === 0) return "The grid is empty: no program ran.";
    if (!touches.length) return `${who} loads and stores nothing.`;
    const passes = model.passes(program);
    const where = passes > 1 ? ` (pass ${pass + 1} of ${passes})` : "";
    const counts = new Set(touches.map((t) => laneWords(t, false)));
    const past = counts.size > 1 || touches.every(maskedPastEnd);
    const tails = new Set(touches.map((t) => laneWords(t, past)));
    const grouped = [];
    for (const touch of touches) {
      const verb = verbOf(touch.site.kind);
      const tail = tails.size === 1 ? "" : ` (${laneWords(touch, past)})`;
      const last = grouped[grouped.length - 1];
      const text = placeOf(touch) + tail;
      if (last && last.verb === verb) {
        if (!last.places.includes(text)) last.places.push(text);
      } else grouped.push({ verb, places: [text] });
    }
    const said = grouped.map((g) => `${g.verb} ${g.places.length > 4 ? `${list(g.places.slice(0, 3).concat(`${g.places.length - 3} more`))}` : list(g.places)}`);
    const tail = tails.size === 1 ? `: ${[...tails][0]}` : "";
    return `${who}${where} ${said.join(", ")}${tail}.`;
  };

  const laneName = (touch, lane) => {
    const { shape } = touch.site;
    if (shape.length < 2) return `lane ${lane}`;
    const index = [];
    let rest = lane;
    for (let d = shape.length - 1; d >= 0; d--) {
      index.unshift(rest % shape[d]);
      rest = Math.floor(rest / shape[d]);
    }
    return `lane (${index.join(", ")})`;
  };
  const laneDoes = (touch, lane) => {
    const { arg, site } = touch;
    const at = tl.touchLane(touch, lane);
    const value = at.hasValue ? tl.number(typeof at.value === "bigint" ? String(at.value) : at.value, arg.dtype) : null;
    const where = `${arg.name}[${at.offset}]`;
    if (at.state === "bad") {
      const holds = arg.numel ? `${arg.name} has offsets 0…${arg.extent - 1}${arg.solid ? "" : ` in steps of its strides (${arg.strides.join(", ")})`}` : `${arg.name} is empty`;
      const whose = at.offset >= arg.storage[0] && at.offset < arg.storage[1] && arg.numel ? "; that place is in the same allocation, but another tensor's" : "";
      return { where, does: `${between(touch, at.offset) ? "between the elements" : "out of range"}: ${holds}${whose}` };
    }
    if (at.state === "masked") {
      if (site.kind !== "load") return { where, does: "masked: nothing is written" };
      const fill = value === null ? "" : ` ${value}`;
      return { where, does: site.other ? `masked: not loaded, takes the fill${fill}` : `masked: not loaded, and no other= is given: undefined on a GPU${value === null ? "" : `, ${value} here`}` };
    }
    const verb = site.kind === "load" ? "loads" : site.kind === "store" ? "stores" : site.kind;
    return { where, does: value === null ? `${verb} (value not kept)` : `${verb} ${value}` };
  };

  const tileNotes = (model) => {
    const notes = [];
    const { data } = model;
    if (data.error) notes.push({ bad: true, text: `The launch ended by an error: ${data.error}` });
    const strays = model.args.filter((a) => a.touches.some((t) => tl.touchCounts(t).bad));
    const words = strays.some((a) => a.touches.some((t) => tl.touchCounts(t).bad && badWords(t) !== "out of range")) ? "that point at no element" : "out of range";
    if (strays.length && !data.error) notes.push({ bad: true, text: `Lanes ${words} of ${list(strays.map((a) => `\`${a.name}\``))}: on a GPU they read or overwrite whatever lies there.` });
    for (const arg of model.args) {
      const { stores, loads, atomics } = arg.touched;
      if (stores.shared) notes.push({ bad: true, text: `${tl.count(stores.shared, "element")} of \`${arg.name}\` ${stores.shared === 1 ? "is" : "are"} stored by several programs (up to ${stores.most}): on a GPU any of them may come last.` });
      if (atomics.shared) notes.push({ text: `${tl.count(atomics.shared, "element")} of \`${arg.name}\` ${atomics.shared === 1 ? "is" : "are"} updated by several programs (up to ${atomics.most}), atomically.` });
      if (loads.shared) notes.push({ text: `${tl.count(loads.shared, "element")} of \`${arg.name}\` ${loads.shared === 1 ? "is" : "are"} loaded by several programs (up to ${tl.group(loads.most)}).` });
      if (arg.unwritten) notes.push({ text: `${tl.count(arg.unwritten, "element")} of \`${arg.name}\` ${arg.unwritten === 1 ? "is" : "are"} stored by no program.` });
      if (arg.numel === 0) notes.push({ text: `\`${arg.name}\` is empty.` });
    }
    if (data.left_out) notes.push({ text: `${tl.count(data.left_out, "access").replace("accesss", "accesses")} more were not recorded and are not shown.` });
    if (data.values_left_out) notes.push({ text: "Some values are left out: the launch touches too many elements to send them all." });
    return notes;
  };

  return { tileSentence, tileNotes, laneDoes, laneName };
})());
