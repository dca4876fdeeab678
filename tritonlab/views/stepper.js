// The stepper: one program's executed lines, one after the other. All nodes are made once; a step only fills them.
const WORDS = new Set("and as assert break class continue def del elif else False finally for from if import in is lambda None not or pass raise return True try while with yield".split(" "));
const TOKEN = /("""|'''|#.*|(?:[rbfu]{0,2})(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|\b\d[\w.]*|[A-Za-z_]\w*|@\w[\w.]*)/g;

// The nodes of one source line. `open` is the quote of a triple-quoted string that began above, or "".
const highlight = (text, open) => {
  const nodes = [];
  const put = (part, kind) => { if (part) nodes.push(kind ? tl.html("span", { class: `tl-k-${kind}` }, part) : part); };
  let at = 0;
  if (open) {
    const end = text.indexOf(open);
    if (end < 0) return [[tl.html("span", { class: "tl-k-text" }, text)], open];
    at = end + 3;
    put(text.slice(0, at), "text");
  }
  TOKEN.lastIndex = at;
  for (let m; (m = TOKEN.exec(text)); ) {
    put(text.slice(at, m.index));
    const token = m[0];
    if (token === '"""' || token === "'''") {
      const end = text.indexOf(token, m.index + 3);
      if (end < 0) { put(text.slice(m.index), "text"); return [nodes, token]; }
      put(text.slice(m.index, end + 3), "text");
      at = TOKEN.lastIndex = end + 3;
      continue;
    }
    const c = token[0];
    put(token, c === "#" ? "note" : c === "@" ? "word" : /["']/.test(token) ? "text" : /\d/.test(c) ? "number" : WORDS.has(token) ? "word" : "");
    at = m.index + token.length;
  }
  put(text.slice(at));
  return [nodes, ""];
};

