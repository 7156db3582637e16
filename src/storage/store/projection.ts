// What an event of the log means for history: pure, so that both databases, and a later rebuild, agree.
import type { CancelReason, Status } from "../../contract/call.ts";
import type { EndFacts, EventFacts, StartFacts } from "./body.ts";
import { MAX_SAID } from "./error-texts.ts";
import type { LogEvent } from "./store.ts";

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
  readonly sessionId: string | null;
  /** The beginning of the trace id as a number: enough to find it by. */
  readonly traceKey: number | null;
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
  readonly errorCode: string | null;
  /** The words of an unsuccessful end beside its code; null when they are many. */
  readonly said: string | null;
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
    approvalId: textOrNull(body.approvalId, "approvalId"),
    sessionId: textOrNull(body.sessionId, "sessionId"),
    traceKey: traceKeyOf(body.traceId),
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
    cancelReason: textOrNull(body.cancelReason, "cancelReason") as CancelReason | null,
    errorCode: textOrNull(body.errorCode, "errorCode"),
    said: status === "success" ? null : saidIn(body),
    startMs: integer(body.startTime, "startTime"),
    endMs: integer(body.endTime, "endTime"),
    durationMs: finite(body.executionTime, "executionTime"),
    budget: amounts(body.budgetDelta, "budgetDelta"),
  };
}

/** As JSON, which any text can be written as. */
function saidIn(body: EndFacts): string | null {
  const said = JSON.stringify([
    textOrNull(body.error, "error"),
    textOrNull(body.errorReason, "errorReason"),
  ]);
  return said.length > MAX_SAID ? null : said;
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

function text(value: unknown, field: string): string {
  if (typeof value === "string") return value;
  throw new TypeError(`an execution event lacks ${field}`);
}

const TRACE_DIGITS = 12;

/** Null when it is no trace id. A whole one would make every row longer; whoever finds by this compares the rest. */
export function traceKeyOf(traceId: unknown): number | null {
  if (typeof traceId !== "string") return null;
  const key = Number.parseInt(traceId.slice(0, TRACE_DIGITS), 16);
  return Number.isNaN(key) ? null : key;
}

function textOrNull(value: unknown, field: string): string | null {
  return value === undefined || value === null ? null : text(value, field);
}

function integer(value: unknown, field: string): number {
  if (Number.isSafeInteger(value)) return value as number;
  throw new TypeError(`an execution event has no whole number in ${field}`);
}

function finite(value: unknown, field: string): number {
  if (Number.isFinite(value)) return value as number;
  throw new TypeError(`an execution event has no number in ${field}`);
}
