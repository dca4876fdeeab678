// The fill picture: a panel for each fill; rows of lanes with what they hold, and the chosen row's result beside the reference.
export default tl.view({
  name: "fill",
  mount(ui) {
    const TOP = 40, LEFT = 40, RIGHT = 20, GAP = 20, CAPTION = 17, CHART = tl.FILL_CHART;
    let model, row = 0, lane = null, hovered = null, byHand = false;
    let picture = null, paints = null, drawnWidth = 0, parts = [], rowSlider = null, laneSlider = null;
    const readout = tl.html("p", { class: "tl-note tl-readout", "aria-live": "polite" });

    const load = (data, fresh) => {
      const which = fresh ? 0 : model.which;
      model = tl.fillModel(data);
      model.choose(which < model.loads.length ? which : 0);
      if (fresh || !byHand || row >= model.rows) {
        const rows = data.programs.map((_, r) => r);
        row = rows.find((r) => model.panels.some((p) => p.bad[r])) ?? rows.find((r) => model.masked(r)) ?? 0;
      }
      hovered = null;
      controls();
      notes();
    };
    const controls = () => {
      const { rows, lanes, loads } = model;
      if (lane !== null && lane >= lanes) lane = null;
      rowSlider = tl.slider({ label: "Row", min: 0, max: rows - 1, value: row, text: (v) => `${v} of ${rows}`, onInput: choose });
      laneSlider = tl.slider({ label: "Lane", min: -1, max: lanes - 1, value: lane ?? -1, text: (v) => (v < 0 ? "none" : String(v)), onInput: chooseLane });
      const which = loads.length < 2 ? [] : [tl.choice({
        label: "Load", options: loads.map((l, i) => [String(i), `${l.arg}, line ${l.line}`]), value: String(model.which),
        onChange: (v) => { model.choose(Number(v)); controls(); notes(); ui.redraw(); },
      }).el];
      rowSlider.el.hidden = rows < 2;
      ui.controls.replaceChildren(rowSlider.el, laneSlider.el, ...which);
    };
    const notes = () => {
      const key = tl.legend([["on", "lane on"], ["masked", "lane masked: holds the fill"], ["reference", "reference"], ["poisoned", "differs from the reference"]]);
      const { source, line } = model.load;
      ui.notes.replaceChildren(key, ...(source ? [tl.html("p", { class: "tl-note" }, ...tl.rich(`line ${line}: \`${source}\``))] : []));
      ui.footer.replaceChildren(readout);
    };
    const choose = (r) => {
      row = Math.max(0, Math.min(model.rows - 1, r));
      byHand = true;
      rowSlider.set(row);
      ui.redraw();
    };
    const chooseLane = (n) => {
      lane = n < 0 ? null : Math.min(n, model.lanes - 1);
      laneSlider.set(lane ?? -1);
      ui.redraw();
    };
    const laneNow = () => hovered ?? lane;

    const draw = (width) => {
      if (!picture || drawnWidth !== width) {
        picture = tl.canvas(width, 10, "");
        paints = tl.paints(picture);
        ui.picture.replaceChildren(picture);
        drawnWidth = width;
      }
      const { panels, rows, lanes } = model;
      const narrow = width < 680; // panels below each other, a panel's charts beside its rows
      const across = narrow ? 1 : Math.min(3, panels.length), each = (width - GAP * (across - 1)) / across;
      const rh = rows <= 8 ? 20 : rows <= 16 ? 14 : rows <= 32 ? 9 : 5;
      const mine = model.outs(row);
      const every = Array.from({ length: lanes }, (_, i) => i);
      const heldRange = tl.fillRange(panels.flatMap((p) => every.map((i) => Number(model.held(p, row, i)))), false);
      const resultRange = tl.fillRange([...mine.map((k) => model.expected[k]), ...panels.flatMap((p) => mine.map((k) => Number(p.result[k])))], true);
      const body = tl.svg("g", { class: "tl-body" });
      parts = [];
      let top = 0, height = 0;
      panels.forEach((panel, n) => {
        const left = (n % across) * (each + GAP);
        if (n && n % across === 0) top = height + 14;
        const shared = { model, paints, panel, row, lane: laneNow() };
        const x = left + (narrow ? 24 : LEFT), w = narrow ? each * 0.48 - 24 - RIGHT : each - LEFT - RIGHT;
        const grid = { x, y: top + TOP, rh, ...tl.fillGrid({ ...shared, x, y: top + TOP, width: w, rh }) };
        const chart = narrow
          ? { x: left + each * 0.48 + LEFT, y: top + CAPTION, width: each * 0.52 - LEFT }
          : { x, y: grid.y + grid.height + CAPTION + 4, width: w }; // below the rows, lane under lane
        const held = { ...chart, ...tl.fillHeld({ ...shared, ...chart, range: heldRange }) };
        const below = { ...chart, y: chart.y + CHART + CAPTION + 4 };
        const result = { ...below, ...tl.fillResult({ ...shared, ...below, range: resultRange }) };
        const bad = panel.bad.filter(Boolean).length;
        const verdict = bad ? `✗ ${bad} of ${rows} rows poisoned` : `✓ ${rows === 1 ? "right" : `all ${rows} rows right`}`;
        body.append(tl.svg("g", { class: "tl-panel", "data-fill": panel.fill },
          tl.label(x, top + 13, `other = ${panel.fill}`, { "text-anchor": "start", "font-size": 13.5, "font-weight": 700, class: "tl-mono" }),
          tl.label(x, top + 31, verdict, { "text-anchor": "start", "font-size": 12, "font-weight": 600, class: bad ? "tl-bad" : "tl-good" }),
          grid.el, held.el, result.el));
        parts.push({ panel, grid, held, result });
        height = Math.max(height, below.y + CHART + 4, grid.y + grid.height);
      });
      picture.setAttribute("height", height);
      picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
      picture.querySelector(":scope > .tl-body")?.remove();
      picture.append(body);
      const said = model.sentence(row);
      ui.say(said);
      tl.relabel(picture, `Fill picture. ${said.replaceAll("`", "")}`);
      describe();
    };

    const describe = () => {
      const at = laneNow();
      if (at === null) {
        readout.replaceChildren(...tl.rich("↑ ↓ choose a row, ← → a lane; click a row; point at a lane or a bar for its value."));
        return;
      }
      const { panels } = model, on = model.on(row, at), k = model.storedAt(row, at);
      const said = panels.map((p) => {
        const words = [...(on ? [] : [model.does(p, row, at)]), ...(k === undefined ? [] : [model.stores(p, k)])];
        return words.length ? ` · with \`${p.fill}\`: ${words.join(", ")}` : "";
      });
      readout.replaceChildren(...tl.rich(`Lane ${at} of row ${row}${on ? ` ${model.does(panels[0], row, at)}` : ""}${said.join("")}`));
    };

    // What lies under the pointer: { panel, row, lane } or { panel, out, lane }.
    const under = (event) => {
      const box = picture.getBoundingClientRect();
      const px = event.clientX - box.left, py = event.clientY - box.top;
      for (const { panel, grid, held, result } of parts) {
        const r = Math.floor((py - grid.y) / grid.rh), n = Math.floor((px - grid.x) / grid.cell);
        if (r >= 0 && r < model.rows && n >= 0 && n < model.lanes) return { panel, row: r, lane: n };
        const m = Math.floor((px - held.x) / held.cell);
        if (py >= held.y && py < held.y + CHART && m >= 0 && m < model.lanes) return { panel, row, lane: m };
        const j = Math.floor((px - result.x) / result.cell);
        if (py < result.y || py >= result.y + CHART || j < 0) continue;
        const k = result.aligned ? model.storedAt(row, j) : model.outs(row)[j];
        if (k !== undefined) return { panel, out: k, lane: result.aligned ? j : null };
      }
      return null;
    };
    const words = (found) => {
      const { panel, out: k } = found;
      if (k !== undefined) return [`${model.out}[${model.places[k]}] of row ${row}`, model.stores(panel, k), ...(panel.wrong[k] ? ["differs from the reference"] : [])];
      const stored = model.storedAt(found.row, found.lane);
      return [
        `lane ${found.lane} of row ${found.row}, program ${model.programName(found.row)}`, model.does(panel, found.row, found.lane).replaceAll("`", ""),
        ...(stored === undefined ? [] : [model.stores(panel, stored)]),
      ];
    };
    const onMove = (event) => {
      const found = under(event), before = hovered;
      hovered = found && (found.row === undefined || found.row === row) ? found.lane : null;
      if (found) ui.tip.show([`other = ${found.panel.fill}`, ...words(found)].join("\n"), event);
      else ui.tip.hide();
      if (hovered !== before) ui.redraw();
    };
    const onKey = (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      const moves = {
        ArrowDown: () => choose(row + 1), ArrowUp: () => choose(row - 1), Home: () => choose(0), End: () => choose(model.rows - 1),
        ArrowRight: () => chooseLane(lane === null ? 0 : lane + 1), ArrowLeft: () => chooseLane(lane === null ? -1 : lane - 1),
        Escape: () => chooseLane(-1),
      };
      if (!moves[event.key]) return;
      event.preventDefault();
      event.stopPropagation();
      moves[event.key]();
    };
    ui.picture.tabIndex = 0;
    ui.picture.setAttribute("role", "group");
    ui.picture.setAttribute("aria-label", "Fills: up and down choose a row, left and right a lane");
    ui.picture.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      ui.picture.focus({ preventScroll: true });
      const found = under(event);
      if (found?.row !== undefined) choose(found.row);
      if (found && found.lane !== null) chooseLane(found.lane);
    });
    ui.picture.addEventListener("pointermove", onMove);
    ui.picture.addEventListener("pointerleave", () => {
      ui.tip.hide();
      if (hovered === null) return;
      hovered = null;
      ui.redraw();
    });
    ui.picture.addEventListener("keydown", onKey);

    load(ui.data, true);
    // For tests: the choice, and where things are drawn.
    ui.root.tlFill = { get row() { return row; }, get lane() { return lane; }, choose, chooseLane, get parts() { return parts.map(({ grid, held, result }) => ({ grid: at(grid), held: at(held), result: at(result) })); } };
    const at = ({ x, y, cell, rh, aligned }) => ({ x, y, cell, rh, aligned });
    return { draw, update: (data) => load(data, false) };
  },
});
