// The main thread's side of the writer thread: sends groups, reopens the thread when it died.
import { Worker } from "node:worker_threads";
import { groups, StatementFailed, type Failure, type Flat, type Result } from "./group.ts";
import { batchFields, eventFields, type Statement } from "./message.ts";
import type { LogEvent } from "./store.ts";

export type Row = Record<string, unknown>;

export interface Writer {
  append(event: LogEvent): Promise<number>;
  /** All or nothing, in order; answers the rows of each statement. */
  batch(statements: readonly Statement[]): Promise<Row[][]>;
  failing(): boolean;
  close(): Promise<void>;
}

/** A thread that dies at once is not reopened more often than this. */
const REOPEN_MS = 250;

const entry = new URL(
  import.meta.url.endsWith(".ts") ? "./writer.ts" : "./writer.js",
  import.meta.url,
);

export function spawnWriter(file: string): Worker {
  return new Worker(entry, { workerData: { file }, name: "store-writer" });
}

interface InFlight {
  resolve(results: readonly Result[]): void;
  reject(cause: Error): void;
}

export function openWriter(spawn: () => Worker): Writer {
  let worker: Worker | null = null;
  let inFlight: InFlight | null = null;
  let diedAt = -Infinity;
  let lastDeath: Error | null = null;

  function start(): Worker {
    const opened = spawn();
    opened.on("message", (reply: readonly Result[] | Failure) => {
      const waiting = inFlight;
      inFlight = null;
      // An idle writer does not keep the process alive.
      opened.unref();
      if ("failed" in reply) waiting?.reject(new StatementFailed(reply));
      else waiting?.resolve(reply);
    });
    opened.on("error", (cause) => died(opened, toError(cause)));
    opened.on("exit", () => died(opened, new Error("the writer thread ended")));
    opened.unref();
    return opened;
  }

  function died(which: Worker, cause: Error): void {
    if (which !== worker) return;
    worker = null;
    diedAt = performance.now();
    lastDeath = cause;
    inFlight?.reject(cause);
    inFlight = null;
  }

  function commit(flat: Flat[]): Promise<readonly Result[]> {
    return new Promise((resolve, reject) => {
      if (!worker && lastDeath && performance.now() - diedAt < REOPEN_MS) throw lastDeath;
      worker ??= start();
      inFlight = { resolve, reject };
      worker.ref();
      worker.postMessage(flat);
    });
  }

  const queue = groups(commit);
  worker = start();

  return {
    append: (event) => queue.push(eventFields(event)) as Promise<number>,
    batch: (statements) => queue.push(batchFields(statements)) as Promise<Row[][]>,
    failing: () => queue.failing(),
    async close() {
      await queue.drain();
      const last = worker;
      worker = null;
      if (!last) return;
      await new Promise<void>((resolve) => {
        last.ref();
        last.once("exit", () => resolve());
        last.postMessage(null);
      });
    },
  };
}

function toError(cause: unknown): Error {
  return cause instanceof Error ? cause : new Error(String(cause));
}
