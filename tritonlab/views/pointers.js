// The pointer picture: chooses a variant, an argument, a program, an access and a lane, and links the lane's index with its place in memory.
export default tl.view({
  name: "pointers",
  mount(ui) {
    const { html } = tl, W = tl.pointerWords;
    let model, variant, arg, program, turn, lane = null, hovered = null, byHand = false;
    let svg = null, paints = null, parts = {}, tallest = 0, widest = 0, below = false, drawnWidth = 0, palette = null;
    let variantChoice = null, argChoice = null, programSlider, accessSlider;
    const formula = html("div", { class: "tl-formula" });
    const steps = html("div", { class: "tl-how" });
    const holder = html("div", { class: "tl-pictures" });
    ui.picture.append(holder, formula);
    const ended = html("p", { class: "tl-note tl-ended" });
    ui.footer.append(ended, steps);

    const forget = () => {
      tallest = widest = 0;
      below = false;
      formula.style.minHeight = "";
    };
    const list = () => model.accesses(variant, program.number, arg.name);
    const access = () => list()[turn];
    const having = () => variant.programs.filter((p) => p.accesses.some((a) => a.arg === arg.name));

    // The lane to begin with: the first that goes wrong, else one inside the block, else the first.
    const begin = () => {
      const a = access(), n = model.lanesOf(a);
      const state = (k) => model.number(a.state, k);
      for (const wanted of [3, 2]) for (let k = 0; k < n; k++) if (state(k) === wanted) return k;
      const inner = a.shape.reduce((s, size, d) => s * size + Math.min(size - 1, d === a.shape.length - 1 ? 2 : 1), 0);
      if (state(inner) === 1) return inner;
      for (let k = 0; k < n; k++) if (state(k) === 1) return k;
      return 0;
    };
    const settle = (keepLane) => {
      turn = Math.max(0, Math.min(turn, list().length - 1));
      const n = model.lanesOf(access());
      if (!keepLane || lane === null || lane >= n) lane = begin();
      hovered = null;
      sync();
      ui.redraw();
    };
    const setProgram = (p, more = {}) => {
      program = p;
      if (more.turn !== undefined) turn = more.turn;
      settle(more.keepLane);
    };
    const setVariant = (k) => {
      const was = program && program.number, sameArg = arg && model.variants[k].args.find((a) => a.name === arg.name);
      variant = model.variants[k];
      arg = sameArg || variant.args.find((a) => a.name === model.data.arg) || variant.args[0];
      buildArgs();
      const there = having().find((p) => p.number === was);
      if (there && byHand) return setProgram(there, { keepLane: true });
      setProgram(having().find((p) => p.number === variant.start[0]) || having()[0], { turn: variant.start[1] });
    };
    const setArg = (name) => {
      arg = variant.args.find((a) => a.name === name);
      const there = having().find((p) => p.number === program.number) || having()[0];
      forget();
      setProgram(there, { turn: 0 });
    };
    const setTurn = (k) => {
      byHand = true;
      turn = k;
      settle(true);
    };
    const setLane = (k) => {
      lane = k;
      hovered = null;
      show();
    };

    const sync = () => {
      const programs = having();
      programSlider.el.hidden = programs.length < 2;
      programSlider.range(0, programs.length - 1);
      programSlider.set(programs.indexOf(program));
      const n = list().length;
      accessSlider.el.hidden = n < 2;
      accessSlider.range(0, n - 1);
      accessSlider.set(turn);
    };
    const buildArgs = () => {
      const names = variant.args.map((a) => a.name);
      argChoice = names.length < 2 ? null : tl.choice({ label: "Argument", options: names.map((n) => [n, n]), value: arg.name, onChange: setArg });
      ui.controls.replaceChildren(...[variantChoice && variantChoice.el, argChoice && argChoice.el, programSlider.el, accessSlider.el].filter(Boolean));
    };
    const load = (data, fresh) => {
      const was = fresh ? null : { variant: variant.name, arg: arg.name, program: program.number, turn };
      model = tl.pointerModel(data);
      const k = was ? Math.max(0, model.variants.findIndex((v) => v.name === was.variant)) : 0;
      variantChoice = model.variants.length < 2 ? null
        : tl.choice({ label: "Variant", options: model.variants.map((v, i) => [String(i), v.name]), value: String(k), onChange: (i) => setVariant(Number(i)) });
      variant = model.variants[k];
      arg = variant.args.find((a) => a.name === was?.arg) || variant.args.find((a) => a.name === data.arg) || variant.args[0];
      program = having().find((p) => p.number === variant.start[0]) || having()[0];
      turn = variant.start[1];
      const kept = byHand && was && having().find((p) => p.number === was.program);
      if (kept) [program, turn] = [kept, was.turn];
      else {
        byHand = false;
        lane = null;
      }
      programSlider = tl.slider({ label: "Program", min: 0, max: 1, value: 0, text: (i) => `${having()[i]?.name ?? ""} (${i + 1} of ${having().length})`, onInput: (i) => { byHand = true; setProgram(having()[i], { keepLane: true }); } });
      accessSlider = tl.slider({ label: "Access", min: 0, max: 1, value: 0, text: (i) => `${i + 1} of ${list().length}, line ${list()[i]?.line ?? ""}`, onInput: setTurn });
      forget();
      steps.tlAccess = null;
      buildArgs();
      settle(Boolean(kept));
      // For the key: whatever occurs in any variant.
      const all = new Set(model.variants.flatMap((v) => v.programs.flatMap((p) => p.accesses)).flatMap((a) => { const c = model.counts(a); return ["masked", "bad", "astray"].filter((s) => c[s]); }));
      const other = data.compared ? `lane on another element than in “${data.compared}”` : "lane on another element than its index";
      const key = tl.legend([["on", "lane on"], ...(all.has("masked") ? [["masked", "lane masked off"]] : []), ...(all.has("bad") ? [["bad", "lane out of range"]] : []), ...(all.has("astray") ? [["astray", other]] : []), ...(all.has("astray") && data.compared ? [["should", `the lanes’ place in “${data.compared}”`]] : [])]);
      ui.notes.replaceChildren(key, html("p", { class: "tl-note" }, "Point at a lane, or choose it with the arrow keys; Page Up and Page Down go to the access before and after."));
    };

    const term = (t, k) => [html("span", { class: "tl-op" }, t.minus ? "−" : "+"), html("span", { class: "tl-term" }, html("b", {}, t.value), html("code", {}, t.text))];
    const tell = () => {
      const a = access(), at = model.lane(a, arg, hovered ?? lane);
      const who = a.shape.length < 2 ? `lane ${at.lane}` : `lane (${at.at.join(", ")})`;
      const made = W.terms(model, a, at.lane);
      const own = made.length
        ? [html("span", { class: "tl-term" }, html("b", {}, arg.name), html("code", {}, "pointer")), ...made.flatMap(term), html("span", { class: "tl-op" }, "="), html("span", { class: "tl-term" }, html("b", {}, `${arg.name} + ${at.offset}`), html("code", {}, who))]
        : [html("span", { class: "tl-term" }, html("b", {}, `${arg.name} + ${at.offset}`), html("code", {}, who))];
      const fate = W.fate(model, variant, a, arg, at);
      formula.replaceChildren(html("div", { class: "tl-terms" }, ...own), html("p", { class: fate.bad ? "tl-fate tl-warn" : "tl-fate" }, ...tl.rich(fate.text)));
      if (steps.tlWidth !== drawnWidth || steps.tlAccess !== a || steps.tlLane !== at.lane) {
        steps.replaceChildren(tl.pointerSteps({ model, access: a, arg, lane: at.lane, palette, width: drawnWidth }));
        Object.assign(steps, { tlWidth: drawnWidth, tlAccess: a, tlLane: at.lane });
      }
    };

    // Everything that depends on the lane only is drawn on top of what stays.
    const show = () => draw(drawnWidth);
    const draw = (width) => {
      if (!svg || width !== drawnWidth) {
        svg = tl.canvas(width, 10, "");
        paints = tl.paints(svg);
        palette = tlPictures.palette(ui.root, program.number);
        holder.replaceChildren(svg);
        drawnWidth = width;
        forget();
        steps.tlAccess = null;
      }
      const a = access(), chosen = hovered ?? lane;
      const lanes = model.all(a, arg);
      const common = { model, arg, access: a, program: program.number, lanes, lane: chosen, paints, width };
      const matrix = tl.pointerMatrix(common);
      const strip = tl.pointerStrip(common);
      const body = tl.svg("g", { class: "tl-body" });
      const title = tl.svg("text", { x: 0, y: 13, "font-size": 13, "font-weight": 600, class: "tl-mono" }, arg.name,
        tl.svg("tspan", { dx: 8, "font-size": 11.5, "font-weight": 400, style: "fill:var(--tl-ink-2);font-family:var(--tl-font)" }, `${arg.dtype}[${arg.shape.join(", ")}] · strides ${W.tuple(arg.strides)}`));
      const y1 = 24;
      tallest = Math.max(tallest, matrix.height);
      widest = Math.max(widest, matrix.width);
      const y2 = y1 + tallest + 22;
      matrix.el.setAttribute("transform", `translate(0 ${y1})`);
      strip.el.setAttribute("transform", `translate(0 ${y2})`);
      body.append(title, matrix.el, strip.el);
      const from = matrix.centre(chosen), to = strip.at(chosen);
      if (from && to) {
        const [ax, ay, bx, by] = [from.x, from.y + y1, to.x, to.y + y2];
        // from below the matrix, in the lane's column: through it, the line would cross the numbers
        const foot = Math.max(ay, y1 + matrix.height - 6), mid = (foot + by) / 2;
        body.append(tl.svg("path", { d: `M${ax} ${foot}C${ax} ${mid} ${bx} ${mid} ${bx} ${by - 1}V${by + 18}`, fill: "none", stroke: "var(--tl-ink)", "stroke-width": 1.4, "stroke-dasharray": "5 3", class: "tl-link", "pointer-events": "none" }));
      }
      matrix.over.setAttribute("transform", `translate(0 ${y1})`);
      body.append(matrix.over);
      parts = { matrix, strip, y1, y2 };
      const height = y2 + strip.height;
      svg.setAttribute("height", height);
      svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      svg.querySelector(":scope > .tl-body")?.remove();
      svg.append(body);
      const sentence = W.sentence(model, variant, program, a, arg, turn, list().length);
      ui.say(sentence);
      tl.relabel(svg, `Index against memory. ${sentence.replaceAll("`", "")}`);
      const left = [];
      if (variant.error) left.push(`The launch ended by an error: ${variant.error}`);
      if (variant.left_out) left.push(`${tl.count(variant.left_out, "more program")} not kept in this view.`);
      ended.textContent = left.join(" ");
      ended.classList.toggle("tl-warn", Boolean(variant.error));
      ended.hidden = !left.length;
      tell();
      seat(y1 + 40, y2, width);
    };
    // The arithmetic stands beside the matrix where there is room for it, else below; it never gets lower while exploring.
    const seat = (top, bottom, width) => {
      const place = (beside) => {
        formula.classList.toggle("tl-beside", beside);
        formula.classList.toggle("tl-listed", beside);
        formula.style.left = beside ? `${widest + 24}px` : "";
        formula.style.top = beside ? `${top}px` : "";
      };
      if (!below) {
        formula.style.minHeight = "";
        place(true);
        if (width - widest - 24 >= 330 && formula.offsetHeight <= bottom - top - 6) return;
        below = true;
      }
      place(false);
      formula.classList.toggle("tl-listed", width < 560);
      formula.style.minHeight = `${Math.max(formula.offsetHeight, parseFloat(formula.style.minHeight) || 0)}px`;
    };

    const under = (event) => {
      const box = svg.getBoundingClientRect();
      const x = event.clientX - box.left, y = event.clientY - box.top;
      const m = parts.matrix.hit(x, y - parts.y1);
      if (m) return { lane: m.lanes[0], matrix: m };
      const s = parts.strip.hit(x, y - parts.y2);
      if (!s) return null;
      if (s.lane !== undefined) return { lane: s.lane, offset: s.offset };
      const found = model.all(access(), arg).find((l) => l.offset === s.offset && l.state !== "masked");
      return { lane: found?.lane, offset: s.offset };
    };
    const onMove = (event) => {
      const found = under(event);
      const next = found && found.lane !== undefined ? found.lane : null;
      if (next !== hovered) {
        hovered = next;
        ui.redraw();
      }
      if (found && next === null && (found.matrix ? found.matrix.inside : tl.valid(arg, found.offset))) {
        const offset = found.matrix ? found.matrix.offset : found.offset;
        ui.tip.show(`${found.matrix ? `${W.element(arg, found.matrix.index)} at ` : ""}offset ${offset}: no lane of this access`, event);
      } else ui.tip.hide();
    };
    const onDown = (event) => {
      if (event.button !== 0) return;
      ui.picture.focus({ preventScroll: true });
      const found = under(event);
      if (found && found.lane !== undefined) setLane(found.lane);
    };
    const onLeave = () => {
      ui.tip.hide();
      if (hovered === null) return;
      hovered = null;
      ui.redraw();
    };
    const onKey = (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      const shape = access().shape, at = model.index(shape, lane);
      const move = (axis, by) => {
        const d = shape.length - 1 - axis;
        if (d < 0) return;
        at[d] = Math.max(0, Math.min(shape[d] - 1, at[d] + by));
        setLane(at.reduce((s, v, k) => s * shape[k] + v, 0));
      };
      const turnBy = (by) => { const k = Math.max(0, Math.min(list().length - 1, turn + by)); if (k !== turn) setTurn(k); };
      const moves = {
        ArrowRight: () => move(0, 1), ArrowLeft: () => move(0, -1), ArrowDown: () => move(shape.length < 2 ? 0 : 1, 1), ArrowUp: () => move(shape.length < 2 ? 0 : 1, -1),
        Home: () => setLane(0), End: () => setLane(model.lanesOf(access()) - 1), PageDown: () => turnBy(1), PageUp: () => turnBy(-1),
      };
      if (!moves[event.key]) return;
      event.preventDefault();
      event.stopPropagation();
      moves[event.key]();
    };
    ui.picture.tabIndex = 0;
    ui.picture.setAttribute("role", "group");
    ui.picture.setAttribute("aria-label", "Pointers: arrows choose a lane of the block, Page Up and Page Down the access");
    holder.addEventListener("pointerdown", onDown);
    holder.addEventListener("pointermove", onMove);
    holder.addEventListener("pointerleave", onLeave);
    ui.picture.addEventListener("keydown", onKey);
    const theme = new MutationObserver(() => { svg = null; ui.redraw(); });
    theme.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "class"] });
    load(ui.data, true);
    // For tests: the choice.
    ui.root.tlPointers = { get model() { return model; }, get variant() { return variant.name; }, get program() { return program.number; }, get turn() { return turn; }, get lane() { return hovered ?? lane; }, get arg() { return arg.name; } };
    return { draw, update: (data) => load(data, false), destroy: () => theme.disconnect() };
  },
});
