// The tile picture as strips and matrices: chooses a program, a pass, a lane, and draws what they do.
//
//   tl.tilesMount(ui, shared) -> { draw(width), update(data), turn(), destroy() };  shared: { program, byHand, picture, turn(picture) } of tiles.js
Object.assign(tl, (() => {
  const tilesMount = (ui, shared) => {
    const stop = new AbortController();
    let model, program, lane, hovered, pass, kind;
    let svg = null, baseLayer = null, paints = null, parts = [], cache = new Map(), cachedWidth = 0, held = 0;
    let sliders = [], laneSlider = null, passSlider = null;
    const readout = tl.html("p", { class: "tl-note tl-readout", "aria-live": "polite" });

    const lanesNow = () => Math.max(1, ...model.now(program, pass).map((t) => t.site.lanes));

    const choose = (number, more = {}) => {
      const last = Math.max(0, model.programs - 1);
      program = Math.max(0, Math.min(last, number));
      if (more.pass !== undefined) pass = more.pass;
      pass = Math.max(0, Math.min(pass, model.passes(program) - 1));
      shared.byHand = true;
      shared.program = program;
      sync();
      ui.redraw();
    };
    const chooseLane = (n) => {
      lane = n < 0 ? null : Math.min(n, lanesNow() - 1);
      sync();
      ui.redraw();
    };
    const sync = () => {
      const pid = model.pid(program);
      sliders.forEach((s, axis) => s.set(sliders.length === 1 ? program : pid[axis]));
      sliders.forEach((s) => { s.el.hidden = Number(s.input.max) < 1; });
      const passes = model.passes(program);
      passSlider.el.hidden = passes < 2;
      passSlider.range(0, passes - 1);
      passSlider.set(pass);
      const lanes = lanesNow();
      laneSlider.el.hidden = lanes < 2;
      if (lane !== null && lane >= lanes) lane = null;
      laneSlider.range(-1, lanes - 1);
      laneSlider.set(lane === null ? -1 : lane);
    };

    const buildControls = () => {
      const { grid } = model;
      const axes = grid[2] > 1 ? 3 : grid[1] > 1 ? 2 : 1;
      sliders = axes === 1
        ? [tl.slider({ label: "Program", min: 0, max: Math.max(0, model.programs - 1), value: 0, text: (v) => `${v} (0…${Math.max(0, model.programs - 1)})`, onInput: (v) => choose(v) })]
        : Array.from({ length: axes }, (_, axis) => tl.slider({
          label: `Program axis ${axis}`, min: 0, max: grid[axis] - 1, value: 0, text: (v) => `${v} (0…${grid[axis] - 1})`,
          onInput: (v) => {
            const pid = model.pid(program);
            pid[axis] = v;
            choose(pid[0] + grid[0] * (pid[1] + grid[1] * pid[2]));
          },
        }));
      passSlider = tl.slider({ label: "Pass", min: 0, max: 1, value: 0, text: (v) => `${v + 1} of ${model.passes(program)}`, onInput: (v) => choose(program, { pass: v }) });
      laneSlider = tl.slider({ label: "Lane", min: -1, max: 1, value: -1, text: (v) => (v < 0 ? "none" : String(v)), onInput: chooseLane });
      const matrices = model.args.some((a) => tl.isMatrix(a));
      const pictures = matrices
        ? [tl.choice({ label: "Picture", options: [...(model.data.product ? [["product", "product"]] : []), ["matrix", "matrix"], ["memory", "memory"]], value: kind, onChange: (v) => shared.turn(v) })]
        : [];
      ui.controls.replaceChildren(...[...sliders, passSlider, laneSlider].map((s) => s.el), ...pictures.map((p) => p.el));
    };

    const buildNotes = () => {
      const states = new Set();
      for (const arg of model.args) {
        for (const t of arg.touches) {
          const c = tl.touchCounts(t);
          if (c.masked) states.add("masked");
          if (c.bad) states.add("bad");
          if (states.size === 3) break;
        }
      }
      const key = tl.legend([["on", "lane on"], ...(states.has("masked") ? [["masked", "lane masked off"]] : []), ...(states.has("bad") ? [["bad", "lane out of range"]] : []), ["past", "not in the tensor"]]);
      key.hidden = !model.programs;
      readout.hidden = !model.programs;
      const notes = tl.tileNotes(model).map((n) => tl.html("p", { class: n.bad ? "tl-note tl-warn" : "tl-note" }, ...tl.rich(n.text)));
      ui.notes.replaceChildren(key, ...notes);
      ui.footer.replaceChildren(readout);
    };

    const load = (data, fresh) => {
      model = tl.tileModel(data);
      cache = new Map();
      held = 0;
      if (fresh || !shared.byHand) {
        program = (shared.byHand ? shared.program : data.start) ?? (fresh ? 0 : program); // nothing stands out: what was looked at stays
        pass = 0;
      }
      if (fresh) lane = null;
      kind = shared.picture;
      hovered = null;
      program = Math.max(0, Math.min(program, model.programs - 1));
      pass = Math.max(0, Math.min(pass, model.passes(program) - 1));
      buildControls();
      buildNotes();
      sync();
    };

    const describe = () => {
      if (readout.hidden) return;
      const at = hovered ? hovered.lane : lane;
      if (at === null || at === undefined) {
        readout.replaceChildren(...tl.rich("← → choose a program, ↑ ↓ a lane; click a tile; point at a lane for its offset and value."));
        return;
      }
      const said = model.now(program, pass).filter((t) => at < t.site.lanes).map((t) => {
        const { where, does } = tl.laneDoes(t, at);
        return `\`${where}\` ${does}`;
      });
      readout.replaceChildren(...tl.rich(`Lane ${at}: ${said.join(" · ")}`));
    };

    const draw = (width) => {
      if (cachedWidth !== width || !svg) {
        svg = tl.canvas(width, 10, "");
        paints = tl.paints(svg);
        baseLayer = tl.svg("g");
        svg.append(baseLayer);
        ui.picture.replaceChildren(svg);
        cache = new Map();
        cachedWidth = width;
        held = 0;
      }
      const body = tl.svg("g", { class: "tl-body" });
      const touches = model.programs ? model.now(program, pass) : [];
      const shownLane = hovered && hovered.lane !== undefined ? hovered.lane : lane;
      const common = { model, program, touches, lane: shownLane, width, paints, cache };
      parts = [];
      const bases = [];
      let y = 2;
      const place = (made, x) => {
        made.el.setAttribute("transform", `translate(${x} ${y})`);
        body.append(made.el);
        for (const base of made.bases) bases.push({ el: base.el, at: `translate(${x + base.x} ${y + base.y})` });
        parts.push({ made, x, y });
      };
      const asMatrix = model.args.filter((a) => kind === "matrix" && tl.isMatrix(a));
      const asStrip = model.args.filter((a) => !asMatrix.includes(a));
      const strips = (list) => {
        for (const arg of list) {
          const made = tl.memoryPicture({ ...common, arg });
          place({ ...made, arg }, 0);
          y += made.height + 12;
        }
      };
      strips(asStrip.filter((a) => !a.touches.some((t) => t.site.kind !== "load")));
      const across = width >= 680 ? Math.min(3, asMatrix.length) : width >= 420 ? Math.min(2, asMatrix.length) : 1;
      for (let i = 0; i < asMatrix.length; i += across) {
        const row = asMatrix.slice(i, i + across);
        const each = Math.floor((width - 18 * (across - 1)) / across);
        const made = row.map((arg) => ({ ...tl.matrixPicture({ ...common, arg, width: each }), arg }));
        made.forEach((m, k) => place(m, k * (each + 18)));
        y += Math.max(...made.map((m) => m.height)) + 12;
      }
      strips(asStrip.filter((a) => a.touches.some((t) => t.site.kind !== "load")));
      if (!model.args.length) body.append(tl.label(0, 20, "The kernel takes no tensor.", { "text-anchor": "start" }));
      const height = held = Math.max(30, y - 8, held); // the controls below shall not move from program to program
      svg.setAttribute("height", height);
      svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      if (bases.length !== baseLayer.childNodes.length || bases.some((b, i) => baseLayer.childNodes[i] !== b.el)) baseLayer.replaceChildren(...bases.map((b) => b.el));
      for (const { el, at } of bases) if (el.getAttribute("transform") !== at) el.setAttribute("transform", at);
      svg.querySelector(":scope > .tl-body")?.remove();
      svg.append(body);
      const sentence = model.programs ? tl.tileSentence(model, program, pass) : "The grid is empty: no program ran.";
      ui.say(sentence);
      tl.relabel(svg, `Tile picture. ${sentence.replaceAll("`", "")}`);
      describe();
    };

    // What is under the pointer: { part, hit }.
    const under = (event) => {
      const box = svg.getBoundingClientRect();
      const x = event.clientX - box.left, y = event.clientY - box.top;
      for (const { made, x: left, y: top } of parts) {
        const width = made.width || Infinity;
        if (x < left || x > left + width || y < top || y > top + made.height) continue;
        const hit = made.hit(x - left, y - top);
        if (hit) return { arg: made.arg, hit };
      }
      return null;
    };
    const pick = (event) => {
      const found = under(event);
      if (!found) return false;
      const { arg, hit } = found;
      if (hit.touch && !hit.tile) {
        chooseLane(hit.lane);
        return true;
      }
      const programs = tl.programsAt(arg, hit.offset);
      if (!programs.length) return false;
      if (!programs.includes(program) || event.type === "pointerdown") {
        const next = programs.includes(program) ? programs[(programs.indexOf(program) + 1) % programs.length] : programs[0];
        const own = model.of(next).find((t) => t.arg === arg && tl.touchSegments(t).some((s) => { const [a, b] = tl.segmentEnds(s); return s.state === "on" && a <= hit.offset && hit.offset <= b; }));
        choose(next, { pass: own ? own.nth : 0 });
      }
      return true;
    };
    let dragging = false;
    const onDown = (event) => {
      if (event.button !== 0) return;
      ui.picture.focus({ preventScroll: true });
      dragging = pick(event);
    };
    const onMove = (event) => {
      if (dragging && event.buttons & 1) {
        const found = under(event);
        if (found && (found.hit.tile || !found.hit.touch)) pick(event);
      } else dragging = false;
      const found = under(event);
      const before = hovered && hovered.lane;
      hovered = found && found.hit.touch ? { lane: found.hit.lane } : null;
      if (!found) ui.tip.hide();
      else {
        const { arg, hit } = found;
        const index = hit.index ? ` (row ${hit.index[0]}, column ${hit.index[1]})` : "";
        if (hit.touch) {
          const { where, does } = tl.laneDoes(hit.touch, hit.lane);
          const source = model.data.lines[`${hit.touch.site.function}:${hit.touch.site.line}`];
          ui.tip.show(`${tl.laneName(hit.touch, hit.lane)} of program ${model.name(program)}\n${where}${index}\n${does}${source ? `\nline ${hit.touch.site.line}: ${source}` : ""}`, event);
        } else {
          const programs = tl.programsAt(arg, hit.offset);
          const names = programs.slice(0, 6).map(model.name).join(", ") + (programs.length > 6 ? `, … (${programs.length})` : "");
          const inside = tl.valid(arg, hit.offset);
          const belongs = programs.length ? `touched by program${programs.length > 1 ? "s" : ""} ${names}` : inside ? "touched by no program" : hit.offset >= arg.storage[0] && hit.offset < arg.storage[1] ? "not an element of this tensor, but inside its allocation" : "outside the tensor";
          ui.tip.show(`${arg.name}[${hit.offset}]${index}\n${belongs}`, event);
        }
      }
      if ((hovered && hovered.lane) !== before) ui.redraw();
    };
    const onLeave = () => {
      dragging = false;
      ui.tip.hide();
      if (hovered) {
        hovered = null;
        ui.redraw();
      }
    };
    const onKey = (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      const many = Math.max(2, Math.round(model.programs / 10));
      const moves = {
        ArrowRight: () => choose(program + 1), ArrowLeft: () => choose(program - 1),
        PageDown: () => choose(program + many), PageUp: () => choose(program - many),
        Home: () => choose(0), End: () => choose(model.programs - 1),
        ArrowDown: () => chooseLane(lane === null ? 0 : lane + 1), ArrowUp: () => chooseLane(lane === null ? -1 : lane - 1),
        Escape: () => chooseLane(-1),
      };
      if (!moves[event.key]) return;
      event.preventDefault();
      event.stopPropagation();
      moves[event.key]();
    };
    ui.picture.tabIndex = 0;
    ui.picture.setAttribute("role", "group");
    ui.picture.setAttribute("aria-label", "Tiles: left and right choose a program, up and down a lane");
    ui.picture.addEventListener("pointerdown", onDown, { signal: stop.signal });
    ui.picture.addEventListener("pointermove", onMove, { signal: stop.signal });
    ui.picture.addEventListener("pointerleave", onLeave, { signal: stop.signal });
    ui.picture.addEventListener("keydown", onKey, { signal: stop.signal });

    load(ui.data, true);
    // For tests: what is drawn at a point of the picture, and the choice.
    ui.root.tlTiles = { get program() { return program; }, get lane() { return lane; }, get pass() { return pass; }, choose, get model() { return model; }, under, drawNow: () => draw(cachedWidth) };
    return { draw, update: (data) => load(data, false), turn: () => { kind = shared.picture; held = 0; ui.redraw(); }, destroy: () => stop.abort() };
  };
  return { tilesMount };
})());
