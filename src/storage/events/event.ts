// An event of the log as it is sent on.
import { eventLine } from "../ledger/lines.ts";
import type { LedgerRow } from "../store/store.ts";
import type { SinkEvent } from "./sink.ts";

const TRACE_ID = /^[0-9a-f]{32}$/;
const SPAN_ID = /^[0-9a-f]{16}$/;

export function sinkEvent(row: LedgerRow): SinkEvent {
  const { seq, tenantId, action, instanceId, n } = row;
  return {
    // What is older than the chain has no place in one.
    id: instanceId === null || n === null ? `log:${seq}` : `${instanceId}:${tenantId}:${n}`,
    tenantId,
    action,
    trace: traceOf(row.body),
    line: eventLine(row),
  };
}

/** Of the event itself: arguments may hold such a key too, so the text is read, not searched. */
function traceOf(body: string): SinkEvent["trace"] {
  if (!body.includes('"traceId"')) return null;
  const { traceId, spanId } = (JSON.parse(body) ?? {}) as { traceId?: unknown; spanId?: unknown };
  if (typeof traceId !== "string" || !TRACE_ID.test(traceId)) return null;
  return { traceId, spanId: typeof spanId === "string" && SPAN_ID.test(spanId) ? spanId : null };
}
