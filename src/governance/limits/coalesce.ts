// A crowd that asks for the same is served in groups: whoever comes while one group is under way forms the next.
export interface Coalescer<T> {
  ask(key: string, id: string): Promise<T>;
}

interface Waiting<T> {
  readonly id: string;
  readonly resolve: (answer: T | Promise<never>) => void;
}

/** `serve` answers for each id of a group, all of one key. */
export function createCoalescer<T>(
  serve: (key: string, ids: readonly string[]) => Promise<ReadonlyMap<string, T>>,
  largest: number,
): Coalescer<T> {
  const queues = new Map<string, Waiting<T>[]>();

  async function work(key: string, queue: Waiting<T>[]): Promise<void> {
    while (queue.length > 0) {
      const group = queue.splice(0, largest);
      try {
        const answers = await serve(
          key,
          group.map(({ id }) => id),
        );
        for (const { id, resolve } of group)
          resolve(answers.get(id) ?? Promise.reject(new Error(`${id} was not answered`)));
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
        // It tells every failure to those who wait, and has none of its own.
        work(key, fresh).catch(() => undefined);
      });
    },
  };
}
