// A few threads that match, started when needed, ended when a search is given up or nobody has searched for a while.
import { Worker } from "node:worker_threads";
import type { FoundInText, Pattern } from "./search-matcher.ts";
import type { FromThread, ToThread } from "./search-thread.ts";

const MAX_IDLE = 4;
const MAX_AT_ONCE = 4;
const MAX_OLD_SPACE_MB = 512;

const entry = new URL(
  import.meta.url.endsWith(".ts") ? "./search-thread.ts" : "./search-thread.js",
  import.meta.url,
);

export interface Matching {
  find(texts: readonly Uint8Array[], limit: number): Promise<readonly FoundInText[]>;
}

export interface SearchThreads {
  /** A pattern that cannot be read ends with what `invalid` makes of it; a signal that fires ends the thread. */
  with<T>(
    query: Pattern,
    signal: AbortSignal,
    invalid: (message: string, at: number) => Error,
    use: (matching: Matching) => Promise<T>,
  ): Promise<T>;
  close(): Promise<void>;
}

export function searchThreads(): SearchThreads {
  const idle: Worker[] = [];
  const all = new Set<Worker>();
  const waiting: (() => void)[] = [];
  let busy = 0;
  /** Waits for one of a few places, and gives it on. */
  const inPlace = async <T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> => {
    if (busy >= MAX_AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve));
    else busy++;
    try {
      signal.throwIfAborted();
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else busy--;
    }
  };

  const take = (): Worker => {
    const known = idle.pop();
    if (known) return known;
    const worker = new Worker(entry, {
      name: "search",
      resourceLimits: { maxOldGenerationSizeMb: MAX_OLD_SPACE_MB },
    });
    all.add(worker);
    worker.once("exit", () => all.delete(worker));
    return worker;
  };
  const ask = (worker: Worker, message: ToThread, signal: AbortSignal): Promise<FromThread> =>
    new Promise((resolve, reject) => {
      const done = (settle: () => void): void => {
        worker.off("message", onMessage).off("error", onError).off("exit", onExit);
        signal.removeEventListener("abort", onAbort);
        settle();
      };
      const onMessage = (answer: FromThread): void => done(() => resolve(answer));
      const onError = (cause: Error): void => done(() => reject(cause));
      const onExit = (): void => done(() => reject(new Error("the search thread ended")));
      const onAbort = (): void => done(() => reject(signal.reason as Error));
      worker.on("message", onMessage).on("error", onError).on("exit", onExit);
      signal.addEventListener("abort", onAbort, { once: true });
      worker.postMessage(message);
    });

  return {
    with: (query, signal, invalid, use) =>
      inPlace(signal, async () => {
        const worker = take();
        worker.ref();
        // A thread that owes an answer cannot be asked anything else.
        let owes = false;
        const question = async (message: ToThread): Promise<FromThread> => {
          owes = true;
          const answer = await ask(worker, message, signal);
          owes = false;
          return answer;
        };
        try {
          const begun = await question({ kind: "pattern", query });
          if (begun.kind === "invalid") throw invalid(begun.message, begun.at);
          return await use({
            async find(texts, limit) {
              const answer = await question({ kind: "texts", texts, limit });
              return answer.kind === "found" ? answer.found : [];
            },
          });
        } finally {
          if (!owes && idle.length < MAX_IDLE) {
            worker.unref();
            idle.push(worker);
          } else await worker.terminate();
        }
      }),
    async close() {
      idle.length = 0;
      await Promise.all([...all].map((worker) => worker.terminate()));
    },
  };
}
