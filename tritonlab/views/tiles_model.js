// The tile picture's record, read back from the compact data that Python's `touches` made.
//
//   tl.tileModel(data) -> { grid, programs, args, sites, of(program), passes(program), now(program, pass), pid(number), … }
//     touch   { site, arg, program, base, pattern, index, nth }: one access (index: its place in the site's values)
//     tl.touchSegments(touch)   segments for tl.strip;   tl.touchLane(touch, lane) -> { offset, state, value, hasValue }
//     tl.ownersOf(model, arg)   { grain, first, last, count }: per element (or per `grain` elements) who touches it
Object.assign(tl, (() => {
  const unruns = (flat) => {
    const out = [];
    for (let i = 0; i < flat.length; i += 3) for (let k = 0; k < flat[i + 2]; k++) out.push(flat[i] + k * flat[i + 1]);
    return out;
  };
  const flags = (lengths) => {
    const out = [];
    lengths.forEach((n, i) => { for (let k = 0; k < n; k++) out.push(i % 2 === 0); });
    return out;
  };

  // A pattern's lanes one by one: relative offsets and whether each is on.
  const lanesOf = (site, pattern) => {
    if (pattern.rel) return pattern;
    const n = site.shape.reduce((a, b) => a * b, 1);
    const rel = new Float64Array(n);
    const on = new Uint8Array(n).fill(1);
    if (pattern.offsets.runs) rel.set(unruns(pattern.offsets.runs));
    const sides = pattern.mask && pattern.mask.box && pattern.mask.box.map(flags);
    if (pattern.mask && pattern.mask.lanes) flags(pattern.mask.lanes).forEach((f, i) => { on[i] = f; });
    if (pattern.offsets.strides || sides) {
      const index = site.shape.map(() => 0);
      for (let lane = 0; lane < n; lane++) {
        let offset = 0;
        for (let d = 0; d < index.length; d++) {
          if (pattern.offsets.strides) offset += index[d] * pattern.offsets.strides[d];
          if (sides && !sides[d][index[d]]) on[lane] = 0;
        }
        if (pattern.offsets.strides) rel[lane] = offset;
        for (let d = index.length - 1; d >= 0 && ++index[d] === site.shape[d]; d--) index[d] = 0;
      }
    }
    // Straight pieces: lanes in a row whose offsets keep their distance and whose mask does not change.
    const pieces = [];
    let low = Infinity, high = -Infinity, last = null;
    for (let lane = 0; lane < n; lane++) {
      if (on[lane]) { low = Math.min(low, rel[lane]); high = Math.max(high, rel[lane]); }
      if (last && last.on === !!on[lane]) {
        const step = rel[lane] - rel[lane - 1];
        if (last.count === 1) last.step = step;
        if (step === last.step) { last.count += 1; continue; }
      }
      last = { lane, count: 1, rel: rel[lane], step: 0, on: !!on[lane] };
      pieces.push(last);
    }
    let lit = 0;
    for (let lane = 0; lane < n; lane++) lit += on[lane];
    Object.assign(pattern, { rel, on, pieces, low, high, lit });
    return pattern;
  };

  const tileModel = (data) => {
    const [g0, g1] = data.grid;
    const pid = (i) => [i % g0, Math.floor(i / g0) % g1, Math.floor(i / (g0 * g1))];
    const args = data.args.map((a) => ({ ...a, touches: [] }));
    const byName = new Map(args.map((a) => [a.name, a]));
    const byProgram = new Map();
    data.sites.forEach((site, number) => {
      const arg = byName.get(site.arg);
      const lanes = site.shape.reduce((a, b) => a * b, 1);
      const columns = ["at", "program", "base", "pattern"].map((name) => unruns(site[name]));
      const patterns = site.patterns.map((p) => ({ ...p }));
      const own = { ...site, number, lanes, patterns, arg };
      const times = new Map();
      for (let i = 0; i < columns[0].length; i++) {
        const program = columns[1][i];
        const nth = times.get(program) || 0;
        times.set(program, nth + 1);
        const touch = { site: own, arg, at: columns[0][i], program, base: columns[2][i], pattern: patterns[columns[3][i]], index: i, nth };
        arg.touches.push(touch);
        if (!byProgram.has(program)) byProgram.set(program, []);
        byProgram.get(program).push(touch);
      }
    });
    for (const list of byProgram.values()) list.sort((a, b) => a.at - b.at);
    for (const arg of args) arg.touches.sort((a, b) => a.program - b.program || a.at - b.at);
    const programs = data.grid[0] * data.grid[1] * data.grid[2];
    const of = (program) => byProgram.get(program) || [];
    const bySite = (program) => {
      const found = new Map();
      for (const touch of of(program)) {
        if (!found.has(touch.site)) found.set(touch.site, []);
        found.get(touch.site).push(touch);
      }
      return [...found.values()];
    };
    const passes = (program) => Math.max(1, ...bySite(program).map((list) => list.length));
    const now = (program, pass) => {
      const all = passes(program);
      return bySite(program).map((list) => list[Math.floor((pass * list.length) / all)]);
    };
    return { data, args, programs, grid: data.grid, pid, name: (i) => tl.programName(pid(i), data.grid), of, passes, now };
  };

  const stateAt = (touch, lane) => {
    const p = lanesOf(touch.site, touch.pattern);
    if (!p.on[lane]) return "masked";
    return tl.valid(touch.arg, touch.base + p.rel[lane]) ? "on" : "bad";
  };
  const touchSegments = (touch) => {
    const { arg, base } = touch;
    const out = [];
    for (const { lane, count, rel, step, on } of lanesOf(touch.site, touch.pattern).pieces) {
      const offset = base + rel;
      const end = offset + (count - 1) * step;
      if (!on) out.push({ lane, count, offset, step, state: "masked" });
      else if (arg.solid && Math.min(offset, end) >= 0 && Math.max(offset, end) < arg.extent) out.push({ lane, count, offset, step, state: "on" });
      else out.push(...tl.segments(arg, count, (i) => offset + i * step, () => true).map((s) => ({ ...s, lane: s.lane + lane })));
    }
    return out;
  };
  const valuesOf = (site) => {
    if (site.values && !site.unpacked) site.unpacked = tl.unpack(site.values);
    return site.unpacked || null;
  };
  const touchLane = (touch, lane) => {
    const values = valuesOf(touch.site);
    return {
      offset: touch.base + lanesOf(touch.site, touch.pattern).rel[lane],
      state: stateAt(touch, lane),
      hasValue: values !== null,
      value: values === null ? null : values[touch.index * touch.site.lanes + lane],
    };
  };
  const touchCounts = (touch) => {
    const p = lanesOf(touch.site, touch.pattern);
    let bad = 0;
    if (!touch.arg.solid || touch.base + p.low < 0 || touch.base + p.high >= touch.arg.extent) {
      for (const s of touchSegments(touch)) if (s.state === "bad") bad += s.count;
    }
    return { lanes: touch.site.lanes, on: p.lit - bad, bad, masked: touch.site.lanes - p.lit, low: touch.base + p.low, high: touch.base + p.high };
  };

  const MOST = 1 << 21;
  const ownersOf = (arg) => {
    if (arg.owners) return arg.owners;
    let grain = 1;
    while (arg.extent / grain > MOST) grain *= 2;
    const n = Math.ceil(arg.extent / grain);
    const first = new Int32Array(n).fill(-1), last = new Int32Array(n).fill(-1), count = new Uint16Array(n);
    for (const touch of arg.touches) {
      const { program, base } = touch;
      for (const piece of lanesOf(touch.site, touch.pattern).pieces) {
        if (!piece.on) continue;
        for (let i = 0, o = base + piece.rel; i < piece.count; i++, o += piece.step) {
          if (o < 0 || o >= arg.extent) continue;
          const at = grain === 1 ? o : Math.floor(o / grain);
          if (last[at] === program) continue;
          if (count[at] === 0) first[at] = program;
          last[at] = program;
          if (count[at] < 65535) count[at] += 1;
        }
      }
    }
    let pieces = 0, ordered = true;
    for (let i = 0; i < n; i++) {
      if (i === 0 || first[i] !== first[i - 1]) pieces += 1;
      if (i > 0 && first[i] >= 0 && first[i - 1] > first[i]) ordered = false;
    }
    arg.owners = { grain, first, last, count, pieces, ordered };
    return arg.owners;
  };
  // Who touches one element: program numbers, each once, in order.
  const programsAt = (arg, offset) => {
    const { grain, first, last, count } = ownersOf(arg);
    const at = Math.floor(offset / grain);
    if (offset < 0 || offset >= arg.extent || count[at] === 0) return [];
    if (grain === 1 && count[at] === 1) return [first[at]];
    if (grain === 1 && count[at] === 2) return [first[at], last[at]];
    const found = [];
    for (const touch of arg.touches) {
      if (found[found.length - 1] === touch.program) continue;
      const p = lanesOf(touch.site, touch.pattern);
      const rel = offset - touch.base;
      if (rel < p.low || rel > p.high) continue;
      if (p.pieces.some((s) => s.on && (s.step === 0 ? s.rel === rel : (rel - s.rel) % s.step === 0 && (rel - s.rel) / s.step >= 0 && (rel - s.rel) / s.step < s.count))) found.push(touch.program);
    }
    return found;
  };
  // Spans of [lo, hi) with the same owners; `step` > 1 looks at every step-th element only.
  const SHOWN = 3;
  const ownerSpans = (arg, lo, hi, step = 1) => {
    const { grain, first, last, count } = ownersOf(arg);
    const spans = [];
    let open = null, key = null;
    for (let o = Math.max(0, lo); o < Math.min(hi, arg.extent); o += step) {
      const at = Math.floor(o / grain);
      const n = count[at];
      const now = n === 0 ? "" : n > SHOWN ? `many ${n}` : n === 3 ? `three ${programsAt(arg, o)}` : `${first[at]} ${last[at]} ${n}`;
      if (now !== key) {
        open = n === 0 ? null : { from: o, to: o, programs: n > SHOWN ? [] : n === 3 ? programsAt(arg, o) : n === 2 ? [first[at], last[at]] : [first[at]], many: n };
        if (open) spans.push(open);
        key = now;
      }
      if (open) open.to = Math.min(o + step, hi);
    }
    return spans;
  };

  return { tileModel, touchSegments, touchLane, touchCounts, touchLanes: (t) => lanesOf(t.site, t.pattern), ownersOf, ownerSpans, programsAt };
})());
