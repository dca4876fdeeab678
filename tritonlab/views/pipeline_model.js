// When each step's tiles are copied, waited for and multiplied, in units of one dot; the order is the compiler's.
//
//   tl.schedule(item, steps, load) -> { end, begin, drain, dots: [{ step, from, to, waited }], loads: [{ step, group, slot, issued, there, from, to, first }] }
//       issued … there: the copy is under way; from … to: the dot that reads it; first: issued before the loop
//       begin: when the loop's first dot begins; drain: when nothing is left to copy (end, if loads are never ahead)
//       waited: how long the dot's unit stood idle before it
//
// One program, in the order of its text. Each step: tiles that are not copied ahead are loaded; the step's copies are waited
// for; its dot begins; the program goes on when all but `running` of the dots are done; then the copies of the step that
// lies `ahead` are issued, into the buffer whose turn it is.
Object.assign(tl, {
  schedule(item, steps, load) {
    const loads = [], dots = [];
    const issue = (step, group, at, first) => {
      const slots = item.groups[group]?.slots || 1;
      const made = { step, group, slot: step % slots, issued: at, there: at + load, from: 0, to: 0, first };
      loads.push(made);
      return made;
    };
    const groups = item.groups.length ? item.groups : [{ ahead: 0, slots: 1 }];
    const waiting = new Map(); // `${group}:${step}` -> load
    const copy = (step, g, at, first) => { if (step < steps) waiting.set(`${g}:${step}`, issue(step, g, at, first)); };
    groups.forEach((group, g) => { for (let k = 0; k < group.ahead; k++) copy(k, g, 0, true); });
    let now = 0, drain = null;
    for (let k = 0; k < steps; k++) {
      groups.forEach((group, g) => { if (!group.ahead) copy(k, g, now, false); });
      const mine = groups.map((_, g) => waiting.get(`${g}:${k}`));
      const free = dots.length ? dots[k - 1].to : 0;
      const from = Math.max(now, free, ...mine.map((m) => m.there));
      const dot = { step: k, from, to: from + 1, waited: from - free };
      dots.push(dot);
      for (const m of mine) { m.from = from; m.to = dot.to; }
      const done = k - (item.running || 0);
      now = Math.max(item.running ? from : dot.to, done >= 0 ? dots[done].to : 0);
      groups.forEach((group, g) => { if (group.ahead) copy(k + group.ahead, g, now, false); });
      if (drain === null && Math.max(...groups.map((group) => group.ahead)) > 0 && groups.every((group) => !group.ahead || k + group.ahead >= steps)) drain = now;
    }
    const end = dots[steps - 1].to;
    return { end, begin: dots[0].from, drain: drain === null ? end : drain, dots, loads };
  },
});
