// What a span is before it is made: plain data that goes from the main thread to the one that sends.
import type { Trace } from "../call.ts";
import type { Attributes } from "./tracing.ts";

/** Numbers of OpenTelemetry's API. */
export const KIND = { internal: 0, server: 1, client: 2 } as const;

export interface SpanEvent {
  readonly name: string;
  readonly at: number;
  readonly attributes: Attributes;
}

/** All moments in the time of `performance.now`. */
export interface SpanFacts {
  readonly name: string;
  readonly kind: (typeof KIND)[keyof typeof KIND];
  readonly trace: Trace;
  /** The parent lives in another process. */
  readonly remote?: boolean;
  readonly linked?: Trace | null;
  readonly began: number;
  readonly ended: number;
  readonly attributes: Attributes;
  readonly events?: readonly SpanEvent[];
  /** Verdicts of the gate, in short: they become the first events. */
  readonly verdicts?: { readonly began: number; readonly text: string } | undefined;
  /** Set: the span failed, with these words. They are ours; no message of a tool goes out here. */
  readonly error?: string | undefined;
}
