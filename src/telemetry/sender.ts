// The main thread's side of the thread that sends OTLP: passes messages to it and counts. Nothing here waits, and a
// thread that dies or falls behind loses spans, not calls.
import { Worker } from "node:worker_threads";
import { HEAD_FRAME, headOf, type SpanOrigin } from "./protobuf.ts";
import { SpanWriter } from "./span-writer.ts";
import type { SpanFigures } from "./tracing.ts";

export interface ThreadData {
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A finished message, or the end. */
export type ToThread =
  | { readonly signal: "traces" | "metrics"; readonly spans: number; readonly bytes: Uint8Array }
  | "close";

export interface FromThread extends SpanFigures {
  /** Spans that were sent or given up. */
  readonly done: number;
  /** Why spans were lost. */
  readonly why?: string;
  /** Memory of a message that is done. */
  readonly freed?: SharedArrayBuffer;
  readonly closed?: true;
}

export interface SpanSender {
  /** Where to write one span; null, and counted, when there is no room. */
  room(): SpanWriter | null;
  /** It was written. */
  wrote(): void;
  metrics(message: Uint8Array): void;
  figures(): SpanFigures;
  close(): Promise<void>;
}

export interface SpanSenderPowers {
  readonly start: () => Worker;
  readonly origin: SpanOrigin;
  /** Longest wait before finished spans go. */
  readonly delayMs: number;
  /** From the steady clock to the wall clock. */
  readonly offset: () => number;
  readonly log: { warn(fields: object, message: string): void };
}

/**
 * A few hundred calls. A message costs both sides more than its bytes; some receivers and proxies take no more than 1
 * MB.
 */
const FULL_AT_BYTES = 960_000;
const CAPACITY = 1024 * 1024;
const MAX_UNDERWAY = 16_384;
/** How long a stopping server tries to deliver its last spans. */
const FLUSH_MS = 3_000;
const REOPEN_MS = 10_000;
/** A receiver that is not reachable is logged at most this often. */
const SAY_EVERY_MS = 60_000;

const entry = new URL(
  import.meta.url.endsWith(".ts") ? "./otlp-thread.ts" : "./otlp-thread.js",
  import.meta.url,
);

export const spawnOtlpThread = (data: ThreadData): Worker =>
  new Worker(entry, { workerData: data, name: "otlp" });

export function openSender(p: SpanSenderPowers): SpanSender {
  const writer = new SpanWriter(
    CAPACITY,
    p.origin.resource.length + p.origin.scope.length + HEAD_FRAME,
  );
  writer.follow(p.offset());
  let underway = 0;
  let timer: NodeJS.Timeout | null = null;
  let worker: Worker | null = null;
  let diedAt = -Infinity;
  let saidAt = -Infinity;
  /** Counts of threads that have ended, and of messages that no thread received. */
  let past: SpanFigures = { sent: 0, dropped: 0 };
  let present: SpanFigures = { sent: 0, dropped: 0 };
  let closed: (() => void) | null = null;
  const figures = (): SpanFigures => ({
    sent: past.sent + present.sent,
    dropped: past.dropped + present.dropped,
  });

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
      underway -= message.done;
      present = { sent: message.sent, dropped: message.dropped };
      if (message.why !== undefined) say(message.why);
      if (message.freed) writer.recycle(message.freed);
      if (message.closed) closed?.();
    });
    const gone = (cause?: Error): void => {
      if (worker !== opened) return;
      worker = null;
      diedAt = performance.now();
      past = figures();
      present = { sent: 0, dropped: 0 };
      // One that ends with nothing left to do, as after closing, has lost nothing.
      if (cause || underway > 0) lost(underway, cause?.message ?? "the thread has ended");
      underway = 0;
      closed?.();
    };
    opened.on("error", gone);
    opened.on("exit", () => gone());
    opened.unref();
    return opened;
  }

  /** False: there is no thread, and for a while there will be none. */
  function hand(message: Exclude<ToThread, "close">): boolean {
    if (!worker && performance.now() - diedAt > REOPEN_MS) worker = start();
    worker?.postMessage(message);
    return worker !== null;
  }

  function post(): void {
    if (timer) clearTimeout(timer);
    timer = null;
    const { count: spans } = writer;
    if (spans === 0) return;
    const bytes = writer.take(headOf(p.origin, writer.length));
    writer.follow(p.offset());
    if (hand({ signal: "traces", spans, bytes })) underway += spans;
    else lost(spans, "the thread has ended");
  }

  return {
    room() {
      if (underway + writer.count < MAX_UNDERWAY) return writer;
      lost(1, "the collector is too slow");
      return null;
    },
    wrote() {
      if (writer.length >= FULL_AT_BYTES) post();
      else timer ??= setTimeout(post, p.delayMs).unref();
    },
    metrics(bytes) {
      hand({ signal: "metrics", spans: 0, bytes });
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
