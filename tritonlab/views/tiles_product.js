// The picture of a matmul: A on the left, B above, C at their corner, each axis on one scale, so that a program's rows of A
// and columns of B meet at its tile of C, if the kernel makes them meet. Below, the K steps as time, left to right.
//
//   tl.productPicture({ model, program, stage, lane, width, most, paints, cache })
//       -> { el, width, height, bases, hit(x, y) -> { arg, index, offset, touch?, lane?, state? } | { stage } | null }
//       stage: number in model.stages(program); lane: { arg, lane } outlined; most: the greatest height of A, B and C
Object.assign(tl, (() => {
  const LEFT = 36, GAP = 12, TICKS = 15, LINE = 15, TIME = 22, CELL = 22;

  // Pixels per element of each axis: the same for all three where each then has room, else nearer to equal lengths.
  const fit = ({ M, N, K }, width, height) => {
    const size = { M: M[1] - M[0], N: N[1] - N[0], K: K[1] - K[0] };
    const room = (axis) => Math.min(64, CELL * size[axis]);
    let px = null;
    for (let power = 1; power > 0.05; power -= 0.1) {
      const w = Object.fromEntries(Object.keys(size).map((axis) => [axis, size[axis] ** power]));
      const unit = Math.min(width / (w.K + w.N), height / (w.K + w.M));
      px = Object.fromEntries(Object.keys(size).map((axis) => [axis, Math.min(CELL * size[axis], w[axis] * unit)]));
      if (Object.keys(px).every((axis) => px[axis] >= room(axis) - 0.01)) break;
    }
    const each = Object.fromEntries(Object.keys(size).map((axis) => [axis, px[axis] / size[axis]]));
    const cells = Object.values(each);
    return { px, each, even: Math.max(...cells) < 1.02 * Math.min(...cells) };
  };

  const titleOf = (arg, role, lines) => {
    const name = arg.turned ? `${arg.name}.T` : arg.name, shape = arg.turned ? [...arg.given.shape].reverse() : arg.given.shape;
    const rest = `${arg.dtype}[${shape.join(", ")}]`;
    const plain = arg.given.solid && arg.given.numel === arg.given.extent && (arg.strides[1] === 1 || shape[1] === 1);
    const strides = plain || arg.numel === 0 ? "" : `strides (${arg.strides.join(", ")})`;
    if (lines === 1) return [[`${role} `, name, `  ${[rest, strides].filter(Boolean).join(", ")}`]];
    return [[`${role} `, name], [rest], ...(strides ? [[strides]] : [])];
  };
  const write = (x, y, lines) => lines.map((parts, i) => {
    const text = tl.svg("text", { x, y: y + i * LINE, "font-size": 11.5, class: "tl-quiet" });
    if (parts.length === 1) text.append(parts[0]);
    else {
      text.append(tl.svg("tspan", { "font-size": 13, "font-weight": 700, style: "fill:var(--tl-ink)" }, parts[0]));
      text.append(tl.svg("tspan", { "font-size": 13, style: "fill:var(--tl-ink);font-family:var(--tl-mono)" }, parts[1]));
      if (parts[2]) text.append(parts[2]);
    }
    return text;
  });
  const wide = (parts) => parts.reduce((w, p, i) => w + p.length * (i === 1 ? 7.9 : 6.2), 0);

  const backdrop = (model, arg, scale, paints) => {
    const { tilesBase, gridLines } = tl.matrixParts;
    const g = tl.svg("g");
    const [R, C] = arg.shape, { view, x, y } = scale;
    const whole = { x: x(view[2]), y: y(view[0]), width: scale.right - x(view[2]), height: scale.bottom - y(view[0]) };
    g.append(tl.svg("rect", { ...whole, fill: paints.past, stroke: "var(--tl-line)", "stroke-dasharray": "3 3" }));
    if (R && C) {
      const inner = scale.rect(0, R - 1, 0, C - 1);
      // Of A and B, lanes that make no box are grey: which program's they are does not matter before one is chosen.
      const boxed = arg === model.c ? arg.touches : arg.touches.filter((t) => model.box(t)?.full);
      const { tiles, names } = tilesBase(model, { ...arg, touches: boxed }, scale, paints);
      if (boxed.length < arg.touches.length) {
        const loose = arg.touches.filter((t) => !model.box(t)?.full && t.pattern.lit).slice(0, 2000);
        tiles.append(tl.svg("path", { d: lanesOf(model, loose, scale).on, fill: "var(--tl-line-2)", opacity: 0.42 }));
      }
      g.append(tl.svg("path", { d: inner, fill: "var(--tl-bg)" }), tl.svg("path", { d: inner, fill: "var(--tl-cell)" }), tiles);
      const lines = gridLines(scale, ...view);
      if (lines) g.append(lines);
      g.append(arg === model.c ? names : "", tl.svg("path", { d: inner, fill: "none", stroke: "var(--tl-ink)", "stroke-width": 1.4 }));
    }
    return g;
  };

  // Lanes of touches as paths by state; boxes at once, anything else lane by lane.
  const lanesOf = (model, touches, scale) => {
    const d = { on: "", masked: "", bad: "", edge: "" };
    for (const touch of touches) {
      const own = model.box(touch), reach = model.reach(touch), [R, C] = touch.arg.shape;
      if (touch.pattern.lit === 0) continue;
      if (own && own.full && own.r0 >= 0 && own.c0 >= 0 && own.r1 < R && own.c1 < C) {
        if (reach.r0 < own.r0 || reach.r1 > own.r1 || reach.c0 < own.c0 || reach.c1 > own.c1) d.masked += scale.rect(reach.r0, reach.r1, reach.c0, reach.c1);
        d.on += scale.rect(own.r0, own.r1, own.c0, own.c1);
      } else {
        // Lanes beside each other make runs, equal runs below each other a rectangle.
        const open = new Map();
        let run = null;
        const close = () => {
          if (!run) return;
          const key = `${run.state} ${run.c} ${run.end}`, above = open.get(key);
          if (above && above.r1 + 1 === run.r) above.r1 = run.r;
          else {
            if (above) d[above.state] += scale.rect(above.r0, above.r1, above.c, above.end);
            open.set(key, { ...run, r0: run.r, r1: run.r });
          }
        };
        tl.matrixParts.eachLane(touch, (r, c, lane, state) => {
          if (run && run.state === state && run.r === r && run.end + 1 === c) run.end = c;
          else {
            close();
            run = { r, c, end: c, state };
          }
        });
        close();
        for (const box of open.values()) d[box.state] += scale.rect(box.r0, box.r1, box.c, box.end);
      }
      if (own && own.full) d.edge += scale.rect(own.r0, own.r1, own.c0, own.c1);
    }
    return d;
  };

  const productPicture = ({ model, program, stage, lane, width, most, paints, cache }) => {
    const g = tl.svg("g", { class: "tl-product" });
    const { a, b, c, ranges } = model;
    const now = model.at(program, stage);
    const key = `product ${width} ${most}`;
    if (!cache.has(key)) cache.set(key, place(model, width, most, paints));
    const { scales, bases, fixed, size, titles } = cache.get(key);
    g.append(titles.cloneNode(true));
    const storing = now.stage && now.stage.store;

    const draw = (side, arg) => {
      const scale = scales[side];
      const own = tl.svg("g", { class: "tl-argument", "data-arg": arg.name, "data-side": side });
      const part = (touches, when, attrs) => {
        const d = lanesOf(model, touches, scale);
        const all = d.on + (when === "before" ? d.bad : "");
        if (all) own.append(tl.svg("path", { d: all, "data-when": when, ...attrs }));
      };
      if (side !== "c") {
        part(now.before[side], "before", { fill: paints.program(program), opacity: 0.38 });
        part(now.after[side], "after", { fill: "none", stroke: "var(--tl-ink)", "stroke-width": 1.2, "stroke-dasharray": "3 3" });
      }
      const touches = side === "c" ? now.c : now[side];
      if (touches.length) {
        const d = lanesOf(model, touches, scale);
        const lanes = tl.svg("g", { class: "tl-lanes", "data-kind": touches[0].site.kind, "data-program": program });
        if (d.masked) lanes.append(tl.svg("path", { d: d.masked, fill: paints.masked, stroke: "var(--tl-line-2)", "data-state": "masked" }));
        if (d.on) lanes.append(tl.svg("path", { d: d.on, fill: "var(--tl-bg)" }), tl.svg("path", { d: d.on, fill: paints.program(program), opacity: side !== "c" || storing ? 1 : 0.62, "data-state": "on" }));
        if (d.bad) lanes.append(tl.svg("path", { d: d.bad, fill: paints.error, stroke: "var(--tl-error)", "stroke-width": 1.5, "data-state": "bad" }));
        const boxes = touches.map(model.box).filter(Boolean);
        for (const box of boxes) {
          const lines = tl.matrixParts.gridLines(scale, box.r0, box.r1 + 1, box.c0, box.c1 + 1);
          if (lines) lanes.append(lines);
        }
        const least = Math.min(Infinity, ...boxes.map((b) => scale.clip(b)).map((b) => Math.min(b.w, b.h)));
        if (d.edge) lanes.append(tl.svg("path", { d: d.edge, fill: "none", stroke: "var(--tl-ink)", "stroke-width": least < 8 ? 0.8 : 1.6, "stroke-dasharray": side === "c" && !storing ? "5 3" : null, class: "tl-chosen" }));
        own.append(lanes);
        if (boxes.length === 1) {
          const seen = scale.clip(boxes[0]), name = model.name(program);
          const text = (side === "c" ? (storing ? [`${name} stored`, name] : [`${name} acc`, name, "acc"]) : [`${side.toUpperCase()} tile`, side.toUpperCase()]).find((t) => t.length * 6.6 + 4 <= seen.w && seen.h >= 12);
          if (text) own.append(tl.label(seen.x + seen.w / 2, seen.y + seen.h / 2 + 4, text, { ...tl.onProgram(program), "font-weight": 600 }));
        }
      }
      return own;
    };

    // Where the rows of the tile of A and the columns of the tile of B lead.
    const guides = tl.svg("g", { class: "tl-guides" });
    const line = (x1, y1, x2, y2) => guides.append(tl.svg("path", { d: `M${x1.toFixed(1)} ${y1.toFixed(1)}L${x2.toFixed(1)} ${y2.toFixed(1)}`, stroke: "var(--tl-ink-2)", "stroke-width": 1, "stroke-dasharray": "2 3", fill: "none" }));
    const right = scales.c.right, bottom = scales.c.bottom;
    for (const box of now.a.map(model.box).filter(Boolean)) {
      const seen = scales.a.clip(box);
      for (const at of a.same[0] ? [] : [seen.y, seen.y + seen.h]) line(seen.x + seen.w, at, right, at);
    }
    for (const box of now.b.map(model.box).filter(Boolean)) {
      const seen = scales.b.clip(box);
      for (const at of b.same[1] ? [] : [seen.x, seen.x + seen.w]) line(at, seen.y + seen.h, at, bottom);
    }
    g.append(draw("a", a), draw("b", b), draw("c", c), guides);

    if (lane) {
      for (const touch of [...now.a, ...now.b, ...now.c].filter((t) => t.arg === lane.arg && lane.lane < t.site.lanes)) {
        const scale = scales[model.roleOf(touch.arg)];
        tl.matrixParts.eachLane(touch, (r, col, n) => {
          if (n !== lane.lane) return;
          const w = Math.max(scale.cw, 6), h = Math.max(scale.ch, 6);
          g.append(tl.svg("rect", { class: "tl-lane", x: scale.x(col) + scale.cw / 2 - w / 2, y: scale.y(r) + scale.ch / 2 - h / 2, width: w, height: h, rx: 1.5, fill: "none", stroke: "var(--tl-ink)", "stroke-width": 2.2 }));
        });
      }
    }
    const time = tl.productTime(model, program, stage, LEFT, Math.max(size.width, Math.min(width, 260)), paints);
    time.el.setAttribute("transform", `translate(0 ${size.height + 6})`);
    g.append(time.el);
    g.tlProduct = { scales, ranges, fixed }; // for tests: where each row and column is drawn

    const hit = (px, py) => {
      if (py >= size.height + 6 && py <= size.height + 6 + TIME) {
        const found = time.stageAt(px);
        return found < 0 ? null : { stage: found };
      }
      for (const [side, arg] of [["c", c], ["b", b], ["a", a]]) {
        const s = scales[side];
        const col = Math.floor(s.view[2] + (px - s.x(s.view[2])) / s.cw), r = Math.floor(s.view[0] + (py - s.y(s.view[0])) / s.ch);
        if (r < s.view[0] || r >= s.view[1] || col < s.view[2] || col >= s.view[3]) continue;
        const inside = r >= 0 && r < arg.shape[0] && col >= 0 && col < arg.shape[1];
        let found = null;
        for (const touch of side === "c" ? now.c : now[side]) {
          const reach = model.reach(touch);
          if (reach && (r < reach.r0 || r > reach.r1 || col < reach.c0 || col > reach.c1)) continue;
          tl.matrixParts.eachLane(touch, (rr, cc, n, state) => { if (!found && rr === r && cc === col) found = { touch, lane: n, state, offset: tl.touchLane(touch, n).offset }; });
          if (found) break;
        }
        if (!found && !inside) return null;
        return { arg, side, index: [r, col], inside, offset: r * arg.strides[0] + col * arg.strides[1], ...found };
      }
      return null;
    };
    return { el: g, width: size.width, height: size.height + 6 + TIME, bases, hit, scales };
  };

  // What stays the same from program to program: the three scales, the matrices with all tiles, rulers and titles.
  const place = (model, width, most, paints) => {
    const { a, b, c, ranges, sizes: [M, N, K] } = model;
    const least = Math.min(118, 0.3 * width); // a narrow A leaves room for its title
    let spare = 0, found = null;
    for (let i = 0; i < 8; i++) {
      found = fit(ranges, width - LEFT - GAP - 4 - spare, most);
      const lacks = Math.max(0, least - found.px.K - GAP) - spare;
      if (lacks < 0.5) break;
      spare += lacks;
    }
    const { px, each, even } = found;
    const column = Math.max(px.K + GAP, least);
    const xB = LEFT + column, room = width - xB;
    const lines = (arg, role, at) => (wide(titleOf(arg, role, 1)[0]) <= at ? titleOf(arg, role, 1) : titleOf(arg, role, 3));
    const titleB = lines(b, "B", room), titleA = titleOf(a, "A", wide(titleOf(a, "A", 1)[0]) <= column - GAP ? 1 : 3), titleC = lines(c, "C", room);
    const yB = titleB.length * LINE + TICKS, heightB = Math.max(px.K, titleA.length * LINE + TICKS);
    const yC = yB + heightB + GAP;
    const { scaleOf } = tl.matrixParts;
    // Along a stride of 0 there is one row or column of memory, drawn as thick as the whole axis.
    const scale = (arg, row, col, x, y) => {
      const [r, k] = [arg.same[0] ? [0, 1] : ranges[row], arg.same[1] ? [0, 1] : ranges[col]];
      return scaleOf([r[0], r[1], k[0], k[1]], x, y, arg.same[1] ? px[col] : each[col], arg.same[0] ? px[row] : each[row]);
    };
    const scales = { a: scale(a, "M", "K", xB - GAP - px.K, yC), b: scale(b, "K", "N", xB, yB + heightB - px.K), c: scale(c, "M", "N", xB, yC) };
    const bases = [["a", a], ["b", b], ["c", c]].map(([side, arg]) => ({ el: backdrop(model, arg, scales[side], paints), x: 0, y: 0 }));
    const rulers = tl.svg("g");
    const columns = (axis, left, y) => {
      for (const n of tl.ticks(Math.max(0, ranges[axis][0]), Math.min({ N, K }[axis], ranges[axis][1]), px[axis] / 42)) rulers.append(tl.label(left + (n - ranges[axis][0]) * each[axis] + Math.min(each[axis], 12) / 2, y, tl.group(n), { class: "tl-quiet", "font-size": 10 }));
    };
    const rows = (axis, x, top) => {
      for (const n of tl.ticks(Math.max(0, ranges[axis][0]), Math.min({ M, K }[axis], ranges[axis][1]), px[axis] / 26)) rulers.append(tl.label(x, top + (n - ranges[axis][0]) * each[axis] + Math.min(each[axis], 12) / 2 + 4, tl.group(n), { class: "tl-quiet", "font-size": 10, "text-anchor": "end" }));
    };
    const xA = xB - GAP - px.K, topB = yB + heightB - px.K;
    columns("K", xA, yC - 4);
    columns("N", xB, topB - 4);
    rows("M", xA - 5, yC);
    if (px.K >= 12) rows("K", xB - 5, topB);
    const titles = tl.svg("g", {}, ...write(xB, topB - TICKS - (titleB.length - 1) * LINE - 3, titleB), ...write(Math.max(0, Math.min(xA, xB - GAP - Math.max(...titleA.map(wide)))), yC - TICKS - (titleA.length - 1) * LINE - 4, titleA));
    titles.append(...write(xB, yC + px.M + LINE, titleC));
    bases.push({ el: rulers, x: 0, y: 0 });
    const right = Math.max(xB + px.N, xB + Math.max(...titleB.map(wide), ...titleC.map(wide)));
    return { scales, bases, titles, fixed: { even }, size: { width: Math.min(width, Math.ceil(right) + 2), height: yC + px.M + titleC.length * LINE + 4 } };
  };

  return { productPicture };
})());
