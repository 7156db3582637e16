// What a crash left open is closed as failed / OUTCOME_UNKNOWN: never silently run again, never left `running`.
import type { ExecutionRecord, Store } from "../../storage/store/store.ts";
import type { Recorded } from "./index.ts";

export interface RecoverPowers {
  readonly store: Pick<Store, "log" | "executions">;
  readonly now: () => number;
  readonly onRecorded: (recorded: Recorded) => void;
}

/** Everything an instance began, at most at `begunUntil`, and did not end: at its start, or when it was lost. */
export async function closeAfterCrash(
  p: RecoverPowers,
  instanceId: string,
  begunUntil = Infinity,
): Promise<number> {
  const open = await p.store.executions.open({ instanceId });
  return closeAll(
    p,
    open.filter(({ startTime }) => startTime <= begunUntil),
    "crashed",
  );
}

/** At intervals: rows of any instance that are past every deadline; `isActive` keeps our own running ones out. */
export async function closeStale(
  p: RecoverPowers,
  graceMs: number,
  isActive: (id: string) => boolean,
): Promise<number> {
  const open = await p.store.executions.open({ startedBefore: p.now() - graceMs });
  return closeAll(
    p,
    open.filter((row) => !isActive(row.id)),
    "stale",
  );
}

/**
 * Ends that could not be written: their callers were answered that the outcome is not known, so they end like this as
 * soon as the log can be written again.
 */
export function lostEnds(p: RecoverPowers): { add(id: string): void; close(): Promise<number> } {
  const ids = new Set<string>();
  return {
    add: (id) => void ids.add(id),
    async close() {
      let closed = 0;
      for (const id of ids) {
        const row = await p.store.executions.get(id);
        // Never begun, or ended meanwhile.
        if (row?.endTime === null) {
          await closeOne(p, row, "unrecorded");
          closed++;
        }
        ids.delete(id);
      }
      return closed;
    },
  };
}

async function closeAll(
  p: RecoverPowers,
  rows: readonly ExecutionRecord[],
  reason: string,
): Promise<number> {
  await Promise.all(rows.map((row) => closeOne(p, row, reason)));
  return rows.length;
}

async function closeOne(p: RecoverPowers, row: ExecutionRecord, reason: string): Promise<void> {
  const now = Math.max(p.now(), row.startTime);
  const body = {
    status: "failed",
    endTime: now,
    executionTime: now - row.startTime,
    result: null,
    error:
      reason === "unrecorded"
        ? "its end could not be written: it is not known how the tool ended"
        : "the server stopped while this was running: it is not known whether the tool finished",
    errorCode: "OUTCOME_UNKNOWN",
    errorReason: reason,
    remedy: "check the tool's effect before you run it again",
    cancelReason: null,
    metadata: null,
    toolName: row.toolName,
    category: row.category,
    userId: row.userId,
    startTime: row.startTime,
    // It may have run: its use stays counted.
    budgetDelta: {},
    traceId: row.traceId,
    spanId: row.spanId,
  };
  const event = {
    tenantId: row.tenantId,
    at: now,
    action: "tool.execution.failed" as const,
    actor: row.userId,
    executionId: row.id,
    body: JSON.stringify(body),
  };
  p.onRecorded({ seq: await p.store.log.append(event), event });
}
