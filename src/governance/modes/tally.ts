// How often something happened lately: one number per tick, old ones dropped.

export interface SignalTally {
  /** `at` is the moment of a tick and never decreases. */
  add(at: number, count: number, windowMs: number): void;
  /** How many since then, the tick of that moment included: it counts a little too much rather than too little. */
  count(since: number): number;
}

export function createTally(): SignalTally {
  const slices: { at: number; count: number }[] = [];
  return {
    add(at, count, windowMs) {
      const last = slices.at(-1);
      if (last?.at === at) last.count += count;
      else slices.push({ at, count });
      while ((slices[0]?.at ?? at) < at - windowMs) slices.shift();
    },
    count(since) {
      let total = 0;
      for (let i = slices.length - 1; i >= 0; i--) {
        const slice = slices[i];
        if (!slice || slice.at < since) break;
        total += slice.count;
      }
      return total;
    },
  };
}
