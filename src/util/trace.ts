// W3C trace context: continue what came in, else begin a trace of our own.
import type { Trace } from "../call.ts";
import type { Ids } from "./ids.ts";

const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(?:-.*)?$/;
const NO_TRACE = "0".repeat(32);
const NO_SPAN = "0".repeat(16);

export function traceFrom(traceparent: string | undefined, ids: Ids): Trace {
  const spanId = ids.hex(8);
  if (traceparent !== undefined) {
    const match = TRACEPARENT.exec(traceparent);
    const [, traceId, parentSpanId] = match ?? [];
    if (
      traceId &&
      parentSpanId &&
      traceId !== NO_TRACE &&
      parentSpanId !== NO_SPAN &&
      !traceparent.startsWith("ff")
    ) {
      return { traceId, spanId, parentSpanId };
    }
  }
  return { traceId: ids.hex(16), spanId };
}
