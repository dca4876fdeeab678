// What the picture of a matmul says in words and numbers: its sentence, the table of counts, one element.
//
//   tl.productSentence(model, program, stage);  tl.productCounts(model, program, stage) -> element
//   tl.productElement(model, program, hit) -> [lines of the tip]
Object.assign(tl, (() => {
  const range = (lo, hi) => (lo === hi ? tl.group(lo) : `${tl.group(lo)}…${tl.group(hi)}`);
  const countsOf = (touch) => (touch.counted = touch.counted || tl.touchCounts(touch));
  const nameOf = (arg) => (arg.turned ? `${arg.name}.T` : arg.name);
  // "0…7 and 32…39" of a set of numbers, "" of more than three pieces.
  const pieces = (set) => {
    const all = [...set].sort((a, b) => a - b), out = [];
    for (const n of all) {
      if (out.length && out[out.length - 1][1] === n - 1) out[out.length - 1][1] = n;
      else out.push([n, n]);
    }
    return out.length > 3 ? "" : out.map(([lo, hi]) => range(lo, hi)).join(" and ");
  };
  // The rows and columns of lanes that make no box: those of a tile that wraps around (`% M`), or only offsets.
  const scattered = (touch) => {
    const rows = new Set(), columns = new Set(), seen = new Set();
    tl.matrixParts.eachLane(touch, (r, c, lane, state) => {
      if (state === "masked") return;
      rows.add(r);
      columns.add(c);
      seen.add(r * 4194304 + c);
    });
    const said = [pieces(rows), pieces(columns)];
    if (seen.size === rows.size * columns.size && said.every(Boolean)) return `\`${nameOf(touch.arg)}[${said.join(", ")}]\``;
    const n = countsOf(touch);
    return `\`${nameOf(touch.arg)}\` at offsets ${range(n.low, n.high)}, no rectangle`;
  };
  const placeOf = (model, touch) => {
    if (touch.said) return touch.said;
    const box = model.box(touch), { arg } = touch, n = countsOf(touch);
    if (n.on + n.bad === 0) touch.said = `nothing of \`${nameOf(arg)}\` (all lanes masked)`;
    else if (!box || !box.full) touch.said = scattered(touch);
    else touch.said = `\`${nameOf(arg)}[${arg.same[0] ? "any row" : range(box.r0, box.r1)}, ${arg.same[1] ? "any column" : range(box.c0, box.c1)}]\``;
    return touch.said;
  };
  const lanesWords = (touch) => {
    const n = countsOf(touch);
    const parts = [];
    if (n.masked && n.on + n.bad) parts.push(`${tl.group(n.masked)} of ${tl.group(n.lanes)} lanes masked`);
    if (n.bad) parts.push(`${tl.count(n.bad, "lane")} at no element of it`);
    return parts.length ? ` (${parts.join(", ")})` : "";
  };
  const all = (model, touches) => touches.map((t) => placeOf(model, t) + lanesWords(t)).join(" and ");

  const productSentence = (model, program, number) => {
    if (!model.programs) return "The grid is empty: no program ran.";
    const stages = model.stages(program), now = model.at(program, number);
    const tiles = stages.length ? stages[stages.length - 1].tile + 1 : 0;
    const who = `Program \`${model.name(program)}\` of ${tl.group(model.programs)}`;
    if (!now.stage) {
      const why = model.of(program).length ? "" : model.data.error ? ": the launch ended before it ran" : model.data.left_out ? ": it was not recorded" : "";
      return `${who} neither loads A or B nor stores C${why}.`;
    }
    const tile = tiles > 1 ? `, tile ${now.stage.tile + 1} of ${tiles}` : "";
    const steps = now.tile.steps.length;
    if (now.stage.store) {
      const after = steps === 0 ? "with no K step at all" : `after ${tl.count(steps, "K step")}`;
      return `${who}${tile}, ${after}, ${now.c.some((t) => t.site.kind !== "store") ? "updates" : "stores"} ${all(model, now.c)}.`;
    }
    const loads = [...now.a, ...now.b];
    const goal = now.c.length ? `, for ${now.c.map((t) => placeOf(model, t)).join(" and ")}` : ", and never comes to store";
    return `${who}${tile}, K step ${now.stage.step + 1} of ${steps}: loads ${all(model, loads)}${goal}.`;
  };

  const lanes = (touches) => touches.reduce((n, t) => n + countsOf(t).on, 0);
  const blockOf = (touches, block) => {
    if (block && block[0]) return `${block[0]}×${block[1]}`;
    if (touches.length !== 1) return "";
    const shape = touches[0].site.shape.filter((n, i, all) => n > 1 || all.length <= 2);
    return (shape.length ? shape : [1]).join("×");
  };
  const between = ([lo, hi]) => (hi === 0 ? "–" : lo === hi ? String(lo) : `${lo}…${hi}`);
  const ratio = (n) => (n >= 100 ? tl.group(Math.round(n)) : String(Number(n.toFixed(2))));

  // Live, streamed, reused: A, B and C in three columns.
  const productCounts = (model, program, number) => {
    const { product } = model, now = model.at(program, number), { stage, tile } = now;
    const steps = tile ? tile.steps : [];
    const sum = (which, upto) => steps.slice(0, upto).reduce((n, s) => n + s[which], 0);
    const done = !stage ? 0 : stage.store ? steps.length : stage.step + 1;
    const held = (side) => {
      if (!stage || stage.store || !now[side].length) return "–";
      const on = lanes(now[side]), every = now[side].reduce((n, t) => n + t.site.lanes, 0);
      return on < every ? `${tl.group(on)} of ${tl.group(every)}` : [...new Set([blockOf(now[side]), tl.group(on)])].filter(Boolean).join(" = ");
    };
    const counts = stage && stage.counts;
    const acc = tile && tile.block[0] ? `acc ${tile.block[0]}×${tile.block[1]}` : "–";
    const each = (o) => (o.elements ? ratio(o.loads / o.elements) : "–");
    const rows = [
      ["live", ", elements", held("a"), held("b"), acc],
      ["streams", " this step, bytes", counts ? tl.group(counts[0]) : "–", counts ? tl.group(counts[1]) : "–", stage && stage.store ? tl.group(tile.bytes) : "–"],
      ["", "so far, bytes", tl.group(sum(0, done)), tl.group(sum(1, done)), stage && stage.store ? tl.group(tile.bytes) : "0"],
      ["", "in all, bytes", tl.group(sum(0)), tl.group(sum(1)), tile ? tl.group(tile.bytes) : "–"],
      ["reused", " by programs, this tile", counts ? between(counts.slice(4, 6)) : "–", counts ? between(counts.slice(6, 8)) : "–", "–"],
      ["", "loads an element, launch", each(product.a), each(product.b), "–"],
    ];
    const head = tl.html("tr", {}, tl.html("td", {}), ["a", "b", "c"].map((side) => tl.html("th", { scope: "col" }, `${side.toUpperCase()} `, tl.html("code", {}, product[side].arg))));
    const body = rows.map(([kind, title, ...cells]) => tl.html("tr", {}, tl.html("th", { scope: "row" }, tl.html("b", {}, kind), title), cells.map((text) => tl.html("td", {}, text))));
    const flop = sum(2), useful = sum(3), loaded = sum(0) + sum(1);
    const work = [];
    if (loaded && flop) work.push(tl.html("b", {}, `${ratio(useful / loaded)} FLOP a byte`), ` in this program's tile: ${tl.group(useful)} FLOP for ${tl.group(loaded)} bytes loaded`);
    else work.push(!steps.length ? "No K step: nothing is loaded, and no FLOP done" : loaded ? "FLOP not counted: no dot takes these tiles of A and B" : "Nothing is loaded: every lane is masked");
    if (flop > useful) work.push(`; ${tl.group(flop - useful)} more FLOP on masked lanes (padding)`);
    return tl.html("div", { class: "tl-counts" }, tl.html("table", {}, tl.html("thead", {}, head), tl.html("tbody", {}, body)), tl.html("p", { class: "tl-note" }, ...work, "."));
  };

  const productElement = (model, program, hit) => {
    const { arg, index: [r, c], inside } = hit;
    const programs = inside ? model.loaders(arg, r, c) : [];
    const shown = programs.slice(0, 6).map(model.name).join(", ") + (programs.length > 6 ? `, … (${programs.length})` : "");
    const verb = hit.side === "c" ? "stored" : "loaded";
    const place = arg.turned ? [c, r] : [r, c], same = arg.turned ? [arg.same[1], arg.same[0]] : arg.same;
    const name = `${arg.name}[${place.map((n, d) => (same[d] ? "any" : n)).join(", ")}]`;
    const lines = [inside ? `${name}, offset ${tl.group(hit.offset)}` : `beyond ${arg.name}: row ${r}, column ${c}, offset ${tl.group(hit.offset)}`];
    if (inside) lines.push(programs.length ? `${verb} by program${programs.length > 1 ? "s" : ""} ${shown}` : `${verb} by no program`);
    if (hit.touch) lines.push(`${tl.laneName(hit.touch, hit.lane)} of program ${model.name(program)} ${tl.laneDoes(hit.touch, hit.lane).does}`);
    return lines;
  };

  return { productSentence, productCounts, productElement };
})());
