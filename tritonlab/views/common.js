// What every view's module has at hand, in the namespace `tl`. This text stands in front of it.
//
//   export default tl.view({ name: "tiles", mount(ui) { ...; return { draw(width), update(data), destroy() } } })
//       mount is called once with ui = { root, says, picture, notes, controls, footer, tip, model, data, say(text), redraw() }:
//         say("Program `3` loads …")  the sentence above the picture; `…` is set as code
//         picture   focusable element to draw into; notes: small print below it; controls: the row below that;
//         footer: what changes its height while exploring, below the controls, which must not move under a drag
//         tip       tl.tooltip of this view: tip.show(text, event | {clientX, clientY}), tip.hide()
//         redraw()  calls draw(width) in the next frame (several calls: one drawing)
//       draw(width) is called at first, when the width changes and after redraw(); width is that of `picture` in px.
//       update(data) is called when `live` replaced the data (without update: mounted anew); draw follows.
//       Busy state, errors and printed text of `live` are shown by tl.view itself.
//
//   tl.svg(tag, attrs, ...children)      SVG element; children: nodes or text; attrs null/undefined/false are left out
//   tl.html(tag, attrs, ...children)     HTML element; attrs that are functions become listeners ({ onclick: f })
//   tl.rich(text)                        nodes of a text in which `…` is code
//   tl.canvas(width, height, label)      <svg role="img"> with title and aria-label, and .defs; tl.relabel(svg, label)
//   tl.uid()                             a number no other view in this document has
//   tl.programColor(i), tl.programInk(i) colour of program i (Okabe–Ito), and of text on it
//   tl.onProgram(i)                      attrs of text that stands on program i's colour
//   tl.paints(svg)                       fills living in that svg: { program(i), masked, past, error(cross), none }
//                                        program(i) is colour plus, from the second round of colours on, a pattern
//   tl.slider({ label, min, max, value, step, text, onInput })   -> { el, input, value, set(v), range(min, max) }
//   tl.button({ label, onClick })        -> <button>
//   tl.choice({ label, options: [[value, text]], value, onChange }) -> { el, value, set(v) }   (radio buttons)
//   tl.legend([[state, text]])           key of lane states: "on", "masked", "bad", "past"
//   tl.tooltip(root)                     -> { show(text, at), hide() }
//   tl.number(v, dtype)                  shortest text that is exactly v in dtype ("float32", "int32", …)
//   tl.count(n, "lane")                  "1 lane", "24 lanes", "1 000" with a narrow space from 10 000 on
//   tl.unpack({ dtype, shape, b64 })     typed array made by Python's pack()
//   tl.programName(pid, grid)            "15" or "(1, 2)"
//   tl.ticks(lo, hi, most)               round numbers in [lo, hi)
const tl = (() => {
  const NS = "http://www.w3.org/2000/svg";
  // Okabe–Ito without black and vermilion: that one is too near to the error colour.
  const COLORS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#F0E442"];
  const INKS = ["#ffffff", "#111418", "#111418", "#111418", "#111418", "#111418"];
  const PATTERNS = 4;

  const fill = (el, attrs, children) => {
    for (const [name, value] of Object.entries(attrs || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (typeof value === "function") el.addEventListener(name.replace(/^on/, ""), value);
      else el.setAttribute(name, value === true ? "" : value);
    }
    for (const child of children.flat()) if (child !== null && child !== undefined && child !== false) el.append(child);
    return el;
  };
  const svg = (tag, attrs, ...children) => fill(document.createElementNS(NS, tag), attrs, children);
  const html = (tag, attrs, ...children) => fill(document.createElement(tag), attrs, children);
  const rich = (text) => String(text).split("`").map((part, i) => (i % 2 ? html("code", {}, part) : part)).filter((p) => p !== "");
  const uid = () => (globalThis.__tritonlabViews = (globalThis.__tritonlabViews || 0) + 1);

  const mod = (i, n) => ((i % n) + n) % n;
  const programColor = (i) => COLORS[mod(i, COLORS.length)];
  const programInk = (i) => INKS[mod(i, INKS.length)];

  const onProgram = (i) => ({ style: `fill:${programInk(i)};stroke:${programColor(i)};stroke-width:3px;paint-order:stroke;stroke-linejoin:round` });

  const canvas = (width, height, label) => {
    const title = svg("title", {}, label);
    const defs = svg("defs");
    const el = svg("svg", { role: "img", "aria-label": label, width, height, viewBox: `0 0 ${width} ${height}` }, title, defs);
    el.defs = defs;
    return el;
  };
  const relabel = (el, label) => {
    el.setAttribute("aria-label", label);
    el.querySelector("title").textContent = label;
  };

  const paints = (el) => {
    const id = `tl${uid()}`;
    const made = new Map();
    const pattern = (name, size, children, transform) => {
      if (!made.has(name)) {
        const node = svg("pattern", { id: `${id}${name}`, width: size, height: size, patternUnits: "userSpaceOnUse", patternTransform: transform }, ...children);
        el.defs.append(node);
        made.set(name, `url(#${id}${name})`);
      }
      return made.get(name);
    };
    const line = (d, stroke, width) => svg("path", { d, stroke, "stroke-width": width, fill: "none" });
    const back = (color, size) => svg("rect", { width: size, height: size, fill: color });
    const program = (i) => {
      const color = programColor(i);
      const round = mod(Math.floor(i / COLORS.length), PATTERNS);
      if (round === 0) return color;
      const ink = programInk(i), n = mod(i, COLORS.length);
      const marks = [
        [svg("circle", { cx: 4, cy: 4, r: 1.2, fill: ink, opacity: 0.4 })],
        [svg("path", { d: "M0 4H8", stroke: ink, "stroke-width": 1, opacity: 0.3 })],
        [svg("path", { d: "M2 4H6M4 2V6", stroke: ink, "stroke-width": 1, opacity: 0.35 })],
      ][round - 1];
      return pattern(`p${round}_${n}`, 8, [back(color, 8), ...marks]);
    };
    return {
      program,
      none: "none",
      get masked() { return pattern("m", 6, [back("var(--tl-bg)", 6), line("M0 0V6", "var(--tl-line-2)", 2.4)], "rotate(45)"); },
      maskedOf(i) {
        return pattern(`m${mod(i, COLORS.length)}`, 6, [back("var(--tl-bg)", 6), line("M0 0V6", programColor(i), 3)], "rotate(45)");
      },
      get past() { return pattern("o", 8, [back("var(--tl-bg)", 8), line("M0 0V8", "var(--tl-line)", 1.2)], "rotate(45)"); },
      get error() { return pattern("e", 10, [back("var(--tl-error-bg)", 10), line("M0 0L10 10M10 0L0 10", "var(--tl-error)", 1.4)]); },
    };
  };

  const slider = ({ label, min, max, value, step = 1, text = String, onInput }) => {
    const output = html("output", {});
    const input = html("input", { type: "range", min, max, step });
    const show = () => {
      output.textContent = text(Number(input.value));
      input.setAttribute("aria-valuetext", output.textContent);
    };
    input.addEventListener("input", () => {
      show();
      onInput(Number(input.value));
    });
    input.value = value;
    show();
    return {
      el: html("label", { class: "tl-slider" }, html("span", {}, label), input, output),
      input,
      get value() { return Number(input.value); },
      set(v) {
        if (Number(input.value) !== v) input.value = v;
        show();
      },
      range(lo, hi) {
        input.min = lo;
        input.max = hi;
        show();
      },
    };
  };
  const button = ({ label, onClick }) => html("button", { type: "button", class: "tl-button", onclick: onClick }, label);
  const choice = ({ label, options, value, onChange }) => {
    const name = `tl-choice-${uid()}`;
    const inputs = options.map(([v]) => html("input", { type: "radio", name, value: v, checked: v === value, onchange: () => onChange(v) }));
    const el = html("fieldset", { class: "tl-choice" }, html("legend", {}, label), options.map(([, text], i) => html("label", {}, inputs[i], text)));
    return {
      el,
      get value() { return options[inputs.findIndex((x) => x.checked)][0]; },
      set(v) { inputs.forEach((x, i) => { x.checked = options[i][0] === v; }); },
    };
  };

  const legend = (states) => html("p", { class: "tl-legend" }, states.map(([state, text]) => html("span", {}, html("i", { class: `tl-key tl-key-${state}` }), text)));

  const tooltip = (root) => {
    const el = html("div", { class: "tl-tip", hidden: true, "aria-hidden": "true" });
    root.append(el);
    return {
      show(text, at) {
        el.textContent = text;
        el.hidden = false;
        const box = root.getBoundingClientRect();
        const own = el.getBoundingClientRect();
        let x = at.clientX - box.left + 14;
        let y = at.clientY - box.top + 16;
        if (x + own.width > box.width - 4) x = Math.max(4, at.clientX - box.left - own.width - 10);
        if (at.clientY + 16 + own.height > window.innerHeight) y = at.clientY - box.top - own.height - 10;
        el.style.transform = `translate(${Math.round(x)}px, ${Math.round(y)}px)`;
      },
      hide() { el.hidden = true; },
    };
  };

  const number = (v, dtype = "") => {
    if (v === null || v === undefined) return "";
    if (typeof v === "boolean") return v ? "True" : "False";
    if (typeof v !== "number") return String(v);
    if (!Number.isFinite(v)) return Number.isNaN(v) ? "nan" : v > 0 ? "inf" : "-inf";
    if (/^u?int|^python int|^i\d|^u\d/.test(dtype)) return String(v);
    const narrow = /^(float32|float16|bfloat16|float8|fp32|fp16|bf16|fp8)/.test(dtype);
    let text = String(v);
    if (narrow) {
      for (let digits = 1; digits <= 9; digits++) {
        const tried = Number(v.toPrecision(digits));
        if (Math.fround(tried) === Math.fround(v)) { text = String(tried); break; }
      }
    }
    if (Object.is(v, -0)) text = "-0";
    return /[.e]/.test(text) || /^python/.test(dtype) && Number.isInteger(v) === false ? text : `${text}.0`;
  };
  const group = (n) => (Math.abs(n) < 10000 ? String(n) : String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f"));
  const count = (n, noun) => `${group(n)} ${noun}${n === 1 ? "" : "s"}`;

  const TYPES = {
    int8: Int8Array, uint8: Uint8Array, int16: Int16Array, uint16: Uint16Array, int32: Int32Array, uint32: Uint32Array,
    float32: Float32Array, float64: Float64Array, int64: BigInt64Array, uint64: BigUint64Array,
  };
  const unpack = ({ dtype, b64 }) => {
    const raw = atob(b64);
    const bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
    return new TYPES[dtype](bytes.buffer);
  };

  const programName = (pid, grid) => {
    let axes = 3;
    while (axes > 1 && (grid[axes - 1] || 1) === 1) axes -= 1;
    return axes === 1 ? String(pid[0]) : `(${pid.slice(0, axes).join(", ")})`;
  };

  const ticks = (lo, hi, most) => {
    const span = hi - lo;
    if (span <= 0) return [];
    const raw = span / Math.max(1, most);
    const power = 10 ** Math.floor(Math.log10(Math.max(raw, 1)));
    const step = Math.max(1, [1, 2, 5, 10].map((k) => k * power).find((s) => s >= raw));
    const out = [];
    for (let v = Math.ceil(lo / step) * step; v < hi; v += step) out.push(v);
    return out;
  };

  // ipywidgets gives its sliders, lists and readouts no accessible name: take the visible label, and keep their keys
  // from JupyterLab's shortcuts.
  const nameControls = (box) => {
    box.setAttribute("data-lm-suppress-shortcuts", "true");
    for (const label of box.querySelectorAll(".widget-label, .jupyter-widget-label")) {
      const text = label.textContent.replace(/\u200b/g, "").trim();
      const control = label.parentElement;
      if (!text || !control) continue;
      for (const part of control.querySelectorAll("[role=slider], .noUi-handle, select, input, [contenteditable]")) {
        if (part.getAttribute("aria-label")) continue;
        part.setAttribute("aria-label", text);
        if (part.isContentEditable || part.hasAttribute("contenteditable")) part.setAttribute("role", "textbox");
      }
    }
  };
  const watchControls = (root) => {
    const home = root.closest(".tl-live");
    if (!home) return null;
    const watch = new MutationObserver(() => look());
    const look = () => {
      const box = home.querySelector(".tl-live-controls");
      if (!box) return;
      watch.disconnect();
      nameControls(box);
      watch.observe(box, { childList: true, subtree: true });
    };
    watch.observe(home, { childList: true, subtree: true });
    look();
    return watch;
  };

  const view = ({ name, mount }) => {
    const render = ({ model, el }) => {
      const says = html("p", { class: "tl-says", "aria-live": "polite" });
      const error = html("div", { class: "tl-error", role: "alert", hidden: true });
      const picture = html("div", { class: "tl-picture" });
      const notes = html("div", { class: "tl-notes" });
      const controls = html("div", { class: "tl-controls" });
      const footer = html("div", { class: "tl-footer" });
      const printed = html("pre", { class: "tl-printed", hidden: true });
      const busy = html("span", { class: "tl-busy-mark", "aria-hidden": "true" }, "running…");
      const main = html("div", { class: "tl-main" }, says, picture, notes);
      const stage = html("div", { class: "tl-stage" }, main, error); // an error lies over the last good picture: nothing moves
      const root = html("div", { class: `tl-view tl-${name}`, role: "group", "aria-label": name, "data-lm-suppress-shortcuts": "true" }, stage, controls, footer, printed, busy);
      el.append(root);
      const tip = tooltip(root);

      let part = null, width = 0, frame = 0, said = null, held = 0;
      const drawNow = () => {
        frame = 0;
        if (part && width > 0) part.draw?.(width);
      };
      const ui = {
        root, says, picture, notes, controls, footer, tip, model,
        get data() { return model.get("data"); },
        say(text) {
          if (text === said) return;
          says.replaceChildren(...rich(text));
          said = text;
        },
        redraw() { if (!frame) frame = requestAnimationFrame(drawNow); },
      };
      const start = () => {
        part?.destroy?.();
        for (const box of [picture, notes, controls, footer]) box.replaceChildren();
        part = mount(ui) || {};
      };
      const onData = () => {
        tip.hide();
        if (part?.update) part.update(model.get("data"));
        else start();
        drawNow();
        // A picture that shrinks while a control is dragged would move the control away.
        root.style.minHeight = `${Math.max(root.offsetHeight, parseFloat(root.style.minHeight) || 0)}px`;
      };
      const onStatus = () => {
        const status = model.get("status") || {};
        root.dataset.tlState = status.state || "ready";
        root.setAttribute("aria-busy", String(status.state === "busy"));
        error.hidden = status.state !== "error";
        main.setAttribute("aria-disabled", String(status.state === "error"));
        if (status.state === "error") error.replaceChildren(html("strong", {}, status.title || "Error"), html("pre", {}, status.message || ""));
        if (status.state !== "busy") {
          printed.hidden = !status.printed;
          printed.textContent = status.printed || "";
        }
      };
      start();
      onStatus();
      model.on("change:data", onData);
      model.on("change:status", onStatus);
      let controlsWatch = null;
      const measure = () => {
        controlsWatch = controlsWatch || watchControls(root);
        const now = Math.floor(picture.clientWidth);
        if (now > 0 && now !== width) {
          width = now;
          root.style.minHeight = says.style.minHeight = "";
          held = 0;
          said = null;
          drawNow();
        }
      };
      measure();
      // A sentence that gets shorter while a control is dragged would move the control away.
      const keepHeight = () => {
        if (picture.clientWidth <= 0 || says.clientHeight <= held) return; // squeezed to nothing, it has a word a line
        held = says.clientHeight;
        says.style.minHeight = `${held}px`;
      };
      const watch = new ResizeObserver((entries) => {
        if (entries.some((e) => e.target === picture)) measure();
        keepHeight();
      });
      watch.observe(picture);
      watch.observe(says);
      return () => {
        watch.disconnect();
        controlsWatch?.disconnect();
        if (frame) cancelAnimationFrame(frame);
        model.off("change:data", onData);
        model.off("change:status", onStatus);
        part?.destroy?.();
      };
    };
    return { render };
  };

  return {
    COLORS, svg, html, rich, uid, canvas, relabel, programColor, programInk, onProgram, paints, slider, button, choice, legend, tooltip,
    number, group, count, unpack, programName, ticks, view,
  };
})();
