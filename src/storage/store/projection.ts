// What an event of the log means for history: pure, so that both databases, and a later rebuild, agree.
import type { WrittenEnd, WrittenStart } from "./body.ts";
import { MAX_ERROR_TEXT } from "./error-texts.ts";
import {
  END_LIST,
  finite,
  START_LIST,
  textOrNull,
  type Amounts,
  type EndedExecution,
  type FieldList,
  type StartedExecution,
} from "./execution-fields.ts";
import type { LogEvent } from "./store.ts";

/** All that one group of events does to one execution: at most one write. */
export interface ExecutionChange {
  readonly id: string;
  start: StartedExecution | null;
  end: EndedExecution | null;
}
export type ExecutionChanges = Map<string, ExecutionChange>;

/** What one event says of its execution. */
export interface EventEffect {
  readonly start: StartedExecution | null;
  readonly end: EndedExecution | null;
}

/** What an event of an action says. */
interface Parts {
  readonly start: boolean;
  readonly end: boolean;
  /** The call runs: its budget is counted and its reservation becomes use. */
  readonly runs: boolean;
}

const START: Parts = { start: true, end: false, runs: true };
const HELD: Parts = { start: true, end: false, runs: false };
const END: Parts = { start: false, end: true, runs: false };
const DENIED: Parts = { start: true, end: true, runs: false };

/** Null when it says nothing of an execution. */
export function partsOf({ executionId, action }: LogEvent): Parts | null {
  if (executionId === null) return null;
  switch (action) {
    case "tool.execution.start":
      return START;
    case "tool.execution.held":
      return HELD;
    case "tool.execution.complete":
    case "tool.execution.failed":
    case "tool.execution.cancelled":
      return END;
    case "tool.execution.denied":
      return DENIED;
    default:
      return null;
  }
}

export function assertStarts({ end }: Parts, { status }: WrittenStart): void {
  if (!end && status !== "pending" && status !== "running")
    throw new TypeError(`a start event has the status ${JSON.stringify(status)}`);
}

/** Null when it says nothing of an execution. Throws on a body that is not of its action. */
export function project(event: LogEvent): EventEffect | null {
  const parts = partsOf(event);
  if (parts === null) return null;
  const body = JSON.parse(event.body) as WrittenStart & WrittenEnd;
  const start = parts.start ? startOf(event.tenantId, body, parts.runs) : null;
  if (start) assertStarts(parts, body);
  return { start, end: parts.end ? endOf(event.tenantId, body) : null };
}

/** Adds what an event did to what its group does. */
export function apply(
  { start, end }: EventEffect,
  id: string,
  seq: number,
  changes: ExecutionChanges,
): void {
  if (start) {
    start.seq = seq;
    begin(changes, id, start);
  }
  if (end) {
    end.seq = seq;
    finish(changes, id, end);
  }
}

function begin(changes: ExecutionChanges, id: string, start: StartedExecution): void {
  const change = changes.get(id);
  if (!change) changes.set(id, { id, start, end: null });
  // A held call that is let through starts again; a finished one does not.
  else if (!change.end) change.start = start;
}

/** The first terminal status wins. */
function finish(changes: ExecutionChanges, id: string, end: EndedExecution): void {
  const change = changes.get(id);
  if (!change) changes.set(id, { id, start: null, end });
  else change.end ??= end;
}

function startOf(tenantId: string, body: WrittenStart, runs: boolean): StartedExecution {
  const budget = runs ? amountsIn(body.budget, "budget") : null;
  const reserved = runs && body.reserved === true;
  return read(START_LIST, body, { ...START_LIST.empty, tenantId, budget, reserved });
}

function endOf(tenantId: string, body: WrittenEnd): EndedExecution {
  const end = read(END_LIST, body, { ...END_LIST.empty, tenantId });
  const errorText = end.status === "success" ? null : errorTextOf(body);
  return Object.assign(end, { errorText, budget: amountsIn(body.budgetDelta, "budgetDelta") });
}

function read<Body, Value extends object>(
  { keys, from }: FieldList<Body, Value>,
  body: Body,
  value: Value,
): Value {
  const fields = value as Record<string, unknown>;
  for (let i = 0; i < keys.length; i++) fields[keys[i] as string] = from[i]?.(body);
  return value;
}

/** As JSON, which any text can be written as. */
export function errorTextOf(body: WrittenEnd): string | null {
  const text = JSON.stringify([
    textOrNull(body.error, "error"),
    textOrNull(body.errorReason, "errorReason"),
  ]);
  return text.length > MAX_ERROR_TEXT ? null : text;
}

/** Null when there is nothing to count: in events of the first release, and in most ends. */
export function amountsIn(value: unknown, field: string): Amounts | null {
  if (value === undefined || value === null) return null;
  let some = false;
  for (const metric in value) {
    finite((value as Amounts)[metric], `${field}.${metric}`);
    some = true;
  }
  return some ? (value as Amounts) : null;
}
