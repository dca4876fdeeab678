// Memory strips: one tensor argument, low to high offset from left to right, and the lanes that touch it.
// Data flows downwards: what is stored comes into the strip from above, what is loaded leaves it below.
//
//   arg       { name, dtype, itemsize, shape, strides, numel, extent, solid, storage: [lo, hi] } as Python's arg_data() makes it
//   segment   { lane, count, offset, step, state }: count lanes from lane on, at offset, offset + step, ...;
//             state is "on", "masked" or "bad" (on, and no element of arg)
//   row       { kind, title, program, segments }: one access of one program (program: its number)
//
//   tl.valid(arg, offset)                        whether arg has an element at that offset
//   tl.segments(arg, n, offsetOf, onOf)          segments of n lanes
//   tl.strip({ width, paints, arg, rows, window, owners, lane, gutter })
//       -> { el: <g>, height, window, x(offset), hit(x, y) -> { row, lane, offset, state } | { offset } | null }
//       window: [lo, hi) offsets shown (default tl.windowOf(arg, rows)); owners: [{ from, to, programs, strong, many }]
//       spans painted on the memory (strong: the program to paint in full; programs [] with many: too many to tell apart);
//       lane: the lane to outline in every row; gutter: room on the left for the rows' titles
//   tl.windowOf(arg, rows, least)                where the rows' lanes are, with some room around
//   tl.argTitle(arg)                             "float32[1000], 4 000 bytes"
Object.assign(tl, (() => {
  const ROW = 18, MEMORY = 20, GAP = 3, AXIS = 15, WIDEST = 44;

  // Whether offset = Σ i_d · stride_d has a solution with 0 ≤ i_d < shape_d.
  const reaches = (axes, at, offset) => {
    if (at === axes.length) return offset === 0;
    const { n, s, rest } = axes[at];
    for (let i = Math.min(n - 1, Math.floor(offset / s)); i >= 0; i--) {
      const left = offset - i * s;
      if (left > rest) return false;
      if (reaches(axes, at + 1, left)) return true;
    }
    return false;
  };
  const axesOf = (arg) => {
    if (arg.axes) return arg.axes;
    const axes = arg.shape.map((n, d) => ({ n, s: arg.strides[d] })).filter((a) => a.n > 1 && a.s > 0).sort((a, b) => b.s - a.s);
    let rest = 0;
    for (let i = axes.length - 1; i >= 0; i--) {
      axes[i].rest = rest;
      rest += (axes[i].n - 1) * axes[i].s;
    }
    Object.defineProperty(arg, "axes", { value: axes, configurable: true });
    return axes;
  };
  const valid = (arg, offset) => {
    if (offset < 0 || offset >= arg.extent) return false;
    return arg.solid || reaches(axesOf(arg), 0, offset);
  };

  const segments = (arg, n, offsetOf, onOf) => {
    const out = [];
    let last = null;
    for (let lane = 0; lane < n; lane++) {
      const offset = offsetOf(lane);
      const state = !onOf(lane) ? "masked" : valid(arg, offset) ? "on" : "bad";
      if (last && last.state === state) {
        const step = offset - (last.offset + (last.count - 1) * last.step);
        if (last.count === 1) last.step = step;
        if (step === last.step) {
          last.count += 1;
          continue;
        }
      }
      last = { lane, count: 1, offset, step: 0, state };
      out.push(last);
    }
    return out;
  };
  const ends = (s) => {
    const other = s.offset + (s.count - 1) * s.step;
    return s.offset < other ? [s.offset, other] : [other, s.offset];
  };

  const windowOf = (arg, rows, least = 24) => {
    const all = rows.flatMap((r) => r.segments);
    const reach = (list) => list.reduce(([lo, hi], s) => [Math.min(lo, ends(s)[0]), Math.max(hi, ends(s)[1] + 1)], [Infinity, -Infinity]);
    let [lo, hi] = reach(all.filter((s) => s.state === "on"));
    if (lo > hi) [lo, hi] = reach(all);
    if (lo > hi) [lo, hi] = [0, Math.min(arg.extent, 64)];
    // Masked and stray lanes belong into the picture unless they are far away.
    const near = Math.max(3 * (hi - lo), 256);
    for (const s of all) {
      const [a, b] = ends(s);
      if (a >= lo - near && b < hi + near) [lo, hi] = [Math.min(lo, a), Math.max(hi, b + 1)];
      else if (Math.abs(s.step) <= 1 && a < hi + near && b >= lo - near) [lo, hi] = [Math.max(lo - near, Math.min(lo, a)), Math.min(hi + near, Math.max(hi, b + 1))];
    }
    const room = Math.max(2, Math.ceil((least - (hi - lo)) / 2), Math.round((hi - lo) * 0.12));
    const most = Math.max(arg.extent, hi) + Math.min(room, 8);
    return [Math.max(lo - room, Math.min(lo, 0)), Math.min(hi + room, most)];
  };

  const argTitle = (arg) => {
    const bytes = arg.numel * arg.itemsize;
    const size = bytes < 1e4 ? tl.count(bytes, "byte") : bytes < 1e6 ? `${Number((bytes / 1e3).toPrecision(3))} kB` : `${Number((bytes / 1e6).toPrecision(3))} MB`;
    const strides = arg.shape.length && (!arg.solid || arg.numel !== arg.extent) ? `, strides ${arg.strides.length === 1 ? arg.strides[0] : `(${arg.strides.join(", ")})`}` : "";
    return `${arg.dtype}[${arg.shape.join(", ")}]${strides} · ${size}`;
  };

  const rect = (x, y, w, h) => `M${x.toFixed(2)} ${y}h${w.toFixed(2)}v${h}h${(-w).toFixed(2)}z`;

  const lanePaths = (row, y, scale) => {
    const { x, cell, lo, hi } = scale;
    const d = { on: "", masked: "", bad: "" };
    let cuts = "";
    const texts = [], taken = [];
    const write = (at, text, more) => {
      const half = text.length * 3.1 + 1;
      if (taken.some(([from, to]) => at + half > from && at - half < to)) return; // never one text over another
      taken.push([at - half, at + half]);
      texts.push({ x: at, text, ...more });
    };
    for (const s of row.segments) {
      const [a, b] = ends(s);
      if (b < lo || a >= hi) continue;
      const whole = Math.abs(s.step) <= 1 || Math.abs(s.step) * cell < 2;
      if (whole) {
        const left = x(Math.max(a, lo)), right = x(Math.min(b + 1, hi));
        d[s.state] += rect(left, y, Math.max(1, right - left), ROW);
        if (cell >= 4) for (let o = Math.max(a, lo) + 1; o <= Math.min(b, hi - 1); o++) cuts += `M${x(o).toFixed(2)} ${y}v${ROW}`;
      } else {
        const i0 = s.step > 0 ? Math.ceil((lo - s.offset) / s.step) : Math.ceil((hi - 1 - s.offset) / s.step);
        const i1 = s.step > 0 ? Math.floor((hi - 1 - s.offset) / s.step) : Math.floor((lo - s.offset) / s.step);
        for (let i = Math.max(0, i0); i <= Math.min(s.count - 1, i1); i++) d[s.state] += rect(x(s.offset + i * s.step), y, Math.max(1, cell), ROW);
      }
      const last = s.lane + s.count - 1;
      const each = String(last).length * 6.2 + 3 <= cell;
      if (s.step === 0 && s.count > 1) write(x(a + 0.5), `×${s.count}`, { state: s.state, free: cell < 24 });
      else if (each) {
        for (let i = 0; i < s.count; i++) {
          const o = s.offset + i * s.step;
          if (o >= lo && o < hi) write(x(o + 0.5), String(s.lane + i), { state: s.state });
        }
      } else {
        const left = x(Math.max(a, lo)), right = x(Math.min(b + 1, hi));
        const noun = { on: "", masked: " masked", bad: " out of range" }[s.state];
        const wide = s.count === 1 ? `lane ${s.lane}${noun}` : `lanes ${s.lane}…${last}${noun}`;
        const short = s.count === 1 ? `${s.lane}` : `${s.lane}…${last}`;
        const text = [wide, short].find((t) => t.length * 6.1 + 6 <= right - left);
        if (text) write((left + right) / 2, text, { state: s.state });
      }
    }
    return { d, cuts, texts };
  };

  // Lanes that lie outside the window: how many, and where the farthest is, written where no lane stands.
  const strayNotes = (row, lo, hi, x, left, right) => {
    const sides = [{ n: 0, far: 0, bad: false }, { n: 0, far: 0, bad: false }];
    let from = Infinity, to = -Infinity;
    for (const s of row.segments) {
      const [a, b] = ends(s), step = Math.abs(s.step) || 1;
      const before = a >= lo ? 0 : Math.min(s.count, s.step === 0 ? s.count : Math.ceil((lo - a) / step));
      const after = b < hi ? 0 : Math.min(s.count, s.step === 0 ? s.count : Math.floor((b - hi) / step) + 1);
      for (const [side, n, far] of [[sides[0], before, a], [sides[1], after, b]]) {
        if (!n) continue;
        side.far = side.n ? (side === sides[0] ? Math.min : Math.max)(side.far, far) : far;
        side.n += n;
        side.bad = side.bad || s.state === "bad";
      }
      if (before + after < s.count) {
        from = Math.min(from, x(Math.max(a, lo)));
        to = Math.max(to, x(Math.min(b + 1, hi)));
      }
    }
    const notes = [];
    let free = to > from ? to + 8 : left + 2;
    for (const [i, side] of sides.entries()) {
      if (!side.n) continue;
      const text = `${i ? "▸" : "◂"} ${tl.count(side.n, "lane")} as far as ${tl.group(side.far)}`, wide = text.length * 6.1;
      const at = i === 0 && from - left > wide + 8 ? left + 2 : i === 1 && right - free > wide ? Math.max(free, right - wide) : free;
      if (at === free || i === 1) free = at + wide + 8;
      notes.push({ x: at, text, bad: side.bad });
    }
    return notes;
  };

  const strip = (spec) => {
    const { width, paints, arg, rows, owners = [], lane = null } = spec;
    const gutter = spec.gutter ?? (width >= 600 ? 84 : 58);
    const [lo, hi] = spec.window || windowOf(arg, rows);
    const cell = Math.min(WIDEST, (width - gutter - 1) / Math.max(1, hi - lo));
    const right = gutter + cell * (hi - lo);
    const x = (offset) => gutter + (Math.max(lo, Math.min(hi, offset)) - lo) * cell;
    const scale = { x, cell, lo, hi };
    const above = rows.filter((r) => r.kind !== "load"), below = rows.filter((r) => r.kind === "load");
    const axisFirst = above.length === 0;
    const g = tl.svg("g", { class: "tl-strip" });
    let y = axisFirst ? AXIS : 0;
    const placed = [];
    const put = (row) => {
      placed.push({ row, y });
      y += ROW + GAP;
    };
    above.forEach(put);
    const memory = y;
    y += MEMORY + GAP;
    below.forEach(put);
    const axis = axisFirst ? AXIS - 4 : (y += AXIS) - 4;

    // The memory itself: its elements, what lies around them, who touches them.
    const inside = [Math.max(lo, 0), Math.min(hi, arg.extent)];
    const zone = (a, b, paint, dash) => b > a && g.append(tl.svg("rect", { x: x(a), y: memory, width: x(b) - x(a), height: MEMORY, fill: paint, stroke: "var(--tl-line-2)", "stroke-width": 1, "stroke-dasharray": dash }));
    const words = (a, b, text) => {
      if (b > a && x(b) - x(a) > text.length * 5.6 + 6) g.append(label((x(a) + x(b)) / 2, memory + 14, text, { class: "tl-quiet tl-halo", "font-size": 10.5 }));
    };
    zone(lo, Math.min(hi, 0), paints.past, "3 3");
    zone(Math.max(lo, arg.extent), hi, paints.past, "3 3");
    const names = [];
    if (inside[1] > inside[0]) {
      g.append(tl.svg("rect", { x: x(inside[0]), y: memory, width: x(inside[1]) - x(inside[0]), height: MEMORY, fill: "var(--tl-cell)" }));
      for (const { from, to, programs, strong, many } of owners) {
        const a = Math.max(from, inside[0]), b = Math.min(to, inside[1]);
        if (b <= a) continue;
        if (!programs.length) {
          g.append(tl.svg("rect", { x: x(a), y: memory, width: x(b) - x(a), height: MEMORY, fill: "var(--tl-line-2)", opacity: 0.45, "data-many": many, "data-from": a, "data-to": b }));
          words(a, b, `shared by ${many} programs`);
        }
        for (const [k, program] of programs.entries()) {
          const own = program === strong;
          const h = MEMORY / programs.length;
          g.append(tl.svg("rect", {
            x: x(a), y: memory + h * k, width: x(b) - x(a), height: h, fill: paints.program(program),
            opacity: strong === undefined || own ? 1 : 0.4, "data-owner": program, "data-from": a, "data-to": b,
          }));
        }
        const name = programs.length === 1 && spec.programText ? spec.programText(programs[0]) : "";
        if (name && x(b) - x(a) >= name.length * 6.4 + 6) {
          const own = programs[0] === strong || strong === undefined;
          names.push(label((x(a) + x(b)) / 2, memory + 14, name, own ? { ...tl.onProgram(programs[0]), "font-weight": 600 } : { class: "tl-halo" }));
        }
      }
      if (!arg.solid && cell >= 2) {
        let gaps = "";
        for (let o = inside[0]; o < inside[1]; o++) if (!valid(arg, o)) gaps += rect(x(o), memory, cell, MEMORY);
        if (gaps) g.append(tl.svg("path", { d: gaps, fill: paints.past }));
      }
      if (cell >= 4) {
        let cuts = "";
        for (let o = inside[0] + 1; o < inside[1]; o++) cuts += `M${x(o).toFixed(2)} ${memory}v${MEMORY}`;
        g.append(tl.svg("path", { d: cuts, stroke: "var(--tl-bg)", "stroke-width": 1, opacity: cell < 8 ? 0.4 : 0.8 }));
      }
      g.append(tl.svg("rect", { x: x(inside[0]), y: memory, width: x(inside[1]) - x(inside[0]), height: MEMORY, fill: "none", stroke: "var(--tl-line-2)" }));
    }
    g.append(...names);
    words(lo, Math.min(hi, 0), "before the start");
    words(Math.max(lo, arg.extent), hi, "past the end");

    // Offsets: round numbers, and the end of the tensor.
    const endAt = arg.extent > lo && arg.extent < hi ? x(arg.extent) : null;
    const widest = String(Math.round(hi)).length * 7 + 24;
    const endText = `end ${tl.group(arg.extent)}`;
    const clear = (endText.length * 6.6 + String(Math.round(hi)).length * 6.2) / 2 + 8;
    for (const o of tl.ticks(lo, hi, (right - gutter) / widest)) {
      const at = x(o) + cell / 2;
      if (endAt !== null && Math.abs(at - endAt) < clear || o === arg.extent) continue;
      g.append(label(at, axis, tl.group(o), { class: "tl-quiet", "font-size": 10.5 }));
    }
    if (endAt !== null) {
      g.append(tl.svg("path", { d: `M${endAt} ${memory - 3}V${memory + MEMORY + 3}`, stroke: "var(--tl-ink)", "stroke-width": 2 }));
      g.append(label(endAt, axis, endText, { "font-size": 10.5, "font-weight": 600 }));
    }

    // The lanes.
    for (const { row, y: top } of placed) {
      const { d, cuts, texts } = lanePaths(row, top, scale);
      const own = tl.svg("g", { class: "tl-lanes", "data-kind": row.kind, "data-program": row.program });
      if (d.masked) own.append(tl.svg("path", { d: d.masked, fill: paints.masked, stroke: "var(--tl-line-2)", "stroke-width": 1, "data-state": "masked" }));
      if (d.on) own.append(tl.svg("path", { d: d.on, fill: paints.program(row.program), "data-state": "on" }));
      if (cuts) own.append(tl.svg("path", { d: cuts, stroke: "var(--tl-bg)", "stroke-width": 1, opacity: cell < 8 ? 0.4 : 0.8 }));
      if (d.bad) own.append(tl.svg("path", { d: d.bad, fill: paints.error, stroke: "var(--tl-error)", "stroke-width": 1.5, "data-state": "bad" }));
      for (const t of texts) {
        const style = t.state === "on" && !t.free ? tl.onProgram(row.program) : { class: "tl-halo" };
        own.append(label(t.x, top + 13, t.text, { "font-size": 10.5, ...style }));
      }
      if (lane !== null) {
        for (const s of row.segments) {
          if (lane < s.lane || lane >= s.lane + s.count) continue;
          const o = s.offset + (lane - s.lane) * s.step;
          if (o < lo || o >= hi) continue;
          const w = Math.max(cell, 4), mid = x(o) + cell / 2;
          own.append(tl.svg("rect", { x: mid - w / 2, y: top - 1, width: w, height: ROW + 2, rx: 2, fill: "none", stroke: "var(--tl-ink)", "stroke-width": 2 }));
          own.append(tl.svg("rect", { x: mid - w / 2, y: memory - 1, width: w, height: MEMORY + 2, rx: 2, fill: "none", stroke: "var(--tl-ink)", "stroke-width": 2 }));
        }
      }
      strayNotes(row, lo, hi, x, gutter, Math.max(right, Math.min(width, gutter + 340))).forEach((n) => own.append(label(n.x, top + 13, n.text, { class: n.bad ? "tl-bad tl-halo" : "tl-halo", "font-size": 10.5, "text-anchor": "start" })));
      own.append(label(gutter - 8, top + 13, `${row.title} ↓`, { "text-anchor": "end", class: "tl-quiet", "font-size": 11 }));
      g.append(own);
    }
    g.append(label(gutter - 8, memory + 14, "memory", { "text-anchor": "end", class: "tl-quiet", "font-size": 11 }));

    const hit = (px, py) => {
      if (px < gutter - 2 || px > right + 2) return null;
      const exact = lo + (px - gutter) / cell;
      for (const [index, { row, y: top }] of placed.entries()) {
        if (py < top - 1 || py > top + ROW + 1) continue;
        let best = null;
        for (const s of row.segments) {
          const i = s.step === 0 ? 0 : Math.max(0, Math.min(s.count - 1, s.step > 0 ? Math.floor((exact - s.offset) / s.step) : Math.ceil((Math.floor(exact) - s.offset) / s.step)));
          for (const k of [i, Math.min(i + 1, s.count - 1)]) {
            const o = s.offset + k * s.step;
            const far = Math.abs(o + 0.5 - exact);
            if (far <= Math.max(0.5, 2 / cell) && (!best || far < best.far)) best = { far, row: rows.indexOf(row), index, lane: s.lane + k, offset: o, state: s.state };
          }
        }
        return best;
      }
      if (py >= memory && py <= memory + MEMORY) return { offset: Math.max(lo, Math.min(hi - 1, Math.floor(exact))) };
      return null;
    };
    // For tests: where each offset and each row is drawn.
    g.tlStrip = { arg: arg.name, window: [lo, hi], x, cell, rowHeight: ROW, rows: placed.map((p) => ({ kind: p.row.kind, y: p.y })) };
    return { el: g, height: y, memory, memoryHeight: MEMORY, window: [lo, hi], x, hit };
  };

  const label = (x, y, text, attrs = {}) => tl.svg("text", { x, y, "text-anchor": "middle", "font-size": 11, ...attrs }, text);

  return { valid, segments, strip, windowOf, argTitle, label, segmentEnds: ends };
})());
