// The main thread's side of the thread that speaks OTLP: hands lines over in batches and keeps count. Nothing here waits,
// and a thread that dies or falls behind loses spans, not calls.
import { Worker } from "node:worker_threads";
import type { SpanFigures } from "./tracing.ts";
import { writeLine, type Line } from "./wire.ts";

export interface ThreadData {
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly resourceAttributes: Readonly<Record<string, string>>;
  readonly version: string;
  readonly delayMs: number;
  readonly metricsIntervalMs: number;
}

/** `offset` leads from the main thread's steady clock to the wall clock. */
export type ToThread = { readonly offset: number; readonly lines: readonly string[] } | "close";

export interface FromThread extends SpanFigures {
  /** Lines that were read. */
  readonly taken: number;
  /** Why spans were lost. */
  readonly why?: string;
  readonly closed?: true;
}

export interface Sender {
  add(line: Line): void;
  figures(): SpanFigures;
  close(): Promise<void>;
}

export interface SenderPowers {
  readonly start: () => Worker;
  /** From the steady clock to the wall clock. */
  readonly offset: () => number;
  readonly log: { warn(fields: object, message: string): void };
}

const BATCH_MS = 20;
const FULL_AT = 512;
const MAX_UNREAD = 16_384;
/** The last words of a server that stops; whoever does not take them by then goes without. */
const FLUSH_MS = 3_000;
const REOPEN_MS = 10_000;
/** A receiver that is away is mentioned, not lamented. */
const SAY_EVERY_MS = 60_000;

const entry = new URL(
  import.meta.url.endsWith(".ts") ? "./otlp-thread.ts" : "./otlp-thread.js",
  import.meta.url,
);

export const spawnOtlpThread = (data: ThreadData): Worker =>
  new Worker(entry, { workerData: data, name: "otlp" });

export function openSender(p: SenderPowers): Sender {
  let lines: string[] = [];
  let unread = 0;
  let timer: NodeJS.Timeout | null = null;
  let worker: Worker | null = null;
  let diedAt = -Infinity;
  let saidAt = -Infinity;
  /** Of threads that have ended, and what no thread got to see. */
  let past: SpanFigures = { sent: 0, dropped: 0 };
  let present: SpanFigures = { sent: 0, dropped: 0 };
  let closed: (() => void) | null = null;
  const figures = (): SpanFigures => ({ sent: past.sent + present.sent, dropped: past.dropped + present.dropped }); // prettier-ignore

  function lost(spans: number, why: string): void {
    past = { ...past, dropped: past.dropped + spans };
    say(why);
  }

  function say(why: string): void {
    const now = performance.now();
    if (now - saidAt < SAY_EVERY_MS) return;
    saidAt = now;
    p.log.warn({ ...figures(), why }, "spans could not be delivered and were dropped");
  }

  function start(): Worker {
    const opened = p.start();
    opened.on("message", (message: FromThread) => {
      unread -= message.taken;
      present = { sent: message.sent, dropped: message.dropped };
      if (message.why !== undefined) say(message.why);
      if (message.closed) closed?.();
    });
    const gone = (cause?: Error): void => {
      if (worker !== opened) return;
      worker = null;
      diedAt = performance.now();
      past = figures();
      present = { sent: 0, dropped: 0 };
      lost(unread, cause?.message ?? "the thread has ended");
      unread = 0;
      closed?.();
    };
    opened.on("error", gone);
    opened.on("exit", () => gone());
    opened.unref();
    return opened;
  }

  function post(): void {
    if (timer) clearTimeout(timer);
    timer = null;
    const batch = lines;
    lines = [];
    if (batch.length === 0) return;
    if (!worker && performance.now() - diedAt > REOPEN_MS) worker = start();
    if (!worker) return lost(batch.length, "the thread has ended");
    unread += batch.length;
    const message: ToThread = { offset: p.offset(), lines: batch };
    worker.postMessage(message);
  }

  return {
    add(line) {
      if (unread + lines.length >= MAX_UNREAD) return lost(1, "the collector is too slow");
      lines.push(writeLine(line));
      if (lines.length >= FULL_AT) post();
      else timer ??= setTimeout(post, BATCH_MS).unref();
    },
    figures,
    async close() {
      post();
      const ending = worker;
      if (!ending) return;
      let late: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve) => {
        closed = resolve;
        late = setTimeout(resolve, FLUSH_MS);
        ending.postMessage("close" satisfies ToThread);
      });
      clearTimeout(late);
      worker = null;
      diedAt = Infinity;
      await ending.terminate();
    },
  };
}
