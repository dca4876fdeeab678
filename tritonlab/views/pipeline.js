// num_stages as a timeline: time runs to the right, loads into the buffers above, dots below.
//   data: { steps, most, load, start, items: [{ label, kernel, target, asked, problems, compiled, stages, how, dot, running,
//     groups: [{ ahead, slots, bytes (of a slot), tiles: [[name, shape, dtype]] }], before, inside, loads, waits, bytes, shared, most_shared, registers, programs }] }
export default tl.view({
  name: "pipeline",
  mount(ui) {
    const { html, svg } = tl;
    const { items, most } = ui.data;
    let which = ui.data.start, steps = ui.data.steps, load = ui.data.load;
    let pin = null, over = null, width = 0;

    const ROW = 24, BAR = 18;
    const bytes = (n) => (n < 1024 ? `${n}\u00a0B` : `${+(n / 1024).toFixed(n % 1024 < 52 ? 0 : 1)}\u00a0KiB`);
    const item = () => items[which];
    const shown = () => over ?? pin;
    const unit = () => (item().dot ? "dot" : "use");
    const names = (group) => (group.tiles.length ? group.tiles.map(([name]) => name) : ["tile"]);
    const and = (list) => list.map((n) => `\`${n}\``).join(" and ");
    const plans = () => items.map((it) => (it.compiled ? tl.schedule(it, steps, load) : null));

    // The sentence: of the whole, or of one step.
    const buffersOf = (it) => it.groups.filter((g) => g.ahead).map((g) => `${tl.count(g.slots, "buffer")} of ${bytes(g.bytes)}`).join(" and ");
    const summary = (it) => {
      const asked = it.asked === it.stages ? "" : ` (\`num_stages=${it.asked}\` was asked for)`;
      if (it.stages === 1) return `${it.target}, not pipelined${asked}: each step loads its tiles through registers, then uses them. Loads and ${unit()}s take turns.`;
      const taken = it.groups.some((g) => !g.ahead) ? `; ${and(it.groups.filter((g) => !g.ahead).flatMap(names))} through registers in its own step` : "";
      return `${it.target}, ${it.stages} stages${asked}: ${and(it.groups.filter((g) => g.ahead).flatMap(names))} ${it.groups.filter((g) => g.ahead).flatMap(names).length > 1 ? "are" : "is"} copied ${tl.count(it.stages - 1, "step")} ahead by ${it.how}, into ${buffersOf(it)}${taken}.`;
    };
    const ofStep = (it, plan, k) => {
      const parts = [];
      for (const l of plan.loads.filter((x) => x.step === k)) {
        const group = it.groups[l.group] || { ahead: 0, slots: 1, tiles: [] };
        const tiles = group.tiles.length ? and(names(group)) : "its tile";
        if (!group.ahead) parts.push(`${tiles} loaded when the step begins`);
        else if (l.first) parts.push(`${tiles} copied into buffer ${l.slot} before the loop`);
        else parts.push(`${tiles} copied into buffer ${l.slot} once ${unit()} ${k - group.ahead} ${it.running ? "has begun" : "is done"}`);
      }
      const dot = plan.dots[k];
      const waits = dot.waited > 0 ? `; before it the program waits as long as ${tl.count(dot.waited, unit())}` : "; it need not wait";
      const next = it.groups.find((g) => g.ahead);
      const free = next && k + next.slots < steps ? `, and its buffer is then free for step ${k + next.slots}` : "";
      return `Step \`${k}\`: ${parts.join(", ")}. ${it.dot ? "Dot" : "Use"} ${k} needs them all${waits}${free}.`;
    };
    const say = () => {
      const it = item();
      if (!it.compiled) return ui.say(`${it.label || it.kernel}: does not compile: ${it.problems[0]}.`);
      const k = shown();
      ui.say(k === null ? summary(it) : ofStep(it, tl.schedule(it, steps, load), k));
    };

    // The picture.
    const box = html("div", { class: "tl-timeline" });
    ui.picture.append(box);
    let light = () => say();
    const draw = () => {
      const it = item();
      light = () => say();
      if (!it.compiled) return box.replaceChildren(html("p", { class: "tl-bad-note" }, `Does not compile: ${it.problems[0]}.`));
      const all = plans(), plan = all[which];
      const longest = Math.max(...all.filter(Boolean).map((p) => p.end));
      const small = width < 560, left = small ? 62 : 92, right = 8;
      // One scale for all that were given, unless the dots of this one would get too narrow for their numbers.
      const fit = (units) => (width - left - right) / units;
      const px = Math.max(fit(longest), Math.min(fit(plan.end), small ? 18 : 28)), x = (t) => left + t * px;
      const groups = it.groups.length ? it.groups : [{ ahead: 0, slots: 1, bytes: 0, tiles: [] }];
      const rows = [];
      groups.forEach((g, i) => { for (let s = 0; s < g.slots; s++) rows.push({ g, i, s }); });
      const top = 24, dotTop = top + rows.length * ROW + 12, height = dotTop + ROW + 4;
      const label = `Timeline of ${steps} steps of ${it.kernel} for ${it.target}: ${it.stages === 1 ? "loads and dots take turns" : `loads run ${it.stages - 1} ahead`}.`;
      const el = tl.canvas(width, height, label);
      const paint = tl.paints(el);
      const text = (cls, tx, ty, words, attrs = {}) => svg("text", { class: cls, x: tx, y: ty, ...attrs }, words);

      // Before the loop, while it copies, and after the last copy.
      const phases = it.stages === 1 ? [["every step: load, then use", 0, plan.end]] : [["before the loop", 0, plan.begin], ["copies and dots", plan.begin, plan.drain], ["last dots", plan.drain, plan.end]];
      phases.filter(([, a, b]) => b > a).forEach(([words, a, b], i) => {
        el.append(svg("rect", { class: i % 2 ? "tl-phase tl-phase-2" : "tl-phase", x: x(a), y: 0, width: (b - a) * px, height }));
        const room = (b - a) * px;
        if (room > words.length * 6.3 + 8) el.append(text("tl-quiet", x(a) + 4, 14, words, { "font-size": 12 }));
      });
      // Rows and their names.
      rows.forEach(({ g, i, s }, r) => {
        const y = top + r * ROW;
        const alone = groups.length === 1;
        const name = !g.bytes && !g.tiles.length ? "registers" : alone ? (g.ahead ? `buffer ${s}` : "buffer") : `${names(g).join(", ")}${g.ahead ? ` ${s}` : ""}`;
        el.append(text("", left - 8, y + ROW / 2 + 4, name, { "text-anchor": "end", "font-size": small ? 12 : 13 }));
        el.append(svg("line", { class: "tl-lane", x1: left, x2: width - right, y1: y + ROW - 1.5, y2: y + ROW - 1.5 }));
        el.append(svg("rect", { x: 0, y, width: 0, height: 0, "data-row": `${i}:${s}` }));
      });
      el.append(text("", left - 8, dotTop + ROW / 2 + 4, it.dot ? "dot" : "use", { "text-anchor": "end", "font-size": small ? 12 : 13 }));

      const rowOf = (l) => rows.findIndex(({ i, s }) => i === l.group && s === l.slot);
      const part = (kind, step, from, to, y, words) => {
        const w = Math.max(1, (to - from) * px - 1);
        const g = svg("g", { class: `tl-part tl-${kind}`, "data-kind": kind, "data-step": step, "data-from": from, "data-to": to });
        g.append(svg("rect", { x: x(from) + 0.5, y: y + (ROW - BAR) / 2 - 1, width: w, height: BAR, rx: 2 }));
        const size = w > 24 ? 12 : 10.5, chars = String(words).length;
        if (words !== "" && w > chars * size * 0.6 + 2) g.append(text("", x(from) + 0.5 + w / 2, y + ROW / 2 + 3, words, { "text-anchor": "middle", "font-size": size }));
        return g;
      };
      for (const l of plan.loads) {
        const y = top + rowOf(l) * ROW;
        el.append(part("load", l.step, l.issued, l.there, y, l.step));
        if (l.from > l.there) el.append(part("held", l.step, l.there, l.from, y, ""));
        el.append(part("read", l.step, l.from, l.to, y, (l.to - l.from) * px > 34 && !small ? "read" : ""));
      }
      for (const d of plan.dots) {
        if (d.waited > 0) {
          const w = svg("g", { class: "tl-part tl-idle", "data-kind": "idle", "data-step": d.step, "data-from": d.from - d.waited, "data-to": d.from });
          w.append(svg("rect", { x: x(d.from - d.waited) + 0.5, y: dotTop + (ROW - BAR) / 2 - 1, width: Math.max(1, d.waited * px - 1), height: BAR, fill: paint.masked }));
          el.append(w);
        }
        el.append(part("dot", d.step, d.from, d.to, dotTop, d.step));
      }
      const mark = svg("g", { class: "tl-mark", "aria-hidden": "true" });
      el.append(mark);
      for (const g of el.querySelectorAll(".tl-part")) {
        const step = Number(g.dataset.step);
        g.addEventListener("pointerenter", () => { over = step; light(); });
        g.addEventListener("click", () => { pin = pin === step ? null : step; light(); });
      }
      el.addEventListener("pointerleave", () => { over = null; light(); });
      // The chosen step: from its loads to its dot.
      light = () => {
        const k = shown();
        const lines = k === null ? [] : plan.loads.filter((l) => l.step === k).map((l) => {
          const y = top + rowOf(l) * ROW;
          return svg("path", { d: `M${x(l.there)} ${y + ROW / 2 - 1}V${y + ROW - 2}L${x(l.from) + 1} ${dotTop + 1}V${dotTop + 4}` });
        });
        mark.replaceChildren(...lines);
        for (const g of el.querySelectorAll(".tl-part")) {
          g.classList.toggle("tl-lit", Number(g.dataset.step) === k);
          g.classList.toggle("tl-dim", k !== null && Number(g.dataset.step) !== k);
        }
        for (const slot of box.querySelectorAll(".tl-slot")) slot.classList.toggle("tl-lit", k !== null && k % Number(slot.dataset.slots) === Number(slot.dataset.slot));
        say();
      };
      // as high as for the kernel with the most buffers, so that the controls stay where they are
      const lanes = Math.max(...items.map((o) => (o.groups || []).reduce((n, g) => n + g.slots, 0)), 1);
      box.replaceChildren(html("div", { style: `min-height:${top + lanes * ROW + 16 + ROW}px` }, el), memory(it));
    };

    const waitWords = (it) => {
      const most = Math.min(...it.waits), later = Math.floor(most / Math.max(1, it.inside));
      const whose = `${most === 1 ? "that" : "those"} of the next ${later === 1 ? "step" : `${later} steps`}, ${most === 1 ? "is" : "are"}`;
      const left = most ? `at most ${most} tile ${most === 1 ? "copy" : "copies"}, ${whose}` : "no copy is";
      return `Each step goes on when ${left} under way (\`async_wait ${most}\`).`;
    };
    // Shared memory: the buffers as parts of what a program may have.
    const memory = (it) => {
      const bar = html("div", { class: "tl-memory", role: "img", "aria-label": `${bytes(it.shared)} of shared memory, of ${bytes(it.most_shared)} that a program may have` });
      const scale = Math.max(it.most_shared, it.shared);
      it.groups.forEach((g) => {
        for (let s = 0; s < g.slots; s++) {
          bar.append(html("span", { class: "tl-slot", "data-slot": s, "data-slots": g.slots, style: `width:${((100 * g.bytes) / scale).toFixed(3)}%` }, it.groups.length > 1 ? names(g).join(", ") : String(s)));
        }
      });
      const tiles = it.groups.map((g) => `${g.slots} × (${g.tiles.map(([n, shape, dtype]) => `${n} ${shape} ${dtype}`).join(" + ")})`).join(" + ");
      const rest = it.shared === it.bytes ? "" : it.shared > it.bytes ? `, and ${bytes(it.shared - it.bytes)} more` : `, compiled into ${bytes(it.shared)}: not all are needed at once`;
      const wait = it.stages === 1 ? "" : it.waits.length ? waitWords(it) : "Each step waits for the barrier of its own tiles.";
      const words = it.groups.length ? `shared memory: ${tiles} = ${bytes(it.bytes)}${rest}, of ${bytes(it.most_shared)}` : `shared memory: ${bytes(it.shared)}, no buffer for this loop`;
      return html("div", { class: "tl-shared" }, html("p", { class: it.problems.length ? "tl-warn" : "" }, it.problems.length ? `${words}. Does not fit: ${it.problems[0]}` : words), it.groups.length ? bar : null, wait ? html("p", {}, tl.rich(wait)) : null);
    };

    // All that were given, beside each other.
    const table = html("table", { class: "tl-all" });
    const pick = items.length > 1 ? tl.choice({ label: "show", options: items.map((it, i) => [i, it.label || it.kernel]), value: which, onChange: (v) => choose(v) }) : null;
    const choose = (i) => {
      which = i;
      pick?.set(i);
      over = null;
      refresh();
    };
    const fill = () => {
      const rows = items.map((it, i) => {
        const tr = html("tr", { class: i === which ? "tl-now" : "", onclick: () => choose(i) }, html("th", { scope: "row" }, it.label || it.kernel));
        if (!it.compiled) tr.append(html("td", { colspan: 5 }, `does not compile: ${it.problems[0]}`));
        else tr.append(
          html("td", {}, it.stages === 1 ? "1: not pipelined" : `${it.stages}: ${it.stages - 1} ahead`),
          html("td", {}, it.groups.length ? it.groups.map((g) => `${g.slots} × ${bytes(g.bytes)}`).join(" + ") : "–"),
          html("td", { class: it.problems.length ? "tl-warn" : "" }, bytes(it.shared)),
          html("td", {}, it.stages === 1 ? `${it.loads} plain` : `${it.before} + ${it.inside}${it.loads ? `, ${it.loads} plain` : ""}`),
          html("td", {}, it.problems.length ? "0: does not fit" : String(it.programs)));
        return tr;
      });
      table.replaceChildren(
        html("thead", {}, html("tr", {}, ["", "stages made", "buffers", "shared memory", "tile copies before + inside the loop", "programs per SM"].map((t) => (t ? html("th", { scope: "col" }, t) : html("td", {}))))),
        html("tbody", {}, rows));
    };
    const refresh = () => {
      if (!width) return;
      if (pin !== null && pin >= steps) pin = null;
      draw();
      fill();
      explain();
      light();
    };

    ui.picture.tabIndex = 0;
    ui.picture.setAttribute("role", "group");
    ui.picture.setAttribute("aria-label", "timeline: left and right choose a step, up and down a kernel, Escape none");
    const onKey = (e) => {
      if (e.ctrlKey || e.metaKey || e.altKey) return;
      const k = shown();
      if (e.key === "ArrowRight") pin = k === null ? 0 : Math.min(steps - 1, k + 1);
      else if (e.key === "ArrowLeft") pin = k === null ? steps - 1 : Math.max(0, k - 1);
      else if (e.key === "Home") pin = 0;
      else if (e.key === "End") pin = steps - 1;
      else if (e.key === "Escape") pin = null;
      else if (e.key === "ArrowDown" || e.key === "ArrowUp") which = Math.max(0, Math.min(items.length - 1, which + (e.key === "ArrowDown" ? 1 : -1)));
      else return;
      e.preventDefault();
      if (e.key === "ArrowUp" || e.key === "ArrowDown") return choose(which);
      over = null;
      light();
    };
    ui.picture.addEventListener("keydown", onKey);

    const key = (cls, words) => html("span", {}, html("i", { class: `tl-key tl-key-${cls}` }), words);
    const legend = html("p", { class: "tl-legend" });
    const explain = () => legend.replaceChildren(key("load", "tiles on their way into a buffer"), key("held", "there, not used yet"), key("read", `read by the ${unit()}`), key("dot", unit()), key("masked", "the program waits"));
    ui.notes.append(
      legend,
      html("p", { class: "tl-note" }, "Order and buffers are the compiler's; the lengths are schematic and not measured: every load takes equally long, however many are under way. Other programs of the SM, which also fill the waiting, are not drawn."));
    const slider = tl.slider({ label: "steps of the loop", min: 1, max: most, value: steps, onInput: (v) => { steps = v; refresh(); } });
    const longer = tl.slider({ label: "a load takes", min: 1, max: 6, value: load, text: (v) => `${v} dot${v === 1 ? "" : "s"}`, onInput: (v) => { load = v; refresh(); } });
    if (pick) ui.controls.append(pick.el);
    ui.controls.append(slider.el, longer.el);
    ui.footer.append(html("div", { class: "tl-scroll" }, table));
    return {
      draw(w) {
        width = w;
        refresh();
      },
      destroy() { ui.picture.removeEventListener("keydown", onKey); },
    };
  },
});
