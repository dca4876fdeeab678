// A sweep's points, as questions to them.
//
//   tl.sweepModel(data) -> { choose(case), filter(i, value), now, matches(config), points, failed, matching, first, rank(p), at(config), filters, filtered }
//       now: the case; points: all that ran, the fastest first; matching: those that the filters leave; at(config): { point | failed }
Object.assign(tl, {
  sweepModel(data) {
    let which = 0;
    const filters = data.parameters.map(() => null);
    const now = () => data.cases[which];
    const matches = (config) => data.configs[config].values.every((v, i) => filters[i] === null || filters[i] === v);
    return {
      filters,
      get which() { return which; },
      get now() { return now(); },
      get points() { return now().points; },
      get failed() { return now().failed; },
      get matching() { return now().points.filter((p) => matches(p.config)); },
      get filtered() { return filters.some((f) => f !== null); },
      get ties() { return now().points.filter((p) => p.tie).length; },
      matches,
      choose(i) { which = i; },
      filter(i, value) { filters[i] = value; },
      rank(point) { return now().points.indexOf(point) + 1; },
      at(config) { return { point: now().points.find((p) => p.config === config), failed: now().failed.find((p) => p.config === config) }; },
    };
  },
});
