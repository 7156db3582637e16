// Many who ask the same at the same moment share one answer: a crowd must not become a crowd of queries.
export interface Once {
  /** Joins work under way for this key, or begins it. */
  do<T>(key: string, work: () => Promise<T>): Promise<T>;
  /** Whoever asks from now on begins anew: what is under way may already be out of date. */
  forget(): void;
}

export function createOnce(): Once {
  let underWay = new Map<string, Promise<unknown>>();
  return {
    do<T>(key: string, work: () => Promise<T>): Promise<T> {
      const known = underWay.get(key) as Promise<T> | undefined;
      if (known) return known;
      const mine = underWay;
      const begun = work().finally(() => mine.delete(key));
      mine.set(key, begun);
      return begun;
    },
    forget() {
      underWay = new Map();
    },
  };
}
