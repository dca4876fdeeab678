// The fill picture's data, as questions to it.
//
//   tl.fillModel(data) -> { rows, loads, panels, expected, places, programs, out, choose(which), load, lanes,
//       masked(row), outs(row), storedAt(row, lane), runs(row), common(panel, row, run), held(panel, row, lane),
//       off(panel, row), does(panel, row, lane), stores(panel, k), sentence(row), programName(row) }
//       load: the load that is shown, one of loads (choose); outs: positions of the row's stored values in panel.result,
//       expected, places; runs: stretches of lanes that are all on or all masked
Object.assign(tl, (() => {
  const fillModel = (data) => {
    const loads = data.loads.map((l) => ({ ...l, mask: tl.unpack(l.mask), offsets: tl.unpack(l.offsets) }));
    const [expected, places, storedLanes] = [data.expected, data.places, data.stored_lanes].map(tl.unpack);
    const panels = data.panels.map((p) => ({ ...p, values: p.values.map(tl.unpack), result: tl.unpack(p.result), wrong: tl.unpack(p.wrong) }));
    const rows = data.programs.length;
    let which = 0;

    const now = () => loads[which];
    const outs = (r) => Array.from({ length: data.first[r + 1] - data.first[r] }, (_, k) => data.first[r] + k);
    const on = (r, lane) => Boolean(now().mask[r * now().lanes + lane]);
    const held = (panel, r, lane) => panel.values[which][r * now().lanes + lane];
    const show = (v, dtype) => tl.number(typeof v === "bigint" ? String(v) : v, dtype);

    const runs = (r) => {
      const out = [];
      for (let i = 0; i < now().lanes; i++) {
        const last = out[out.length - 1];
        if (last && last.on === on(r, i)) last.to = i + 1;
        else out.push({ on: on(r, i), from: i, to: i + 1 });
      }
      return out;
    };
    const masked = (r) => runs(r).reduce((n, run) => n + (run.on ? 0 : run.to - run.from), 0);
    // The value that all lanes of a run hold, as text, or null.
    const common = (panel, r, run) => {
      const value = held(panel, r, run.from);
      for (let i = run.from + 1; i < run.to; i++) if (!Object.is(held(panel, r, i), value)) return null;
      return show(value, now().dtype);
    };
    const storedAt = (r, lane) => outs(r).find((k) => storedLanes[k] === lane);

    // How far a row is off: "nan", "inf", or the largest difference.
    const off = (panel, r) => {
      let worst = 0;
      for (const k of outs(r)) {
        const v = Number(panel.result[k]);
        if (!panel.wrong[k]) continue;
        if (!Number.isFinite(v)) return tl.number(v);
        worst = Math.max(worst, Math.abs(v - expected[k]));
      }
      return `off by up to ${Number(worst.toPrecision(2))}`;
    };
    const sentence = (r) => {
      const who = `Row ${r} of ${rows}`;
      if (!masked(r)) return `${who} has no masked lane: the fill plays no part.`;
      const said = panels.map((p) => (p.bad[r] ? `\`${p.fill}\` poisons it (${off(p, r)})` : `\`${p.fill}\` leaves it right`));
      return `${who}, ${tl.count(masked(r), "masked lane")}: ${said.join(", ")}.`;
    };
    const does = (panel, r, lane) => {
      const { arg, offsets, lanes, dtype } = now(), value = show(held(panel, r, lane), dtype);
      return on(r, lane) ? `loads \`${arg}[${offsets[r * lanes + lane]}]\` = ${value}` : `masked, holds ${value}`;
    };
    const stores = (panel, k) => `stores ${show(panel.result[k], data.out_dtype)} (reference ${Number(expected[k].toPrecision(7))})`;
    const programName = (r) => {
      const [x, y] = data.grid, p = data.programs[r];
      return tl.programName([p % x, Math.floor(p / x) % y, Math.floor(p / (x * y))], data.grid);
    };

    return {
      rows, loads, panels, expected, places, storedLanes, programs: data.programs, out: data.out,
      get which() { return which; }, get load() { return now(); }, get lanes() { return now().lanes; },
      choose(n) { which = n; },
      masked, outs, on, storedAt, runs, common, held, off, does, stores, sentence, programName,
    };
  };
  return { fillModel };
})());
