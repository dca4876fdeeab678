// The stepper: one program's executed lines, one after the other. All nodes are made once; a step only fills them.
export default tl.view({
  name: "stepper",
  mount(ui) {
    const { html } = tl;
    const data = ui.data;
    const decoded = data.values.map(() => null);
    const block = (i) => (decoded[i] ??= tlPictures.decode(data.values[i]));
    let program, at = 0, width = 0, palette = null, cursor = null;

    const setCursor = (lane, shape) => {
      if (lane === null ? cursor === null : cursor && cursor.lane === lane && cursor.shape === shape) return;
      cursor = lane === null ? null : { lane, shape };
      locals.show(program.steps[at], palette, cursor);
      memory.show(program.steps[at], memory.el.clientWidth, cursor);
    };
    const source = tlSource(data.functions, (f, line) => {
      const n = program.steps.length;
      for (let k = 1; k <= n; k++) {
        const s = program.steps[(at + k) % n];
        if (s.function === f && s.line === line) return step((at + k) % n);
      }
    });
    const locals = tlLocals({ data, block, setCursor });
    const memory = tlMemory({ data, block, tip: ui.tip, setCursor });
    // Wide: variables beside source, memory and controls. Narrow: one below the other, the controls where they never move.
    ui.picture.append(html("div", { class: "tl-columns" }, source.el, ui.controls, memory.el, locals.el));

    // Controls.
    const last = () => (program ? program.steps.length - 1 : 0);
    const go = (name, label, target) => {
      const el = tl.button({ label: name, onClick: () => step(target()) });
      el.setAttribute("aria-label", label);
      el.title = label;
      return el;
    };
    const buttons = [
      go("|◀", "first step", () => 0), go("◀", "step back", () => at - 1),
      go("▶", "step forward", () => at + 1), go("▶|", "last step", () => last()),
    ];
    const slider = tl.slider({ label: "step", min: 1, max: 1, value: 1, text: (v) => `${v} of ${last() + 1}`, onInput: (v) => step(v - 1) });
    const choose = data.programs.length < 2 ? null
      : html("label", { class: "tl-which" }, "program ", html("select", { onchange: (e) => start(Number(e.target.value), at) },
        data.programs.map((p, i) => html("option", { value: i }, p.name))));
    ui.controls.append(...[choose, html("div", { class: "tl-buttons" }, buttons), slider.el].filter(Boolean));

    const show = () => {
      const s = program.steps[at];
      source.mark(program, at);
      locals.show(s, palette, cursor);
      memory.show(s, memory.el.clientWidth, cursor);
      slider.set(at + 1);
      buttons[0].disabled = buttons[1].disabled = at === 0;
      buttons[2].disabled = buttons[3].disabled = at === last();
      ui.say(s.say);
      // Variables come and go below or beside; what stands under the view in the page stays where it is.
      ui.picture.style.minHeight = `${Math.max(Math.ceil(ui.picture.getBoundingClientRect().height), parseFloat(ui.picture.style.minHeight) || 0)}px`;
    };
    const step = (to) => {
      const next = Math.max(0, Math.min(last(), to));
      if (next === at) return;
      at = next;
      cursor = null;
      ui.tip.hide();
      show();
    };
    const start = (which, where) => {
      program = data.programs[which];
      at = Math.min(where, last());
      for (const part of [source, locals, memory]) part.start(program);
      slider.range(1, program.steps.length);
      slider.set(at + 1);
      const left = [];
      if (program.left_out) left.push(`${tl.count(program.left_out, "later step")} not kept in this view.`);
      if (data.limits.values_left_out) left.push(`${tl.count(data.limits.values_left_out, "value")} not kept: the view is full.`);
      if (data.values.some((v) => v.kept)) left.push(`Blocks are kept up to their lane ${data.limits.lanes - 1}.`);
      ui.notes.replaceChildren(...(left.length ? [html("p", { class: "tl-note" }, left.join(" "))] : []));
      if (width) draw(width);
    };
    const draw = (w) => {
      width = w;
      palette = tlPictures.palette(ui.root, program.index);
      locals.forget();
      memory.forget();
      // Room for the longest sentence: the picture must not move while stepping.
      const probe = html("p", { class: "tl-says", "aria-hidden": "true" }, program.steps.reduce((a, b) => (b.say.length > a.length ? b.say : a), ""));
      ui.says.before(probe);
      ui.says.style.minHeight = `${probe.offsetHeight}px`;
      probe.remove();
      ui.picture.style.minHeight = "";
      show();
    };

    const onKey = (e) => {
      if (e.ctrlKey || e.metaKey || e.altKey) return;
      if (e.target.matches("select, input")) return e.stopPropagation();  // JupyterLab would take the slider's arrows
      const to = { ArrowLeft: at - 1, ArrowUp: at - 1, ArrowRight: at + 1, ArrowDown: at + 1, Home: 0, End: last() }[e.key];
      if (to === undefined) return;
      e.preventDefault();
      e.stopPropagation();
      step(to);
    };
    ui.root.addEventListener("keydown", onKey);
    const theme = new MutationObserver(() => ui.redraw());
    theme.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "class"] });
    start(...data.start);
    if (choose) choose.querySelector("select").value = data.start[0];
    return {
      draw,
      destroy() {
        theme.disconnect();
        ui.root.removeEventListener("keydown", onKey);
      },
    };
  },
});
