// The stepper's variables: of every function a panel with argument chips, then one row a variable. A row shows dtype,
// shape, value and a picture of a block; nodes are made once and filled again only where something is another.
//   tlLocals({ data, block, setCursor }) -> { el, start(program), show(step, palette, cursor), forget() }
//   setCursor(lane, shape) is called when the reader points at a lane, setCursor(null) when at none
const tlLocals = ({ data, block, setCursor }) => {
  const { html } = tl, P = tlPictures;
  const head = html("div", { class: "tl-head" });
  const panels = html("div", {});
  const el = html("div", { class: "tl-vars" }, head, panels);
  let layouts = [], panel = [], shown = {};

  // For each function of the program: its variables in order of first appearance, and the largest picture of each.
  const variables = (program) => {
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
    canvas.addEventListener("focus", () => { if (row.lane < 0 && canvas.matches(":focus-visible")) setCursor(0, data.locals[row.local].shape); });
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
  const show = (s, pal, cursor) => {
    const f = s.function, from = s.callers[0];
    if (shown.head !== `${f}|${from}`) {
      head.replaceChildren("variables of ", html("code", {}, data.functions[f].name), from ? `, called at line ${from[1]}` : "");
      shown.head = `${f}|${from}`;
    }
    const here = new Map(s.locals.map((i) => [data.locals[i].name, i]));
    const changed = new Set(s.changed.filter((c) => !s.bound.includes(c)).map((c) => (typeof c === "string" ? c : data.locals[s.locals[c]].name)));
    const { el: own, items } = panelOf(f);
    if (shown.panel !== own) {
      if (shown.panel) shown.panel.hidden = true;
      own.hidden = false;
      shown.panel = own;
    }
    const whole = Math.max(60, shown.inner ?? (shown.inner = el.clientWidth - 14)), half = Math.floor((whole - 20) / 2);
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
        row.el.classList.toggle("tl-scalar", !v.shapes.length);
        row.el.classList.toggle("tl-tile", v.tile);
      }
      row.local = local;
      row.lane = lane;
      const text = !is ? "" : lane >= 0 ? `[${P.laneName(lane, is.shape)}] ${laneText(is, value, lane)}` : scalarText(is, value);
      row.say.textContent = text;
      row.say.classList.toggle("tl-at-lane", lane >= 0);
      const pictured = is && is.shape.length && value;
      row.canvas.hidden = !pictured;
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

  return {
    el,
    show,
    start(program) {
      layouts = variables(program);
      panel = [];
      shown = {};
      panels.replaceChildren();
    },
    // Everything is drawn again: the width or the theme is another.
    forget() {
      shown.inner = undefined;
      for (const p of panel) for (const v of p?.items || []) { v.filled = -2; if (v.row) v.row.local = -2; }
    },
  };
};
