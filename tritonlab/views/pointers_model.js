// The pointer picture's record: variants, their programs and accesses, and what one lane of an access does.
//
//   tl.pointerModel(data) -> { variants, block(i), accesses(variant, program, arg), lane(access, arg, lane), index(shape, lane), axes(arg) }
//     lane -> { lane, at (its index in the block), offset, state: "on" | "masked" | "bad" | "astray", reached, meant, right, value }
//     reached, meant, right: an index of the tensor, or null
//   tl.pointerWords: sentences about a program and a lane
Object.assign(tl, (() => {
  const STATES = ["masked", "on", "bad", "astray"];
  const LETTERS = { 0: [], 1: ["i"], 2: ["i", "j"], 3: ["b", "i", "j"] };

  const pointerModel = (data) => {
    const decoded = data.values.map(() => null);
    const block = (i) => (i === null || i === undefined ? null : (decoded[i] ??= tlPictures.decode(data.values[i])));
    const number = (i, lane) => Number(block(i).flat[lane]);
    const index = (shape, lane) => {
      const out = [];
      for (let d = shape.length - 1; d >= 0; d--) { out.unshift(lane % shape[d]); lane = Math.floor(lane / shape[d]); }
      return out;
    };
    const at = (list, lane, arg) => {
      if (!list || !arg.shape.length) return list ? [] : null;
      return list.map((i) => number(i, lane));
    };
    const lane = (access, arg, n) => {
      const state = STATES[number(access.state, n)];
      const known = (list) => { const i = at(list, n, arg); return i && i.some((v) => v < 0) ? null : i; };
      return {
        lane: n, at: index(access.shape, n), offset: number(access.offsets, n), state,
        reached: known(access.reached), meant: at(access.meant, n, arg), right: known(access.right),
        compared: access.right !== null,
        value: access.values === null || state === "bad" ? null : tlPictures.exact(block(access.values), n, arg.dtype),
      };
    };
    // The lane of a smaller block (a factor, a stage) that broadcasting pairs with a lane; axes: the access's axis of each of its own.
    const paired = (access, shape, n, axes) => {
      const i = index(access.shape, n);
      let own = 0;
      shape.forEach((size, d) => { own = own * size + (size === 1 ? 0 : i[axes ? axes[d] : i.length - shape.length + d]); });
      return own;
    };
    const lanesOf = (access) => access.shape.reduce((a, b) => a * b, 1);
    const known = new Map();
    const all = (access, arg) => {
      if (!known.has(access)) known.set(access, Array.from({ length: lanesOf(access) }, (_, n) => lane(access, arg, n)));
      return known.get(access);
    };
    const variants = data.variants.map((v) => ({ ...v, args: v.args.map((a) => ({ ...a })), byNumber: new Map(v.programs.map((p) => [p.number, p])) }));
    const accesses = (variant, program, arg) => (variant.byNumber.get(program)?.accesses || []).filter((a) => a.arg === arg);
    const letters = (arg) => LETTERS[arg.shape.length] || arg.shape.map((_, d) => `i${d}`);
    const counts = (access) => {
      const out = { on: 0, masked: 0, bad: 0, astray: 0, lanes: lanesOf(access) };
      for (let n = 0; n < out.lanes; n++) out[STATES[number(access.state, n)]] += 1;
      return out;
    };
    return { data, variants, block, number, index, lane, all, paired, lanesOf, accesses, letters, counts };
  };

  const VERB = { load: "loads from", store: "stores to" };
  const tuple = (i) => (i.length === 1 ? `${i[0]}` : `(${i.join(", ")})`);
  const element = (arg, i) => (i.length ? `${arg.name.replace(/_ptr$/, "")}[${i.join(", ")}]` : arg.name);
  const strideName = (arg, d) => arg.names[d] || (arg.shape.length === 1 ? "stride" : `stride ${d}`);
  const signed = (v) => (v < 0 ? `(${v})` : String(v));

  const sentence = (model, variant, program, access, arg, turn, turns) => {
    const c = model.counts(access);
    const many = turns > 1 ? `, ${turn + 1} of ${turns}` : "";
    const who = `${variant.name ? `“${variant.name}”: program` : "Program"} ${program.name} ${VERB[access.kind] || `does ${access.kind} on`} \`${arg.name}\` (line ${access.line}${many})`;
    const said = [];
    const good = c.lanes - c.masked - c.bad - c.astray;
    const compared = access.right !== null;
    const well = compared ? `where “${model.data.compared}” has ${c.lanes === 1 || good === 1 ? "it" : "them"}` : good === 1 ? "on an element" : "on elements";
    const states = [[good, well], [c.astray, compared ? "on another element" : "on another element than their index"], [c.bad, "on no element"], [c.masked, "masked off"]];
    for (const [n, words] of states) {
      if (n) said.push(`${said.length ? tl.group(n) : n === c.lanes && n > 1 ? `all ${tl.count(n, "lane")}` : tl.count(n, "lane")} ${words}`);
    }
    return `${who}: ${said.join(", ")}.`;
  };

  // The kernel's own arithmetic of a lane, one { text, value } a term.
  const terms = (model, access, n) => access.terms.map((t) => {
    const values = t.factors.map((f) => model.number(f.values, model.paired(access, f.shape, n)));
    const times = Math.abs(t.times), minus = t.times < 0;
    const wrap = (s) => (times > 1 ? `${times} × (${s})` : s);
    const bracket = (text) => (/^[\w.[\], :]+$|^[\w.]+\(.*\)(\[.*\])?$/.test(text) ? text : `(${text})`);
    return {
      minus,
      text: wrap(t.factors.length > 1 ? t.factors.map((f) => bracket(f.text)).join(" · ") : t.factors[0].text),
      value: wrap(values.map((v) => signed(v)).join(" · ")),
      total: t.times * values.reduce((a, b) => a * b, 1),
    };
  });
  // Index times strides: "5·12 + 3·1 = 63".
  const address = (model, arg, i) => {
    const names = i.map((_, d) => `${model.letters(arg)[d]}·${strideName(arg, d)}`).join(" + ");
    const numbers = i.map((v, d) => `${signed(v)}·${arg.strides[d]}`).join(" + ");
    return { names, numbers, total: i.reduce((s, v, d) => s + v * arg.strides[d], 0) };
  };
  // What comes of a lane: { text, bad }.
  const fate = (model, variant, access, arg, at) => {
    const inside = (i) => i.every((v, d) => v >= 0 && v < arg.shape[d]);
    const shape = arg.shape.join("×");
    const first = model.data.compared;
    const should = at.right && at.compared ? ` In “${first}” this lane reaches \`${element(arg, at.right)}\`.` : at.compared && at.state !== "masked" && !at.right ? ` In “${first}” this lane is off.` : "";
    const reads = at.value === null ? "" : access.kind === "load" ? `, which holds ${at.value}` : access.kind === "store" ? `, which takes ${at.value}` : "";
    if (at.state === "masked") {
      const out = at.meant && !inside(at.meant) ? ` Index ${tuple(at.meant)} is not in ${shape}.` : "";
      return { text: `Masked off: nothing is ${access.kind === "load" ? "loaded" : "written"} there.${out}${should}`, bad: Boolean(at.compared && at.right) };
    }
    if (at.state === "bad") {
      const where = at.meant && !inside(at.meant) ? ` Index ${tuple(at.meant)} is not in ${shape}.` : "";
      const gap = at.offset >= 0 && at.offset < arg.extent;
      const allocated = !gap && at.offset >= arg.storage[0] && at.offset < arg.storage[1];
      const what = gap ? `Offset ${at.offset} lies between the elements of this view.` : arg.numel ? `No element: the offsets of \`${arg.name}\` are 0…${arg.extent - 1}${allocated ? "; this one belongs to another view of the same memory" : ""}.` : `\`${arg.name}\` is empty.`;
      return { text: `${what}${where}${should}`, bad: true };
    }
    const place = `\`${element(arg, at.reached)}\`${reads}.`;
    if (at.state === "astray") {
      const meant = at.meant && String(at.meant) !== String(at.reached)
        ? inside(at.meant) ? `Meant is index ${tuple(at.meant)}, but memory there is ` : `Index ${tuple(at.meant)} is not in ${shape}; in memory that place is `
        : "Reaches ";
      return { text: `${meant}${place}${should}`, bad: true };
    }
    const sums = arg.shape.length ? address(model, arg, at.reached) : null;
    return { text: `Element ${place}${sums ? ` \`${sums.names}\` = \`${sums.numbers}\` = ${sums.total}.` : ""}`, bad: false };
  };

  return { pointerModel, pointerWords: { sentence, terms, address, fate, tuple, element, strideName } };
})());
