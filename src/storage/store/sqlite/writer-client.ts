// The main thread's side of the writer thread: sends groups, reopens the thread when it died.
import { Worker } from "node:worker_threads";
import {
  groups,
  SETTLE,
  StatementFailed,
  type CommitAnswer,
  type Flat,
  type HistoryFault,
  type OnCommit,
  type Pace,
  type Result,
  type HistorySettled,
} from "../group.ts";
import { appender, putBatch, putStep, type Statement } from "../message.ts";
import type { WatchedFiles } from "../../../util/files/watched-files.ts";
import type { StepName } from "./rebuild.ts";
import type { Store } from "../store.ts";

export type Row = Record<string, unknown>;

export interface Writer {
  readonly append: Store["log"]["append"];
  /** All or nothing, in order; answers the rows of each statement. */
  batch(statements: readonly Statement[]): Promise<Row[][]>;
  /** A step of a rebuild; answers what it did. */
  step(name: StepName, after: number, oldest: number): Promise<Record<string, number>>;
  failing(): boolean;
  /** Resolves once history shows all that was acknowledged so far; null: it does. */
  settled(): Promise<void> | null;
  /** Why history lacks something that is in the log, as far as is known without asking; null: it does not. */
  historyFault(): string | null;
  close(): Promise<void>;
}

/** A thread that dies at once is not reopened more often than this. */
const REOPEN_MS = 250;

const entry = new URL(
  import.meta.url.endsWith(".ts") ? "./writer.ts" : "./writer.js",
  import.meta.url,
);

export interface WriterData {
  readonly file: string;
  /** Under whose name events are chained. */
  readonly instanceId: string;
}

export function spawnWriter(workerData: WriterData): Worker {
  return new Worker(entry, { workerData, name: "store-writer" });
}

/**
 * The thread merges what has arrived: one full group waits while one is committed. More would only make groups
 * smaller.
 */
const PACE: Pace = { ahead: 2, fullAt: 48, most: Infinity };

interface InFlight {
  readonly items: number;
  resolve(results: readonly Result[]): void;
  reject(cause: Error): void;
}

export function openWriter(
  spawn: () => Worker,
  onCommit?: OnCommit,
  files?: Pick<WatchedFiles, "lost">,
): Writer {
  let worker: Worker | null = null;
  // In the order they were sent, which is the order of the answers.
  let inFlight: InFlight[] = [];
  let diedAt = -Infinity;
  let lastDeath: Error | null = null;
  /** History may lack something that was acknowledged. */
  let hasBacklog = false;
  let historyFault: string | null = null;
  let isClosed = false;
  /** Readers that wait for it; the newest promise serves all that come until it resolves. */
  const readers: (() => void)[] = [];
  let settling: Promise<void> | null = null;

  function start(): Worker {
    const opened = spawn();
    /** An idle writer does not keep the process alive. */
    const rest = (): void => {
      if (inFlight.length === 0 && readers.length === 0) opened.unref();
    };
    opened.on("message", (message: CommitAnswer | HistorySettled | HistoryFault) => {
      if ("historyFault" in message) {
        historyFault = message.historyFault;
        if (historyFault !== null)
          process.emitWarning(
            `history cannot be written (${historyFault}); the log goes on`,
            "StoreWarning",
          );
        // It can be written again, but may not be whole yet.
        if (historyFault === null) hasBacklog = true;
        return;
      }
      if ("settled" in message) {
        for (const resolve of readers.splice(0, message.settled)) resolve();
        return rest();
      }
      const { groups: count, results } = message;
      const answered = inFlight.splice(0, count);
      hasBacklog = true;
      rest();
      let from = 0;
      for (const { items, resolve, reject } of answered) {
        if ("failed" in results) reject(new StatementFailed(results));
        else resolve(results.slice(from, (from += items)));
      }
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
    const lost = inFlight;
    inFlight = [];
    for (const { reject } of lost) reject(cause);
    // The next thread begins with what this one left; reads do not wait for it.
    for (const resolve of readers.splice(0)) resolve();
    hasBacklog = true;
    historyFault = null;
  }

  function settled(): Promise<void> | null {
    if (!hasBacklog || isClosed) return settling;
    // A thread that died left a backlog; the next one begins with it.
    if (!worker && performance.now() - diedAt >= REOPEN_MS) worker = start();
    if (!worker) return settling;
    hasBacklog = false;
    const asked = new Promise<void>((resolve) => readers.push(resolve)).then(() => {
      if (settling === asked) settling = null;
    });
    worker.ref();
    worker.postMessage(SETTLE);
    return (settling = asked);
  }

  function commit(flat: Flat[], items: number): Promise<readonly Result[]> {
    return new Promise((resolve, reject) => {
      if (!worker && lastDeath && performance.now() - diedAt < REOPEN_MS) throw lastDeath;
      worker ??= start();
      inFlight.push({ items, resolve, reject });
      worker.ref();
      worker.postMessage(flat);
    });
  }

  const queue = groups(commit, PACE, onCommit, files);
  worker = start();

  return {
    append: appender(queue),
    batch: (statements) => queue.push((flat) => putBatch(flat, statements)) as Promise<Row[][]>,
    async step(name, after, oldest) {
      const [[done] = []] = (await queue.push((flat) =>
        putStep(flat, name, after, oldest),
      )) as Record<string, number>[][];
      return done ?? {};
    },
    failing: () => queue.failing(),
    settled,
    historyFault: () => historyFault,
    async close() {
      isClosed = true;
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
