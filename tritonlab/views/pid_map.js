// The order map: a map of tiles for each order, panels of A and B beside it, bytes below; the launch played and scrubbed.
export default tl.view({
  name: "pidmap",
  mount(ui) {
    const STRIP = 14, LEFT = 20, TOP = 40, GAP = 22, INFO = 106, SECONDS = 10;
    let model, t = 0, playing = 0, clock = 0, part = 0;
    let canvas = null, picture = null, drawn = null, places = [], slider = null, waveSlider = null, play = null;
    const readout = tl.html("p", { class: "tl-note tl-readout", "aria-live": "polite" });
    const ofWave = tl.html("p", { class: "tl-note tl-pidmap-wave" });

    const load = (data, fresh) => {
      const wasDone = model && t >= model.most;
      model = tl.pidMapModel(data);
      stop();
      if (fresh || t === 0 || t > model.most) t = data.launched;
      else if (wasDone) t = model.most;
      else t = data.launched;
      controls();
      notes(data);
    };
    const controls = () => {
      slider = tl.slider({ label: "Launched", min: 0, max: model.most, value: t, text: (v) => `${tl.group(v)} of ${tl.group(model.most)}`, onInput: (v) => { stop(); go(v); } });
      waveSlider = tl.slider({ label: "Wave", min: 0, max: model.waves - 1, value: model.waveOf(t), text: (v) => `${tl.group(v)} of 0 … ${tl.group(model.waves - 1)}`, onInput: (v) => { stop(); go((v + 1) * model.wave); } });
      waveSlider.el.hidden = model.waves < 2;
      play = tl.button({ label: "Play", onClick: toggle });
      ui.controls.replaceChildren(play, slider.el, waveSlider.el);
    };
    const notes = (data) => {
      const key = [["pidmap-done", "launched before: dark first, light last"], ["pidmap-wave", "the wave that runs, and the panels it loads"], ["pidmap-later", "still to come"]];
      const wrong = model.orders.some((o) => o.faults.length);
      if (wrong) key.push(["pidmap-never", "tile without a program, or with several (2×)"], ["pidmap-outside", "program outside the matrix"]);
      if (data.model) key.push(["pidmap-memory", "bytes from memory"], ["pidmap-l2", "bytes from L2"]);
      ui.notes.replaceChildren(tl.legend(key), ...(data.model ? [tl.html("p", { class: "tl-note" }, data.model)] : []));
      ui.footer.replaceChildren(ofWave, readout);
    };

    const go = (n) => {
      t = Math.max(0, Math.min(model.most, Math.round(n)));
      slider.set(t);
      waveSlider.set(model.waveOf(t));
      ui.redraw();
    };
    const stop = () => {
      if (playing) cancelAnimationFrame(playing);
      playing = 0;
      if (play) play.textContent = "Play";
    };
    const toggle = () => {
      if (playing) return stop();
      if (t >= model.most) go(0);
      play.textContent = "Pause";
      clock = 0;
      part = 0;
      const tick = (now) => {
        if (clock) part += ((now - clock) / 1000) * Math.max(8, model.most / SECONDS);
        clock = now;
        const steps = Math.floor(part);
        part -= steps;
        if (steps) go(t + steps);
        if (t >= model.most) stop();
        else playing = requestAnimationFrame(tick);
      };
      playing = requestAnimationFrame(tick);
    };

    const across = (width) => {
      const n = model.orders.length;
      if (width < 360) return 1;
      if (width < 640) return Math.min(2, n);
      return n === 4 ? 4 : Math.min(3, n);
    };
    // Where each order's map, strips and figures lie.
    const layOut = (width) => {
      const columns = across(width), each = (width - GAP * (columns - 1)) / columns, alone = model.orders.length === 1;
      const beside = alone && width >= 640, bytes = model.orders[0].traffic.length > 0;
      places = [];
      let top = 0, height = 0;
      model.orders.forEach((order, k) => {
        if (k % columns === 0) top = height + (k ? 18 : 0);
        const room = (beside ? width * 0.58 : each) - LEFT - 2;
        const box = tl.pidMapBox(order, model.orders, model.tile, room, alone ? 440 : 300);
        const x = (k % columns) * (each + GAP) + LEFT, y = top + TOP;
        const full = box.ch * box.rows;
        const info = beside ? { x: x + box.cw * box.columns + 28, y: top + TOP, w: Math.min(280, width - x - box.cw * box.columns - 30) } : { x: x - LEFT + 2, y: y + full + 22, w: each - 4 };
        places.push({ order, box, x, y, top, info });
        height = Math.max(height, beside ? Math.max(y + full + 16, info.y + INFO) : info.y + (bytes ? INFO : 18));
      });
      return Math.ceil(height);
    };

    const bars = (info, order) => {
      const out = [];
      if (!order.traffic.length) return out;
      out.push(tl.svg("text", { x: info.x, y: info.y + 27, "font-size": 12, class: "tl-quiet" }, `of ${tl.bytes(order.traffic[0].asked)}, from memory:`));
      const most = Math.max(...model.orders.map((o) => o.traffic[0].asked));
      order.traffic.forEach((x, i) => {
        const y = info.y + 38 + i * 32, whole = (x.asked / most) * info.w, memory = (x.memory / most) * info.w;
        out.push(
          tl.svg("text", { x: info.x, y: y + 8, "font-size": 12 }, `${model.schedules[i]}: ${tl.bytes(x.memory)}`),
          tl.svg("rect", { x: info.x, y: y + 13, width: whole, height: 9, fill: "var(--tl-cell)", stroke: "var(--tl-line-2)", "stroke-width": 0.8 }),
          tl.svg("rect", { x: info.x, y: y + 13, width: Math.max(1, memory), height: 9, fill: "var(--tl-accent)", "data-memory": x.memory }),
        );
      });
      return out;
    };
    const words = ({ order, box, x, y, top, info }) => {
      const { nA, nB } = order.touched(t);
      const lines = [
        tl.svg("text", { x: x - LEFT + 2, y: top + 13, "font-size": 13, "font-weight": 700 }, order.title),
        tl.svg("text", { x: x - 6 - STRIP / 2, y: y - 10, "font-size": 12, "text-anchor": "middle", "font-weight": 700 }, "B"),
        tl.svg("text", { x: x - 6 - STRIP / 2, y: y + box.h + 13, "font-size": 12, "text-anchor": "middle", "font-weight": 700 }, "A"),
        tl.svg("text", { x: info.x, y: info.y + 9, "font-size": 12, class: "tl-pidmap-panels" }, `panels: A ${tl.group(nA)} of ${tl.group(order.m)}, B ${tl.group(nB)} of ${tl.group(order.n)}`),
      ];
      return [...lines, ...bars(info, order)];
    };

    const draw = (width) => {
      const height = layOut(width), ratio = window.devicePixelRatio || 1;
      if (!drawn || drawn[0] !== width || drawn[1] !== height) {
        canvas = tl.html("canvas", { class: "tl-pidmap-canvas", width: Math.round(width * ratio), height: Math.round(height * ratio), style: `width:${width}px;height:${height}px`, "aria-hidden": "true" });
        picture = tl.canvas(width, height, "");
        ui.picture.replaceChildren(canvas, picture);
        drawn = [width, height];
      }
      const ctx = canvas.getContext("2d"), looks = tl.pidMapLooks(ui.root);
      ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
      ctx.clearRect(0, 0, width, height);
      const body = tl.svg("g", { class: "tl-body" });
      for (const place of places) {
        const { order, box, x, y } = place, { a, b } = order.touched(t);
        tl.paintPidMap(ctx, order, box, x, y, looks, t, model.span(t));
        tl.paintPanels(ctx, a, x - STRIP - 5, y, STRIP, box.h, looks, true);
        tl.paintPanels(ctx, b, x, y - STRIP - 5, box.w, STRIP, looks, false);
        body.append(...words(place));
      }
      const said = model.sentence(t), faults = model.orders.filter((o) => o.faults.length).map((o) => `${o.title}: ${o.faults.join(", ")}.`);
      picture.querySelector(".tl-body")?.remove();
      picture.append(body);
      tl.relabel(picture, [said, ...faults].join(" "));
      ui.say([...faults, said].join(" "));
      ofWave.textContent = model.waveWords(t);
    };

    // The order and the program whose tile lies under the pointer.
    const under = (event) => {
      const frame = ui.picture.getBoundingClientRect();
      const px = event.clientX - frame.left, py = event.clientY - frame.top;
      for (const { order, box, x, y } of places) {
        const i = Math.floor((py - y) / box.ch), j = Math.floor((px - x) / box.cw);
        if (i < 0 || j < 0 || i >= box.rows || j >= box.columns) continue;
        if (i < order.m && j < order.n) return { order, i, j, program: order.rank[i * order.n + j] };
        const program = order.outside.find((p) => order.rows[p] === i && order.columns[p] === j);
        return program === undefined ? null : { order, i, j, program };
      }
      return null;
    };
    const tell = ({ order, i, j, program }) => {
      if (program < 0) return `tile (${i}, ${j})\nno program computes it`;
      const others = [];
      if (order.twice.length) for (let p = program + 1; p < order.programs && others.length < 4; p++) if (order.rows[p] === i && order.columns[p] === j) others.push(p);
      return `${order.words(program).replace("), ", ")\n")}\nwave ${tl.group(Math.floor(program / model.wave))}${others.length ? `\nalso computed by program ${others.join(", ")}` : ""}`;
    };

    const onKey = (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey) return;
      const { wave, most } = model, now = model.waveOf(t);
      const moves = {
        ArrowRight: () => go(t + 1), ArrowLeft: () => go(t - 1), Home: () => go(0), End: () => go(most),
        ArrowDown: () => go(Math.min(t, (now + 1) * wave) < (now + 1) * wave ? (now + 1) * wave : (now + 2) * wave), ArrowUp: () => go(now * wave),
        " ": null,
      };
      if (!(event.key in moves)) return;
      event.preventDefault();
      event.stopPropagation();
      if (event.key === " ") return toggle();
      stop();
      moves[event.key]();
    };
    ui.picture.tabIndex = 0;
    ui.picture.setAttribute("role", "group");
    ui.picture.setAttribute("aria-label", "Order of programs: left and right one program, up and down one wave, space plays and pauses");
    ui.picture.addEventListener("keydown", onKey);
    ui.picture.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      ui.picture.focus({ preventScroll: true });
      const found = under(event);
      if (!found || found.program < 0) return;
      stop();
      go(found.program + 1);
      readout.textContent = `${found.order.title}: ${found.order.words(found.program)}.`;
    });
    ui.picture.addEventListener("pointermove", (event) => {
      const found = under(event);
      if (found) ui.tip.show(tell(found), event);
      else ui.tip.hide();
    });
    ui.picture.addEventListener("pointerleave", () => ui.tip.hide());

    // A canvas keeps its colours when the theme changes; the theme's own may come a moment later.
    const watch = new MutationObserver(() => { for (const later of [0, 300, 1500]) setTimeout(ui.redraw, later); });
    watch.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "data-jp-theme-name", "class"] });

    load(ui.data, true);
    // For tests: how far the launch is, and where the maps lie.
    ui.root.tlPidMap = {
      get launched() { return t; }, get playing() { return Boolean(playing); }, go, get model() { return model; },
      get places() { return places.map(({ x, y, box }) => ({ x, y, cw: box.cw, ch: box.ch, rows: box.rows, columns: box.columns })); },
    };
    return { draw, update: (data) => load(data, false), destroy: () => { stop(); watch.disconnect(); } };
  },
});
