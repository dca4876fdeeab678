// One kernel's resources, or several compared: a grid (num_warps, num_stages across; the rest down) or a table.
//   data: { kind: "one" | "grid" | "table", measure, measures: [[key, words, unit]], down, across, rows, columns, points: [{
//     row, column, kernel, target, num_warps, num_stages, compiled, problems, line?, registers, spilled, shared, instructions,
//     programs, warps, limiter, by: [[resource, programs]], most: {…}, tensor_memory, mix: { sass, ptx: [[kind, n, [[bytes, n]]]] } }] }
export default tl.view({
  name: "resources",
  mount(ui) {
    const { html, svg } = tl;
    const { data } = ui;
    const { points } = data;
    let measure = data.measure, stage = "sass";
    let pin = 0, over = null;

    const bytes = (n) => (n < 1024 ? `${n}\u00a0B` : `${+(n / 1024).toFixed(n % 1024 ? 1 : 0)}\u00a0KiB`);
    const fits = (p) => !p.problems.length;
    const value = (p, key) => (p.compiled && (fits(p) || (key !== "programs" && key !== "warps")) ? p[key] : null);
    const shown = (p, key) => {
      const v = value(p, key);
      return v === null ? "–" : key === "shared" ? bytes(v) : key === "spilled" ? (v ? `${v} B` : "0") : tl.group(v);
    };
    const named = (p) => [p.row, p.column].filter(Boolean).join(", ");

    // The detail of one point: the SM filled with programs, what each resource allows, the instruction mix.
    const detail = html("div", { class: "tl-detail" });
    const alloc = (p) => Math.ceil((p.registers * 32) / 256) * 256 * p.num_warps;
    const drawSM = (p, width) => {
      const per = p.most.warps / 4, size = Math.max(9, Math.min(20, Math.floor((width - 6) / per) - 3)), step = size + 3;
      const w = per * step - 3, h = 4 * step - 3;
      const label = `An SM with room for ${p.most.warps} warps: ${p.programs} program${p.programs === 1 ? "" : "s"} of ${p.num_warps} warp${p.num_warps === 1 ? "" : "s"} fill ${p.warps}.`;
      const el = tl.canvas(w, h, label);
      const paint = tl.paints(el);
      for (let i = 0; i < p.most.warps; i++) {
        const x = (i >> 2) * step, y = (i & 3) * step;
        const program = Math.floor(i / p.num_warps), on = program < p.programs;
        el.append(svg("rect", { x: x + 0.5, y: y + 0.5, width: size - 1, height: size - 1, rx: 2, fill: on ? paint.program(program) : "var(--tl-bg)", stroke: on ? "none" : "var(--tl-line-2)", class: on ? "tl-warp tl-on" : "tl-warp" }));
      }
      return html("figure", { class: "tl-sm" }, html("figcaption", {}, `one SM (${p.target}: ${p.most.gpus}), ${p.warps} of ${p.most.warps} warps taken`), el);
    };
    const bar = (share, cls = "") => html("div", { class: "tl-bar" }, html("div", { class: `tl-fill ${cls}`, style: `width:${Math.max(0, Math.min(100, share * 100)).toFixed(2)}%` }));
    const row = (name, share, text, cls = "", note = "") => html("tr", { class: cls }, html("th", { scope: "row" }, name), html("td", { class: "tl-bar-cell" }, bar(share, cls)), html("td", {}, text, note ? html("span", { class: "tl-aside" }, note) : null));
    const takes = (p) => html("table", { class: "tl-bars" }, html("caption", {}, "what it takes"), html("tbody", {},
      row("registers a thread", p.registers / p.most.registers, `${p.registers} of ${p.most.registers}`, p.spilled ? "tl-over" : "", p.spilled ? `and ${p.spilled} B spilled` : ""),
      row("shared memory", p.shared / p.most.shared, `${bytes(p.shared)} of ${bytes(p.most.shared)}`, p.shared > p.most.shared ? "tl-over" : ""),
      p.tensor_memory ? row("tensor memory", p.tensor_memory / p.most.tensor_memory, `${p.tensor_memory} of ${p.most.tensor_memory} columns`) : null,
      row("threads", p.num_warps / 32, `${p.num_warps * 32} of 1024`)));
    const allows = (p) => {
      const most = p.most.programs, least = Math.min(...p.by.map(([, n]) => n));
      return html("table", { class: "tl-bars" }, html("caption", {}, "programs per SM that each would allow"), html("tbody", {},
        p.by.map(([name, n]) => row(name === "programs" ? "SM's own limit" : name, n / most, String(n), n === least ? "tl-least" : "", n === least ? "limits" : ""))));
    };
    const mix = (p) => {
      const kinds = p.mix[stage], most = Math.max(...kinds.map(([, n]) => n), 1), total = kinds.reduce((a, [, n]) => a + n, 0);
      const widths = (ws) => ws.map(([b, n]) => `${n} × ${b} B`).join(", ");
      const pick = tl.choice({ label: "", options: [["sass", "SASS"], ["ptx", "PTX"]], value: stage, onChange: (v) => { stage = v; refresh(); detail.querySelector(`input[value="${v}"]`).focus(); } });
      return html("div", { class: "tl-mix" }, html("div", { class: "tl-mix-head" }, html("span", {}, `${tl.count(total, "instruction")} of the whole kernel`), pick.el),
        html("table", { class: "tl-bars" }, html("tbody", {}, kinds.map(([kind, n, ws]) => row(kind, n / most, String(n), "", ws.length ? widths(ws) : "")))));
    };
    const drawDetail = (p, width) => {
      const parts = [];
      if (!p.compiled) parts.push(html("p", { class: "tl-bad-note" }, `Does not compile: ${p.problems[0]}${p.line ? ` (line ${p.line})` : ""}.`));
      else {
        const wide = width > 680;
        const sm = fits(p) ? drawSM(p, wide ? (width - 26) / 2 : width) : null;
        parts.push(html("div", { class: wide ? "tl-two" : "" }, html("div", {}, sm, takes(p), allows(p)), mix(p)));
      }
      detail.replaceChildren(...parts);
    };
    const say = (p) => {
      const name = named(p);
      const who = name ? `${name}: ` : `\`${p.kernel}\` for ${p.target}: `;
      if (!p.compiled) return ui.say(`${who}does not compile: ${p.problems[0]}.`);
      if (!fits(p)) return ui.say(`${who}does not fit: ${p.problems[0]}.`);
      const spill = p.spilled ? `, ${p.spilled} B of them spilled` : "";
      ui.say(`${who}${p.registers} registers a thread${spill} and ${bytes(p.shared)} of shared memory: ${p.programs} program${p.programs === 1 ? "" : "s"} per SM, limited by ${p.limiter}.`);
    };

    // A table cell that can be pointed at, chosen and reached with the arrow keys.
    const cells = [];
    const mark = (td, p) => {
      td.classList.toggle("tl-not", !fits(p));
      td.classList.toggle("tl-spills", fits(p) && p.spilled > 0);
      const v = value(p, measure), all = points.map((q) => value(q, measure)).filter((x) => x !== null);
      const lo = Math.min(...all, 0), hi = Math.max(...all, 1);
      td.style.setProperty("--tl-share", v === null || !fits(p) ? "0%" : `${Math.round((34 * (v - lo)) / (hi - lo || 1))}%`);
    };
    const why = (p) => (!p.compiled ? "error" : /shared memory/.test(p.problems[0] || "") ? bytes(p.shared) : /registers/.test(p.problems[0] || "") ? "registers" : p.problems.length ? "does not fit" : p.spilled && measure !== "spilled" ? "spills" : "");
    const gridTable = () => {
      const at = new Map(points.map((p, i) => [`${p.row}|${p.column}`, i]));
      const words = new Map(data.measures.map(([k, w]) => [k, w]));
      const table = html("table", { class: "tl-grid" }, html("caption", {}, words.get(measure)),
        html("thead", {}, html("tr", {}, html("th", { scope: "col" }, data.down || ""), data.columns.map((c) => html("th", { scope: "col" }, c.split(", ").map((part) => html("span", {}, part)))))),
        html("tbody", {}, data.rows.map((r, y) => html("tr", {}, html("th", { scope: "row" }, r || data.points[0].kernel), data.columns.map((c, x) => {
          const i = at.get(`${r}|${c}`);
          if (i === undefined) return html("td", { class: "tl-empty" }, "");
          const p = points[i];
          const note = why(p);
          const td = html("td", { tabindex: -1 }, fits(p) ? shown(p, measure) : html("span", { class: "tl-cross", "aria-hidden": "true" }, "✕"), note ? html("span", { class: "tl-aside" }, note) : null);
          mark(td, p);
          cells.push({ td, i, x, y });
          return td;
        })))));
      return table;
    };
    const COLUMNS = ["registers", "spilled", "shared", "instructions", "programs"];
    const SHORT = { registers: "registers a thread", spilled: "spilled", shared: "shared memory", instructions: "SASS instructions", programs: "programs per SM" };
    const compareTable = () => html("table", { class: "tl-grid tl-compare" },
      html("thead", {}, html("tr", {}, html("th", { scope: "col" }, data.down || ""), COLUMNS.map((k) => html("th", { scope: "col" }, SHORT[k])))),
      html("tbody", {}, points.map((p, y) => {
        const tr = html("tr", {}, html("th", { scope: "row" }, p.row), COLUMNS.map((k) => {
          const all = points.map((q) => value(q, k)).filter((v) => v !== null), hi = Math.max(...all, 1), v = value(p, k);
          const same = all.every((a) => a === all[0]) && all.length === points.length;
          return html("td", { class: same ? "tl-same" : "" }, html("span", { class: "tl-amount" }, shown(p, k)), v === null || same ? null : bar(v / hi));
        }));
        tr.tabIndex = -1;
        tr.classList.toggle("tl-not", !fits(p));
        tr.classList.toggle("tl-spills", fits(p) && p.spilled > 0);
        cells.push({ td: tr, i: y, x: 0, y });
        return tr;
      })));

    const box = html("div", { class: "tl-scroll" });
    const legend = html("div", { class: "tl-marks" });
    let width = 0;
    const refresh = () => {
      const p = points[over ?? pin];
      for (const { td, i } of cells) {
        td.classList.toggle("tl-pin", i === pin);
        td.classList.toggle("tl-hover", i === over);
        td.tabIndex = i === pin ? 0 : -1;
        td.setAttribute("aria-current", i === pin ? "true" : "false");
      }
      say(p);
      if (width) drawDetail(p, width);
    };
    const rebuild = () => {
      cells.length = 0;
      box.replaceChildren(data.kind === "grid" ? gridTable() : compareTable());
      for (const c of cells) {
        c.td.addEventListener("pointerenter", () => { over = c.i; refresh(); });
        c.td.addEventListener("click", () => { pin = c.i; refresh(); });
        c.td.addEventListener("keydown", (e) => {
          const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[e.key];
          if (!move || e.ctrlKey || e.metaKey || e.altKey) return;
          e.preventDefault();
          for (let x = c.x + move[0], y = c.y + move[1]; x >= 0 && y >= 0 && x < Math.max(1, data.columns.length) && y < data.rows.length; x += move[0], y += move[1]) {
            const next = cells.find((d) => d.x === x && d.y === y);
            if (!next) continue;
            pin = next.i;
            over = null;
            refresh();
            next.td.focus();
            break;
          }
        });
      }
      box.onpointerleave = () => { if (over !== null) { over = null; refresh(); } };
    };

    if (data.kind !== "one") {
      pin = Math.max(0, points.findIndex(fits));
      rebuild();
      ui.picture.append(box);
      if (points.some((p) => !fits(p))) legend.append(html("span", {}, html("i", { class: "tl-swatch tl-not" }), "does not fit or does not compile"));
      if (points.some((p) => fits(p) && p.spilled)) legend.append(html("span", {}, html("i", { class: "tl-swatch tl-spills" }), "spills registers"));
      if (data.kind === "grid") {
        const select = html("select", { onchange: () => { measure = select.value; rebuild(); refresh(); } }, data.measures.map(([k, w]) => html("option", { value: k, selected: k === measure }, w)));
        ui.controls.append(html("label", { class: "tl-which" }, "show ", select), legend);
        ui.footer.append(detail);
      } else {
        ui.picture.append(legend);
        ui.footer.append(detail);
      }
    } else ui.picture.append(detail);
    ui.notes.append(html("p", { class: "tl-note" }, "An SM runs programs side by side as long as registers, shared memory and warps last. More of them hide more waiting; fewer may still be faster."));
    return {
      draw(w) {
        width = w;
        refresh();
      },
    };
  },
});
