// The fill picture: a panel for each fill; rows of lanes with what they hold, and the chosen row's result beside the reference.
export default tl.view({
  name: "fill",
  mount(ui) {
    const TOP = 40, LEFT = 40, RIGHT = 20, GAP = 20, CHART = 52, CAPTION = 17;
    const { svg: S, label } = tl;
    let data, loads, panels, first, expected, places, storedLanes, rows, lanes;
    let row = 0, lane = null, hovered = null, which = 0, byHand = false;
    let picture = null, paints = null, drawnWidth = 0, parts = [], loadChoice = null;
    const readout = tl.html("p", { class: "tl-note tl-readout", "aria-live": "polite" });

    const load = (given, fresh) => {
      data = given;
      rows = data.programs.length;
      loads = data.loads.map((l) => ({ ...l, mask: tl.unpack(l.mask), offsets: tl.unpack(l.offsets) }));
      if (fresh || which >= loads.length) which = 0;
      first = data.first;
      [expected, places, storedLanes] = [data.expected, data.places, data.stored_lanes].map(tl.unpack);
      panels = data.panels.map((p) => ({ ...p, values: p.values.map(tl.unpack), result: tl.unpack(p.result), wrong: tl.unpack(p.wrong) }));
      if (fresh || !byHand || row >= rows) {
        const spoiled = data.programs.findIndex((_, r) => panels.some((p) => p.bad[r]));
        row = spoiled >= 0 ? spoiled : Math.max(0, data.programs.findIndex((_, r) => maskedOf(r)));
      }
      hovered = null;
      controls();
      notes();
    };
    const now = () => loads[which];
    const maskedOf = (r) => {
      const { mask, lanes: n } = now();
      let count = 0;
      for (let i = r * n; i < (r + 1) * n; i++) count += mask[i] ? 0 : 1;
      return count;
    };
    const outs = (r) => Array.from({ length: first[r + 1] - first[r] }, (_, k) => first[r] + k);
    const show = (v, dtype) => tl.number(typeof v === "bigint" ? String(v) : v, dtype);
    const rowName = (r) => `row ${r}`;

    const controls = () => {
      lanes = now().lanes;
      if (lane !== null && lane >= lanes) lane = null;
      rowSlider = tl.slider({ label: "Row", min: 0, max: rows - 1, value: row, text: (v) => `${v} of ${rows}`, onInput: (v) => choose(v) });
      laneSlider = tl.slider({ label: "Lane", min: -1, max: lanes - 1, value: lane === null ? -1 : lane, text: (v) => (v < 0 ? "none" : String(v)), onInput: chooseLane });
      loadChoice = loads.length < 2 ? null : tl.choice({
        label: "Load", options: loads.map((l, i) => [String(i), `${l.arg}, line ${l.line}`]), value: String(which),
        onChange: (v) => { which = Number(v); controls(); ui.redraw(); },
      });
      rowSlider.el.hidden = rows < 2;
      ui.controls.replaceChildren(rowSlider.el, laneSlider.el, ...(loadChoice ? [loadChoice.el] : []));
    };
    let rowSlider = null, laneSlider = null;
    const notes = () => {
      const key = tl.legend([["on", "lane on"], ["masked", "lane masked: holds the fill"], ["reference", "reference"], ["poisoned", "differs from the reference"]]);
      const { source, line } = now();
      const code = source ? [tl.html("p", { class: "tl-note" }, ...tl.rich(`line ${line}: \`${source}\``))] : [];
      ui.notes.replaceChildren(key, ...code);
      ui.footer.replaceChildren(readout);
    };
    const choose = (r) => {
      row = Math.max(0, Math.min(rows - 1, r));
      byHand = true;
      rowSlider.set(row);
      ui.redraw();
    };
    const chooseLane = (n) => {
      lane = n < 0 ? null : Math.min(n, lanes - 1);
      laneSlider.set(lane === null ? -1 : lane);
      ui.redraw();
    };

    // How far a panel's row is off: "nan", or the largest difference.
    const off = (panel, r) => {
      let worst = 0;
      for (const k of outs(r)) {
        if (!panel.wrong[k]) continue;
        const v = Number(panel.result[k]);
        if (Number.isNaN(v)) return "nan";
        if (!Number.isFinite(v)) return tl.number(v);
        worst = Math.max(worst, Math.abs(v - expected[k]));
      }
      return `off by up to ${Number(worst.toPrecision(2))}`;
    };
    const sentence = () => {
      const masked = maskedOf(row);
      const who = `Row ${row} of ${rows}`;
      if (!masked) return `${who} has no masked lane: the fill plays no part.`;
      const said = panels.map((p) => (p.bad[row] ? `\`${p.fill}\` poisons it (${off(p, row)})` : `\`${p.fill}\` leaves it right`));
      return `${who}, ${tl.count(masked, "masked lane")}: ${said.join(", ")}.`;
    };

    const runsOf = (r) => {
      const { mask, lanes: n } = now();
      const out = [];
      for (let i = 0; i < n; i++) {
        const on = Boolean(mask[r * n + i]);
        const last = out[out.length - 1];
        if (last && last.on === on) last.to = i + 1;
        else out.push({ on, from: i, to: i + 1 });
      }
      return out;
    };
    // The value that all lanes of a run hold, or null.
    const common = (panel, r, run) => {
      const values = panel.values[which], at = r * lanes;
      for (let i = run.from + 1; i < run.to; i++) if (!Object.is(values[at + i], values[at + run.from])) return null;
      return values[at + run.from];
    };

    const grid = (panel, x0, y0, width, height, rh) => {
      const g = S("g", { class: "tl-rows" });
      const cell = width / lanes;
      for (let r = 0; r < rows; r++) {
        const y = y0 + r * rh, chosen = r === row;
        for (const run of runsOf(r)) {
          const x = x0 + run.from * cell, w = (run.to - run.from) * cell;
          g.append(S("rect", { x, y, width: w, height: rh - 2, fill: run.on ? paints.program(data.programs[r]) : paints.masked, opacity: run.on && !chosen ? 0.5 : null, "data-row": r, "data-state": run.on ? "on" : "masked", "data-from": run.from, "data-to": run.to }));
          if (run.on || rh < 11) continue;
          const held = common(panel, r, run);
          const text = held === null ? null : show(held, now().dtype);
          if (text && text.length * 6.4 + 8 <= w) g.append(label(x + w / 2, y + rh / 2 + 3, text, { class: "tl-halo tl-mono", "font-size": 11 }));
        }
        if (cell >= 5) {
          let d = "";
          for (let i = 1; i < lanes; i++) d += `M${(x0 + i * cell).toFixed(2)} ${y}v${rh - 2}`;
          g.append(S("path", { d, stroke: "var(--tl-bg)", opacity: 0.6 }));
        }
        const bad = panel.bad[r];
        if (bad || chosen) g.append(S("rect", { x: x0 - 0.5, y: y - 0.5, width: width + 1, height: rh - 1, fill: "none", stroke: bad ? "var(--tl-error)" : "var(--tl-ink)", "stroke-width": chosen ? 2 : 1.2 }));
        if (rh >= 9 || r === row) {
          g.append(label(x0 - 6, y + rh / 2 + 3, String(r), { class: chosen ? "" : "tl-quiet", "font-weight": chosen ? 700 : 400, "text-anchor": "end", "font-size": 10.5 }));
          g.append(label(x0 + width + 5, y + rh / 2 + 3, bad ? "✗" : "✓", { class: bad ? "tl-bad" : "tl-good", "text-anchor": "start", "font-size": 12, "font-weight": 700, "data-verdict": bad ? "poisoned" : "right", "data-row": r }));
        }
      }
      const at = hovered ? hovered.lane : lane;
      if (at !== null && at !== undefined) g.append(S("rect", { x: x0 + at * cell, y: y0 + row * rh - 1, width: Math.max(cell, 3), height: rh, fill: "none", stroke: "var(--tl-ink)", "stroke-width": 2 }));
      return { g, cell, height: rows * rh };
    };

    const extent = (values, zero) => {
      const known = [...values].filter((v) => Number.isFinite(v));
      if (zero) known.push(0);
      if (!known.length) return [-1, 1];
      let [lo, hi] = [Math.min(...known), Math.max(...known)];
      if (lo === hi) [lo, hi] = [lo - 1, hi + 1];
      return [lo, hi];
    };
    const axis = (g, x0, y0, width, lo, hi, caption) => {
      g.append(
        label(x0, y0 - 5, caption, { "text-anchor": "start", "font-size": 11.5, class: "tl-quiet" }),
        S("rect", { x: x0, y: y0, width, height: CHART, fill: "var(--tl-cell)", opacity: 0.6 }),
        label(x0 - 5, y0 + 8, String(Number(hi.toPrecision(2))), { "text-anchor": "end", "font-size": 10, class: "tl-quiet" }),
        label(x0 - 5, y0 + CHART, String(Number(lo.toPrecision(2))), { "text-anchor": "end", "font-size": 10, class: "tl-quiet" }),
      );
    };
    const triangle = (x, y, size, up) => `M${x - size} ${y}L${x + size} ${y}L${x} ${y + (up ? -1.5 : 1.5) * size}z`;

    // What the chosen row's lanes hold, as marks at the height of their values; infinities lie at the edge.
    const held = (panel, x0, y0, width, [lo, hi]) => {
      const g = S("g", { class: "tl-held" });
      axis(g, x0, y0, width, lo, hi, `row ${row}: its lanes hold`);
      const values = panel.values[which], { mask } = now();
      const cell = width / lanes, mark = 5;
      const y = (v) => y0 + 4 + (CHART - 8 - mark) * (1 - (v - lo) / (hi - lo));
      for (let i = 0; i < lanes; i++) {
        const v = Number(values[row * lanes + i]), on = mask[row * lanes + i];
        const fill = on ? paints.program(data.programs[row]) : paints.masked;
        const w = Math.max(1, cell - (cell > 4 ? 1 : 0)), x = x0 + i * cell;
        const stroke = on ? null : "var(--tl-line-2)";
        if (Number.isFinite(v)) g.append(S("rect", { x, y: y(v), width: w, height: mark, fill, stroke }));
        else if (Number.isNaN(v)) g.append(S("rect", { x, y: y0, width: w, height: CHART, fill: paints.error }));
        else g.append(S("path", { d: triangle(x + cell / 2, v > 0 ? y0 + 9 : y0 + CHART - 9, Math.min(5, Math.max(1.5, cell / 2 - 1)), v > 0), fill: on ? fill : "var(--tl-line-2)" }));
      }
      return g;
    };

    // What was stored for the chosen row, and the reference as a line across each bar.
    const result = (panel, x0, y0, width, [lo, hi]) => {
      const g = S("g", { class: "tl-result" });
      axis(g, x0, y0, width, lo, hi, `row ${row}: stored in ${data.out}`);
      const mine = outs(row);
      const aligned = mine.length > 1 && mine.every((k) => storedLanes[k] < lanes);
      const cell = aligned ? width / lanes : Math.min(28, width / Math.max(1, mine.length));
      const y = (v) => y0 + CHART * (1 - (v - lo) / (hi - lo));
      let odd = null;
      mine.forEach((k, n) => {
        const x = x0 + (aligned ? storedLanes[k] : n) * cell, w = Math.max(1, cell - (cell > 4 ? 1 : 0));
        const v = Number(panel.result[k]), wrong = Boolean(panel.wrong[k]);
        if (Number.isFinite(v)) {
          g.append(S("rect", { x, y: Math.min(y(v), y(0)), width: w, height: Math.max(0.5, Math.abs(y(v) - y(0))), fill: wrong ? "var(--tl-error-bg)" : paints.program(data.programs[row]), stroke: wrong ? "var(--tl-error)" : null, "data-out": k }));
        } else {
          g.append(S("rect", { x, y: y0, width: w, height: CHART, fill: wrong ? paints.error : "var(--tl-bg-2)", "data-out": k }));
          odd = odd || { text: tl.number(v), x };
        }
        if (Number.isFinite(expected[k])) g.append(S("path", { d: `M${x.toFixed(2)} ${y(expected[k]).toFixed(2)}h${w.toFixed(2)}`, stroke: "var(--tl-ink)", "stroke-width": 2 }));
      });
      if (odd) g.append(label(x0 + (aligned ? (cell * mine.length) / 2 : cell / 2), y0 + CHART / 2 + 4, odd.text, { class: "tl-halo tl-mono", "font-weight": 700 }));
      return { g, cell, aligned };
    };

    const draw = (width) => {
      if (!picture || drawnWidth !== width) {
        picture = tl.canvas(width, 10, "");
        paints = tl.paints(picture);
        ui.picture.replaceChildren(picture);
        drawnWidth = width;
      }
      const body = S("g", { class: "tl-body" });
      parts = [];
      const side = width < 680;  // grid and charts beside each other, panels below each other
      const across = side ? 1 : Math.min(3, panels.length);
      const each = (width - GAP * (across - 1)) / across;
      const rh = rows <= 8 ? 20 : rows <= 16 ? 14 : rows <= 32 ? 9 : 5;
      const mine = outs(row);
      const heldRange = extent(panels.flatMap((p) => [...p.values[which].slice(row * lanes, (row + 1) * lanes)].map(Number)), false);
      const resultRange = extent([...mine.map((k) => expected[k]), ...panels.flatMap((p) => mine.map((k) => Number(p.result[k])))], true);
      let top = 0, height = 0;
      panels.forEach((panel, n) => {
        const x = (n % across) * (each + GAP);
        if (n && n % across === 0) top = height + 14;
        const bad = panel.bad.filter(Boolean).length;
        const verdict = bad === 0 ? `✓ ${rows === 1 ? "right" : `all ${rows} rows right`}` : `✗ ${bad} of ${rows} rows poisoned`;
        const g = S("g", { class: "tl-panel", "data-fill": panel.fill });
        const gridLeft = x + (side ? 24 : LEFT), gridWidth = side ? each * 0.48 - 24 - RIGHT : each - LEFT - RIGHT;
        g.append(
          label(gridLeft, top + 13, `other = ${panel.fill}`, { "text-anchor": "start", "font-size": 13.5, "font-weight": 700, class: "tl-mono" }),
          label(gridLeft, top + 31, verdict, { "text-anchor": "start", "font-size": 12, "font-weight": 600, class: bad ? "tl-bad" : "tl-good" }),
        );
        const drawn = grid(panel, gridLeft, top + TOP, gridWidth, 0, rh);
        const chartLeft = side ? x + each * 0.48 + LEFT : gridLeft, chartWidth = side ? each * 0.52 - LEFT : gridWidth; // below the grid, lane under lane
        const chartTop = side ? top + CAPTION : top + TOP + drawn.height + CAPTION + 4;
        const a = held(panel, chartLeft, chartTop, chartWidth, heldRange);
        const b = result(panel, chartLeft, chartTop + CHART + CAPTION + 4, chartWidth, resultRange);
        g.append(drawn.g, a, b.g);
        body.append(g);
        parts.push({ panel, grid: { x: gridLeft, y: top + TOP, cell: drawn.cell, rh }, held: { x: chartLeft, y: chartTop, cell: chartWidth / lanes }, result: { x: chartLeft, y: chartTop + CHART + CAPTION + 4, cell: b.cell, aligned: b.aligned } });
        height = Math.max(height, chartTop + 2 * CHART + CAPTION + 8, top + TOP + drawn.height);
      });
      picture.setAttribute("height", height);
      picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
      picture.querySelector(":scope > .tl-body")?.remove();
      picture.append(body);
      const said = sentence();
      ui.say(said);
      tl.relabel(picture, `Fill picture. ${said.replaceAll("`", "")}`);
      describe();
    };

    const storedAt = (r, n) => outs(r).find((k) => storedLanes[k] === n);
    const does = (panel, r, n) => {
      const at = r * lanes + n, { mask, offsets, arg, dtype } = now();
      const value = show(panel.values[which][at], dtype);
      return mask[at] ? `loads \`${arg}[${offsets[at]}]\` = ${value}` : `masked, holds ${value}`;
    };
    const stores = (panel, k) => `stores ${show(panel.result[k], data.out_dtype)} (reference ${Number(expected[k].toPrecision(7))})`;
    const describe = () => {
      const at = hovered ? hovered.lane : lane;
      if (at === null || at === undefined) {
        readout.replaceChildren(...tl.rich("↑ ↓ choose a row, ← → a lane; click a row; point at a lane or a bar for its value."));
        return;
      }
      const same = now().mask[row * lanes + at];
      const k = storedAt(row, at);
      const said = panels.map((p) => {
        const words = [...(same ? [] : [does(p, row, at)]), ...(k === undefined ? [] : [stores(p, k)])];
        return words.length ? `with \`${p.fill}\`: ${words.join(", ")}` : "";
      }).filter(Boolean);
      readout.replaceChildren(...tl.rich(`Lane ${at} of row ${row}${same ? ` ${does(panels[0], row, at)}` : ""}${said.length ? ` · ${said.join(" · ")}` : ""}`));
    };

    // What lies under the pointer: { panel, row, lane } or { panel, out }.
    const under = (event) => {
      const box = picture.getBoundingClientRect();
      const px = event.clientX - box.left, py = event.clientY - box.top;
      for (const { panel, grid: g, held: h, result: o } of parts) {
        const r = Math.floor((py - g.y) / g.rh), n = Math.floor((px - g.x) / g.cell);
        if (r >= 0 && r < rows && n >= 0 && n < lanes) return { panel, row: r, lane: n };
        const m = Math.floor((px - h.x) / h.cell);
        if (py >= h.y && py < h.y + CHART && m >= 0 && m < lanes) return { panel, row, lane: m, chart: true };
        const j = Math.floor((px - o.x) / o.cell);
        if (py >= o.y && py < o.y + CHART && j >= 0) {
          const k = o.aligned ? storedAt(row, j) : outs(row)[j];
          if (k !== undefined) return { panel, out: k, lane: o.aligned ? j : undefined };
        }
      }
      return null;
    };
    const onMove = (event) => {
      const found = under(event);
      const before = hovered && hovered.lane;
      hovered = found && found.lane !== undefined && (found.row === undefined || found.row === row) ? { lane: found.lane } : null;
      if (!found) ui.tip.hide();
      else if (found.out !== undefined) {
        const { panel, out: k } = found;
        ui.tip.show(`other = ${panel.fill}\n${data.out}[${places[k]}] of row ${row}\n${stores(panel, k)}${panel.wrong[k] ? "\ndiffers from the reference" : ""}`, event);
      } else {
        const k = storedAt(found.row, found.lane);
        ui.tip.show(`other = ${found.panel.fill}\nlane ${found.lane} of ${rowName(found.row)}, program ${tl.programName([data.programs[found.row] % data.grid[0], Math.floor(data.programs[found.row] / data.grid[0]) % data.grid[1], 0], data.grid)}\n${does(found.panel, found.row, found.lane).replaceAll("`", "")}${k === undefined ? "" : `\n${stores(found.panel, k)}`}`, event);
      }
      if ((hovered && hovered.lane) !== before) ui.redraw();
    };
    const onKey = (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      const moves = {
        ArrowDown: () => choose(row + 1), ArrowUp: () => choose(row - 1), Home: () => choose(0), End: () => choose(rows - 1),
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
      if (found && found.row !== undefined && !found.chart) choose(found.row);
      if (found && found.lane !== undefined) chooseLane(found.lane);
    });
    ui.picture.addEventListener("pointermove", onMove);
    ui.picture.addEventListener("pointerleave", () => {
      ui.tip.hide();
      if (hovered) {
        hovered = null;
        ui.redraw();
      }
    });
    ui.picture.addEventListener("keydown", onKey);

    load(ui.data, true);
    // For tests: the choice, and where things are drawn.
    ui.root.tlFill = { get row() { return row; }, get lane() { return lane; }, choose, chooseLane, get parts() { return parts; } };
    return { draw, update: (given) => load(given, false) };
  },
});
