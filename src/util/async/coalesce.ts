// Coalesced reads: callers that ask for the same key at the same time share one query.
export interface Coalescer {
  /** Joins the work that runs for this key, or starts it. */
  run<T>(key: string, work: () => Promise<T>): Promise<T>;
  /** Later calls start new work: the results of running work may be out of date. */
  forget(): void;
}

export function createCoalescer(): Coalescer {
  let running = new Map<string, Promise<unknown>>();
  return {
    run<T>(key: string, work: () => Promise<T>): Promise<T> {
      const joined = running.get(key) as Promise<T> | undefined;
      if (joined) return joined;
      const current = running;
      const started = work().finally(() => current.delete(key));
      current.set(key, started);
      return started;
    },
    forget() {
      running = new Map();
    },
  };
}
