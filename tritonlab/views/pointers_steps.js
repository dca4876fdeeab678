// How the pointers came to be: one card an expression, in the order in which they are evaluated, with its shape and values.
// The chosen lane is ringed in each block at the place that broadcasting pairs with it.
//
//   tl.pointerSteps({ model, access, arg, lane, palette, width }) -> HTML element
Object.assign(tl, (() => {
  const ROW = 16, WIDEST = 400, USUAL = 278, TALLEST = 16;
  const show = (shape) => `(${shape.join(", ")}${shape.length === 1 ? "," : ""})`;

  // Cells with numbers; the shape that broadcasting stretches the block to is drawn around it.
  const cells = (model, stage, block, lane, most, label) => {
    const rows = stage.shape.length < 2 ? 1 : stage.shape[0], cols = stage.shape[stage.shape.length - 1];
    const digits = Math.max(...Array.from(block.flat, (v) => String(v).length));
    const cw = Math.max(22, digits * 6.6 + 8);
    if (stage.shape.length > 2 || rows > TALLEST || cols * cw > most || block.kept !== block.size) return null;
    const wide = stage.wide && stage.wide.length === 2 ? stage.wide : null;
    const [R, C] = wide && wide[1] * cw <= most && wide[0] <= TALLEST ? [Math.max(rows, wide[0]), Math.max(cols, wide[1])] : [rows, cols];
    const svg = tl.canvas(C * cw + 2, R * ROW + 2, label);
    let ghost = "";
    for (let r = 0; r < R; r++) for (let c = 0; c < C; c++) {
      const stretched = r >= rows || c >= cols;
      const own = (rows === 1 ? 0 : r) * cols + (cols === 1 ? 0 : c);
      if (stretched) ghost += `M${1 + c * cw} ${1 + r * ROW}h${cw}v${ROW}h${-cw}z`;
      else svg.append(tl.svg("rect", { x: 1 + c * cw, y: 1 + r * ROW, width: cw, height: ROW, fill: "var(--tl-cell)", stroke: "var(--tl-line-2)", "stroke-width": 0.7 }));
      svg.append(tl.label(1 + (c + 0.5) * cw, 1 + r * ROW + 12, String(block.flat[own]), { "font-size": 11, class: stretched ? "tl-faint" : "tl-mono-number" }));
    }
    if (ghost) svg.append(tl.svg("path", { d: ghost, fill: "none", stroke: "var(--tl-line)", "stroke-width": 0.8, "stroke-dasharray": "2 2" }));
    if (lane >= 0) {
      const r = stage.shape.length < 2 ? 0 : Math.floor(lane / cols), c = lane % cols;
      svg.append(tl.svg("rect", { x: 1 + c * cw, y: 1 + r * ROW, width: cw, height: ROW, rx: 2, fill: "none", stroke: "var(--tl-ink)", "stroke-width": 2.2, class: "tl-ring" }));
    }
    return svg;
  };

  const card = ({ model, access, arg, lane, palette, width }, stage, k) => {
    const block = model.block(stage.values);
    const own = lane === null || lane === undefined ? -1 : model.paired(access, stage.shape, lane, stage.axes);
    const pointer = stage.arg !== null;
    const label = `${stage.text}: shape ${stage.shape.join(" × ")}, ${pointer ? "offsets" : "values"} ${block.low}…${block.high}`;
    const most = Math.min(WIDEST, width - 26);
    let picture = cells(model, stage, block, own, most, label);
    if (!picture) {
      picture = tl.html("canvas", { role: "img", "aria-label": label, class: "tl-block" });
      tlPictures.draw(picture, block, Math.min(USUAL, most), palette, { kind: "numbers", reach: pointer ? arg.extent : undefined, lane: own });
    }
    const filled = stage.filled !== stage.text && !stage.text.endsWith(` ${stage.filled}`) ? tl.html("div", { class: "tl-filled" }, tl.html("code", {}, `= ${stage.filled.replace(/^\w+ [+-]= /, "")}`)) : null;
    const value = own >= 0 ? `, here ${pointer ? `${stage.arg} + ` : ""}${block.flat[own]}` : "";
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
      tl.html("ol", { class: "tl-stages" }, access.stages.map((stage, k) => card(spec, stage, k))));
  };
  return { pointerSteps };
})());
