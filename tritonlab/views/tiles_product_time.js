// The K steps of a program as time, left to right, and its stores at the end.
//
//   tl.productTime(model, program, now, left, width, paints) -> { el, stageAt(x) -> stage or -1 };  now: the stage to show
Object.assign(tl, (() => {
  const productTime = (model, program, now, left, width, paints) => {
    const g = tl.svg("g", { class: "tl-time" });
    const stages = model.stages(program);
    const n = Math.max(1, stages.length);
    const each = Math.min(74, (width - left) / n);
    const color = paints.program(program);
    g.append(tl.label(left - 6, 15, "time", { "text-anchor": "end", class: "tl-quiet", "font-size": 11 }));
    const d = { past: "", next: "" };
    const texts = [];
    const several = stages.length && stages[stages.length - 1].tile > 0;
    const names = stages.map((s) => (s.store ? (several ? `store ${s.tile + 1}` : "store") : `step ${s.step + 1}`));
    const short = stages.map((s) => (s.store ? "store" : String(s.step + 1)));
    const room = (text) => text.length * 6.4 + 4;
    const said = [names, short].find((all) => all.every((t) => room(t) <= each)) || short;
    const apart = Math.max(...short.map(room), 1) <= each ? 1 : [5, 10, 20, 50, 100, 200, 500].find((k) => k * each >= 26) || 1000;
    stages.forEach((stage, i) => {
      const x = left + i * each, w = Math.max(0.8, each - (each > 6 ? 3 : each > 3 ? 1 : 0));
      const rect = `M${x.toFixed(2)} 2h${w.toFixed(2)}v18h${(-w).toFixed(2)}z`;
      if (i < now) d.past += rect;
      else if (i > now) d.next += rect;
      else g.append(tl.svg("path", { d: rect, fill: color, stroke: "var(--tl-ink)", "stroke-width": 1.4, "data-stage": i }));
      if (apart === 1 || (!stage.store && (stage.step + 1) % apart === 0)) texts.push(tl.label(x + w / 2, 15, said[i], i === now ? { ...tl.onProgram(program), "font-weight": 600 } : { class: "tl-halo", "font-size": 10.5 }));
    });
    if (d.past) g.append(tl.svg("path", { d: d.past, fill: color, opacity: 0.35, "data-when": "past" }));
    if (d.next) g.append(tl.svg("path", { d: d.next, fill: "var(--tl-cell)", stroke: "var(--tl-line-2)", "data-when": "next" }));
    if (!stages.length) g.append(tl.label(left, 15, "this program neither loads A and B nor stores C", { "text-anchor": "start", class: "tl-quiet" }));
    g.append(...texts);
    return { el: g, stageAt: (px) => (px < left || px >= left + each * stages.length ? -1 : Math.floor((px - left) / each)) };
  };
  return { productTime };
})());
