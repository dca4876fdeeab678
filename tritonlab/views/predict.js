// A question, answered before anything is revealed. What has been tried is remembered in this page's storage only.
const unseal = ({ sealed, question }) => {
  let state = 2166136261;
  for (const byte of new TextEncoder().encode(question)) state = Math.imul(state ^ byte, 16777619) >>> 0;
  const bytes = Uint8Array.from(atob(sealed), (c) => c.charCodeAt(0));
  for (let i = 0; i < bytes.length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    bytes[i] ^= state >>> 24;
  }
  return JSON.parse(new TextDecoder().decode(bytes));
};

// A number as people write it: 1024, 1_024, 1 024, 1,024, -0.5, 1e3. Whole numbers stay exact. null: not a number.
const parse = (text) => {
  let bare = text.trim().replace(/(?<=\d)[_\s\u2009](?=\d)/g, "").replace(/^\u2212/, "-");
  if (/^[+-]?\d{1,3}(,\d{3})+(\.\d+)?$/.test(bare)) bare = bare.replaceAll(",", "");
  if (/^[+-]?\d+$/.test(bare)) return BigInt(bare.replace(/^\+/, ""));
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(bare) ? Number(bare) : null;
};

export default tl.view({
  name: "predict",
  mount(ui) {
    const { html, rich } = tl;
    const { question, choices, key } = ui.data;
    const store = `tritonlab.predict.${key}`;
    const fresh = () => ({ tried: [], done: null });
    const load = () => {
      try { return { ...fresh(), ...JSON.parse(localStorage.getItem(store)) }; } catch { return fresh(); }
    };
    const save = () => {
      try {
        if (state.tried.length) localStorage.setItem(store, JSON.stringify(state));
        else localStorage.removeItem(store);
      } catch { /* pages without storage forget */ }
    };
    let state = load();
    ui.says.hidden = true;

    const id = `tl-predict-${tl.uid()}`;
    const options = (choices || []).map((label, i) => {
      const input = html("input", { type: "radio", name: id, value: i });
      const mark = html("span", { class: "tl-verdict" });
      return { input, mark, el: html("label", { class: "tl-option" }, input, html("span", { class: "tl-option-text" }, rich(label)), mark) };
    });
    const field = choices ? null : html("input", { type: "text", inputmode: "decimal", autocomplete: "off", spellcheck: "false", class: "tl-entry", "aria-label": "your answer, a number" });
    const check = html("button", { type: "submit", class: "tl-button tl-primary" }, "Check");
    const reveal = tl.button({ label: "Show the answer", onClick: () => finish("shown") });
    const again = tl.button({ label: "Start over", onClick: () => restart() });
    const result = html("div", { class: "tl-result", role: "status", "aria-live": "polite" });
    const form = html("form", { class: "tl-question", novalidate: true },
      html("fieldset", {}, html("legend", {}, rich(question)), options.map((o) => o.el), field && html("div", { class: "tl-entry-row" }, field)),
      html("div", { class: "tl-answer-row" }, check, reveal, again), result);
    ui.picture.append(form);

    const picked = () => {
      if (!choices) return field.value.trim() === "" ? null : field.value.trim();
      const i = options.findIndex((o) => o.input.checked);
      return i < 0 ? null : i;
    };
    // Two answers that mean the same: the same choice, or the same number.
    const same = (a, b) => {
      if (choices) return Number(a) === Number(b);
      const [x, y] = [parse(String(a)), parse(String(b))];
      return x !== null && y !== null && (typeof x === typeof y ? x === y : Number(x) === Number(y));
    };
    const reason = (secret, choice) => Object.entries(secret.why).find(([k]) => same(k, choice))?.[1] || "";
    const named = (choice) => (choices ? choices[choice] : String(choice));

    const tell = (kind, lead, text) => {
      result.className = `tl-result tl-${kind}`;
      result.replaceChildren(html("strong", {}, rich(lead)), ...(text ? [" ", ...rich(text)] : []));
    };
    const show = () => {
      const secret = state.tried.length ? unseal(ui.data) : null;  // nothing is opened before a try
      const last = state.tried[state.tried.length - 1];
      options.forEach((o, i) => {
        const right = state.done && same(secret.answer, i), wrong = !right && state.tried.some((t) => same(t, i));
        o.el.classList.toggle("tl-right", Boolean(right));
        o.el.classList.toggle("tl-wrong", wrong);
        o.mark.textContent = right ? "right" : wrong ? "not this" : "";
      });
      if (!secret) {
        result.className = "tl-result";
        result.replaceChildren();
      } else if (state.done === "right") tell("good", `Right: ${named(last)}.`, reason(secret, last));
      else if (state.done === "shown") tell("told", `The answer is ${named(secret.answer)}.`, reason(secret, secret.answer));
      else tell("bad", `Not ${named(last)}.`, reason(secret, last) || "Look again, and try another.");
      check.hidden = Boolean(state.done);
      reveal.hidden = !state.tried.length || Boolean(state.done);
      again.hidden = !state.tried.length;
      for (const o of options) o.input.disabled = Boolean(state.done);
      if (field) field.readOnly = Boolean(state.done);
    };
    const finish = (how) => {
      state.done = how;
      save();
      show();
      again.focus();
    };
    const restart = () => {
      state = fresh();
      save();
      for (const o of options) o.input.checked = false;
      if (field) field.value = "";
      show();
      (field || options[0].input).focus();
    };
    form.addEventListener("submit", (e) => {
      e.preventDefault();
      if (state.done) return;
      const answer = picked();
      if (answer === null) {
        tell("none", choices ? "Choose an answer first." : "Enter a number first.", "");
        return (field || options[0].input).focus();
      }
      if (!choices && parse(answer) === null) return tell("none", `\`${answer.replaceAll("`", "")}\` is not a number.`, "Enter one such as 24, -3 or 0.5.");
      state.tried.push(answer);
      if (same(unseal(ui.data).answer, answer)) finish("right");
      else {
        save();
        show();
      }
    });
    // Keys pressed here are answers, not the notebook's commands; saving and running the cell stay what they are.
    form.addEventListener("keydown", (e) => {
      if (!e.ctrlKey && !e.metaKey && !e.altKey && !(e.shiftKey && e.key === "Enter")) e.stopPropagation();
    });
    ui.root.dataset.lmSuppressShortcuts = "true";

    const last = state.tried[state.tried.length - 1];
    if (last !== undefined) {
      if (choices) options[Number(last)] && (options[Number(last)].input.checked = true);
      else field.value = String(last);
    }
    show();
    return {};
  },
});
