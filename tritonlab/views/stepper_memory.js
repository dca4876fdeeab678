// The memory that a step touches: one strip an argument, with the lanes of this line's loads and stores.
//   tlMemory({ data, block, tip, setCursor }) -> { el, start(program), show(step, width, cursor), forget() }
const tlMemory = ({ data, block, tip, setCursor }) => {
  const P = tlPictures;
  const strips = tl.html("div", { class: "tl-strips" });
  const legend = tl.html("div", { class: "tl-legend" });
  let program = null, memory = [];

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
  const start = (which) => {
    program = which;
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
        if (!hit || (found && !access)) { tip.hide(); return setCursor(null); }
        const shape = access && block(access.offsets).shape;
        setCursor(access ? hit.lane : null, shape);
        tip.show(access ? touch(access, hit.lane, hit.state) : `${arg.name}[${hit.offset}]${tl.valid(arg, hit.offset) ? "" : ": no element of it"}`, e);
      });
      m.svg.addEventListener("pointerleave", () => { tip.hide(); setCursor(null); });
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
  const show = (s, width, cursor) => {
    const now = touched(s);
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
    if (on.length) place(over.children[1], ...on.reduce(([a, b], [c, d]) => [Math.min(a, c), Math.max(b, d + 1)], [Infinity, 0]));
    over.children[1].style.background = tl.programColor(program.index);
  };
  const touch = (access, lane, state) => {
    const offsets = block(access.offsets);
    const where = `${access.arg}[${P.exact(offsets, lane, "int64")}]`;
    const name = offsets.size > 1 ? `lane ${P.laneName(lane, offsets.shape)}` : "its lane";
    if (state === "masked") return `${name} is masked\nit points to ${where}`;
    if (state === "bad") {
      const arg = data.args.find((a) => a.name === access.arg), offset = Number(P.exact(offsets, lane, "int64"));
      return `${name} is ${arg && offset >= 0 && offset < arg.extent ? "between the elements" : "out of range"}\nit points to ${where}`;
    }
    if (access.at === null) return `${name} points to ${where}`;  // the guard refused the access as a whole
    const value = access.values === null ? "" : `\n${P.exact(block(access.values), lane, "")}`;
    return `${name} ${access.kind === "load" ? "reads" : access.kind === "store" ? "writes" : "updates"} ${where}${value}`;
  };

  return { el: tl.html("div", { class: "tl-memories" }, strips, legend), start, show, forget() { for (const m of memory) m.key = null; } };
};
