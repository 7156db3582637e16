// A few threads for work on foreign text, started when needed and kept for the next. A call that is cancelled or late
// ends its thread: nothing else stops a loop. Memory is bounded by the thread, and its end is that call's own fault.
import { Worker } from "node:worker_threads";

export interface ThreadsSettings {
  readonly name: string;
  readonly entry: URL;
  /** More wait. */
  readonly atOnce: number;
  /** Of one owner: one that keeps its threads busy leaves the others to the rest. */
  readonly ofOneOwner: number;
  readonly memoryMb: number;
}

export interface Threads<Question, Answer> {
  /** A thread for as long as `use` lasts; questions are asked one after the other. */
  with<T>(
    owner: string,
    signal: AbortSignal,
    use: (ask: (question: Question) => Promise<Answer>) => Promise<T>,
  ): Promise<T>;
  close(): Promise<void>;
}

/** The thread needed more memory than it may have. */
export class ThreadOverflow extends Error {}

export function openThreads<Question, Answer>(
  settings: ThreadsSettings,
): Threads<Question, Answer> {
  const { name, entry, atOnce, memoryMb } = settings;
  const places = openThreadSlots(settings);
  const idle: Worker[] = [];
  const all = new Set<Worker>();

  const take = (): Worker => {
    const known = idle.pop();
    if (known) return known;
    const worker = new Worker(entry, {
      name,
      resourceLimits: { maxOldGenerationSizeMb: memoryMb },
    });
    all.add(worker);
    worker.once("exit", () => {
      all.delete(worker);
      const at = idle.indexOf(worker);
      if (at >= 0) idle.splice(at, 1);
    });
    return worker;
  };

  return {
    async with(owner, signal, use) {
      await places.enter(owner, signal);
      try {
        const worker = take();
        worker.ref();
        // A thread that owes an answer cannot be asked anything else.
        let owes = false;
        try {
          return await use(async (question) => {
            owes = true;
            const answer = await asked<Question, Answer>(worker, question, signal);
            owes = false;
            return answer;
          });
        } finally {
          if (!owes && idle.length < atOnce) {
            worker.unref();
            idle.push(worker);
          } else await worker.terminate();
        }
      } finally {
        places.leave(owner);
      }
    },
    async close() {
      idle.length = 0;
      await Promise.all([...all].map((worker) => worker.terminate()));
    },
  };
}

interface ThreadSlots {
  /** Resolves with a place, in the order of asking; rejects with the signal. */
  enter(owner: string, signal: AbortSignal): Promise<void>;
  leave(owner: string): void;
}

function openThreadSlots({ atOnce, ofOneOwner }: ThreadsSettings): ThreadSlots {
  const inside = new Map<string, number>();
  let waiting: { readonly owner: string; readonly begin: () => void }[] = [];
  let busy = 0;
  const hasRoom = (owner: string): boolean =>
    busy < atOnce && (inside.get(owner) ?? 0) < ofOneOwner;
  const take = (owner: string): void => {
    busy++;
    inside.set(owner, (inside.get(owner) ?? 0) + 1);
  };
  return {
    enter(owner, signal) {
      if (signal.aborted) return Promise.reject(signal.reason as Error);
      if (hasRoom(owner)) return Promise.resolve(take(owner));
      return new Promise((resolve, reject) => {
        const onAbort = (): void => {
          waiting = waiting.filter((one) => one !== entry);
          reject(signal.reason as Error);
        };
        const entry = {
          owner,
          begin() {
            signal.removeEventListener("abort", onAbort);
            take(owner);
            resolve();
          },
        };
        waiting.push(entry);
        signal.addEventListener("abort", onAbort, { once: true });
      });
    },
    leave(owner) {
      busy--;
      const left = (inside.get(owner) ?? 1) - 1;
      if (left > 0) inside.set(owner, left);
      else inside.delete(owner);
      const next = waiting.find((one) => hasRoom(one.owner));
      if (!next) return;
      waiting = waiting.filter((one) => one !== next);
      next.begin();
    },
  };
}

function asked<Question, Answer>(
  worker: Worker,
  question: Question,
  signal: AbortSignal,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const done = (settle: () => void): void => {
      worker.off("message", onMessage).off("error", onError).off("exit", onExit);
      signal.removeEventListener("abort", onAbort);
      settle();
    };
    const onMessage = (answer: Answer): void => done(() => resolve(answer));
    const onError = (cause: Error & { code?: string }): void =>
      done(() =>
        reject(
          cause.code === "ERR_WORKER_OUT_OF_MEMORY"
            ? new ThreadOverflow("out of memory", { cause })
            : cause,
        ),
      );
    const onExit = (): void => done(() => reject(new Error("the thread ended")));
    const onAbort = (): void => done(() => reject(signal.reason as Error));
    worker.on("message", onMessage).on("error", onError).on("exit", onExit);
    signal.addEventListener("abort", onAbort, { once: true });
    worker.postMessage(question);
  });
}

/** The file of a thread beside the one that starts it: a source, or what was built from it. */
export const beside = (importer: string, file: string): URL =>
  new URL(`./${file}${importer.endsWith(".ts") ? ".ts" : ".js"}`, importer);
