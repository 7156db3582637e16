// Masks long texts in worker threads. They are started on demand; each masks one text at a time.
import { Worker } from "node:worker_threads";
import type { LongTexts, MaskedText } from "../util/secrets/masker-large.ts";
import type { FromThread, ThreadData, ToThread } from "./mask-thread.ts";

const MAX_THREADS = 2;
const MAX_OLD_SPACE_MB = 512;
/** Far more than the longest text takes. A text that is not masked by then is not recorded or answered. */
const LONGEST_MS = 60_000;
const MOST_PASSING = 512;

const entry = new URL(
  import.meta.url.endsWith(".ts") ? "./mask-thread.ts" : "./mask-thread.js",
  import.meta.url,
);

export interface MaskThreads extends LongTexts {
  close(): Promise<void>;
}

export function maskThreads(key: Uint8Array, first: readonly string[]): MaskThreads {
  const known = new Set(first);
  const passing = new Set<string>();
  const idle: Worker[] = [];
  const all = new Set<Worker>();
  const waiting: (() => void)[] = [];
  let busy = 0;

  const start = (): Worker => {
    const workerData: ThreadData = { key, known: [...known], passing: [...passing] };
    const worker = new Worker(entry, {
      name: "mask",
      workerData,
      resourceLimits: { maxOldGenerationSizeMb: MAX_OLD_SPACE_MB },
    });
    all.add(worker);
    // An idle worker that ends is not used again.
    worker.on("error", () => undefined);
    worker.once("exit", () => {
      all.delete(worker);
      const at = idle.indexOf(worker);
      if (at >= 0) idle.splice(at, 1);
    });
    return worker;
  };
  const tell = (message: ToThread): void => {
    for (const worker of all) worker.postMessage(message);
  };

  const mask = async (text: string): Promise<MaskedText> => {
    if (busy >= MAX_THREADS) await new Promise<void>((resolve) => waiting.push(resolve));
    else busy++;
    const worker = idle.pop() ?? start();
    worker.ref();
    try {
      const answer = await asked(worker, text);
      worker.unref();
      idle.push(worker);
      return answer ?? { answer: text, recorded: text, masked: 0 };
    } catch (cause) {
      // A late answer would be taken for that of the next text.
      all.delete(worker);
      await worker.terminate();
      throw cause;
    } finally {
      const next = waiting.shift();
      if (next) next();
      else busy--;
    }
  };

  return {
    mask,
    know(secret) {
      known.add(secret);
      tell({ know: secret });
    },
    knowTemporary(secret) {
      passing.delete(secret);
      passing.add(secret);
      if (passing.size > MOST_PASSING) passing.delete(passing.values().next().value ?? "");
      tell({ knowTemporary: secret });
    },
    async close() {
      idle.length = 0;
      await Promise.all([...all].map((worker) => worker.terminate()));
    },
  };
}

function asked(worker: Worker, text: string): Promise<FromThread> {
  const { promise, resolve, reject } = Promise.withResolvers<FromThread>();
  const onExit = (): void => reject(new Error("the thread that masks has ended"));
  const timer = setTimeout(() => reject(new Error("masking took too long")), LONGEST_MS);
  worker.once("message", resolve).once("error", reject).once("exit", onExit);
  worker.postMessage({ text } satisfies ToThread);
  return promise.finally(() => {
    clearTimeout(timer);
    worker.off("message", resolve).off("error", reject).off("exit", onExit);
  });
}