export default tl.view({
  name: "stepper",
  mount(ui) {
    const { html } = tl;
    const data = ui.data;
    const decoded = data.values.map(() => null);
    const block = (i) => (decoded[i] ??= tlPictures.decode(data.values[i]));
    const P = tlPictures;
    let program, at = 0, width = 0, pal = null, cursor = null, memory = [], layouts = [], panel = [], shown = {};
    ui.root.dataset.lmSuppressShortcuts = "true";

    // Source: every function that the programs ran, the kernel first.
    const sources = data.functions.map((fn, f) => {
      let open = "", nodes;
      const lines = fn.lines.map((text, i) => {
        [nodes, open] = highlight(text, open);
        const row = html("div", { class: "tl-line" }, html("span", { class: "tl-no" }, fn.first + i), html("code", {}, nodes.length ? nodes : " "));
        row.dataset.line = fn.first + i;
        return row;
      });
      const body = html("div", { class: "tl-lines", tabindex: 0, role: "group", "aria-label": `source of ${fn.name}` }, html("div", { class: "tl-code" }, lines));
      body.addEventListener("click", (e) => {
        const line = e.target.closest(".tl-line");
        if (line) toLine(f, Number(line.dataset.line));
      });
      const head = f === 0 ? null : html("div", { class: "tl-head" }, "device function ", html("code", {}, fn.name));
      return { fn, el: html("div", { class: "tl-source" }, head, body), body, lines: new Map(lines.map((el) => [Number(el.dataset.line), el])) };
    });
    const stop = html("div", { class: "tl-stop", role: "alert" });
    const code = html("div", { class: "tl-sources" }, sources.map((s) => s.el));

    // Locals: of every function a panel with argument chips, then one row a variable; the current function's is shown.
    const varsHead = html("div", { class: "tl-head" });
    const panels = html("div", {});
    const vars = html("div", { class: "tl-vars" }, varsHead, panels);
    const strips = html("div", { class: "tl-strips" });
    const legend = html("div", { class: "tl-legend" });
    ui.picture.append(html("div", { class: "tl-columns" }, code, vars), strips, legend);

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

    const toLine = (f, line) => {
      const n = program.steps.length;
      for (let k = 1; k <= n; k++) {
        const s = program.steps[(at + k) % n];
        if (s.function === f && s.line === line) return step((at + k) % n);
      }
    };

    // For each function of the program: its variables in order of first appearance, and the largest picture of each.
    const variables = () => {
      const out = data.functions.map(() => new Map());
      for (const s of program.steps) {
        for (const i of s.locals) {
          const v = data.locals[i], known = out[s.function];
          if (!known.has(v.name)) known.set(v.name, { name: v.name, plain: true, shapes: [] });
          const has = known.get(v.name);
          if (v.shape.length) { has.plain = false; has.shapes.push(v.shape); }
        }
      }
      return out.map((m, f) => [...m.values()].map((v) => ({
        ...v,
        chip: v.plain && data.functions[f].parameters.includes(v.name),
        tile: v.shapes.length > 0 && v.shapes.every((x) => x.length > 1),
      })));
    };

    const kindOf = (v) => (v.dtype === "int1" ? "flags" : "numbers");
    const reachOf = (v) => (v.dtype.startsWith("pointer") ? data.args.find((a) => a.name === v.arg)?.extent : undefined);

    const makeRow = () => {
      const name = html("code", { class: "tl-name" }), type = html("span", { class: "tl-type" }), say = html("span", { class: "tl-value" });
      const mark = html("span", { class: "tl-hidden" });
      const canvas = html("canvas", { class: "tl-block", tabindex: 0, role: "slider", "aria-valuemin": 0 });
      const el = html("div", { class: "tl-var" }, html("div", { class: "tl-var-head" }, name, type, say, mark), canvas);
      const row = { el, name, type, say, mark, canvas, local: -2, lane: -1, box: null };
      const point = (e) => {
        const r = canvas.getBoundingClientRect();
        if (row.box) setCursor(P.laneAt(row.box, e.clientX - r.left, e.clientY - r.top), data.locals[row.local].shape);
      };
      canvas.addEventListener("pointermove", point);
      canvas.addEventListener("pointerdown", point);
      canvas.addEventListener("pointerleave", () => setCursor(null));
      canvas.addEventListener("focus", () => { if (!cursor && canvas.matches(":focus-visible")) setCursor(0, data.locals[row.local].shape); });
      canvas.addEventListener("blur", () => setCursor(null));
      canvas.addEventListener("keydown", (e) => {
        const v = data.locals[row.local], n = v.shape.reduce((a, b) => a * b, 1), cols = v.shape[v.shape.length - 1];
        const lane = row.lane < 0 ? 0 : row.lane;
        const to = { ArrowLeft: lane - 1, ArrowRight: lane + 1, ArrowUp: lane - (v.shape.length > 1 ? cols : 1), ArrowDown: lane + (v.shape.length > 1 ? cols : 1), Home: 0, End: n - 1, PageUp: lane - 16, PageDown: lane + 16 }[e.key];
        if (to === undefined || e.ctrlKey || e.metaKey || e.altKey) return;
        e.preventDefault();
        e.stopPropagation();
        setCursor(Math.max(0, Math.min(n - 1, to)), v.shape);
      });
      return row;
    };

    const setCursor = (lane, shape) => {
      if (lane === null ? cursor === null : cursor && cursor.lane === lane && cursor.shape === shape) return;
      cursor = lane === null ? null : { lane, shape };
      fillRows();
      drawMemory();
    };

    // Shows the locals of the current step. What shows the same local and lane as before is left alone.
    const panelOf = (f) => {
      if (panel[f]) return panel[f];
      const items = layouts[f].map((v) => ({ ...v, row: v.chip ? null : makeRow(), el: v.chip ? html("span", { class: "tl-arg" }) : null, filled: -2 }));
      const el = html("div", { hidden: true },
        html("div", { class: "tl-args" }, items.filter((v) => v.chip).map((v) => v.el)),
        html("div", { class: "tl-rows" }, items.filter((v) => v.row).map((v) => v.row.el)));
      panels.append(el);
      return (panel[f] = { el, items });
    };
    const fillRows = () => {
      const s = program.steps[at], f = s.function;
      const here = new Map(s.locals.map((i) => [data.locals[i].name, i]));
      const changed = new Set(s.changed.filter((c) => !s.bound.includes(c)).map((c) => (typeof c === "string" ? c : data.locals[s.locals[c]].name)));
      const { el, items } = panelOf(f);
      if (shown.panel !== el) {
        if (shown.panel) shown.panel.hidden = true;
        el.hidden = false;
        shown.panel = el;
      }
      const whole = Math.max(60, shown.inner ?? (shown.inner = vars.clientWidth - 14)), half = Math.floor((whole - 20) / 2);
      for (const v of items) {
        const local = here.has(v.name) ? here.get(v.name) : -1;
        const is = local < 0 ? null : data.locals[local];
        if (v.chip) {
          v.el.classList.toggle("tl-changed", changed.has(v.name));
          if (v.filled !== local) {
            v.filled = local;
            v.el.replaceChildren(html("code", {}, v.name), is ? ` ${is.dtype.startsWith("pointer") ? is.dtype : is.say}` : "");
            v.el.title = is ? `${v.name}: ${is.dtype}, ${is.say}` : v.name;
          }
          continue;
        }
        const row = v.row, inner = v.tile ? half : whole;
        const marked = changed.has(v.name);
        row.el.classList.toggle("tl-changed", marked);
        row.el.classList.toggle("tl-unset", local < 0);
        if (row.mark.textContent !== (marked ? " changed" : "")) row.mark.textContent = marked ? " changed" : "";
        const value = is && is.value !== null ? block(is.value) : null;
        const lane = !cursor || !is || !is.shape.length || !value ? -1 : P.paired(cursor.lane, cursor.shape, is.shape);
        if (row.local === local && row.lane === lane) continue;
        if (row.local !== local) {
          row.name.textContent = v.name;
          row.type.textContent = is ? is.dtype.replace(/^pointer<.*/, "pointer") + (is.shape.length ? `[${is.shape.join(", ")}]` : "") : "";
          row.type.title = is ? is.dtype : "";
          const blockRow = v.shapes.length > 0;
          row.el.classList.toggle("tl-scalar", !blockRow);
          row.el.classList.toggle("tl-tile", v.tile);
          row.canvas.hidden = !blockRow;
          if (blockRow) {
            const room = Math.max(...v.shapes.map((x) => P.extent(x, inner).h)), own = is && is.shape.length ? P.extent(is.shape, inner).h : 0;
            if (!own) row.canvas.style.height = "0";
            row.canvas.style.marginBottom = `${room - own}px`;
          }
        }
        row.local = local;
        row.lane = lane;
        const text = !is ? "" : lane >= 0 ? `[${P.laneName(lane, is.shape)}] ${laneText(is, value, lane)}` : scalarText(is, value);
        row.say.textContent = text;
        row.say.classList.toggle("tl-at-lane", lane >= 0);
        const pictured = is && is.shape.length && value;
        row.canvas.style.visibility = pictured ? "" : "hidden";
        row.box = pictured ? P.draw(row.canvas, value, inner, pal, { kind: kindOf(is), reach: reachOf(is), lane }) : null;
        if (pictured) {
          row.canvas.setAttribute("aria-label", `${v.name}, ${is.dtype}, ${is.shape.join(" × ")} lanes, ${is.say}`);
          row.canvas.setAttribute("aria-valuemax", value.size - 1);
          row.canvas.setAttribute("aria-valuenow", Math.max(0, lane));
          row.canvas.setAttribute("aria-valuetext", lane >= 0 ? `lane ${P.laneName(lane, is.shape)}: ${laneText(is, value, lane)}` : is.say);
        }
      }
    };
    const laneText = (v, value, lane) => {
      const text = P.exact(value, lane, v.dtype);
      if (!v.dtype.startsWith("pointer")) return text;
      const reach = reachOf(v), o = Number(text);
      return `${v.arg}[${text}]${reach !== undefined && (o < 0 || o >= reach) ? " past end" : ""}`;
    };
    const scalarText = (v, value) => (v.shape.length || !value || v.dtype.startsWith("pointer") ? v.say : P.exact(value, 0, v.dtype));

    // One strip an argument that the program touches, in a window that stays the same at every step.
    const segments = new Map();
    const rowOf = (i) => {
      if (!segments.has(i)) {
        const a = data.accesses[i], offsets = block(a.offsets), mask = block(a.mask);
        const arg = data.args.find((x) => x.name === a.arg);
        const title = a.kind.replace("atomic_", "atomic ");
        segments.set(i, { kind: a.kind, title, program: program.index, at: i, segments: tl.segments(arg, offsets.kept, (k) => Number(offsets.flat[k]), (k) => mask.flat[k]) });
      }
      return segments.get(i);
    };
    const touched = (s) => [...s.accesses, ...(s.refused || [])].filter((i) => data.args.some((a) => a.name === data.accesses[i].arg));
    const makeStrips = () => {
      segments.clear();
      const all = new Map();
      for (const s of program.steps) {
        const here = new Map();
        for (const i of touched(s)) {
          const { arg, kind } = data.accesses[i];
          if (!all.has(arg)) all.set(arg, { rows: [], load: 0, store: 0 });
          all.get(arg).rows.push(rowOf(i));
          const side = kind === "load" ? "load" : "store", key = `${arg} ${side}`;
          here.set(key, (here.get(key) || 0) + 1);
          all.get(arg)[side] = Math.max(all.get(arg)[side], here.get(key));
        }
      }
      memory = data.args.filter((arg) => all.has(arg.name)).map((arg) => {
        const { rows: whole, load, store } = all.get(arg.name);
        const over = tl.html("span", { class: "tl-over", "aria-hidden": "true" }, tl.html("span", {}), tl.html("b", {}));
        const m = { arg, load, store, over, window: tl.windowOf(arg, whole), svg: tl.canvas(10, 10, arg.name) };
        m.paints = tl.paints(m.svg);
        m.el = tl.html("div", { class: "tl-memory" }, tl.html("div", { class: "tl-memory-head" }, tl.html("code", {}, arg.name), tl.html("span", {}, tl.argTitle(arg)), over), m.svg);
        m.svg.addEventListener("pointermove", (e) => {
          const r = m.svg.getBoundingClientRect();
          const hit = m.drawn.hit(e.clientX - r.left, e.clientY - r.top);
          const found = hit && hit.row !== undefined ? m.rows[hit.row] : null;
          const access = found && found.at !== undefined ? data.accesses[found.at] : null;
          if (!hit || (found && !access)) { ui.tip.hide(); return setCursor(null); }
          const shape = access && block(access.offsets).shape;
          setCursor(access ? hit.lane : null, shape);
          ui.tip.show(access ? touch(access, hit.lane, hit.state) : `${arg.name}[${hit.offset}]${tl.valid(arg, hit.offset) ? "" : ": no element of it"}`, e);
        });
        m.svg.addEventListener("pointerleave", () => { ui.tip.hide(); setCursor(null); });
        return m;
      });
      strips.replaceChildren(...memory.map((m) => m.el));
      const states = new Set(memory.flatMap((m) => all.get(m.arg.name).rows).flatMap((r) => r.segments.map((x) => x.state)));
      const texts = { on: "lane on", masked: "lane masked: touches nothing", bad: "lane out of range" };
      legend.replaceChildren(...Object.keys(texts).filter((k) => states.has(k)).map((k) => {
        const swatch = tl.canvas(18, 12, "");
        swatch.removeAttribute("role");
        swatch.setAttribute("aria-hidden", "true");
        const paints = tl.paints(swatch);
        swatch.append(tl.svg("rect", { x: 0.5, y: 0.5, width: 17, height: 11, fill: k === "on" ? paints.program(program.index) : k === "masked" ? paints.masked : paints.error, stroke: k === "bad" ? "var(--tl-error)" : k === "masked" ? "var(--tl-line-2)" : "none" }));
        return tl.html("span", {}, swatch, texts[k]);
      }));
    };
    const drawMemory = () => {
      const s = program.steps[at], now = touched(s);
      for (const m of memory) {
        const mine = now.filter((i) => data.accesses[i].arg === m.arg.name);
        const first = mine.length ? block(data.accesses[mine[0]].offsets) : null;
        const lane = cursor && first ? P.paired(cursor.lane, cursor.shape, first.shape) : -1;
        const key = `${mine.join()}/${lane}`;
        if (m.key === key) continue;
        m.key = key;
        // Empty rows keep the strip in its place while the line touches something else.
        const none = (kind, n) => Array.from({ length: n }, () => ({ kind, title: "", program: program.index, segments: [] }));
        const rows = mine.map(rowOf), loads = rows.filter((r) => r.kind === "load"), stores = rows.filter((r) => r.kind !== "load");
        m.rows = [...stores, ...none("store", m.store - stores.length), ...loads, ...none("load", m.load - loads.length)];
        m.drawn = tl.strip({ width, paints: m.paints, arg: m.arg, rows: m.rows, window: m.window, lane: lane < 0 ? null : lane });
        for (const g of m.drawn.el.querySelectorAll(".tl-lanes")) if (g.children.length === 1) g.remove();
        m.g?.remove();
        m.svg.append((m.g = m.drawn.el));
        for (const [name, value] of [["width", width], ["height", m.drawn.height], ["viewBox", `0 0 ${width} ${m.drawn.height}`]]) m.svg.setAttribute(name, value);
        tl.relabel(m.svg, `memory of ${m.arg.name}: ${mine.length ? s.say : "not touched by this line"}`);
        m.el.classList.toggle("tl-touched", mine.length > 0);
        drawOver(m, rows);
      }
    };
    // Where the window, and what is touched in it, lies in the whole argument.
    const drawOver = ({ arg, over, window: [lo, hi] }, rows) => {
      over.hidden = lo <= 0 && hi >= arg.extent;
      if (over.hidden) return;
      const place = (el, a, b) => {
        el.style.left = `${(100 * Math.max(0, a)) / arg.extent}%`;
        el.style.width = `${(100 * (Math.min(arg.extent, b) - Math.max(0, a))) / arg.extent}%`;
      };
      place(over.children[0], lo, hi);
      const on = rows.flatMap((r) => r.segments).filter((x) => x.state === "on").map(tl.segmentEnds);
      over.children[1].hidden = !on.length;
      if (on.length) place(over.children[1], Math.min(...on.map((e) => e[0])), Math.max(...on.map((e) => e[1])) + 1);
      over.children[1].style.background = tl.programColor(program.index);
    };
    const touch = (access, lane, state) => {
      const offsets = block(access.offsets);
      const where = `${access.arg}[${P.exact(offsets, lane, "int64")}]`;
      const name = offsets.size > 1 ? `lane ${P.laneName(lane, offsets.shape)}` : "its lane";
      if (state === "masked") return `${name} is masked\nit points to ${where}`;
      if (state === "bad") return `${name} is out of range\nit points to ${where}`;
      if (access.at === null) return `${name} points to ${where}`;  // the guard refused the access as a whole
      const value = access.values === null ? "" : `\n${P.exact(block(access.values), lane, "")}`;
      return `${name} ${access.kind === "load" ? "reads" : access.kind === "store" ? "writes" : "updates"} ${where}${value}`;
    };

    // Marks the current line and the lines that called it, and keeps them in sight without moving the page.
    const markLines = () => {
      const s = program.steps[at];
      for (const el of shown.marks || []) el.classList.remove("tl-now", "tl-caller");
      const marks = [];
      const mark = (f, line, name) => {
        const el = sources[f].lines.get(line);
        if (!el) return;
        el.classList.add(name);
        marks.push(el);
        const box = sources[f].body, top = el.offsetTop - box.offsetTop;
        if (top < box.scrollTop + 8) box.scrollTop = Math.max(0, top - 40);
        else if (top + el.offsetHeight > box.scrollTop + box.clientHeight - 8) box.scrollTop = top + el.offsetHeight + 40 - box.clientHeight;
      };
      for (const [f, line] of s.callers) mark(f, line, "tl-caller");
      mark(s.function, s.line, "tl-now");
      shown.marks = marks;
      sources.forEach(({ el }, f) => el.classList.toggle("tl-idle", f !== s.function && !s.callers.some(([g]) => g === f)));
      const ends = program.stops && at >= program.stops.step;
      if (ends) {
        stop.textContent = program.stops.message;
        const own = sources[program.steps[program.stops.step].function].lines.get(program.stops.line) || sources.map((x) => x.lines.get(program.stops.line)).find(Boolean) || marks[marks.length - 1];
        own?.after(stop);
        own?.parentElement.parentElement.scrollTo({ top: Math.max(0, (own?.offsetTop ?? 0) - own?.parentElement.parentElement.offsetTop - 60) });
      } else if (stop.isConnected) stop.remove();
      ui.root.classList.toggle("tl-stopped", Boolean(ends));
    };

    const show = () => {
      const s = program.steps[at];
      markLines();
      const from = s.callers[0];
      const head = `${data.functions[s.function].name}|${from}`;
      if (shown.head !== head) {
        varsHead.replaceChildren("variables of ", html("code", {}, data.functions[s.function].name), from ? `, called at line ${from[1]}` : "");
        shown.head = head;
      }
      fillRows();
      drawMemory();
      slider.set(at + 1);
      buttons[0].disabled = buttons[1].disabled = at === 0;
      buttons[2].disabled = buttons[3].disabled = at === last();
      ui.say(s.say);
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
      at = Math.min(where, program.steps.length - 1);
      layouts = variables();
      for (const { fn, lines } of sources) for (const [n, el] of lines) el.classList.toggle("tl-runs", program.steps.some((s) => data.functions[s.function] === fn && s.line === n));
      sources.forEach(({ el }, f) => { el.hidden = f > 0 && !program.steps.some((s) => s.function === f); });
      shown = {};
      panel = [];
      panels.replaceChildren();
      slider.range(1, program.steps.length);
      slider.set(at + 1);
      makeStrips();
      const left = [];
      if (program.left_out) left.push(`${tl.count(program.left_out, "later step")} not kept in this view.`);
      if (data.limits.values_left_out) left.push(`${tl.count(data.limits.values_left_out, "value")} not kept: the view is full.`);
      if (data.values.some((v) => v.kept)) left.push(`Blocks are kept up to their lane ${data.limits.lanes - 1}.`);
      ui.notes.replaceChildren(...(left.length ? [html("p", { class: "tl-note" }, left.join(" "))] : []));
      if (width) draw(width);
    };

    const draw = (w) => {
      width = w;
      pal = P.palette(ui.root, program.index);
      shown.inner = undefined;
      for (const p of panel) for (const v of p?.items || []) { v.filled = -2; if (v.row) v.row.local = -2; }
      for (const m of memory) m.key = null;
      ui.says.style.minHeight = "";
      ui.say(program.steps.reduce((a, b) => (b.say.length > a.say.length ? b : a)).say);
      ui.says.style.minHeight = `${ui.says.offsetHeight}px`;  // the picture must not move while stepping
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
