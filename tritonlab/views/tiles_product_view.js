// The matmul picture's controls: program, K step, lane. Mounted by tiles.js while the picture is "product".
//
//   tl.productMount(ui, shared) -> { draw(width), update(data), destroy() };  shared: { program, picture, turn(picture) } of tiles.js
Object.assign(tl, (() => {
  const productMount = (ui, shared) => {
    const stop = new AbortController();
    let model, program = 0, stage = 0, lane = null, side = "a", hovered = null;
    let svg = null, baseLayer = null, paints = null, made = null, cache = new Map(), cachedWidth = 0;
    let sliders = [], stepSlider = null, laneSlider = null, back = null, forth = null;
    const readout = tl.html("p", { class: "tl-note tl-readout", "aria-live": "polite" });
    const drawing = tl.html("div", { class: "tl-drawing" });
    const counts = tl.html("div", { class: "tl-counts-box" });

    const count = () => model.stages(program).length;
    const touchesOf = () => { const now = model.at(program, stage); return side === "c" ? now.c : now[side]; };
    const choose = (number, at = stage) => {
      program = Math.max(0, Math.min(model.programs - 1, number));
      stage = Math.max(0, Math.min(count() - 1, at));
      shared.program = program;
      shared.byHand = true;
      sync();
      ui.redraw();
    };
    const go = (at) => choose(program, at);
    const chooseLane = (n) => {
      const most = touchesOf()[0]?.site.lanes || 0;
      lane = n < 0 ? null : Math.min(n, most - 1);
      sync();
      ui.redraw();
    };
    const sync = () => {
      const pid = model.pid(program);
      sliders.forEach((s, axis) => {
        s.set(sliders.length === 1 ? program : pid[axis]);
        s.el.hidden = Number(s.input.max) < 1;
      });
      const last = Math.max(0, count() - 1);
      stepSlider.range(0, last);
      stepSlider.set(stage);
      stepSlider.el.hidden = back.hidden = forth.hidden = last < 1;
      back.disabled = stage <= 0;
      forth.disabled = stage >= last;
      const lanes = touchesOf()[0]?.site.lanes || 0;
      if (lane !== null && lane >= lanes) lane = null;
      laneSlider.range(-1, Math.max(0, lanes - 1));
      laneSlider.set(lane === null ? -1 : lane);
      laneSlider.input.disabled = lanes === 0;
    };
    const stepText = (v) => {
      const s = model.stages(program)[v];
      if (!s) return "none";
      return s.store ? "store" : `${s.step + 1} of ${s.of.steps.length}`;
    };
    const buildControls = () => {
      const { grid } = model;
      const axes = grid[2] > 1 ? 3 : grid[1] > 1 ? 2 : 1;
      back = tl.button({ label: "◀ Step", onClick: () => go(stage - 1) });
      forth = tl.button({ label: "Step ▶", onClick: () => go(stage + 1) });
      stepSlider = tl.slider({ label: "K step", min: 0, max: 1, value: 0, text: stepText, onInput: go });
      sliders = Array.from({ length: axes }, (_, axis) => tl.slider({
        label: axes === 1 ? "Program" : `Program axis ${axis}`, min: 0, max: Math.max(0, grid[axis] - 1), value: 0,
        text: (v) => `${v} (0…${Math.max(0, grid[axis] - 1)})`,
        onInput: (v) => {
          const pid = model.pid(program);
          pid[axis] = v;
          choose(pid[0] + grid[0] * (pid[1] + grid[1] * pid[2]));
        },
      }));
      laneSlider = tl.slider({ label: "Lane", min: -1, max: 1, value: -1, text: (v) => (v < 0 ? "none" : String(v)), onInput: chooseLane });
      const which = tl.choice({ label: "of", options: ["a", "b", "c"].map((s) => [s, `${s.toUpperCase()} tile`]), value: side, onChange: (v) => { side = v; chooseLane(lane === null ? -1 : lane); } });
      const pictures = tl.choice({ label: "Picture", options: [["product", "product"], ["matrix", "matrix"], ["memory", "memory"]], value: "product", onChange: (v) => shared.turn(v) });
      ui.controls.replaceChildren(back, forth, ...[stepSlider, ...sliders, laneSlider, which, pictures].map((s) => s.el));
    };
    const buildNotes = () => {
      const states = new Set(model.product.strays ? ["bad"] : []);
      if ([model.a, model.b, model.c].some((arg) => arg.touches.some((t) => tl.touchLanes(t) && t.pattern.lit < t.site.lanes))) states.add("masked");
      const key = tl.legend([["on", "lane on"], ...(states.has("masked") ? [["masked", "lane masked off"]] : []), ...(states.has("bad") ? [["bad", "lane out of range"]] : []), ...(model.product.plans.some((p) => p.tiles.some((t) => t.steps.length > 1)) ? [["streamed", "streamed before"], ["next", "still to come"]] : []), ...(states.size ? [["past", "not in the tensor"]] : [])]);
      key.hidden = !model.programs;
      const quiet = { ...model, args: model.args.map((a) => ({ ...a, touches: model.product.strays ? a.touches : [], touched: { ...a.touched, loads: { shared: 0, most: 0 } } })) };
      const notes = tl.tileNotes(quiet);
      const also = model.product.others;
      if (also.length) notes.push({ text: `It also touches ${also.map((n) => `\`${n}\``).join(", ")}: see the other pictures.` });
      for (const arg of [model.a, model.b, model.c]) {
        if (arg.turned) notes.push({ text: `\`${arg.name}\` is a [${arg.given.shape.join(", ")}] tensor; it is drawn as its transpose, as this product reads it.` });
        if (arg.same.some(Boolean)) notes.push({ text: `\`${arg.name}\` has stride 0: all its ${arg.same[0] ? "rows" : "columns"} are the same memory, drawn as one.` });
      }
      ui.notes.replaceChildren(key, ...notes.map((n) => tl.html("p", { class: n.bad ? "tl-note tl-warn" : "tl-note" }, ...tl.rich(n.text))));
      ui.footer.replaceChildren(readout);
      readout.hidden = !model.programs;
    };
    // Where the program's first lane out of range is; else its beginning.
    const firstStray = () => {
      if (!model.product.strays) return 0;
      const strays = (touches) => touches.some((t) => tl.touchCounts(t).bad);
      return Math.max(0, model.stages(program).findIndex((s, i) => { const now = model.at(program, i); return strays([...now.a, ...now.b]) || (s.store && strays(now.c)); }));
    };
    const load = (data, fresh) => {
      model = tl.productModel(data);
      cache = new Map();
      if (fresh || !shared.byHand) {
        program = shared.program ?? data.start ?? program;
        if (fresh) stage = firstStray();
      }
      program = Math.max(0, Math.min(program, model.programs - 1));
      stage = Math.max(0, Math.min(stage, count() - 1));
      hovered = null;
      svg = null;
      buildControls();
      buildNotes();
      sync();
    };

    const describe = () => {
      const touch = touchesOf()[0];
      if (lane === null || !touch) {
        readout.replaceChildren(...tl.rich("← → step through K, ↑ ↓ choose a program, Shift with an arrow the tile of C beside; click a tile of C, or a step; point at an element to see who else loads it."));
        return;
      }
      let at = null;
      tl.matrixParts.eachLane(touch, (r, c, n, state) => { if (n === lane) at = [r, c, state]; });
      const { arg } = touch, inside = at[0] >= 0 && at[0] < arg.shape[0] && at[1] >= 0 && at[1] < arg.shape[1];
      readout.replaceChildren(...tl.rich(tl.productElement(model, program, { arg, side, index: at, inside, touch, lane, offset: tl.touchLane(touch, lane).offset }).join(" · ")));
    };
    const draw = (width) => {
      if (cachedWidth !== width || !svg) {
        svg = tl.canvas(width, 10, "");
        paints = tl.paints(svg);
        baseLayer = tl.svg("g");
        svg.append(baseLayer);
        drawing.replaceChildren(svg, counts);
        ui.picture.replaceChildren(drawing);
        cache = new Map();
        cachedWidth = width;
      }
      const [m, n, k] = ["M", "N", "K"].map((axis) => model.ranges[axis][1] - model.ranges[axis][0]);
      const beside = width >= 700 && (n + k) / (m + k) < 2.4; // the counts at the right, where the picture leaves room
      made = tl.productPicture({ model, program, stage, lane: lane === null ? null : { arg: model[side], lane }, width: beside ? width - 330 : width, most: width >= 700 ? 380 : 300, paints, cache });
      const body = tl.svg("g", { class: "tl-body" }, made.el);
      svg.setAttribute("width", made.width);
      svg.setAttribute("height", made.height);
      svg.setAttribute("viewBox", `0 0 ${made.width} ${made.height}`);
      if (made.bases.some((b, i) => baseLayer.childNodes[i] !== b.el)) baseLayer.replaceChildren(...made.bases.map((b) => b.el));
      svg.querySelector(":scope > .tl-body")?.remove();
      svg.append(body);
      counts.replaceChildren(tl.productCounts(model, program, stage));
      const sentence = tl.productSentence(model, program, stage);
      ui.say(sentence);
      tl.relabel(svg, `A, B and C of a matmul. ${sentence.replaceAll("`", "")}`);
      describe();
    };

    const under = (event) => {
      if (!svg || !made) return null;
      const box = svg.getBoundingClientRect();
      return made.hit(event.clientX - box.left, event.clientY - box.top);
    };
    const pick = (event) => {
      const hit = under(event);
      if (!hit) return;
      if (hit.stage !== undefined) go(hit.stage);
      else if (hit.inside && hit.side === "c") {
        const programs = model.loaders(hit.arg, ...hit.index);
        if (!programs.length) return;
        const next = programs.includes(program) ? programs[(programs.indexOf(program) + 1) % programs.length] : programs[0];
        const own = model.stages(next), stored = model.stageOf(next, hit.arg, ...hit.index);
        const storing = model.stages(program)[stage]?.store;
        const first = stored < 0 ? 0 : own.findIndex((s) => s.tile === own[stored].tile);
        const step = model.stages(program)[stage]?.step ?? 0;
        choose(next, storing ? stored : Math.min(first + step, stored < 0 ? own.length - 1 : stored));
      } else if (hit.inside) {
        const found = model.stageOf(program, hit.arg, ...hit.index);
        if (found >= 0) go(found);
      }
    };
    const listen = (name, call) => ui.picture.addEventListener(name, call, { signal: stop.signal });
    listen("pointerdown", (event) => {
      if (event.button !== 0) return;
      ui.picture.focus({ preventScroll: true });
      pick(event);
    });
    listen("pointermove", (event) => {
      const hit = under(event);
      hovered = hit;
      if (!hit) return ui.tip.hide();
      if (hit.stage !== undefined) return ui.tip.show(`K step ${stepText(hit.stage)}`.replace("K step store", "store C"), event);
      return ui.tip.show(tl.productElement(model, program, hit).join("\n"), event);
    });
    listen("pointerleave", () => ui.tip.hide());
    listen("keydown", (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      const many = Math.max(2, Math.round(model.programs / 10));
      const beside = (dr, dc) => { const next = model.beside(program, stage, dr, dc); if (next !== null) choose(next); };
      const moves = event.shiftKey
        ? { ArrowRight: () => beside(0, 1), ArrowLeft: () => beside(0, -1), ArrowDown: () => beside(1, 0), ArrowUp: () => beside(-1, 0) }
        : {
          ArrowRight: () => go(stage + 1), ArrowLeft: () => go(stage - 1), Home: () => go(0), End: () => go(count() - 1),
          ArrowDown: () => choose(program + 1), ArrowUp: () => choose(program - 1), PageDown: () => choose(program + many), PageUp: () => choose(program - many),
          Escape: () => chooseLane(-1),
        };
      if (!moves[event.key]) return;
      event.preventDefault();
      event.stopPropagation();
      moves[event.key]();
    });
    ui.picture.tabIndex = 0;
    ui.picture.setAttribute("role", "group");
    ui.picture.setAttribute("aria-label", "Matmul: left and right step through K, up and down choose a program");

    load(ui.data, true);
    ui.root.tlTiles = { get program() { return program; }, get stage() { return stage; }, get lane() { return lane; }, get hovered() { return hovered; }, choose, go, get model() { return model; }, get made() { return made; }, under, drawNow: () => draw(cachedWidth) };
    return { draw, update: (data) => load(data, false), destroy: () => stop.abort() };
  };
  return { productMount };
})());
