// The matrix picture of a 2-D argument: rows and columns as the tensor's index names them, every program's tile, and the
// chosen program's lanes where the kernel's block puts them: masked lanes past a row's end stand right of the matrix,
// though in memory they would be the next row's first elements.
//
//   tl.isMatrix(arg)      tl.matrixBox(touch) -> { r0, r1, c0, c1, full } of the lanes that are on, or null
//   tl.matrixPicture({ model, arg, program, touches, lane, width, paints, cache, most }) -> { el, width, height, bases, hit(x, y) }
Object.assign(tl, (() => {
  const TITLE = 36, LEFT = 34, TOP = 15;

  const isMatrix = (arg) => arg.shape.length === 2 && arg.shape[0] > 0 && arg.shape[1] > 0 && arg.strides.every((s) => s > 0 || arg.shape[arg.strides.indexOf(s)] === 1);

  // Row and column of an offset; past the tensor as the strides continue it.
  const placeOf = (arg, offset) => {
    const [sr, sc] = arg.strides.map((s) => Math.max(1, s));
    if (arg.shape[0] === 1) return [0, Math.round(offset / sc)];
    if (arg.shape[1] === 1) return [Math.round(offset / sr), 0];
    if (sr >= sc) {
      const r = Math.floor(offset / sr);
      return [r, Math.floor((offset - r * sr) / sc)];
    }
    const c = Math.floor(offset / sc);
    return [Math.floor((offset - c * sc) / sr), c];
  };

  // For every axis of a block, rows and columns from one lane to the next; null for an axis that goes along neither.
  const blockAxes = ({ arg, pattern }) => {
    const [sr, sc] = arg.strides.map((s) => Math.max(1, s));
    return pattern.offsets.strides.map((t) => {
      if (t === 0) return [0, 0];
      const [big, small] = sr >= sc ? [[sr, 0], [sc, 1]] : [[sc, 1], [sr, 0]];
      for (const [s, axis] of [big, small]) if (t % s === 0 && arg.shape[axis] > 1) return axis === 0 ? [t / s, 0] : [0, t / s];
      return null;
    });
  };

  // Where a pattern's lanes stand relative to its first lane, following the block's axes; null if its strides are not the tensor's.
  const logical = (touch) => {
    const { site, pattern, arg } = touch;
    if (pattern.moves !== undefined) return pattern.moves;
    pattern.moves = null;
    if (!pattern.offsets.strides) return null;
    const axes = (arg.blockAxes && arg.blockAxes(touch)) || blockAxes(touch);
    if (axes.some((a) => a === null)) return null;
    const { on } = tl.touchLanes(touch);
    const dr = new Int32Array(on.length), dc = new Int32Array(on.length);
    const index = site.shape.map(() => 0);
    for (let lane = 0; lane < on.length; lane++) {
      for (let d = 0; d < index.length; d++) {
        dr[lane] += index[d] * axes[d][0];
        dc[lane] += index[d] * axes[d][1];
      }
      for (let d = index.length - 1; d >= 0 && ++index[d] === site.shape[d]; d--) index[d] = 0;
    }
    let r0 = Infinity, r1 = -Infinity, c0 = Infinity, c1 = -Infinity, lit = 0;
    const seen = new Set();
    let R0 = Infinity, R1 = -Infinity, C0 = Infinity, C1 = -Infinity;
    for (let lane = 0; lane < on.length; lane++) {
      R0 = Math.min(R0, dr[lane]); R1 = Math.max(R1, dr[lane]); C0 = Math.min(C0, dc[lane]); C1 = Math.max(C1, dc[lane]);
      if (!on[lane]) continue;
      lit += 1;
      seen.add(dr[lane] * 4194304 + dc[lane]);
      r0 = Math.min(r0, dr[lane]); r1 = Math.max(r1, dr[lane]); c0 = Math.min(c0, dc[lane]); c1 = Math.max(c1, dc[lane]);
    }
    pattern.moves = { dr, dc, box: lit ? [r0, r1, c0, c1] : null, full: lit > 0 && seen.size === (r1 - r0 + 1) * (c1 - c0 + 1), reach: [R0, R1, C0, C1] };
    return pattern.moves;
  };
  // Whether every lane that is on lies where the block's axes put it (a flat block that runs over a row's end does not).
  const straight = (touch) => {
    const moves = logical(touch);
    if (!moves || !moves.box) return !!moves;
    const [r, c] = placeOf(touch.arg, touch.base);
    const [r0, r1, c0, c1] = moves.box;
    const [R, C] = touch.arg.shape;
    if (r + r0 >= 0 && r + r1 < R && c + c0 >= 0 && c + c1 < C) return true;
    // Outside the matrix: only a problem if memory says that it is some other element of it.
    const { on, rel } = tl.touchLanes(touch);
    for (let lane = 0; lane < on.length; lane++) {
      if (!on[lane]) continue;
      const rr = r + moves.dr[lane], cc = c + moves.dc[lane];
      if ((rr < 0 || rr >= R || cc < 0 || cc >= C) && tl.valid(touch.arg, touch.base + rel[lane])) return false;
    }
    return true;
  };
  const matrixBox = (touch) => {
    if (!isMatrix(touch.arg)) return null;
    const moves = logical(touch);
    if (!moves || !moves.box || !straight(touch)) return null;
    const [r, c] = placeOf(touch.arg, touch.base);
    const [r0, r1, c0, c1] = moves.box;
    return { r0: r + r0, r1: r + r1, c0: c + c0, c1: c + c1, full: moves.full };
  };
  // All lanes of a touch: call(row, column, lane, state).
  const eachLane = (touch, call) => {
    const { on, rel } = tl.touchLanes(touch);
    const moves = straight(touch) ? logical(touch) : null;
    const [r, c] = placeOf(touch.arg, touch.base);
    for (let lane = 0; lane < on.length; lane++) {
      const offset = touch.base + rel[lane];
      const at = moves ? [r + moves.dr[lane], c + moves.dc[lane]] : placeOf(touch.arg, offset);
      call(at[0], at[1], lane, !on[lane] ? "masked" : tl.valid(touch.arg, offset) ? "on" : "bad");
    }
  };

  // Rows and columns that the picture shows: the matrix, and what lanes reach beyond it, within reason.
  const extentOf = (arg) => {
    if (arg.shown) return arg.shown;
    const [R, C] = arg.shape;
    const shown = [0, R, 0, C];
    const far = [Math.max(16, R), Math.max(16, C)];
    for (const touch of arg.touches) {
      const moves = straight(touch) && logical(touch);
      if (!moves) continue;
      const [r, c] = placeOf(arg, touch.base);
      const [a, b, d, e] = moves.reach;
      shown[0] = Math.max(-far[0], Math.min(shown[0], r + a));
      shown[1] = Math.min(R + far[0], Math.max(shown[1], r + b + 1));
      shown[2] = Math.max(-far[1], Math.min(shown[2], c + d));
      shown[3] = Math.min(C + far[1], Math.max(shown[3], c + e + 1));
    }
    arg.shown = shown;
    return shown;
  };

  // Every program's tile, as one path a colour; tiles of several programs in grey.
  const tilesBase = (model, arg, scale, paints) => {
    const g = tl.svg("g");
    const owners = new Map();
    const loose = [];
    for (const touch of arg.touches) {
      const box = matrixBox(touch);
      if (!box || !box.full) {
        if (box || !logical(touch) || !straight(touch)) loose.push(touch);
        continue;
      }
      const key = `${box.r0} ${box.r1} ${box.c0} ${box.c1}`;
      if (!owners.has(key)) owners.set(key, { box, programs: new Set() });
      owners.get(key).programs.add(touch.program);
    }
    const paths = new Map();
    const add = (paint, r0, r1, c0, c1) => paths.set(paint, (paths.get(paint) || "") + scale.rect(r0, r1, c0, c1));
    const heights = [...owners.values()].map(({ box }) => Math.min((box.r1 - box.r0 + 1) * scale.ch, (box.c1 - box.c0 + 1) * scale.cw)).sort((a, b) => a - b);
    const small = heights.length > 24 && heights[heights.length >> 1] < 5;
    const shade = (p) => `color-mix(in srgb, var(--tl-ink-2) ${20 + 10 * Math.floor((p / model.programs) * 8)}%, var(--tl-bg))`;
    const names = [];
    let edges = "";
    for (const { box, programs } of owners.values()) {
      const one = programs.size === 1 ? [...programs][0] : null;
      add(one === null ? "var(--tl-line-2)" : small ? shade(one) : paints.program(one), box.r0, box.r1, box.c0, box.c1);
      edges += scale.rect(box.r0, box.r1, box.c0, box.c1);
      const seen = scale.clip(box);
      const text = one === null ? "" : model.name(one);
      if (text && seen.w > text.length * 6.2 + 2 && seen.h >= 11) names.push(tl.label(seen.x + seen.w / 2, seen.y + seen.h / 2 + 4, text, { "font-size": 10.5, class: "tl-halo" }));
    }
    for (const touch of loose) eachLane(touch, (r, c, lane, state) => { if (state === "on") add(paints.program(touch.program), r, r, c, c); });
    for (const [fill, d] of paths) g.append(tl.svg("path", { d, fill, opacity: 0.42 }));
    if (owners.size && !small) g.append(tl.svg("path", { d: edges, fill: "none", stroke: "var(--tl-bg)", "stroke-width": 1 }));
    return { tiles: g, names: tl.svg("g", {}, ...names) };
  };

  const scaleOf = (view, left, top, cw, ch) => {
    const x = (c) => left + (c - view[2]) * cw, y = (r) => top + (r - view[0]) * ch;
    const rect = (r0, r1, c0, c1) => {
      const a = Math.max(r0, view[0]), b = Math.min(r1 + 1, view[1]), d = Math.max(c0, view[2]), e = Math.min(c1 + 1, view[3]);
      if (b <= a || e <= d) return "";
      const w = Math.max(0.8, (e - d) * cw), h = Math.max(0.8, (b - a) * ch);
      return `M${x(d).toFixed(2)} ${y(a).toFixed(2)}h${w.toFixed(2)}v${h.toFixed(2)}h${(-w).toFixed(2)}z`;
    };
    const clip = ({ r0, r1, c0, c1 }) => {
      const a = Math.max(r0, view[0]), b = Math.min(r1 + 1, view[1]), d = Math.max(c0, view[2]), e = Math.min(c1 + 1, view[3]);
      return { x: x(d), y: y(a), w: (e - d) * cw, h: (b - a) * ch };
    };
    return { view, x, y, cw, ch, rect, clip, right: x(view[3]), bottom: y(view[1]) };
  };

  const gridLines = (scale, r0, r1, c0, c1) => {
    const { x, y, cw, ch, view } = scale;
    if (cw < 5 || ch < 5) return null;
    const [a, b, d, e] = [Math.max(r0, view[0]), Math.min(r1, view[1]), Math.max(c0, view[2]), Math.min(c1, view[3])];
    let path = "";
    for (let c = d + 1; c < e; c++) path += `M${x(c).toFixed(2)} ${y(a)}V${y(b)}`;
    for (let r = a + 1; r < b; r++) path += `M${x(d)} ${y(r).toFixed(2)}H${x(e)}`;
    return tl.svg("path", { d: path, stroke: "var(--tl-bg)", opacity: 0.65, "stroke-width": 1, fill: "none" });
  };

  // What is the same for every program: the matrix, what lies around it, all tiles and rulers.
  const backdrop = (model, arg, scale, paints, touches = arg.touches) => {
    const g = tl.svg("g");
    const [R, C] = arg.shape;
    const { view, x, y, cw, ch } = scale;
    g.append(tl.svg("rect", { x: x(view[2]), y: y(view[0]), width: scale.right - x(view[2]), height: scale.bottom - y(view[0]), fill: paints.past, stroke: "var(--tl-line)", "stroke-dasharray": "3 3" }));
    const inner = scale.rect(0, R - 1, 0, C - 1);
    const { tiles, names } = tilesBase(model, { ...arg, touches }, scale, paints);
    g.append(tl.svg("path", { d: inner, fill: "var(--tl-bg)" }), tl.svg("path", { d: inner, fill: "var(--tl-cell)" }), tiles);
    const lines = gridLines(scale, ...view);
    if (lines) g.append(lines);
    g.append(names, tl.svg("path", { d: inner, fill: "none", stroke: "var(--tl-ink)", "stroke-width": 1.4 }));
    for (const c of tl.ticks(Math.max(0, view[2]), Math.min(C, view[3]), (scale.right - x(view[2])) / 42)) {
      g.append(tl.label(x(c) + Math.min(cw, 12) / 2, y(view[0]) - 4, tl.group(c), { class: "tl-quiet", "font-size": 10 }));
    }
    for (const r of tl.ticks(Math.max(0, view[0]), Math.min(R, view[1]), (scale.bottom - y(view[0])) / 26)) {
      g.append(tl.label(x(view[2]) - 5, y(r) + Math.min(ch, 12) / 2 + 4, tl.group(r), { class: "tl-quiet", "font-size": 10, "text-anchor": "end" }));
    }
    return g;
  };

  // The chosen program's lanes.
  const panel = ({ model, touches, program, lane, scale, paints }) => {
    const g = tl.svg("g");
    const { x, y, cw, ch } = scale;
    for (const touch of touches) {
      const d = { on: "", masked: "", bad: "" };
      let run = null;
      const flush = () => { if (run) d[run.state] += scale.rect(run.r, run.r, run.c, run.end); };
      eachLane(touch, (r, c, n, state) => {
        if (run && run.state === state && run.r === r && run.end + 1 === c) run.end = c;
        else {
          flush();
          run = { r, c, end: c, state };
        }
      });
      flush();
      const own = tl.svg("g", { class: "tl-lanes", "data-kind": touch.site.kind, "data-program": touch.program });
      if (d.masked) own.append(tl.svg("path", { d: d.masked, fill: paints.masked, "data-state": "masked" }));
      if (d.on) own.append(tl.svg("path", { d: d.on, fill: paints.program(program), "data-state": "on" }));
      if (d.bad) own.append(tl.svg("path", { d: d.bad, fill: paints.error, stroke: "var(--tl-error)", "stroke-width": 1.5, "data-state": "bad" }));
      const on = matrixBox(touch);
      const lines = on && gridLines(scale, on.r0, on.r1 + 1, on.c0, on.c1 + 1);
      if (lines) own.append(lines);
      g.append(own);
    }
    for (const touch of touches) {
      const box = matrixBox(touch);
      if (box && box.full) {
        g.append(tl.svg("path", { d: scale.rect(box.r0, box.r1, box.c0, box.c1), fill: "none", stroke: "var(--tl-ink)", "stroke-width": 1.4, class: "tl-chosen" }));
        const seen = scale.clip(box), text = model.name(program);
        if (seen.w > text.length * 6.4 + 2 && seen.h >= 11) g.append(tl.label(seen.x + seen.w / 2, seen.y + seen.h / 2 + 4, text, { ...tl.onProgram(program), "font-weight": 600 }));
      }
    }
    if (lane !== null) {
      for (const touch of touches) {
        if (lane >= touch.site.lanes) continue;
        eachLane(touch, (r, c, n) => {
          if (n === lane) g.append(tl.svg("rect", { x: x(c) + cw / 2 - Math.max(cw, 5) / 2, y: y(r) + ch / 2 - Math.max(ch, 5) / 2, width: Math.max(cw, 5), height: Math.max(ch, 5), rx: 1.5, fill: "none", stroke: "var(--tl-ink)", "stroke-width": 2 }));
        });
      }
    }
    return g;
  };

  const fit = (view, width, height, square) => {
    const cw = Math.min(22, width / (view[3] - view[2])), ch = Math.min(22, height / (view[1] - view[0]));
    const both = Math.min(cw, ch), rows = view[1] - view[0];
    if (!square || both < 2) return [cw, ch];
    return rows * both >= 120 ? [both, both] : [cw > 2 * both ? both : cw, Math.max(both, Math.min(16, ch, 160 / rows))];
  };

  const matrixPicture = ({ model, arg, program, touches, lane, width, paints, cache, most = 300 }) => {
    const g = tl.svg("g", { class: "tl-argument", "data-arg": arg.name });
    const mine = touches.filter((t) => t.arg === arg);
    const title = tl.argTitle(arg);
    const said = title.length * 6.3 > width ? title.replace(/, (strides \(.*\)) · /, "|$1 · ").split("|") : [title]; // too long for one line
    const kinds = [...new Set(mine.map((t) => t.site.kind.replace("atomic_", "atomic ")))].join(", ");
    g.append(
      tl.svg("text", { x: 0, y: 13, "font-size": 13, "font-weight": 600, class: "tl-mono" }, arg.name,
        kinds ? tl.svg("tspan", { dx: 8, "font-size": 11.5, "font-weight": 400, style: "fill:var(--tl-ink-2);font-family:var(--tl-font)" }, `${kinds} ↓`) : ""),
      ...said.map((text, i) => tl.svg("text", { x: 0, y: 29 + 14 * i, "font-size": 11.5, class: "tl-quiet" }, text)),
    );
    const view = extentOf(arg);
    const room = width - LEFT - 4;
    const [cw, ch] = fit(view, room, most, true);
    const scale = scaleOf(view, LEFT, TITLE + 14 * (said.length - 1) + TOP, cw, ch);
    const key = `${arg.name} ${width} matrix`;
    if (!cache.has(key)) cache.set(key, backdrop(model, arg, scale, paints));
    g.append(panel({ model, touches: mine, program, lane, scale, paints }));
    let height = scale.bottom + 6;
    const scales = [scale];
    const boxes = mine.map((t) => ({ t, m: logical(t) })).filter(({ t, m }) => m && straight(t));
    if ((cw < 2.5 || ch < 2.5) && boxes.length) {
      // Lanes too small to see: the chosen tile again, larger.
      const reach = [Infinity, -Infinity, Infinity, -Infinity];
      for (const { t, m } of boxes) {
        const [r, c] = placeOf(arg, t.base);
        reach[0] = Math.min(reach[0], r + m.reach[0]); reach[1] = Math.max(reach[1], r + m.reach[1] + 1);
        reach[2] = Math.min(reach[2], c + m.reach[2]); reach[3] = Math.max(reach[3], c + m.reach[3] + 1);
      }
      const [rows, columns] = [reach[1] - reach[0], reach[3] - reach[2]];
      const around = [Math.max(view[0], reach[0] - Math.min(2, rows)), Math.min(view[1], reach[1] + Math.min(2, rows)), Math.max(view[2], reach[2] - 2), Math.min(view[3], reach[3] + 2)];
      const [zw, zh] = fit(around, room, Math.min(most, 220), true);
      if (zw > cw * 1.2 || zh > ch * 1.2) {
        const near = scaleOf(around, LEFT, height + TOP + 10, zw, zh);
        const shade = tl.svg("path", { d: `M${scale.x(around[2]).toFixed(1)} ${scale.bottom}L${LEFT} ${near.y(around[0])}H${near.right}L${scale.x(around[3]).toFixed(1)} ${scale.bottom}z`, fill: "var(--tl-bg-2)", opacity: 0.7, stroke: "var(--tl-line)" });
        g.insertBefore(shade, g.firstChild);
        g.append(backdrop(model, arg, near, paints, touchesNear(arg, near)), panel({ model, touches: mine, program, lane, scale: near, paints }));
        scales.push(near);
        height = near.bottom + 6;
      }
    }
    g.tlMatrix = { arg: arg.name, scales }; // for tests: where each row and column is drawn
    const hit = (px, py) => {
      for (const s of [...scales].reverse()) {
        const c = Math.floor(s.view[2] + (px - s.x(s.view[2])) / s.cw), r = Math.floor(s.view[0] + (py - s.y(s.view[0])) / s.ch);
        if (r < s.view[0] || r >= s.view[1] || c < s.view[2] || c >= s.view[3]) continue;
        let found = null;
        for (const [row, touch] of mine.entries()) {
          eachLane(touch, (rr, cc, n, state) => { if (rr === r && cc === c && !found) found = { row, touch, lane: n, offset: tl.touchLane(touch, n).offset, state, index: [r, c] }; });
        }
        if (found) return found;
        if (r >= 0 && r < arg.shape[0] && c >= 0 && c < arg.shape[1]) return { offset: r * arg.strides[0] + c * arg.strides[1], index: [r, c], tile: s === scale };
        return null;
      }
      return null;
    };
    return { el: g, width, height, hit, bases: [{ el: cache.get(key), x: 0, y: 0 }] };
  };
  const touchesNear = (arg, scale) => arg.touches.filter((t) => {
    const box = matrixBox(t);
    return box && box.full && box.r1 >= scale.view[0] && box.r0 < scale.view[1] && box.c1 >= scale.view[2] && box.c0 < scale.view[3];
  });

  return { isMatrix, matrixBox, matrixPicture, matrixParts: { placeOf, logical, straight, eachLane, tilesBase, gridLines, scaleOf } };
})());
