// A matmul's record: A, B and C in their roles, and every program's way through its K steps, from Python's `product_data`.
//
//   tl.productModel(data) -> the tile model, its args as the product reads them, and
//     a, b, c            the arguments; sizes: [M, N, K]; ranges: { M, N, K } what is drawn of each axis, masked lanes included
//     stages(program)    [{ tile, step, store, counts }]: the K steps of each of its tiles of C, then the store
//     at(program, stage) { a, b, c, before: { a, b }, after: { a, b }, stage, tile } lists of touches: this step's, earlier and later ones
//     box(touch)         { r0, r1, c0, c1 } of its lanes that are on, or null;  reach(touch) with masked lanes
//     loaders(arg, r, c) programs that touch an element;  stageOf(program, arg, r, c), beside(program, stage, dr, dc)
Object.assign(tl, (() => {
  const STORE = -1;

  // An argument as the product reads it: turned, or, along a stride of 0, as the one row or column of memory that there is.
  const asRead = (arg, role) => {
    const same = role.strides.map((s, d) => s === 0 && role.shape[d] > 1 && arg.numel > 0);
    return { ...arg, given: arg, turned: role.turned, same, shape: role.shape.map((n, d) => (same[d] ? 1 : n)), strides: role.strides, blockAxes };
  };

  // Where a matrix has only one row or column, offsets do not tell along which of its axes an axis of the block goes, and the
  // lanes past its end are to stand there all the same: the axis of the block with several lanes on goes along the long one.
  const blockAxes = ({ arg, site, pattern }) => {
    const long = arg.shape.map((n, d) => n > 1 && !arg.same[d]);
    const axes = site.shape.map((n, d) => d).filter((d) => site.shape[d] > 1);
    if (long.every(Boolean) || axes.length !== 2) return null;
    const { on } = tl.touchLanes({ site, pattern });
    const lit = axes.map(() => new Set());
    const stride = (d) => site.shape.slice(d + 1).reduce((a, b) => a * b, 1);
    for (let lane = 0; lane < on.length; lane++) if (on[lane]) axes.forEach((d, i) => lit[i].add(Math.floor(lane / stride(d)) % site.shape[d]));
    const move = (t, d) => (long[d] ? (t && t % arg.strides[d] === 0 ? t / arg.strides[d] : null) : arg.same[d] ? 0 : 1);
    const several = lit.findIndex((s) => s.size > 1);
    const rowFirst = arg.turned && several < 0 ? 1 : several < 0 ? 0 : long[0] ? several : long[1] ? 1 - several : 0;
    const pick = (row) => {
      const out = site.shape.map(() => [0, 0]);
      const [r, c] = [axes[row], axes[1 - row]];
      out[r] = [move(pattern.offsets.strides[r], 0), 0];
      out[c] = [0, move(pattern.offsets.strides[c], 1)];
      return out.some((m) => m.includes(null)) ? null : out;
    };
    return pick(rowFirst) || pick(1 - rowFirst);
  };

  const productModel = (data) => {
    const { product } = data;
    const roles = { a: product.a, b: product.b, c: product.c };
    const byArg = new Map(Object.entries(roles).map(([role, r]) => [r.arg, r]));
    const model = tl.tileModel({ ...data, args: data.args.map((arg) => (byArg.has(arg.name) ? asRead(arg, byArg.get(arg.name)) : arg)) });
    const find = (role) => model.args.find((arg) => arg.name === roles[role].arg);
    const [a, b, c] = ["a", "b", "c"].map(find);
    const [M, K] = roles.a.shape, N = roles.b.shape[1];

    const plans = [];
    for (let i = 0; i < product.plan.length; i += 3) for (let k = 0; k < product.plan[i + 2]; k++) plans.push(product.plan[i] + k * product.plan[i + 1]);
    const planOf = (program) => product.plans[plans[program]] || { touches: [], tiles: [] };
    const stages = (program) => {
      const plan = planOf(program);
      if (!plan.stages) {
        plan.stages = [];
        plan.tiles.forEach((tile, t) => {
          tile.steps.forEach((counts, step) => plan.stages.push({ tile: t, step, store: false, counts, of: tile }));
          if (tile.bytes || plan.touches.some(([u, k]) => u === t && k === STORE)) plan.stages.push({ tile: t, step: tile.steps.length, store: true, counts: null, of: tile });
        });
      }
      return plan.stages;
    };
    const at = (program, number) => {
      const plan = planOf(program);
      const stage = stages(program)[number] || null;
      const found = { a: [], b: [], c: [], before: { a: [], b: [] }, after: { a: [], b: [] }, stage, tile: stage && stage.of };
      if (!stage) return found;
      model.of(program).forEach((touch, i) => {
        const [tile, step] = plan.touches[i];
        if (tile !== stage.tile) return;
        if (step === STORE) found.c.push(touch);
        else if (step >= 0) {
          const side = touch.arg === a ? "a" : "b";
          if (step === stage.step) found[side].push(touch);
          else (step < stage.step ? found.before : found.after)[side].push(touch);
        }
      });
      return found;
    };

    const { logical, straight, placeOf } = tl.matrixParts;
    const box = (touch) => {
      if (touch.box === undefined) touch.box = tl.matrixBox(touch);
      return touch.box;
    };
    const reach = (touch) => {
      const moves = touch.pattern.lit !== 0 && logical(touch);
      if (!moves || !moves.box || !straight(touch)) return box(touch);
      const [r, col] = placeOf(touch.arg, touch.base), [r0, r1, c0, c1] = moves.reach;
      return { r0: r + r0, r1: r + r1, c0: col + c0, c1: col + c1 };
    };

    // What of the three axes is drawn: the matrices, and what lanes reach beyond them, within reason.
    const ranges = { M: [0, M], N: [0, N], K: [0, K] };
    const widen = (axis, size, lo, hi) => {
      const far = Math.max(16, Math.ceil(size / 2));
      ranges[axis][0] = Math.max(-far, Math.min(ranges[axis][0], lo));
      ranges[axis][1] = Math.min(size + far, Math.max(ranges[axis][1], hi + 1));
    };
    for (const [arg, row, column] of [[a, "M", "K"], [b, "K", "N"], [c, "M", "N"]]) {
      for (const touch of arg.touches) {
        const r = reach(touch);
        if (!r) continue;
        if (!arg.same[0]) widen(row, { M, N, K }[row], r.r0, r.r1);
        if (!arg.same[1]) widen(column, { M, N, K }[column], r.c0, r.c1);
      }
    }
    for (const axis of Object.keys(ranges)) ranges[axis][1] = Math.max(ranges[axis][1], ranges[axis][0] + 1);

    const hits = (touch, r, col) => {
      const own = box(touch);
      if (own && (r < own.r0 || r > own.r1 || col < own.c0 || col > own.c1)) return false;
      if (own && own.full) return true;
      let found = false;
      tl.matrixParts.eachLane(touch, (rr, cc, lane, state) => { found = found || (rr === r && cc === col && state === "on"); });
      return found;
    };
    const loaders = (arg, r, col) => {
      const found = [];
      for (const touch of arg.touches) if (found[found.length - 1] !== touch.program && hits(touch, r, col)) found.push(touch.program);
      return found;
    };
    const stageOf = (program, arg, r, col) => {
      const plan = planOf(program), all = stages(program), own = model.of(program);
      for (let i = 0; i < own.length; i++) {
        if (own[i].arg !== arg || !hits(own[i], r, col)) continue;
        const [tile, step] = plan.touches[i];
        const number = all.findIndex((s) => s.tile === tile && (step === STORE ? s.store : s.step === step && !s.store));
        if (number >= 0) return number;
      }
      return -1;
    };
    // The program whose tile of C lies next to this one's, up, down, left or right.
    const beside = (program, number, dr, dc) => {
      const own = at(program, number).c.map(box).find(Boolean);
      if (!own) return null;
      let best = null;
      for (const touch of c.touches) {
        const other = box(touch);
        if (!other || touch.program === program) continue;
        const down = other.r0 - own.r0, right = other.c0 - own.c0;
        const along = dr ? down * dr : right * dc, aside = Math.abs(dr ? right : down);
        if (along <= 0) continue;
        const far = along + 4 * aside;
        if (!best || far < best.far) best = { far, program: touch.program };
      }
      return best && best.program;
    };
    return { ...model, product, a, b, c, sizes: [M, N, K], ranges, stages, at, box, reach, loaders, stageOf, beside, roleOf: (arg) => (arg === a ? "a" : arg === b ? "b" : "c") };
  };

  return { productModel };
})());
