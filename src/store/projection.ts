// What an event of the log means for history: pure, so that both databases, and a later rebuild, agree.
import type { CancelReason, Status } from "../call.ts";
import type { EndFacts, EventFacts, StartFacts } from "./body.ts";
import type { LogEvent } from "./store.ts";
import {
  ALL_TIME,
  DAY_HOURS,
  dayRow,
  HOUR_MS,
  WHOLE_TENANT,
  type RollupsTable,
  type RollupStatus,
} from "./tables.ts";

export interface Started {
  /** 0 until the writer gives the event its number. */
  seq: number;
  readonly tenantId: string;
  readonly userId: string;
  readonly toolName: string;
  readonly category: string;
  readonly status: Status;
  readonly startMs: number;
  readonly timeoutMs: number;
  readonly instanceId: string;
  readonly approvalId: string | null;
  /** Counted when the row takes this start; nothing while it is held. */
  readonly budget: Amounts | null;
  /** Its reservation becomes use. */
  readonly reserved: boolean;
}

export interface Ended {
  seq: number;
  readonly tenantId: string;
  readonly userId: string;
  readonly toolName: string;
  readonly category: string;
  readonly status: "success" | "failed" | "cancelled";
  readonly cancelReason: CancelReason | null;
  readonly startMs: number;
  readonly endMs: number;
  readonly durationMs: number;
  /** Corrects what the start counted. */
  readonly budget: Amounts | null;
}

/** Per metric; a wrong one would spoil the sums of a whole tenant, so each is checked. */
export type Amounts = Readonly<Record<string, number>>;

/** All that one group of events does to one execution: at most one write. */
export interface Change {
  readonly id: string;
  start: Started | null;
  end: Ended | null;
}
export type Changes = Map<string, Change>;

/** What one event says of its execution. */
export interface Effect {
  readonly start: Started | null;
  readonly end: Ended | null;
}

/**
 * Null when history does not care. Throws on a body that is not of its action. `known` is what the body says, where the
 * author has it at hand: then its text need not be read.
 */
export function project(event: LogEvent, known?: EventFacts): Effect | null {
  if (event.executionId === null) return null;
  const { tenantId, action } = event;
  const read = (): EventFacts => known ?? (JSON.parse(event.body) as EventFacts);
  switch (action) {
    case "tool.execution.start":
    case "tool.execution.held": {
      const start = startOf(tenantId, read() as StartFacts, action === "tool.execution.start");
      if (start.status !== "pending" && start.status !== "running")
        throw new TypeError(`a start event has the status ${JSON.stringify(start.status)}`);
      return { start, end: null };
    }
    case "tool.execution.complete":
    case "tool.execution.failed":
    case "tool.execution.cancelled":
      return { start: null, end: endOf(tenantId, read() as EndFacts) };
    case "tool.execution.denied": {
      const both = read() as StartFacts & EndFacts;
      return { start: startOf(tenantId, both, false), end: endOf(tenantId, both) };
    }
    default:
      return null;
  }
}

/** Adds what an event did to what its group does. */
export function apply({ start, end }: Effect, id: string, seq: number, changes: Changes): void {
  if (start) {
    start.seq = seq;
    begin(changes, id, start);
  }
  if (end) {
    end.seq = seq;
    finish(changes, id, end);
  }
}

function begin(changes: Changes, id: string, start: Started): void {
  const change = changes.get(id);
  if (!change) changes.set(id, { id, start, end: null });
  // A held call that is let through starts again; a finished one does not.
  else if (!change.end) change.start = start;
}

/** The first terminal status wins. */
function finish(changes: Changes, id: string, end: Ended): void {
  const change = changes.get(id);
  if (!change) changes.set(id, { id, start: null, end });
  else change.end ??= end;
}

function startOf(tenantId: string, body: StartFacts, runs: boolean): Started {
  return {
    seq: 0,
    tenantId,
    userId: text(body.userId, "userId"),
    toolName: text(body.toolName, "toolName"),
    category: text(body.category, "category"),
    status: body.status,
    startMs: integer(body.startTime, "startTime"),
    timeoutMs: integer(body.timeout, "timeout"),
    instanceId: text(body.instanceId, "instanceId"),
    approvalId: body.approvalId == null ? null : text(body.approvalId, "approvalId"),
    budget: runs ? amounts(body.budget, "budget") : null,
    reserved: runs && body.reserved === true,
  };
}

function endOf(tenantId: string, body: EndFacts): Ended {
  const { status } = body;
  if (status !== "success" && status !== "failed" && status !== "cancelled")
    throw new TypeError(`an end event has the status ${JSON.stringify(status)}`);
  return {
    seq: 0,
    tenantId,
    userId: text(body.userId, "userId"),
    toolName: text(body.toolName, "toolName"),
    category: text(body.category, "category"),
    status,
    cancelReason:
      body.cancelReason == null ? null : (text(body.cancelReason, "cancelReason") as CancelReason),
    startMs: integer(body.startTime, "startTime"),
    endMs: integer(body.endTime, "endTime"),
    durationMs: finite(body.executionTime, "executionTime"),
    budget: amounts(body.budgetDelta, "budgetDelta"),
  };
}

/** Null when there is nothing to count: in events of the first release, and in most ends. */
function amounts(value: unknown, field: string): Amounts | null {
  if (value === undefined || value === null) return null;
  let some = false;
  for (const metric in value) {
    finite((value as Amounts)[metric], `${field}.${metric}`);
    some = true;
  }
  return some ? (value as Amounts) : null;
}

/** Sums of what ended, in key order so that two writers lock rows alike. */
export function rollupsOf(ends: Iterable<Ended>): RollupsTable[] {
  const sums = new Map<string, RollupsTable>();
  for (const end of ends) {
    const hour = Math.floor(end.startMs / HOUR_MS);
    add(sums, end, end.userId, hour);
    add(sums, end, end.userId, dayRow(Math.floor(hour / DAY_HOURS)));
    add(sums, end, end.userId, ALL_TIME);
    add(sums, end, WHOLE_TENANT, ALL_TIME);
  }
  return [...sums.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
}

export function rollupStatus(status: Ended["status"], reason: CancelReason | null): RollupStatus {
  return status === "cancelled" && reason === "timeout" ? "timeout" : status;
}

function add(sums: Map<string, RollupsTable>, end: Ended, userId: string, hour: number): void {
  const status = rollupStatus(end.status, end.cancelReason);
  const key = `${end.tenantId}\0${userId}\0${hour}\0${end.toolName}\0${end.category}\0${status}`;
  const row = sums.get(key);
  if (row) {
    row.count += 1;
    row.total_ms += end.durationMs;
    row.last_start_ms = Math.max(row.last_start_ms, end.startMs);
    return;
  }
  sums.set(key, {
    tenant_id: end.tenantId,
    user_id: userId,
    hour,
    tool_name: end.toolName,
    category: end.category,
    status,
    count: 1,
    total_ms: end.durationMs,
    last_start_ms: end.startMs,
  });
}

function text(value: unknown, field: string): string {
  if (typeof value === "string") return value;
  throw new TypeError(`an execution event lacks ${field}`);
}

function integer(value: unknown, field: string): number {
  if (Number.isSafeInteger(value)) return value as number;
  throw new TypeError(`an execution event has no whole number in ${field}`);
}

function finite(value: unknown, field: string): number {
  if (Number.isFinite(value)) return value as number;
  throw new TypeError(`an execution event has no number in ${field}`);
}
