// A finished span in the shape that exporters read. Made once, when everything about it is known: the SDK's own spans cost
// several times as much, and would draw ids of their own.
import type { Link, SpanContext, SpanStatus } from "@opentelemetry/api";
import type { ReadableSpan, TimedEvent } from "@opentelemetry/sdk-trace";
import type { Trace } from "../call.ts";
import { hrTime } from "./clock.ts";
import type { SpanFacts } from "./kinds.ts";
import { readVerdicts } from "./wire.ts";

const UNSET: SpanStatus = { code: 0 };

/** What the spans of a batch share; `offset` leads to the wall clock. */
export type Origin = Pick<ReadableSpan, "resource" | "instrumentationScope"> & {
  readonly offset: number;
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

  constructor(facts: SpanFacts, { resource, instrumentationScope, offset }: Origin) {
    const { trace, linked } = facts;
    this.name = facts.name;
    this.kind = facts.kind;
    this.#context = contextOf(trace);
    if (trace.parentSpanId !== undefined)
      this.parentSpanContext = { traceId: trace.traceId, spanId: trace.parentSpanId, traceFlags: 1, isRemote: facts.remote ?? false }; // prettier-ignore
    const ended = Math.max(facts.began, facts.ended);
    this.startTime = hrTime(facts.began + offset);
    this.endTime = hrTime(ended + offset);
    this.duration = hrTime(ended - facts.began);
    this.status = facts.error === undefined ? UNSET : { code: 2, message: facts.error };
    this.attributes = facts.attributes;
    this.links = linked ? [{ context: { ...contextOf(linked), isRemote: true } }] : [];
    const verdicts = facts.verdicts ? readVerdicts(facts.verdicts.text, facts.verdicts.began) : [];
    this.events = [...verdicts, ...(facts.events ?? [])].map(({ name, at, attributes }) => ({ name, time: hrTime(at + offset), attributes, droppedAttributesCount: 0 })); // prettier-ignore
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
