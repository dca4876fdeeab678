// Every config of a sweep as a point, the fastest first; filters, what the compiler said of each, and look-up tables against tuning.
//   data: { labels, parameters: [[name, values]], configs: [{ label, values }], cases: [{ name, long,
//     points: [{ config, tflops, low, high, share, tie, said: { registers, spilled, shared, programs, limiter, instructions?, tensor?, stages? } | null }],
//     failed: [{ config, reason }], lines: [{ name, tflops, low, high, share }] }], lookups, tables: [{ name, configs, shares, ties }], compiler }
export default tl.view({
  name: "sweep",
  mount(ui) {
    const { html, svg } = tl;
    const { data } = ui;
    const model = tl.sweepModel(data);
    let pin = null, over = null, width = 0;
    const TOP = 8;

    const bytes = (n) => (n < 1024 ? `${n}\u00a0B` : `${+(n / 1024).toFixed(n % 1024 < 52 ? 0 : 1)}\u00a0KiB`);
    const rate = (v) => (v >= 100 ? v.toFixed(0) : v.toPrecision(3));
    const percent = (share) => (share === null ? "did not run" : `${(100 * share).toFixed(0)}\u00a0%`);
    const name = (config) => data.configs[config].label;
    const shown = () => over ?? pin;
    const said = (f) => {
      if (!f) return "";
      const parts = [`${f.registers} registers a thread${f.spilled ? ` and ${f.spilled} B spilled` : ""}`, `${bytes(f.shared)} of shared memory`];
      if (f.tensor) parts.push(f.tensor);
      if (f.stages !== undefined) parts.push(f.stages === 1 ? "not pipelined" : `${f.stages} stages made`);
      return `; ${parts.join(", ")}: ${tl.count(f.programs, "program")} per SM, limited by ${f.limiter}`;
    };
    const say = () => {
      const c = model.now, config = shown();
      if (config !== null) {
        const { point, failed } = model.at(config);
        if (failed) return ui.say(`${name(config)} did not run: ${failed.reason}.`);
        if (!point) return ui.say(`${name(config)} was not tried for ${c.long}.`);
        const tie = point.tie ? ", its spread meets the fastest's" : "";
        return ui.say(`${name(config)}: ${rate(point.tflops)} TFLOP/s (${rate(point.low)}–${rate(point.high)}), ${percent(point.share)} of the fastest${tie}, rank ${model.rank(point)} of ${c.points.length}${said(point.said)}.`);
      }
      const left = model.matching;
      if (!left.length) return ui.say(`${c.long}: none of the ${c.points.length} configs that ran is left by this choice.`);
      if (model.filtered) return ui.say(`${c.long}: ${left.length} of ${c.points.length} configs are left; the best of them, ${name(left[0].config)}, is rank ${model.rank(left[0])} with ${percent(left[0].share)} of the fastest.`);
      const ties = model.ties, worst = c.points[c.points.length - 1];
      const near = ties ? `the spread${ties === 1 ? " of 1 other meets" : `s of ${ties} others meet`} its own` : "no other's spread meets its own";
      ui.say(`${c.long}: ${name(left[0].config)} is the fastest of ${tl.count(c.points.length, "config")} with ${rate(left[0].tflops)} TFLOP/s; ${near}${c.points.length > 1 ? `; the slowest reaches ${rate(worst.tflops)}` : ""}.`);
    };

    // The points.
    const box = html("div", { class: "tl-points" });
    ui.picture.append(box);
    let places = [], light = () => say();
    const draw = () => {
      const c = model.now, small = width < 560;
      const left = 44, bottom = 26, top = 26, height = small ? 230 : 270;
      const crosses = c.failed.length, right = crosses ? 14 + Math.max(58, crosses * 11) : 10;
      const most = 1.06 * Math.max(...c.points.map((p) => p.high), ...c.lines.map((l) => l.tflops));
      const y = (v) => height - bottom - (v / most) * (height - bottom - top);
      const room = width - left - right, step = room / c.points.length, x = (i) => left + (i + 0.5) * step;
      const el = tl.canvas(width, height, `${tl.count(c.points.length, "config")} for ${c.long}, the fastest first: ${rate(c.points[0].tflops)} down to ${rate(c.points[c.points.length - 1].tflops)} TFLOP/s${crosses ? `; ${crosses} did not run` : ""}.`);
      for (const v of [0, ...tl.ticks(1, most, 5)]) {
        el.append(svg("line", { class: "tl-rule", x1: left, x2: width - right, y1: y(v), y2: y(v) }), svg("text", { class: "tl-quiet", x: left - 6, y: y(v) + 4, "text-anchor": "end", "font-size": 11.5 }, rate(v) === "0.00" ? "0" : String(v)));
      }
      el.append(svg("text", { class: "tl-quiet", x: 2, y: 10, "font-size": 11.5 }, "TFLOP/s"));
      el.append(svg("text", { class: "tl-quiet", x: left, y: height - 6, "font-size": 11.5 }, `${small ? "" : "configs, "}fastest first →`));
      for (const l of c.lines) {
        el.append(svg("line", { class: "tl-line", "data-line": l.name, x1: left, x2: width - right, y1: y(l.tflops), y2: y(l.tflops) }), svg("text", { class: "tl-halo", x: width - right - 4, y: y(l.tflops) + 13, "text-anchor": "end", "font-size": 12 }, `${l.name} ${rate(l.tflops)}`));
      }
      places = [];
      const size = Math.max(2, Math.min(5, step / 2 - 0.5));
      c.points.forEach((p, i) => {
        const g = svg("g", { class: "tl-point", "data-config": p.config, "data-rank": i + 1 });
        g.append(svg("line", { x1: x(i), x2: x(i), y1: y(p.low), y2: y(p.high) }));
        if (!i || p.tie) g.append(svg("circle", { class: "tl-ring", cx: x(i), cy: y(p.tflops), r: size + 3 }));
        g.append(svg("circle", { class: "tl-dot", cx: x(i), cy: y(p.tflops), r: size }));
        g.classList.toggle("tl-first", !i);
        g.classList.toggle("tl-tie", p.tie);
        places.push({ config: p.config, x: x(i), y: y(p.tflops), g });
        el.append(g);
      });
      if (crosses) {
        const from = width - right + 12;
        el.append(svg("text", { class: "tl-bad", x: from - 4, y: height - 6, "font-size": 11.5 }, "did not run"));
        c.failed.forEach((f, i) => {
          const cx = from + 5 + i * 11, cy = y(0) - 9;
          const g = svg("g", { class: "tl-point tl-cross", "data-config": f.config }, svg("path", { d: `M${cx - 4} ${cy - 4}L${cx + 4} ${cy + 4}M${cx + 4} ${cy - 4}L${cx - 4} ${cy + 4}` }));
          places.push({ config: f.config, x: cx, y: cy, g });
          el.append(g);
        });
      }
      const here = svg("g", { class: "tl-here", "aria-hidden": "true" });
      el.append(here);
      const nearest = (e) => {
        const b = el.getBoundingClientRect(), px = (e.clientX - b.left) * (width / b.width);
        const open = places.filter((q) => model.matches(q.config));
        return open.length ? open.reduce((a, q) => (Math.abs(q.x - px) < Math.abs(a.x - px) ? q : a)).config : null;
      };
      el.addEventListener("pointermove", (e) => { const at = nearest(e); if (at !== over) { over = at; light(); } });
      el.addEventListener("pointerleave", () => { over = null; light(); });
      el.addEventListener("click", (e) => { const at = nearest(e); pin = pin === at ? null : at; light(); fillTop(); });
      light = () => {
        const config = shown();
        for (const q of places) q.g.classList.toggle("tl-out", !model.matches(q.config));
        const q = places.find((one) => one.config === config);
        here.replaceChildren(...(q ? [svg("line", { x1: q.x, x2: q.x, y1: top - 4, y2: y(0) }), svg("circle", { cx: q.x, cy: q.y, r: size + 4.5 })] : []));
        for (const tr of top8.querySelectorAll("tr[data-config]")) tr.classList.toggle("tl-now", Number(tr.dataset.config) === config);
        say();
      };
      box.replaceChildren(el);
    };

    // The best that the filters leave, with what the compiler said.
    const top8 = html("table", { class: "tl-best" });
    const more = html("p", { class: "tl-note" });
    const fillTop = () => {
      const left = model.matching, rows = left.slice(0, TOP);
      const pinned = pin !== null && left.find((p) => p.config === pin);
      if (pinned && !rows.includes(pinned)) rows.push(pinned);
      const any = (key) => left.some((p) => p.said && p.said[key] !== undefined);
      const columns = [["rank", (p) => model.rank(p)], ["config", (p) => name(p.config)], ["TFLOP/s", (p) => rate(p.tflops)], ["of the fastest", (p) => percent(p.share) + (p.tie ? " ≈" : "")]];
      if (any("registers")) columns.push(
        ["registers", (p) => (p.said ? `${p.said.registers}${p.said.spilled ? `, ${p.said.spilled} B spilled` : ""}` : "–")],
        ["shared memory", (p) => (p.said ? bytes(p.said.shared) : "–")],
        ["programs per SM", (p) => (p.said ? p.said.programs : "–")]);
      if (any("tensor")) columns.push(["dot by", (p) => p.said?.tensor || "–", "tl-wide"], ["stages made", (p) => p.said?.stages ?? "–", "tl-wide"]);
      top8.replaceChildren(
        html("caption", {}, model.filtered ? `the best of the ${left.length} that are left` : "the best"),
        html("thead", {}, html("tr", {}, columns.map(([t, , cls]) => html("th", { scope: "col", class: cls }, t)))),
        html("tbody", {}, rows.map((p) => html("tr", { "data-config": p.config, onclick: () => { pin = pin === p.config ? null : p.config; light(); fillTop(); } }, columns.map(([, of, cls]) => html("td", { class: cls }, String(of(p))))))));
      const failed = model.failed.filter((f) => model.matches(f.config));
      more.replaceChildren(...failed.flatMap((f, i) => [i ? html("br") : null, html("span", { class: "tl-failed" }, `✕ ${name(f.config)}: ${f.reason}`)]).filter(Boolean));
    };

    // Look-up tables against tuning.
    const against = () => {
      const rows = [...data.lookups.map((r) => [r, r.name, name(r.configs[0])]), ...data.tables.slice(1).map((r) => [r, `table of ${r.name}`, [...new Set(r.configs)].map(name).join("; ")])];
      const refs = [...new Set(data.cases.flatMap((c) => c.lines.map((l) => l.name)))];
      const cell = (share, tie) => html("td", { class: share === null ? "tl-none" : "" }, html("span", {}, percent(share) + (tie ? " ≈" : "")), share === null ? null : html("span", { class: "tl-bar" }, html("span", { class: "tl-fill", style: `width:${Math.min(100, 100 * share).toFixed(1)}%` })));
      return html("table", { class: "tl-against" }, html("caption", {}, "How far a look-up table falls behind tuning each shape: speed, as a share of the fastest config's"),
        html("thead", {}, html("tr", {}, html("th", { scope: "col" }, "every shape gets"), data.cases.map((c) => html("th", { scope: "col" }, c.name)))),
        html("tbody", {},
          rows.map(([r, words, configs]) => html("tr", {}, html("th", { scope: "row" }, words, html("span", { class: "tl-aside" }, configs)), r.shares.map((s, i) => cell(s, r.ties[i])))),
          refs.map((ref) => html("tr", { class: "tl-ref" }, html("th", { scope: "row" }, `beside them: ${ref}`), data.cases.map((c) => { const l = c.lines.find((q) => q.name === ref); return html("td", {}, l ? percent(l.share) : "–"); })))));
    };

    const refresh = () => {
      if (!width) return;
      draw();
      fillTop();
      light();
    };
    const restart = () => { over = null; refresh(); };

    ui.picture.tabIndex = 0;
    ui.picture.setAttribute("role", "group");
    ui.picture.setAttribute("aria-label", "configs, the fastest first: left and right choose one, Home the fastest, End the slowest, Escape none");
    const onKey = (e) => {
      if (e.ctrlKey || e.metaKey || e.altKey) return;
      const open = places.filter((q) => model.matches(q.config)).map((q) => q.config);
      const i = open.indexOf(shown());
      if (e.key === "ArrowRight") pin = open[Math.min(open.length - 1, i + 1)] ?? null;
      else if (e.key === "ArrowLeft") pin = open[i < 0 ? open.length - 1 : Math.max(0, i - 1)] ?? null;
      else if (e.key === "Home") pin = open[0] ?? null;
      else if (e.key === "End") pin = open[open.length - 1] ?? null;
      else if (e.key === "Escape") pin = null;
      else return;
      e.preventDefault();
      over = null;
      light();
      fillTop();
      light();
    };
    ui.picture.addEventListener("keydown", onKey);

    const select = (label, options, onChange) => {
      const list = html("select", { onchange: () => onChange(Number(list.value)) }, options.map((o, i) => html("option", { value: i }, String(o))));
      return html("label", { class: "tl-which" }, `${label} `, list);
    };
    if (data.cases.length > 1) {
      const pick = tl.choice({ label: "shape", options: data.cases.map((c, i) => [i, c.name]), value: 0, onChange: (i) => { model.choose(i); restart(); } });
      ui.controls.append(pick.el);
    }
    const lists = html("div", { class: "tl-filters" });
    data.parameters.forEach(([parameter, values], i) => lists.append(select(parameter, ["any", ...values], (k) => { model.filter(i, k ? values[k - 1] : null); if (pin !== null && !model.matches(pin)) pin = null; restart(); })));
    const clear = tl.button({ label: "clear filters", onClick: () => { data.parameters.forEach((_, i) => model.filter(i, null)); for (const s of lists.querySelectorAll("select")) s.value = "0"; restart(); } });
    if (data.parameters.length) ui.controls.append(lists, clear);
    ui.notes.append(html("p", { class: "tl-legend" }, html("span", {}, html("i", { class: "tl-mark tl-mark-ring" }), "the fastest, and those whose spread meets its own (≈): this sweep cannot tell which of them is fastest"), html("span", {}, html("i", { class: "tl-mark tl-mark-line" }), "spread")));
    const source = html("p", { class: "tl-note" }, [...data.labels, data.compiler].filter(Boolean).join(". "));
    ui.footer.append(html("div", { class: "tl-scroll" }, top8), more, html("div", { class: "tl-scroll" }, against()), source);
    return {
      draw(w) {
        width = w;
        refresh();
      },
      destroy() { ui.picture.removeEventListener("keydown", onKey); },
    };
  },
});
