// Between the batch and the wire: counts what arrives and what is lost, and never lets a failure go further.
import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace";
import type { SpanFigures } from "./tracing.ts";

export interface CountingPowers {
  readonly maxQueued: number;
  readonly log: { warn(fields: object, message: string): void };
  readonly beforeExport: () => void;
}

const SUCCESS = 0;
/** A receiver that is away is mentioned, not lamented. */
const SAY_EVERY_MS = 60_000;

export class CountingExporter implements SpanExporter {
  readonly #inner: SpanExporter;
  readonly #p: CountingPowers;
  #queued = 0;
  #sent = 0;
  #dropped = 0;
  #said = -Infinity;

  constructor(inner: SpanExporter, p: CountingPowers) {
    this.#inner = inner;
    this.#p = p;
  }

  /** Room in the queue for one more? Asked before a span is made; a no is counted. */
  takes(): boolean {
    if (this.#queued < this.#p.maxQueued) {
      this.#queued++;
      return true;
    }
    this.#lost(1, "the queue is full");
    return false;
  }

  export(spans: ReadableSpan[], done: (result: { code: number }) => void): void {
    this.#queued -= spans.length;
    this.#p.beforeExport();
    this.#inner.export(spans, ({ code, error }) => {
      if (Number(code) === SUCCESS) this.#sent += spans.length;
      else this.#lost(spans.length, error?.message ?? "the receiver refused them");
      done({ code: SUCCESS });
    });
  }

  figures(): SpanFigures {
    return { sent: this.#sent, dropped: this.#dropped };
  }

  shutdown(): Promise<void> {
    return this.#inner.shutdown();
  }

  #lost(spans: number, why: string): void {
    this.#dropped += spans;
    const now = performance.now();
    if (now - this.#said < SAY_EVERY_MS) return;
    this.#said = now;
    this.#p.log.warn({ ...this.figures(), why }, "spans could not be delivered and were dropped");
  }
}
