// A finished span in the shape that exporters read. Made once, when everything about it is known: the SDK's own spans cost
// several times as much, and would draw ids of their own.
import type { Link, SpanContext, SpanStatus } from "@opentelemetry/api";
import type { ReadableSpan, TimedEvent } from "@opentelemetry/sdk-trace";
import type { Trace } from "../call.ts";
import type { SpanClock } from "./clock.ts";
import type { Attributes } from "./tracing.ts";

/** Numbers of OpenTelemetry's API. */
export const KIND = { internal: 0, server: 1, client: 2 } as const;
const UNSET: SpanStatus = { code: 0 };

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
  /** Set: the span failed, with these words. They are ours; no message of a tool goes out here. */
  readonly error?: string | undefined;
}

/** What all spans of the process share. */
export type Origin = Pick<ReadableSpan, "resource" | "instrumentationScope"> & {
  readonly clock: SpanClock;
};

export class RecordedSpan implements ReadableSpan {
  readonly name: string;
  readonly kind: ReadableSpan["kind"];
  readonly parentSpanContext?: SpanContext;
  readonly startTime: [number, number];
  readonly endTime: [number, number];
  readonly status: SpanStatus;
  readonly attributes: Record<string, string | number | boolean>;
  readonly links: Link[];
  readonly events: TimedEvent[];
  readonly duration: [number, number];
  readonly ended = true;
  readonly resource: ReadableSpan["resource"];
  readonly instrumentationScope: ReadableSpan["instrumentationScope"];
  readonly droppedAttributesCount = 0;
  readonly droppedEventsCount = 0;
  readonly droppedLinksCount = 0;
  readonly #context: SpanContext;

  constructor(facts: SpanFacts, { resource, instrumentationScope, clock }: Origin) {
    const { trace, linked } = facts;
    this.name = facts.name;
    this.kind = facts.kind;
    this.#context = contextOf(trace);
    if (trace.parentSpanId !== undefined)
      this.parentSpanContext = { traceId: trace.traceId, spanId: trace.parentSpanId, traceFlags: 1, isRemote: facts.remote ?? false }; // prettier-ignore
    const ended = Math.max(facts.began, facts.ended);
    this.startTime = clock.at(facts.began);
    this.endTime = clock.at(ended);
    const ms = ended - facts.began;
    this.duration = [Math.floor(ms / 1000), Math.round((ms % 1000) * 1e6)];
    this.status = facts.error === undefined ? UNSET : { code: 2, message: facts.error };
    this.attributes = facts.attributes;
    this.links = linked ? [{ context: { ...contextOf(linked), isRemote: true } }] : [];
    this.events = (facts.events ?? []).map(({ name, at, attributes }) => ({ name, time: clock.at(at), attributes, droppedAttributesCount: 0 })); // prettier-ignore
    this.resource = resource;
    this.instrumentationScope = instrumentationScope;
  }

  spanContext(): SpanContext {
    return this.#context;
  }
}

function contextOf({ traceId, spanId, state }: Trace): SpanContext {
  const context = { traceId, spanId, traceFlags: 1 };
  return state === undefined ? context : { ...context, traceState: carried(state) };
}

/** Handed on as it came; nobody here reads or changes it. */
function carried(text: string): NonNullable<SpanContext["traceState"]> {
  const state = { get: () => undefined, set: () => state, unset: () => state, serialize: () => text }; // prettier-ignore
  return state;
}
