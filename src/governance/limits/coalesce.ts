// Requests for the same key are served in groups: those that arrive while one group is in work form the next.
export interface Coalescer<T> {
  ask(key: string, id: string): Promise<T>;
}

interface Waiting<T> {
  readonly id: string;
  readonly resolve: (result: T | Promise<never>) => void;
}

/** `serve` returns a result for each id of a group; all ids have the same key. */
export function createCoalescer<T>(
  serve: (key: string, ids: readonly string[]) => Promise<ReadonlyMap<string, T>>,
  largest: number,
): Coalescer<T> {
  const queues = new Map<string, Waiting<T>[]>();

  async function work(key: string, queue: Waiting<T>[]): Promise<void> {
    while (queue.length > 0) {
      const group = queue.splice(0, largest);
      try {
        const results = await serve(
          key,
          group.map(({ id }) => id),
        );
        for (const { id, resolve } of group)
          resolve(results.get(id) ?? Promise.reject(new Error(`${id} was not answered`)));
      } catch (cause) {
        for (const { resolve } of group)
          resolve(Promise.reject(cause instanceof Error ? cause : new Error(String(cause))));
      }
    }
    queues.delete(key);
  }

  return {
    ask(key, id) {
      return new Promise<T>((resolve) => {
        const queue = queues.get(key);
        if (queue) return void queue.push({ id, resolve });
        const fresh = [{ id, resolve }];
        queues.set(key, fresh);
        // Every failure goes to the callers that wait; the loop itself never fails.
        work(key, fresh).catch(() => undefined);
      });
    },
  };
}
