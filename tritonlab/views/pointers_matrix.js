// The tensor as its index names it: rows and columns, each cell with its offset, and one access's lanes on them. Lanes that
// are on stand at the element that they reach; lanes that are masked or out of range where the kernel's own index puts them.
//
//   tl.pointerMatrix({ model, arg, program, lanes, lane, paints, width }) -> { el, over, width, height, centre(lane), hit(x, y) }
Object.assign(tl, (() => {
  const TOP = 40, LEFT = 62, TALLEST = 400, BEYOND = 10, SMALLEST = 4;

  const span = (list) => list.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v + 1)], [Infinity, -Infinity]);
  // A stretch of at most `most` out of [lo, hi), around the middle of [a, b).
  const cut = (lo, hi, a, b, most) => {
    if (hi - lo <= most) return [lo, hi];
    const from = Math.max(lo, Math.min(hi - most, Math.floor((a + b - most) / 2)));
    return [from, from + most];
  };

  const pointerMatrix = ({ model, arg, access, program, lanes, lane, paints, width }) => {
    const g = tl.svg("g", { class: "tl-matrix", "data-arg": arg.name });
    const over = tl.svg("g"); // texts that the line to memory may pass under
    const n = arg.shape.length;
    const [R, C] = n === 0 ? [1, 1] : n === 1 ? [1, arg.shape[0]] : arg.shape.slice(-2);
    const two = (i) => (n === 0 ? [0, 0] : n === 1 ? [0, i[0]] : i.slice(-2));
    const stand = (l) => (l.state === "on" || l.state === "astray" ? l.reached : l.meant || l.reached);
    // Of three axes and more: the slice that most lanes are in, told by their leading index.
    const votes = new Map();
    for (const l of lanes) { const i = stand(l); if (i && n > 2) { const key = i.slice(0, -2).join(", "); votes.set(key, (votes.get(key) || 0) + 1); } }
    const slice = n > 2 ? [...votes].sort((a, b) => b[1] - a[1])[0]?.[0] ?? arg.shape.slice(0, -2).map(() => 0).join(", ") : "";
    const lead = n > 2 ? slice.split(", ").map(Number) : [];
    const inSlice = (i) => n <= 2 || i.slice(0, -2).every((v, d) => v === lead[d]);
    const base = lead.reduce((s, v, d) => s + v * arg.strides[d], 0);
    const [sr, sc] = n === 0 ? [0, 0] : n === 1 ? [0, arg.strides[0]] : arg.strides.slice(-2);

    // Which cells are shown.
    const placed = [];
    let elsewhere = 0;
    for (const l of lanes) {
      const i = stand(l);
      if (!i) continue;
      if (!inSlice(i)) elsewhere += 1;
      else placed.push({ l, r: two(i)[0], c: two(i)[1] });
    }
    const beyond = Math.max(BEYOND, Math.min(64, ...access.shape.slice(-1)));
    const near = placed.filter((p) => p.r >= -beyond && p.r < R + beyond && p.c >= -beyond && p.c < C + beyond);
    const focus = near.filter((p) => p.l.state !== "masked").length ? near.filter((p) => p.l.state !== "masked") : near;
    const [fr0, fr1] = focus.length ? span(focus.map((p) => p.r)) : [0, Math.min(R, 8)];
    const [fc0, fc1] = focus.length ? span(focus.map((p) => p.c)) : [0, Math.min(C, 8)];
    const [nr0, nr1] = span(near.map((p) => p.r).concat(0, R - 1)), [nc0, nc1] = span(near.map((p) => p.c).concat(0, C - 1));
    const room = width - LEFT - 4;
    // All of it if cells stay visible; else as much around the lanes as fits at a comfortable size, or all lanes at the smallest.
    const most = (space, all, own, size) => (all * 7 <= space ? all : Math.floor(Math.min(space / SMALLEST, Math.max(space / size, own + 4))));
    const [c0, c1] = cut(nc0, nc1, fc0, fc1, most(room, nc1 - nc0, fc1 - fc0, 12));
    const [r0, r1] = cut(nr0, nr1, fr0, fr1, most(TALLEST, nr1 - nr0, fr1 - fr0, 14));
    const digits = String(arg.extent).length;
    const cw = Math.min(Math.max(26, digits * 6.4 + 8), room / (c1 - c0)), ch = Math.min(22, TALLEST / (r1 - r0));
    const x = (c) => LEFT + (c - c0) * cw, y = (r) => TOP + (r - r0) * ch;
    const rect = (r, c) => `M${x(c).toFixed(2)} ${y(r).toFixed(2)}h${cw.toFixed(2)}v${ch.toFixed(2)}h${(-cw).toFixed(2)}z`;
    const seen = (r, c) => r >= r0 && r < r1 && c >= c0 && c < c1;
    const right = x(c1), bottom = y(r1);
    const [mr0, mr1, mc0, mc1] = [Math.max(0, r0), Math.min(R, r1), Math.max(0, c0), Math.min(C, c1)];

    g.append(tl.svg("rect", { x: x(c0), y: y(r0), width: right - x(c0), height: bottom - y(r0), fill: paints.past }));
    if (mr1 > mr0 && mc1 > mc0) g.append(tl.svg("rect", { x: x(mc0), y: y(mr0), width: x(mc1) - x(mc0), height: y(mr1) - y(mr0), fill: "var(--tl-bg)" }), tl.svg("rect", { x: x(mc0), y: y(mr0), width: x(mc1) - x(mc0), height: y(mr1) - y(mr0), fill: "var(--tl-cell)" }));

    // The lanes, a cell each; of several on one cell the first counts.
    const d = { on: "", masked: "", bad: "", astray: "" };
    const cells = new Map();
    for (const p of placed) {
      if (!seen(p.r, p.c)) continue;
      const key = p.r * 4194304 + p.c;
      const known = cells.get(key);
      if (known) { known.lanes.push(p.l.lane); continue; }
      cells.set(key, { state: p.l.state, lanes: [p.l.lane] });
      d[p.l.state] += rect(p.r, p.c);
    }
    const own = tl.svg("g", { class: "tl-lanes", "data-program": program });
    if (d.masked) own.append(tl.svg("path", { d: d.masked, fill: paints.masked, "data-state": "masked" }));
    if (d.on) own.append(tl.svg("path", { d: d.on, fill: paints.program(program), "data-state": "on" }));
    if (d.astray) own.append(tl.svg("path", { d: d.astray, fill: paints.program(program), "data-state": "astray" }));
    g.append(own);

    // Where the elements lie: their offsets, if there is room for them.
    let lines = "";
    if (cw >= 5 && ch >= 5) {
      for (let c = c0 + 1; c < c1; c++) lines += `M${x(c).toFixed(2)} ${y(r0)}V${bottom}`;
      for (let r = r0 + 1; r < r1; r++) lines += `M${x(c0)} ${y(r).toFixed(2)}H${right}`;
      g.append(tl.svg("path", { d: lines, stroke: "var(--tl-bg)", opacity: 0.7, "stroke-width": 1 }));
    }
    if (d.astray) g.append(tl.svg("path", { d: inset(d.astray, cw, ch), fill: "none", stroke: "var(--tl-error)", "stroke-width": 2, "stroke-dasharray": "4 2" }));
    if (d.bad) g.append(tl.svg("path", { d: d.bad, fill: paints.error, stroke: "var(--tl-error)", "stroke-width": 1.5, "data-state": "bad" }));
    if (ch >= 12 && cw >= digits * 6 + 3) {
      for (let r = mr0; r < mr1; r++) for (let c = mc0; c < mc1; c++) {
        const cell = cells.get(r * 4194304 + c);
        const lit = cell && (cell.state === "on" || cell.state === "astray");
        const style = lit ? { style: `fill:${tl.programInk(program)}` } : cell ? { class: "tl-halo" } : { class: "tl-quiet" };
        g.append(tl.label(x(c) + cw / 2, y(r) + ch / 2 + 3.6, String(base + r * sr + c * sc), { "font-size": 10.5, ...style, ...(lit ? { "font-weight": 600 } : {}) }));
      }
    }
    // Where the same lanes stand in the variant compared with.
    const should = new Set();
    if (lanes.some((l) => l.state === "astray" || l.state === "bad" || (l.compared && (l.state === "masked") === Boolean(l.right)))) {
      for (const l of lanes) if (l.right && inSlice(l.right)) { const [r, c] = two(l.right); if (seen(r, c)) should.add(r * 4194304 + c); }
    }
    let ghost = "";
    for (const key of should) {
      const r = Math.floor(key / 4194304), c = key % 4194304;
      if (!should.has(key - 4194304)) ghost += `M${x(c)} ${y(r)}h${cw}`;
      if (!should.has(key + 4194304)) ghost += `M${x(c)} ${y(r) + ch}h${cw}`;
      if (c === 0 || !should.has(key - 1)) ghost += `M${x(c)} ${y(r)}v${ch}`;
      if (!should.has(key + 1)) ghost += `M${x(c) + cw} ${y(r)}v${ch}`;
    }
    if (mr1 > mr0 && mc1 > mc0) g.append(tl.svg("rect", { x: x(mc0), y: y(mr0), width: x(mc1) - x(mc0), height: y(mr1) - y(mr0), fill: "none", stroke: "var(--tl-line-2)" }));
    if (ghost) g.append(tl.svg("path", { d: ghost, fill: "none", stroke: "var(--tl-bg)", "stroke-width": 5 }), tl.svg("path", { d: ghost, fill: "none", stroke: "var(--tl-ink)", "stroke-width": 2, "stroke-dasharray": "2 3", class: "tl-should" }));

    // Axes: indices, how many, and what one step along them costs in memory.
    const [li, lj] = n < 2 ? ["", "i"] : model.letters(arg).slice(-2);
    const name = (back) => tl.pointerWords.strideName(arg, n - back);
    if (n > 0) g.append(tl.label(LEFT, 12, `${lj} → ${tl.count(C, n === 1 ? "element" : "column")}, each + ${name(1)} = ${sc}`, { "text-anchor": "start", "font-size": 12, "font-weight": 600, class: "tl-axis" }));
    if (n > 1) {
      const text = `${tl.count(R, "row")}, each + ${name(2)} = ${sr}`;
      const tall = bottom - TOP;
      const words = tall > text.length * 6.6 + 20 ? `${li} → ${text}` : null;
      if (words) g.append(tl.svg("text", { x: 0, y: 0, transform: `translate(14 ${TOP}) rotate(90)`, "font-size": 12, "font-weight": 600, class: "tl-axis" }, words));
      else over.append(tl.label(0, bottom + 16, `${li} ↓ ${text}`, { "text-anchor": "start", "font-size": 12, "font-weight": 600, class: "tl-axis tl-halo" }));
    }
    if (n > 2) g.append(tl.label(0, 30, `[${slice}, :, :]`, { "text-anchor": "start", "font-size": 11, class: "tl-mono" }));
    for (const c of ruler(mc0, mc1, cw, 24)) g.append(tl.label(x(c) + cw / 2, TOP - 5, String(c), { class: "tl-quiet", "font-size": 10.5 }));
    if (n > 1) for (const r of ruler(mr0, mr1, ch, 15)) g.append(tl.label(LEFT - 6, y(r) + ch / 2 + 3.6, String(r), { class: "tl-quiet", "font-size": 10.5, "text-anchor": "end" }));

    // What is not in the picture.
    const lost = placed.filter((p) => !seen(p.r, p.c));
    const without = lanes.filter((l) => !stand(l)).length;
    const notes = [];
    if (lost.length) {
      const rows = span(lost.map((p) => p.r)), columns = span(lost.map((p) => p.c));
      const range = ([a, b]) => (b - a === 1 ? String(a) : `${a}…${b - 1}`);
      const kinds = ["bad", "masked"].filter((s) => lost.some((p) => p.l.state === s)).map((s) => ({ bad: "out of range", masked: "masked" }[s]));
      const at = n === 1 ? `at ${range(columns)}` : `at ${lost.some((p) => p.r < 0 || p.r >= R) || r1 - r0 < R ? `row${rows[1] - rows[0] > 1 ? "s" : ""} ${range(rows)}` : ""}${lost.some((p) => p.c < 0 || p.c >= C) || c1 - c0 < C ? ` column${columns[1] - columns[0] > 1 ? "s" : ""} ${range(columns)}` : ""}`;
      notes.push({ text: `${tl.count(lost.length, "lane")}${kinds.length ? ` (${kinds.join(", ")})` : ""} ${at}: beyond this picture`, bad: lost.some((p) => p.l.state === "bad") });
    }
    const off = lanes.filter((l) => !stand(l)).every((l) => l.state === "masked");
    if (without) notes.push({ text: `${tl.count(without, off ? "masked lane" : "lane")} at no index: see memory`, bad: lanes.some((l) => !stand(l) && l.state === "bad") });
    if (elsewhere) notes.push({ text: `${tl.count(elsewhere, "lane")} in another slice`, bad: false });
    let under = bottom + (n > 1 && bottom - TOP <= `${R} rows, each + ${name(2)} = ${sr}`.length * 6.6 + 20 ? 20 : 4);
    for (const note of notes) {
      under += 13;
      over.append(tl.label(LEFT, under, note.text, { "text-anchor": "start", "font-size": 11.5, class: note.bad ? "tl-bad tl-halo" : "tl-quiet tl-halo" }));
    }
    if (lane !== null) {
      const p = placed.find((q) => q.l.lane === lane);
      if (p && seen(p.r, p.c)) g.append(ring(x(p.c) + cw / 2, y(p.r) + ch / 2, Math.max(cw, 7), Math.max(ch, 7)));
    }
    g.tlMatrix = { view: [r0, r1, c0, c1], x, y, cw, ch };
    return {
      el: g, over, width: Math.max(right + 2, 200), height: under + 6,
      centre(which) {
        const p = placed.find((q) => q.l.lane === which);
        return p && seen(p.r, p.c) ? { x: x(p.c) + cw / 2, y: y(p.r) + ch } : null;
      },
      hit(px, py) {
        if (px < LEFT || px >= right || py < TOP || py >= bottom) return null;
        const r = r0 + Math.floor((py - TOP) / ch), c = c0 + Math.floor((px - LEFT) / cw);
        const cell = cells.get(r * 4194304 + c);
        const inside = r >= 0 && r < R && c >= 0 && c < C;
        return { lanes: cell ? cell.lanes : [], index: n === 0 ? [] : n === 1 ? [c] : [...lead, r, c], inside, offset: base + r * sr + c * sc };
      },
    };
  };
  const inset = (d, cw, ch) => d.replace(/M([\d.-]+) ([\d.-]+)h[\d.]+v[\d.]+h-[\d.]+z/g, (_, a, b) => `M${Number(a) + 1.5} ${Number(b) + 1.5}h${Math.max(0.5, cw - 3)}v${Math.max(0.5, ch - 3)}h${-Math.max(0.5, cw - 3)}z`);
  const ruler = (lo, hi, size, least) => (size >= least ? Array.from({ length: Math.max(0, hi - lo) }, (_, k) => lo + k) : tl.ticks(lo, hi, ((hi - lo) * size) / (least * 1.6)));
  const ring = (x, y, w, h) => tl.svg("g", { class: "tl-ring" },
    tl.svg("rect", { x: x - w / 2, y: y - h / 2, width: w, height: h, rx: 2, fill: "none", stroke: "var(--tl-bg)", "stroke-width": 5 }),
    tl.svg("rect", { x: x - w / 2, y: y - h / 2, width: w, height: h, rx: 2, fill: "none", stroke: "var(--tl-ink)", "stroke-width": 2.5 }));

  return { pointerMatrix };
})());
