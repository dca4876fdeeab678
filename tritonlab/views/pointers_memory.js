// The tensor as it lies in memory, low to high offset, cut where its rows (or columns) begin, and the same lanes on it.
//
//   tl.pointerStrip({ arg, access, program, lanes, lane, paints, width, lead }) -> { el, height, at(lane) -> { x, y } | null, hit(x, y) }
Object.assign(tl, (() => {
  const HEAD = 18;

  // The stretches of memory that one index of the slower axis owns: [{ from, to, index }], or none where they interleave.
  const bands = (arg, lo, hi) => {
    if (arg.shape.length < 2) return { word: "", list: [] };
    const [R, C] = arg.shape.slice(-2), [sr, sc] = arg.strides.slice(-2);
    const [outer, inner] = sr >= sc ? [{ n: R, s: sr, word: "row" }, { n: C, s: sc }] : [{ n: C, s: sc, word: "column" }, { n: R, s: sr }];
    const long = (inner.n - 1) * inner.s + 1;
    if (outer.s < long || outer.s === 0 || arg.shape.length > 2) return { word: "", list: [] };
    const list = [];
    for (let k = Math.max(0, Math.floor(lo / outer.s)); k < outer.n && k * outer.s < hi; k++) list.push({ from: k * outer.s, to: k * outer.s + long, index: k });
    return { word: outer.word, list };
  };

  const pointerStrip = ({ arg, access, program, lanes, lane, paints, width }) => {
    const g = tl.svg("g", { class: "tl-argument", "data-arg": arg.name });
    const segments = tl.segments(arg, lanes.length, (n) => lanes[n].offset, (n) => lanes[n].state !== "masked");
    const rows = [{ kind: access.kind === "load" ? "load" : "store", title: access.kind.replace("atomic_", ""), program, segments }];
    const gutter = width >= 600 ? 62 : 54;
    let [lo, hi] = tl.windowOf(arg, rows);
    // All of the tensor and of the lanes, where an element keeps a pixel, or where the lanes are most of it anyhow.
    const [least, last] = lanes.reduce(([p, q], l) => [Math.min(p, l.offset), Math.max(q, l.offset + 1)], [Infinity, -Infinity]);
    const whole = [Math.min(lo, least, 0), Math.max(hi, last, arg.extent)], pixels = (width - gutter) / (whole[1] - whole[0]);
    if (pixels >= 1 || (pixels >= 0.3 && 2 * (last - least) > whole[1] - whole[0])) [lo, hi] = whole;
    const strip = tl.strip({ width, paints, arg, rows, window: [lo, hi], lane, gutter });
    strip.el.setAttribute("transform", `translate(0 ${HEAD})`);
    // The strip numbers lanes one after the other; of a block of rows and columns, that says nothing.
    if (access.shape.filter((n) => n > 1).length > 1) strip.el.querySelectorAll(".tl-lanes text[text-anchor=middle]").forEach((t) => t.remove());
    strip.el.querySelectorAll(".tl-lanes text[text-anchor=start]").forEach((t) => { // far lanes, told where there is room
      if (Number(t.getAttribute("x")) + t.textContent.length * 6.2 < width) return;
      t.setAttribute("text-anchor", "end");
      t.setAttribute("x", width - 2);
    });
    const { x, cell, rowHeight, rows: at } = strip.el.tlStrip;
    g.append(strip.el);
    const { word, list } = bands(arg, lo, hi);
    let d = "";
    const wide = list.length ? x(list[0].to) - x(list[0].from) : 0;
    const every = list.length ? Math.max(1, Math.ceil(38 / Math.max(1, x(list[0].from + (list[1]?.from - list[0].from || 0)) - x(list[0].from)))) : 1;
    for (const band of list) {
      const a = x(band.from), b = x(band.to);
      if (b - a < 3) break;
      d += `M${(a + 1).toFixed(1)} ${HEAD - 3}v-4H${(b - 1).toFixed(1)}v4`;
      const text = wide > 52 ? `${word} ${band.index}` : String(band.index);
      if (band.index % every === 0 && b - a > text.length * 3) g.append(tl.label((a + b) / 2, 8, text, { class: "tl-quiet", "font-size": 10.5 }));
    }
    if (list.length && wide <= 52) g.append(tl.label(gutter - 8, 8, `${word}s`, { class: "tl-quiet", "font-size": 10.5, "text-anchor": "end" }));
    if (d) g.append(tl.svg("path", { d, fill: "none", stroke: "var(--tl-line-2)", "stroke-width": 1 }));
    // Lanes on another element than they should be.
    const top = HEAD + at[0].y;
    let astray = "";
    for (const l of lanes) if (l.state === "astray" && l.offset >= lo && l.offset < hi) astray += `M${(x(l.offset) + Math.min(1, cell / 4)).toFixed(1)} ${top + 1}h${Math.max(1, cell - 2).toFixed(1)}v${rowHeight - 2}h${(-Math.max(1, cell - 2)).toFixed(1)}z`;
    if (astray) g.append(tl.svg("path", { d: astray, fill: "none", stroke: "var(--tl-error)", "stroke-width": cell >= 6 ? 2 : 1, "stroke-dasharray": cell >= 6 ? "4 2" : null, "data-state": "astray" }));
    return {
      el: g, height: HEAD + strip.height + 2, window: [lo, hi],
      at(which) {
        const o = lanes[which]?.offset;
        return o === undefined || o < lo || o >= hi ? null : { x: x(o) + cell / 2, y: 0 };
      },
      hit: (px, py) => strip.hit(px, py - HEAD),
    };
  };
  return { pointerStrip };
})());
