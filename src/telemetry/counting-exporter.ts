// Between the batch and the wire: counts what arrives and what is lost, and never lets a failure go further.
import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace";
import type { SpanFigures } from "./tracing.ts";

export interface CountingPowers {
  readonly maxQueued: number;
  readonly lost: (why: string) => void;
}

const SUCCESS = 0;

export class CountingExporter implements SpanExporter {
  readonly #inner: SpanExporter;
  readonly #p: CountingPowers;
  #queued = 0;
  #sent = 0;
  #dropped = 0;

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
    this.#dropped++;
    return false;
  }

  export(spans: ReadableSpan[], done: (result: { code: number }) => void): void {
    this.#queued -= spans.length;
    this.#inner.export(spans, ({ code, error }) => {
      if (Number(code) === SUCCESS) this.#sent += spans.length;
      else {
        this.#dropped += spans.length;
        this.#p.lost(error?.message ?? "the collector refused them");
      }
      done({ code: SUCCESS });
    });
  }

  figures(): SpanFigures {
    return { sent: this.#sent, dropped: this.#dropped };
  }

  shutdown(): Promise<void> {
    return this.#inner.shutdown();
  }
}
