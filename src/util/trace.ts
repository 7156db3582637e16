// W3C trace context: continue what came in, else begin a trace of our own.
import type { CallRequest, Trace } from "../contract/call.ts";
import type { Ids } from "./ids.ts";

/** As it travels, in headers or in `_meta`; inside this process it need not be written. */
export type TraceContext = Pick<CallRequest, "traceparent" | "tracestate" | "within">;

/** Version 00 ends after the flags; later ones may go on. */
const TRACEPARENT =
  /^(?!ff)(?!00-[^-]*-[^-]*-[^-]*-)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;
/** Entries of visible ASCII; what is longer than the standard requires is dropped. */
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;

/** `samples` says whether a trace that begins here is recorded; absent: nobody here records any. */
export function traceFrom(
  { traceparent, tracestate, within }: TraceContext,
  ids: Pick<Ids, "hex" | "trace">,
  samples?: (traceId: string) => boolean,
): Trace {
  const spanId = ids.hex(8);
  if (within !== undefined || traceparent !== undefined) {
    const parent = within ?? parentOf(traceparent, tracestate);
    if (parent) return { ...parent, spanId, parentSpanId: parent.spanId };
  }
  const traceId = ids.trace();
  return samples === undefined || samples(traceId)
    ? { traceId, spanId }
    : { traceId, spanId, sampled: false };
}

/** The span that a context names; null when it is no valid one. */
export function parentOf(
  traceparent: string | undefined,
  tracestate: string | undefined,
): Trace | null {
  if (traceparent === undefined) return null;
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return null;
  return {
    traceId,
    spanId,
    ...((Number.parseInt(flags, 16) & 1) === 0 ? { sampled: false } : {}),
    ...(tracestate !== undefined && TRACESTATE.test(tracestate) ? { state: tracestate } : {}),
  };
}

/** The headers to send on, so that the receiver's spans belong to this one. */
export function contextOf({ traceId, spanId, sampled, state }: Trace): TraceContext {
  return {
    traceparent: `00-${traceId}-${spanId}-${sampled === false ? "00" : "01"}`,
    ...(state === undefined ? {} : { tracestate: state }),
  };
}
