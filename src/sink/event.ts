// An event of the log as it is sent on.
import type { LedgerRow } from "../store/store.ts";
import { ledgerText, withHash } from "../util/ledger-line.ts";
import type { SinkEvent } from "./sink.ts";

const TRACE_ID = /^[0-9a-f]{32}$/;
const SPAN_ID = /^[0-9a-f]{16}$/;

export function sinkEvent(row: LedgerRow): SinkEvent {
  const { tenantId, action, instanceId, n, prevHash, hash } = row;
  const trace = traceOf(row.body);
  if (instanceId === null || n === null || prevHash === null || hash === null)
    return { id: `log:${row.seq}`, tenantId, action, trace, line: unchained(row) };
  return {
    id: `${instanceId}:${tenantId}:${n}`,
    tenantId,
    action,
    trace,
    line: withHash(ledgerText({ ...row, instanceId, n, prevHash }), hash),
  };
}

/** Older than the chain: it has no place in it and no hash. */
function unchained({ seq, tenantId, at, action, actor, executionId, body }: LedgerRow): string {
  const facts = { v: 0, seq, tenantId, at, action, actor, executionId };
  return `${JSON.stringify(facts).slice(0, -1)},"body":${body}}`;
}

/** Of the event itself: arguments may hold such a key too, so the text is read, not searched. */
function traceOf(body: string): SinkEvent["trace"] {
  if (!body.includes('"traceId"')) return null;
  const { traceId, spanId } = (JSON.parse(body) ?? {}) as { traceId?: unknown; spanId?: unknown };
  if (typeof traceId !== "string" || !TRACE_ID.test(traceId)) return null;
  return { traceId, spanId: typeof spanId === "string" && SPAN_ID.test(spanId) ? spanId : null };
}
