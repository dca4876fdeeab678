// The stepper's source panel: every function that the programs ran, the kernel first, with the current line marked.
//   tlSource(functions, onLine) -> { el, start(program), mark(program, at) }; onLine(function, line) answers a click
const tlSource = (() => {
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

  return (functions, onLine) => {
    const { html } = tl;
    const sources = functions.map((fn, f) => {
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
        if (line) onLine(f, Number(line.dataset.line));
      });
      const head = f === 0 ? null : html("div", { class: "tl-head" }, "device function ", html("code", {}, fn.name));
      return { el: html("div", { class: "tl-source" }, head, body), body, lines: new Map(lines.map((el) => [Number(el.dataset.line), el])) };
    });
    const stop = html("div", { class: "tl-stop", role: "alert" });
    let marks = [];

    // Brings a line of a scrolled source into sight, without moving the page.
    const reveal = (box, el, below = 0) => {
      const top = el.offsetTop, bottom = top + el.offsetHeight + below;
      if (bottom > box.scrollTop + box.clientHeight - 8) box.scrollTop = bottom + 40 - box.clientHeight;
      if (top < box.scrollTop + 8) box.scrollTop = Math.max(0, top - 40);
    };
    const mark = (f, line, name) => {
      const el = sources[f].lines.get(line);
      if (!el) return;
      el.classList.add(name);
      marks.push(el);
      reveal(sources[f].body, el);
    };
    return {
      el: html("div", { class: "tl-sources" }, sources.map((s) => s.el)),
      start(program) {
        sources.forEach(({ el, lines }, f) => {
          const ran = new Set(program.steps.filter((s) => s.function === f).map((s) => s.line));
          for (const [n, line] of lines) line.classList.toggle("tl-runs", ran.has(n));
          el.hidden = f > 0 && !ran.size;
        });
      },
      // The step's line, the lines that called it, and the error where it stopped the launch.
      mark(program, at) {
        const s = program.steps[at];
        for (const el of marks) el.classList.remove("tl-now", "tl-caller", "tl-stopped");
        marks = [];
        for (const [f, line] of s.callers) mark(f, line, "tl-caller");
        mark(s.function, s.line, "tl-now");
        if (!program.stops || at < program.stops.step) return stop.remove();
        const { message, line, step } = program.stops, f = program.steps[step].function;
        const place = sources[f].lines.get(line);
        stop.textContent = message;
        if (!place) return sources[f].body.append(stop);
        place.after(stop);
        place.classList.add("tl-stopped");
        marks.push(place);
        reveal(sources[f].body, place, stop.offsetHeight);
      },
    };
  };
})();
