// The order map's data, as questions to it.
//
//   tl.pidMapModel(data) -> { orders, wave, most, waves, kTiles, schedules, span(t), sentence(t), waveWords(t) }
//       t: programs launched so far; span(t) = [first, t): those of the wave that runs now
//   an order: { title, m, n, programs, rows(pid), columns(pid), rank, touched(t), faults, never, twice, outside, traffic, words(pid) }
//       rank: program of each tile (Int32Array, -1: none; the first, where several); touched(t): { a: Uint8Array, b, nA, nB }
Object.assign(tl, (() => {
  const bytes = (n) => {
    const [unit, size] = n >= 1e9 ? ["GB", 1e9] : n >= 1e6 ? ["MB", 1e6] : n >= 1e3 ? ["kB", 1e3] : ["B", 1];
    return `${Number((n / size).toPrecision(3))} ${unit}`;
  };

  const pidMapModel = (data) => {
    const { wave } = data;
    const span = (t) => [Math.max(0, Math.floor((t - 1) / wave)) * wave, t];
    const orders = data.orders.map((o) => {
      const rows = tl.unpack(o.pid_m), columns = tl.unpack(o.pid_n), programs = rows.length, m = o.num_pid_m, n = o.num_pid_n;
      const inside = (p) => rows[p] >= 0 && rows[p] < m && columns[p] >= 0 && columns[p] < n;
      const rank = new Int32Array(m * n).fill(-1);
      for (let p = programs - 1; p >= 0; p--) if (inside(p)) rank[rows[p] * n + columns[p]] = p;
      const touched = (t) => {
        const a = new Uint8Array(m), b = new Uint8Array(n), [first, last] = span(Math.min(t, programs));
        let nA = 0, nB = 0;
        for (let p = t > programs + wave ? last : first; p < last; p++) {
          if (!inside(p)) continue;
          if (!a[rows[p]]) { a[rows[p]] = 1; nA += 1; }
          if (!b[columns[p]]) { b[columns[p]] = 1; nB += 1; }
        }
        return { a, b, nA, nB };
      };
      const traffic = o.traffic.map((x) => ({ ...x, wave_asked: tl.unpack(x.wave_asked), wave_memory: tl.unpack(x.wave_memory) }));
      const words = (p) => {
        const at = `program ${tl.group(p)} → tile (${rows[p]}, ${columns[p]})`;
        return inside(p) ? `${at}, panel ${rows[p]} of A and panel ${columns[p]} of B` : `${at}, which does not exist`;
      };
      return {
        title: o.title, m, n, programs, rows, columns, inside, rank, touched, traffic, words,
        faults: o.faults, never: tl.unpack(o.never), twice: tl.unpack(o.twice), outside: tl.unpack(o.outside),
      };
    });
    const most = Math.max(...orders.map((o) => o.programs));
    const waves = Math.ceil(most / wave);
    const waveOf = (t) => Math.max(0, Math.floor((t - 1) / wave));

    const sentence = (t) => {
      if (t === 0) return `Nothing is launched yet: ${tl.count(most, "program")}, ${tl.group(wave)} at a time.`;
      const [first, last] = span(t);
      const who = last - first === 1 ? `Program ${tl.group(first)}` : `Programs ${tl.group(first)} … ${tl.group(last - 1)}`;
      const part = waves > 1 ? ` (wave ${tl.group(waveOf(t))} of 0 … ${tl.group(waves - 1)})` : "";
      if (orders.length > 3) return `${who}${part} need the panels that are lit.`;
      const each = orders.map((o) => {
        const { nA, nB } = o.touched(t);
        const loads = data.k_tiles ? ` (${tl.group((nA + nB) * data.k_tiles)} tile loads)` : "";
        return `${orders.length > 1 ? `${o.title}: ` : ""}${tl.group(nA)} of A + ${tl.group(nB)} of B${loads}`;
      });
      return `${who}${part} need these panels: ${each.join("; ")}.`;
    };
    // What memory delivers while the wave of t runs.
    const waveWords = (t) => {
      if (!orders[0].traffic.length || t === 0) return "";
      const w = waveOf(t);
      const each = orders.filter((o) => w < o.traffic[0].wave_asked.length).map((o) => {
        const from = o.traffic.map((x, i) => `${bytes(x.wave_memory[w])} ${data.schedules[i]}`).join(", ");
        return `${orders.length > 1 ? `${o.title}: ` : ""}${from}, of ${bytes(Number(o.traffic[0].wave_asked[w]))}`;
      });
      return `From memory for the whole of wave ${tl.group(w)}: ${each.join("; ")}.`;
    };
    return { orders, wave, most, waves, kTiles: data.k_tiles, schedules: data.schedules, tile: data.tile, span, waveOf, sentence, waveWords };
  };
  return { pidMapModel, bytes };
})());
