// What a panel of the fill picture is drawn from; each takes { model, paints, panel, row, lane } and where to draw.
//
//   tl.fillGrid({ ..., x, y, width, rh })              -> { el, cell, height }   every row's lanes, and its verdict
//   tl.fillHeld({ ..., x, y, width, range })           -> { el, cell }           what the chosen row's lanes hold
//   tl.fillResult({ ..., x, y, width, range })         -> { el, cell, aligned }  what was stored for it, beside the reference
//   tl.fillRange(values, zero)                         -> [low, high] of the finite ones, with 0 among them if asked
//   tl.FILL_CHART                                      height of the two charts
Object.assign(tl, (() => {
  const S = tl.svg, CHART = 52;

  const ruled = (x, y, width, height, cell, lanes) => {
    let d = "";
    if (cell >= 5) for (let i = 1; i < lanes; i++) d += `M${(x + i * cell).toFixed(2)} ${y}v${height}`;
    return S("path", { d, stroke: "var(--tl-bg)", opacity: 0.6 });
  };

  const chip = (x, y, height, text) => {
    const width = text.length * 6.7 + 6;
    return [
      S("rect", { x: x - width / 2, y: y + 1, width, height: height - 4, rx: 2, fill: "var(--tl-bg)" }),
      tl.label(x, y + height / 2 + 3, text, { class: "tl-mono", "font-size": 11 }),
    ];
  };

  const fillGrid = ({ model, paints, panel, row, lane, x: x0, y: y0, width, rh }) => {
    const g = S("g", { class: "tl-rows" });
    const { lanes, rows } = model, cell = width / lanes;
    for (let r = 0; r < rows; r++) {
      const y = y0 + r * rh, chosen = r === row, bad = panel.bad[r];
      for (const run of model.runs(r)) {
        const x = x0 + run.from * cell, w = (run.to - run.from) * cell;
        const looks = run.on ? { fill: paints.program(model.programs[r]), opacity: chosen ? null : 0.5 } : { fill: paints.masked, stroke: "var(--tl-line-2)", "stroke-width": 0.8 };
        g.append(S("rect", { x, y, width: w, height: rh - 2, ...looks, "data-row": r, "data-state": run.on ? "on" : "masked", "data-from": run.from, "data-to": run.to }));
        const text = run.on || rh < 11 ? null : model.common(panel, r, run);
        if (text && text.length * 6.7 + 8 <= w) g.append(...chip(x + w / 2, y, rh, text));
      }
      g.append(ruled(x0, y, width, rh - 2, cell, lanes));
      if (bad || chosen) g.append(S("rect", { x: x0 - 0.5, y: y - 0.5, width: width + 1, height: rh - 1, fill: "none", stroke: bad ? "var(--tl-error)" : "var(--tl-ink)", "stroke-width": chosen ? 2 : 1.2 }));
      if (rh < 9 && !chosen) continue;
      g.append(
        tl.label(x0 - 6, y + rh / 2 + 3, String(r), { class: chosen ? "" : "tl-quiet", "font-weight": chosen ? 700 : 400, "text-anchor": "end", "font-size": 10.5 }),
        tl.label(x0 + width + 5, y + rh / 2 + 3, bad ? "✗" : "✓", { class: bad ? "tl-bad" : "tl-good", "text-anchor": "start", "font-size": 12, "font-weight": 700, "data-verdict": bad ? "poisoned" : "right", "data-row": r }),
      );
    }
    if (lane !== null) g.append(S("rect", { x: x0 + lane * cell, y: y0 + row * rh - 1, width: Math.max(cell, 3), height: rh, fill: "none", stroke: "var(--tl-ink)", "stroke-width": 2 }));
    return { el: g, cell, height: rows * rh };
  };

  const fillRange = (values, zero) => {
    const known = values.filter(Number.isFinite);
    if (zero) known.push(0);
    if (!known.length) return [-1, 1];
    const [lo, hi] = [Math.min(...known), Math.max(...known)];
    return lo === hi ? [lo - 1, hi + 1] : [lo, hi];
  };
  const frame = (x, y, width, [lo, hi], caption) => [
    tl.label(x, y - 5, caption, { "text-anchor": "start", "font-size": 11.5, class: "tl-quiet" }),
    S("rect", { x, y, width, height: CHART, fill: "var(--tl-cell)", opacity: 0.6 }),
    tl.label(x - 5, y + 8, String(Number(hi.toPrecision(2))), { "text-anchor": "end", "font-size": 10, class: "tl-quiet" }),
    tl.label(x - 5, y + CHART, String(Number(lo.toPrecision(2))), { "text-anchor": "end", "font-size": 10, class: "tl-quiet" }),
  ];
  const barWidth = (cell) => Math.max(1, cell - (cell > 4 ? 1 : 0));
  const triangle = (x, y, size, up) => `M${x - size} ${y}L${x + size} ${y}L${x} ${y + (up ? -1.5 : 1.5) * size}z`;

  // Marks at the height of the values; infinities lie at the edge.
  const fillHeld = ({ model, paints, panel, row, x: x0, y: y0, width, range }) => {
    const g = S("g", { class: "tl-held" }, frame(x0, y0, width, range, `row ${row}: its lanes hold`));
    const [lo, hi] = range, cell = width / model.lanes, mark = 5, w = barWidth(cell);
    const y = (v) => y0 + 4 + (CHART - 8 - mark) * (1 - (v - lo) / (hi - lo));
    for (let i = 0; i < model.lanes; i++) {
      const v = Number(model.held(panel, row, i)), on = model.on(row, i), x = x0 + i * cell;
      const color = on ? paints.program(model.programs[row]) : paints.masked;
      if (Number.isFinite(v)) g.append(S("rect", { x, y: y(v), width: w, height: mark, fill: color, stroke: on ? null : "var(--tl-line-2)" }));
      else if (Number.isNaN(v)) g.append(S("rect", { x, y: y0, width: w, height: CHART, fill: paints.error }));
      else g.append(S("path", { d: triangle(x + cell / 2, v > 0 ? y0 + 9 : y0 + CHART - 9, Math.min(5, Math.max(1.5, cell / 2 - 1)), v > 0), fill: on ? color : "var(--tl-line-2)" }));
    }
    return { el: g, cell };
  };

  // Bars of what was stored, the reference as a line across each; under the lanes that stored it, where it is as many.
  const fillResult = ({ model, paints, panel, row, x: x0, y: y0, width, range }) => {
    const g = S("g", { class: "tl-result" }, frame(x0, y0, width, range, `row ${row}: stored in ${model.out}`));
    const mine = model.outs(row), [lo, hi] = range;
    const aligned = mine.length > 1 && mine.every((k) => model.storedLanes[k] < model.lanes);
    const cell = aligned ? width / model.lanes : Math.min(28, width / Math.max(1, mine.length)), w = barWidth(cell);
    const y = (v) => y0 + CHART * (1 - (v - lo) / (hi - lo));
    let odd = null;
    mine.forEach((k, n) => {
      const x = x0 + (aligned ? model.storedLanes[k] : n) * cell, v = Number(panel.result[k]), wrong = Boolean(panel.wrong[k]);
      if (Number.isFinite(v)) {
        const looks = wrong ? { fill: "var(--tl-error-bg)", stroke: "var(--tl-error)" } : { fill: paints.program(model.programs[row]) };
        g.append(S("rect", { x, y: Math.min(y(v), y(0)), width: w, height: Math.max(0.5, Math.abs(y(v) - y(0))), ...looks, "data-out": k }));
      } else {
        g.append(S("rect", { x, y: y0, width: w, height: CHART, fill: wrong ? paints.error : "var(--tl-bg-2)", "data-out": k }));
        odd = odd || tl.number(v);
      }
      const right = model.expected[k];
      if (Number.isFinite(right)) g.append(S("path", { d: `M${x.toFixed(2)} ${y(right).toFixed(2)}h${w.toFixed(2)}`, stroke: "var(--tl-ink)", "stroke-width": 2 }));
    });
    if (odd) g.append(tl.label(x0 + (aligned ? (cell * mine.length) / 2 : cell / 2), y0 + CHART / 2 + 4, odd, { class: "tl-halo tl-mono", "font-weight": 700 }));
    return { el: g, cell, aligned };
  };

  return { fillGrid, fillHeld, fillResult, fillRange, FILL_CHART: CHART };
})());
