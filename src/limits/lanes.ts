// So many at once under one name; the rest waits its turn, first come, first served.

interface Lane {
  busy: number;
  readonly waiting: (() => void)[];
}

export function createLanes(width: number) {
  const lanes = new Map<string, Lane>();
  return async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const lane = lanes.get(name) ?? { busy: 0, waiting: [] };
    lanes.set(name, lane);
    // Whoever leaves hands its place to the next one, so `busy` stays as it is.
    if (lane.busy >= width) await new Promise<void>((resolve) => lane.waiting.push(resolve));
    else lane.busy++;
    try {
      return await work();
    } finally {
      const next = lane.waiting.shift();
      if (next) next();
      else if (--lane.busy === 0) lanes.delete(name);
    }
  };
}
