// The memory picture of one argument: the whole tensor with every program's tile, and, where that is too small to show
// single lanes, the surroundings of the chosen program's lanes below it.
//
//   tl.memoryPicture({ model, arg, program, touches, lane, width, paints, cache }) -> { el, height, bases, hit(x, y) }
//       bases: [{ el, x, y }] what stays the same from program to program, to lie below el at that place;
//       hit -> what tl.strip's hit gives, with touch; or { offset, tile: true } on the tiles of the whole tensor
Object.assign(tl, (() => {
  const TITLE = 20, TILES = 18, ZOOM = 12, LEAST = 5;

  const titleOf = (kind, line, several, wide) => {
    const verb = kind.replace("atomic_", "atomic ");
    const short = kind.replace("atomic_", "");
    if (!several) return wide ? verb : short;
    return wide ? `${short} line ${line}` : `${short} ${line}`;
  };

  // All that any program's lanes reach, masked lanes included, but not much past the tensor.
  const reachOf = (arg) => {
    if (arg.reach) return arg.reach;
    let lo = 0, hi = arg.extent;
    const most = Math.max(64, Math.ceil(arg.extent * 0.5));
    for (const touch of arg.touches) {
      for (const s of tl.touchSegments(touch)) {
        const [a, b] = tl.segmentEnds(s);
        if (b < -most || a > arg.extent + most) continue;
        lo = Math.min(lo, Math.max(a, -most));
        hi = Math.max(hi, Math.min(b + 1, arg.extent + most));
      }
    }
    arg.reach = [lo, Math.max(hi, lo + 1)];
    return arg.reach;
  };

  // The tiles of all programs on one line: in their colours while they are wide enough, in shades of the order past that.
  const tilesBase = (model, arg, lo, hi, left, width, paints) => {
    const g = tl.svg("g");
    const px = width - left;
    const x = (o) => left + ((o - lo) / (hi - lo)) * px;
    const owners = tl.ownersOf(arg);
    g.append(tl.svg("rect", { x: left, y: 0, width: px, height: TILES, fill: paints.past, stroke: "var(--tl-line-2)", "stroke-dasharray": "3 3" }));
    g.append(tl.svg("rect", { x: x(0), y: 0, width: Math.max(0, x(arg.extent) - x(0)), height: TILES, fill: "var(--tl-cell)" }));
    const each = ((x(arg.extent) - x(0)) / Math.max(1, owners.pieces));
    if (each >= LEAST) {
      for (const span of tl.ownerSpans(arg, 0, arg.extent, owners.grain)) {
        const w = x(span.to) - x(span.from);
        if (!span.programs.length) g.append(tl.svg("rect", { x: x(span.from), y: 0, width: w, height: TILES, fill: "var(--tl-line-2)", opacity: 0.45 }));
        span.programs.forEach((p, k) => g.append(tl.svg("rect", { x: x(span.from), y: (TILES / span.programs.length) * k, width: w, height: TILES / span.programs.length, fill: paints.program(p), opacity: 0.5 })));
        if (w > 6) g.append(tl.svg("path", { d: `M${x(span.to).toFixed(2)} 0v${TILES}`, stroke: "var(--tl-bg)" }));
        const text = span.programs.length === 1 ? model.name(span.programs[0]) : "";
        if (text && w >= text.length * 6.4 + 5) g.append(tl.label((x(span.from) + x(span.to)) / 2, 13, text));
      }
    } else {
      const shade = ["", "", "", "", "", "", "", ""];
      let dots = "";
      for (let i = 0; i < Math.floor(x(arg.extent) - x(0)); i++) {
        const o = Math.floor((i / (x(arg.extent) - x(0))) * arg.extent);
        const at = Math.floor(o / owners.grain);
        if (owners.count[at] === 0) continue;
        if (owners.count[at] > 3) dots += `M${(x(0) + i).toFixed(1)} 0h1v${TILES}h-1z`;
        else shade[Math.min(7, Math.floor((owners.first[at] / Math.max(1, model.programs)) * 8))] += `M${(x(0) + i).toFixed(1)} 0h1.3v${TILES}h-1.3z`;
      }
      shade.forEach((d, i) => d && g.append(tl.svg("path", { d, fill: "var(--tl-ink-2)", opacity: 0.12 + i * 0.08 })));
      if (dots) g.append(tl.svg("path", { d: dots, fill: "var(--tl-line-2)", opacity: 0.45 }));
      if (owners.ordered) {
        let next = -1;
        const apart = Math.max(1, tl.ticks(0, model.programs, px / 90)[1] || 1);
        for (let at = 0; at < owners.first.length; at++) {
          const p = owners.first[at];
          if (p <= next || p < 0 || p % apart) continue;
          next = p;
          const where = x(at * owners.grain);
          g.append(tl.svg("path", { d: `M${where.toFixed(1)} 0v${TILES}`, stroke: "var(--tl-line-2)" }));
          if (where + 34 < x(arg.extent)) g.append(tl.label(where + 4, 13, model.name(p), { "text-anchor": "start", class: "tl-halo", "font-size": 10.5 }));
        }
      }
    }
    g.append(tl.svg("rect", { x: x(0), y: 0, width: Math.max(0, x(arg.extent) - x(0)), height: TILES, fill: "none", stroke: "var(--tl-line-2)" }));
    return g;
  };

  const memoryPicture = ({ model, arg, program, touches, lane, width, paints, cache }) => {
    const g = tl.svg("g", { class: "tl-argument", "data-arg": arg.name });
    const mine = touches.filter((t) => t.arg === arg);
    const counts = {};
    for (const t of mine) counts[t.site.kind] = (counts[t.site.kind] || 0) + 1;
    const rows = mine.map((touch) => ({
      touch, kind: touch.site.kind, program, segments: tl.touchSegments(touch),
      title: titleOf(touch.site.kind, touch.site.line, counts[touch.site.kind] > 1, width >= 600),
    }));
    g.append(
      tl.svg("text", { x: 0, y: 13, "font-size": 13 },
        tl.svg("tspan", { class: "tl-mono", style: "font-family:var(--tl-mono)", "font-weight": 600 }, arg.name),
        tl.svg("tspan", { dx: 8, "font-size": 11.5, style: "fill:var(--tl-ink-2)" }, tl.argTitle(arg))),
    );
    let y = TITLE;
    const gutter = width >= 600 ? 84 : 58;
    const [lo, hi] = reachOf(arg);
    const whole = arg.extent === 0 || (width - gutter) / (hi - lo) >= 6;
    let tilesAt = null, base = null;
    let window = [lo, hi];
    if (!whole) {
      // An argument that this program leaves alone shows the place where it works on one of the same length.
      const like = rows.length ? rows : touches.filter((t) => t.arg.extent === arg.extent).slice(0, 1).map((t) => ({ segments: tl.touchSegments(t) }));
      window = tl.windowOf(arg, like, Math.floor((width - gutter) / 16));
      const key = `${arg.name} ${width}`;
      if (!cache.has(key)) cache.set(key, tilesBase(model, arg, lo, hi, gutter, width, paints));
      const x = (o) => gutter + ((Math.max(lo, Math.min(hi, o)) - lo) / (hi - lo)) * (width - gutter);
      base = { el: cache.get(key), x: 0, y };
      const own = tl.svg("g", { transform: `translate(0 ${y})` });
      own.append(tl.label(gutter - 8, 13, "tiles", { "text-anchor": "end", class: "tl-quiet", "font-size": 11 }));
      let d = "", masked = "", bad = "", thin = false;
      const spans = [];
      for (const touch of model.of(program)) {
        if (touch.arg !== arg) continue;
        for (const s of tl.touchSegments(touch)) {
          const [a, b] = tl.segmentEnds(s);
          if (b < lo || a >= hi) continue;
          if (s.state === "masked" && b < arg.extent && a >= 0) continue;
          const pieces = Math.abs(s.step) > 1 && s.count > 1 ? Array.from({ length: s.count }, (_, i) => s.offset + i * s.step) : [a];
          const wide = pieces.length > 1 ? 1 : b + 1 - a;
          let mark = "", drawn = -1;
          for (const o of pieces) {
            const at = x(o), w = Math.max(pieces.length > 1 ? 1 : 2, x(o + wide) - at);
            if (o < lo || o >= hi || Math.abs(at - drawn) < 0.7) continue; // no two marks in one pixel
            drawn = at;
            mark += `M${at.toFixed(2)} 0h${w.toFixed(2)}v${TILES}h${(-w).toFixed(2)}z`;
          }
          if (s.state === "on") {
            d += mark;
            thin = thin || pieces.length > 1;
            spans.push([x(a), x(b + 1)]);
          } else if (s.state === "masked") masked += mark;
          else bad += mark;
        }
      }
      if (masked) own.append(tl.svg("path", { d: masked, fill: paints.masked, stroke: "var(--tl-line-2)" }));
      if (bad) own.append(tl.svg("path", { d: bad, fill: paints.error, stroke: "var(--tl-error)", "stroke-width": 1.5 }));
      if (d) own.append(tl.svg("path", { d, fill: paints.program(program), stroke: thin ? "none" : "var(--tl-ink)", "stroke-width": 1.2, class: "tl-chosen" }));
      const name = model.name(program);
      for (const [a, b] of thin ? [] : spans) {
        if (b - a >= name.length * 6.4 + 5) own.append(tl.label((a + b) / 2, 13, name, { ...tl.onProgram(program), "font-weight": 600 }));
      }
      if (spans.length && Math.max(...spans.map(([a, b]) => b - a)) < 12) {
        const here = rows.flatMap((r) => r.segments).filter((s) => s.state === "on").map((s) => tl.segmentEnds(s)).filter(([a]) => a >= lo && a < hi);
        const mid = here.length ? Math.min(width - 3, (x(Math.min(...here.map((e) => e[0]))) + x(Math.max(...here.map((e) => e[1])) + 1)) / 2) : null;
        if (mid !== null) own.append(tl.svg("path", { d: `M${mid.toFixed(1)} -1l-4 -6h8z`, fill: "var(--tl-ink)" }));
      }
      own.append(tl.svg("path", { d: `M${x(window[0]).toFixed(1)} ${TILES}L${gutter} ${TILES + ZOOM}H${width}L${x(window[1]).toFixed(1)} ${TILES}z`, fill: "var(--tl-bg-2)", stroke: "var(--tl-line)", "stroke-width": 1 }));
      g.append(own);
      tilesAt = { y, x, from: (px) => Math.floor(lo + ((px - gutter) / (width - gutter)) * (hi - lo)) };
      y += TILES + ZOOM;
    }
    const cell = (width - gutter) / (window[1] - window[0]);
    const owners = tl.ownerSpans(arg, window[0], window[1], Math.max(1, Math.floor(1 / cell))).map((s) => ({ ...s, strong: program }));
    const strip = tl.strip({ width, paints, arg, rows, window, owners, lane, gutter, programText: model.name });
    strip.el.setAttribute("transform", `translate(0 ${y})`);
    g.append(strip.el);
    if (!rows.length && model.programs) g.append(tl.label(gutter, y + strip.memory + strip.memoryHeight + 14, `program ${model.name(program)} does not touch it`, { "text-anchor": "start", class: "tl-quiet" }));
    const height = y + strip.height + (rows.length || !model.programs ? 2 : 16);
    const hit = (px, py) => {
      if (tilesAt && py >= tilesAt.y && py <= tilesAt.y + TILES && px >= gutter) return { offset: tilesAt.from(px), tile: true };
      const found = strip.hit(px, py - y);
      if (found && found.row !== undefined) found.touch = rows[found.row].touch;
      return found;
    };
    return { el: g, height, hit, bases: base ? [base] : [] };
  };

  return { memoryPicture };
})());
