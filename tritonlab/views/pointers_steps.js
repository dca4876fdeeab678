// How the pointers came to be: one card an expression, in the order in which they are evaluated, with its shape and values.
// The chosen lane is ringed in each block at the place that broadcasting pairs with it.
//
//   tl.pointerSteps({ model, access, arg, lane, palette, width }) -> HTML element
Object.assign(tl, (() => {
  const ROW = 16, GAP = 12, WIDEST = 400, USUAL = 278, TALLEST = 8;
  const show = (shape) => `(${shape.join(", ")}${shape.length === 1 ? "," : ""})`;

  // Which of n indices are written out: all, or the first three, the chosen one and the last, with -1 for what is left out between.
  const chosenFew = (n, most, chosen) => {
    if (n <= most) return Array.from({ length: n }, (_, k) => k);
    const few = [...new Set([0, 1, 2, ...(chosen >= 0 ? [chosen] : []), n - 1])].sort((p, q) => p - q);
    return few.flatMap((k, at) => (at && k > few[at - 1] + 1 ? [-1, k] : [k]));
  };

  // Cells with numbers; the shape that broadcasting stretches the block to is drawn around it, dashed.
  const cells = ({ model, access, lane, width }, stage, block, label) => {
    if (stage.shape.length > 2 || block.kept !== block.size) return null;
    const most = Math.min(WIDEST, width - 26);
    const [rows, cols] = [stage.shape.length < 2 ? 1 : stage.shape[0], stage.shape[stage.shape.length - 1]];
    const [R, C] = stage.wide && stage.wide.length === 2 ? stage.wide : [rows, cols];
    const cw = Math.max(22, Math.max(String(block.low).length, String(block.high).length) * 6.6 + 8);
    const index = model.index(access.shape, lane), last = stage.axes.length - 1;
    const here = (d) => index[stage.axes[d]] ?? -1;
    const down = chosenFew(R, TALLEST, stage.shape.length > 1 ? here(last - 1) : -1);
    const across = chosenFew(C, Math.floor(most / cw), here(last));
    const run = (list, size) => list.reduce((at, k) => [...at, at[at.length - 1] + (k < 0 ? GAP : size)], [1]);
    const x = run(across, cw), y = run(down, ROW);
    const svg = tl.canvas(x[across.length] + 1, y[down.length] + 1, label);
    let ghost = "", ring = null;
    down.forEach((r, p) => across.forEach((c, q) => {
      const stretched = r >= rows || c >= cols;
      if (r < 0 || c < 0) {
        if (r < 0 ? c >= 0 && (c < cols || cols === 1 && c === 0) : r < rows) svg.append(tl.label((x[q] + x[q + 1]) / 2, (y[p] + y[p + 1]) / 2 + 4, r < 0 ? "⋮" : "…", { "font-size": 11, class: "tl-quiet" }));
        return;
      }
      const own = (rows === 1 ? 0 : r) * cols + (cols === 1 ? 0 : c);
      if (stretched) ghost += `M${x[q]} ${y[p]}h${cw}v${ROW}h${-cw}z`;
      else svg.append(tl.svg("rect", { x: x[q], y: y[p], width: cw, height: ROW, fill: "var(--tl-cell)", stroke: "var(--tl-line-2)", "stroke-width": 0.7 }));
      svg.append(tl.label(x[q] + cw / 2, y[p] + 12, String(block.flat[own]), { "font-size": 11, class: stretched ? "tl-faint" : null }));
      if (!stretched && (rows === 1 || r === here(last - 1)) && (cols === 1 || c === here(last))) ring = [x[q], y[p]];
    }));
    if (ghost) svg.append(tl.svg("path", { d: ghost, fill: "none", stroke: "var(--tl-line)", "stroke-width": 0.8, "stroke-dasharray": "2 2" }));
    if (ring) svg.append(tl.svg("rect", { x: ring[0], y: ring[1], width: cw, height: ROW, rx: 2, fill: "none", stroke: "var(--tl-ink)", "stroke-width": 2.2, class: "tl-ring" }));
    return svg;
  };

  const card = (spec, stage) => {
    const { model, access, arg, lane, palette, width } = spec;
    const block = model.block(stage.values);
    const own = model.paired(access, stage.shape, lane, stage.axes);
    const pointer = stage.arg !== null;
    const label = `${stage.text}: shape ${stage.shape.join(" × ")}, ${pointer ? "offsets" : "values"} ${block.low}…${block.high}`;
    let picture = cells(spec, stage, block, label);
    if (!picture) {
      picture = tl.html("canvas", { role: "img", "aria-label": label, class: "tl-block" });
      tlPictures.draw(picture, block, Math.min(USUAL, width - 26), palette, { kind: "numbers", reach: pointer ? arg.extent : undefined, lane: own });
    }
    const filled = stage.filled !== stage.text && !stage.text.endsWith(` ${stage.filled}`) ? tl.html("div", { class: "tl-filled" }, tl.html("code", {}, `= ${stage.filled.replace(/^\w+ [+-]= /, "")}`)) : null;
    const value = `, here ${pointer ? `${stage.arg} + ` : ""}${block.flat[own]}`;
    const stretched = stage.wide ? ` → stretched to ${show(stage.wide)}` : "";
    return tl.html("li", { class: `tl-stage-card${parseFloat(picture.getAttribute("width") || 0) > USUAL ? " tl-broad" : ""}` },
      tl.html("div", { class: "tl-stage-head" }, tl.html("code", {}, stage.text), stage.times > 1 ? tl.html("b", {}, ` ×${stage.times}`) : null),
      filled, picture,
      tl.html("div", { class: "tl-stage-foot" }, tl.html("b", {}, show(stage.shape)), stretched, ` · ${pointer ? "pointers, " : ""}line ${stage.line}`, tl.html("span", { class: "tl-here" }, value)));
  };

  const pointerSteps = (spec) => {
    const { access } = spec;
    if (!access.stages.length) {
      const why = /not stepped/.test(access.note) ? "This program was not stepped: trace it with step=… to see how its pointers were built." : access.note ? `How these pointers were built is not shown: ${access.note}.` : "";
      return tl.html("p", { class: "tl-note" }, why);
    }
    return tl.html("div", {}, tl.html("p", { class: "tl-head" }, "How the pointers came to be, expression by expression"),
      tl.html("ol", { class: "tl-stages" }, access.stages.map((stage) => card(spec, stage))));
  };
  return { pointerSteps };
})());
