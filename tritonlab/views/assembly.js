// The kernel's source on the left, its PTX or SASS on the right. A line that is pointed at or chosen lights up its partners.
//   data: { kernel, target, functions: [{ name, first, lines }], stages: { sass, ptx: { rows: [[text, kind, function, line, bytes]], total } },
//           start: { stage, place: [function, line] | null } }
export default tl.view({
  name: "assembly",
  mount(ui) {
    const { html } = tl;
    const data = ui.data;
    const { functions, stages } = data;
    const WORD = { sass: "SASS", ptx: "PTX" };
    const key = (f, line) => `${f}:${line}`;
    const bands = new Map(); // source lines that made something get one of six colours in turn; their number stands beside it
    const band = (place) => {
      if (!bands.has(place)) bands.set(place, bands.size);
      return tl.programColor(bands.get(place));
    };
    let stage = data.start.stage, kind = "";
    let pin = data.start.place ? key(...data.start.place) : null;
    let over = null, cursor = null;

    // Colours in order of the source, the same for both stages.
    const made = new Set(Object.values(stages).flatMap((s) => s.rows.filter((r) => r[1] && r[3]).map((r) => key(r[2], r[3]))));
    functions.forEach((fn, f) => fn.lines.forEach((_, i) => { if (made.has(key(f, fn.first + i))) band(key(f, fn.first + i)); }));

    // The source.
    const lines = new Map();
    const source = html("div", { class: "tl-pane tl-source", tabindex: 0, role: "group", "aria-label": `source of ${data.kernel}: up and down choose a line` });
    functions.forEach((fn, f) => {
      if (f > 0) source.append(html("div", { class: "tl-function" }, "device function ", html("code", {}, fn.name)));
      fn.lines.forEach((text, i) => {
        const place = key(f, fn.first + i);
        const number = html("span", { class: "tl-made" });
        const row = html("div", { class: "tl-row" }, html("span", { class: "tl-no" }, fn.first + i), html("code", {}, text || " "), number);
        if (made.has(place)) {
          row.dataset.place = place;
          row.style.setProperty("--tl-band", band(place));
        }
        lines.set(place, { row, number, text: text.trim(), line: fn.first + i, f });
        source.append(row);
      });
    });

    const listing = html("div", { class: "tl-pane tl-listing", tabindex: 0, role: "group" });
    const head = html("div", { class: "tl-pane-head" });
    const columns = html("div", { class: "tl-columns" }, html("div", { class: "tl-side" }, html("div", { class: "tl-pane-head" }, "source"), source), html("div", { class: "tl-side" }, head, listing));
    ui.picture.append(columns);

    let rows = [];
    const list = () => {
      const shown = stages[stage].rows.filter((r) => !kind || r[1] === kind);
      rows = shown.map(([text, k, f, line]) => {
        const place = k && line ? key(f, line) : null;
        const number = html("span", { class: "tl-no" }, place ? String(line) : "");
        const el = html("div", { class: k ? "tl-row" : "tl-row tl-label" }, number, html("code", {}, text));
        if (place) {
          el.dataset.place = place;
          el.style.setProperty("--tl-band", band(place));
        }
        return { el, place, text, kind: k };
      });
      listing.replaceChildren(...rows.map((r) => r.el));
      listing.setAttribute("aria-label", `${WORD[stage]} of ${data.kernel}: up and down choose an instruction`);
      listing.scrollTop = 0;
      head.textContent = kind ? `${WORD[stage]}: ${shown.length} ${named(kind, shown.length)}, of ${stages[stage].total} instructions` : `${WORD[stage]}: ${tl.count(stages[stage].total, "instruction")}`;
      const counts = new Map();
      for (const r of rows) if (r.place) counts.set(r.place, (counts.get(r.place) || 0) + 1);
      for (const [place, { row, number }] of lines) {
        number.textContent = counts.get(place) || "";
        row.classList.toggle("tl-some", counts.has(place));
      }
      cursor = null;
    };

    const TELLING = new Set(["global load", "global store", "async copy", "TMA", "tensor core", "atomic", "special function"]);
    const reveal = (box, el) => {
      const top = el.offsetTop, bottom = top + el.offsetHeight;
      if (top < box.scrollTop + 4 || bottom > box.scrollTop + box.clientHeight - 4) box.scrollTop = Math.max(0, top - box.clientHeight / 3);
    };
    const light = (place, from) => {
      for (const { row } of lines.values()) row.classList.toggle("tl-lit", row.dataset.place === place && place !== null);
      const lit = rows.filter((r) => r.place === place && place !== null);
      for (const r of rows) r.el.classList.toggle("tl-lit", r.place === place && place !== null);
      const telling = lit.find((r) => TELLING.has(r.kind)) || lit[0];
      if (from !== "listing" && telling) reveal(listing, telling.el);
      if (from !== "source" && place && lines.has(place)) reveal(source, lines.get(place).row);
      say(place);
    };
    // "2 global loads of 16 bytes": what a kind's instructions are called.
    const NOUNS = { integer: "integer operation", "floating point": "floating-point operation", "compare and select": "comparison or selection", control: "control instruction", other: "other instruction", "tensor core": "tensor core instruction", "tensor memory": "tensor memory access", "local memory": "access to spilled registers", TMA: "bulk copy", "special function": "special function", move: "move" };
    const named = (k, n, bytes = 0) => {
      const noun = NOUNS[k] || k;
      const many = n === 1 ? noun : /^(access|comparison)/.test(noun) ? noun.replace(/^access/, "accesses").replace(/^comparison or selection/, "comparisons or selections") : noun.endsWith("copy") ? `${noun.slice(0, -1)}ies` : noun.endsWith("access") ? `${noun}es` : `${noun}s`;
      return bytes ? `${many} of ${bytes} byte${bytes === 1 ? "" : "s"}` : many;
    };
    const say = (place) => {
      const total = stages[stage].total;
      if (!place) {
        ui.say(`\`${data.kernel}\` for ${data.target}: ${tl.count(total, `${WORD[stage]} instruction`)}. Choose a line to see its partners.`);
        return;
      }
      const mine = stages[stage].rows.filter((r) => r[1] && r[3] && key(r[2], r[3]) === place);
      const kinds = new Map();
      for (const r of mine) {
        const what = `${r[1]}|${r[4] || 0}`;
        kinds.set(what, (kinds.get(what) || 0) + 1);
      }
      const words = [...kinds].map(([what, n]) => [...what.split("|"), n]).sort((a, b) => b[1] - a[1] || b[2] - a[2]).map(([k, bytes, n]) => `${n} ${named(k, n, Number(bytes))}`);
      const { line } = lines.get(place) || { line: "?" };
      ui.say(mine.length ? `Line ${line} became ${mine.length} of ${tl.count(total, `${WORD[stage]} instruction`)}: ${words.join(", ")}.` : `Line ${line} left no ${WORD[stage]} instruction of its own.`);
    };
    const show = (from) => light(over ?? pin, from);

    // Pointing previews, a click or a key chooses.
    const pointed = (box, from) => {
      box.addEventListener("pointermove", (e) => {
        const place = e.target.closest?.(".tl-row")?.dataset.place ?? null;
        if (place === over) return;
        over = place;
        show(from);
      });
      box.addEventListener("pointerleave", () => {
        if (over === null) return;
        over = null;
        show(from);
      });
      box.addEventListener("click", (e) => {
        const place = e.target.closest?.(".tl-row")?.dataset.place ?? null;
        if (place === null) return;
        pin = place;
        over = null;
        show(from);
      });
    };
    pointed(source, "source");
    pointed(listing, "listing");

    const turn = (e, n, at, go) => {
      const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity }[e.key];
      if (step === undefined || e.ctrlKey || e.metaKey || e.altKey || !n) return;
      e.preventDefault();
      over = null;
      go(Math.max(0, Math.min(n - 1, at < 0 ? (step > 0 ? 0 : n - 1) : at + step)));
    };
    source.addEventListener("keydown", (e) => {
      const places = [...lines.keys()].filter((p) => made.has(p));
      turn(e, places.length, places.indexOf(pin), (i) => {
        pin = places[i];
        show("source");
        reveal(source, lines.get(pin).row);
      });
    });
    listing.addEventListener("keydown", (e) => {
      const code = rows.filter((r) => r.place);
      const at = cursor ? code.indexOf(cursor) : code.findIndex((r) => r.place === pin) - 1;
      turn(e, code.length, cursor ? at : Math.max(-1, at), (i) => {
        cursor?.el.classList.remove("tl-cursor");
        cursor = code[i];
        cursor.el.classList.add("tl-cursor");
        pin = cursor.place;
        show("listing");
        reveal(listing, cursor.el);
      });
    });

    // Controls: which code, and which kind of instruction.
    const which = tl.choice({ label: "code", options: [["sass", "SASS"], ["ptx", "PTX"]], value: stage, onChange: (v) => { stage = v; kinds(); list(); show("source"); } });
    const select = html("select", { onchange: () => { kind = select.value; list(); show("source"); } });
    const kinds = () => {
      const counts = new Map();
      for (const r of stages[stage].rows) if (r[1]) counts.set(r[1], (counts.get(r[1]) || 0) + 1);
      if (!counts.has(kind)) kind = "";
      select.replaceChildren(html("option", { value: "" }, `all (${stages[stage].total})`), ...[...counts].map(([k, n]) => html("option", { value: k, selected: k === kind }, `${k} (${n})`)));
    };
    ui.controls.append(which.el, html("label", { class: "tl-which" }, "show ", select));
    ui.notes.append(html("p", { class: "tl-note" }, "A loop's body is listed once, however often it runs. Instructions without a line number serve several lines."));
    const most = Math.max(...Object.values(stages).map((s) => s.rows.length));
    source.style.setProperty("--tl-rows", lines.size);
    listing.style.setProperty("--tl-rows", most);
    columns.style.setProperty("--tl-most", Math.max(most, lines.size));
    kinds();
    list();
    show("start");
    return { draw() {} };
  },
});
