// How events and statements look inside the flat message between the main thread and the writer thread. What an event
// says of its execution travels beside its text, so that the writer reads no text.
import type { CancelReason, Status } from "../../contract/call.ts";
import type { EventFacts, WrittenEnd, WrittenStart } from "./body.ts";
import {
  END_LIST,
  START_LIST,
  type Amounts,
  type EndedExecution,
  type FieldList,
  type StartedExecution,
} from "./execution-fields.ts";
import { failure, StatementFailed, type Flat, type Groups } from "./group.ts";
import { amountsIn, assertStarts, errorTextOf, partsOf, type EventEffect } from "./projection.ts";
import type { StepName } from "./sqlite/rebuild.ts";
import type { LogEvent, Store } from "./store.ts";

export const EVENT = 0;
export const BATCH = 1;
/** An event that starts, or ends, an execution, or both at once. */
const START = 2;
const END = 4;
/** A step of a rebuild. */
const STEP = 8;

export interface Statement {
  readonly sql: string;
  readonly parameters: readonly unknown[];
  /** It names tables of history, which must show all events before it. */
  readonly readsHistory?: true;
}

/** Puts events into the queue; one that makes no sense is refused alone. */
export const appender =
  (queue: Groups): Store["log"]["append"] =>
  (event, known) =>
    queue.push((flat) => {
      try {
        putEvent(flat, event, known);
      } catch (cause) {
        throw new StatementFailed(failure(cause));
      }
    }) as Promise<number>;

/** The fields go from the body to the message without an object in between: this is done for every event. */
function putEvent(flat: Flat[], event: LogEvent, known: EventFacts | undefined): void {
  const parts = partsOf(event);
  const kind = parts === null ? EVENT : (parts.start ? START : 0) + (parts.end ? END : 0);
  const { tenantId, at, action, actor, executionId, body: text } = event;
  flat.push(kind, tenantId, at, action, actor, executionId, text);
  if (parts === null) return;
  const body = (known ?? JSON.parse(text)) as WrittenStart & WrittenEnd;
  if (parts.start) {
    putFields(START_LIST, flat, event, body);
    assertStarts(parts, body);
    flat.push(parts.runs && body.reserved === true);
    putAmounts(flat, parts.runs ? amountsIn(body.budget, "budget") : null);
  }
  if (parts.end) {
    putFields(END_LIST, flat, event, body);
    // Successful calls have none.
    if (body.status !== "success") flat.push(errorTextOf(body));
    putAmounts(flat, amountsIn(body.budgetDelta, "budgetDelta"));
  }
}

/** Null where the event has the same value: most do, and need not travel twice. */
function putFields<Body>(
  { from, sameAs }: FieldList<Body, unknown>,
  flat: Flat[],
  event: LogEvent,
  body: Body,
): void {
  for (let i = 0; i < from.length; i++) {
    const value = (from[i] as (body: Body) => Flat)(body);
    const same = sameAs[i] as "actor" | "at" | null;
    flat.push(same !== null && event[same] === value ? null : value);
  }
}

function putAmounts(fields: Flat[], amounts: Amounts | null): void {
  const at = fields.push(0) - 1;
  for (const metric in amounts) fields.push(metric, amounts[metric] ?? 0);
  fields[at] = (fields.length - at - 1) / 2;
}

export function putBatch(flat: Flat[], statements: readonly Statement[]): void {
  flat.push(
    BATCH,
    statements.some(({ readsHistory }) => readsHistory),
    statements.length,
  );
  for (const { sql, parameters } of statements) {
    flat.push(sql, parameters.length);
    for (const value of parameters) flat.push(value as Flat);
  }
}

export const putStep = (flat: Flat[], name: StepName, after: number, oldest: number): void =>
  void flat.push(STEP, name, after, oldest);

export interface ItemReader {
  event(event: LogEvent, effect: EventEffect | null): void;
  batch(readsHistory: boolean, statements: readonly Statement[]): void;
  step?(name: StepName, after: number, oldest: number): void;
}

/** Hands over item after item, in order. The fields were put there by the functions above, so their types are known. */
export function readItems(flat: readonly Flat[], reader: ItemReader): void {
  const cursor = new Cursor(flat);
  while (cursor.at < flat.length) {
    const kind = cursor.next() as number;
    if (kind === BATCH) reader.batch(cursor.next() as boolean, statementsAt(cursor));
    else if (kind === STEP)
      reader.step?.(cursor.next() as StepName, cursor.next() as number, cursor.next() as number);
    else {
      const event = eventAt(cursor);
      const start = kind & START ? startAt(cursor, event) : null;
      const end = kind & END ? endAt(cursor, event) : null;
      reader.event(event, kind === EVENT ? null : { start, end });
    }
  }
}

class Cursor {
  at = 0;
  readonly flat: readonly Flat[];
  constructor(flat: readonly Flat[]) {
    this.flat = flat;
  }
  next(): Flat {
    return this.flat[this.at++] ?? null;
  }
}

function eventAt(c: Cursor): LogEvent {
  return {
    tenantId: c.next() as string,
    at: c.next() as number,
    action: c.next() as LogEvent["action"],
    actor: c.next() as string,
    executionId: c.next() as string | null,
    body: c.next() as string,
  };
}

// Literals, since they are made for every event: their types and a test hold them to the tables of fields.
function startAt(c: Cursor, event: LogEvent): StartedExecution {
  return {
    seq: 0,
    tenantId: event.tenantId,
    userId: (c.next() ?? event.actor) as string,
    toolName: c.next() as string,
    category: c.next() as string,
    status: c.next() as Status,
    startMs: (c.next() ?? event.at) as number,
    timeoutMs: c.next() as number,
    instanceId: c.next() as string,
    approvalId: c.next() as string | null,
    sessionId: c.next() as string | null,
    traceKey: c.next() as number | null,
    reserved: c.next() as boolean,
    budget: amountsAt(c),
  };
}

function endAt(c: Cursor, event: LogEvent): EndedExecution {
  const status = c.next() as EndedExecution["status"];
  return {
    seq: 0,
    errorSeq: null,
    tenantId: event.tenantId,
    status,
    userId: (c.next() ?? event.actor) as string,
    toolName: c.next() as string,
    category: c.next() as string,
    cancelReason: c.next() as CancelReason | null,
    errorCode: c.next() as string | null,
    startMs: (c.next() ?? event.at) as number,
    endMs: (c.next() ?? event.at) as number,
    durationMs: c.next() as number,
    errorText: status === "success" ? null : (c.next() as string | null),
    budget: amountsAt(c),
  };
}

function amountsAt(c: Cursor): Amounts | null {
  const count = c.next() as number;
  if (count === 0) return null;
  const amounts: Record<string, number> = {};
  for (let left = count; left > 0; left--) amounts[c.next() as string] = c.next() as number;
  return amounts;
}

function statementsAt(c: Cursor): Statement[] {
  const statements: Statement[] = [];
  for (let count = c.next() as number; count > 0; count--) {
    const sql = c.next() as string;
    const length = c.next() as number;
    statements.push({ sql, parameters: c.flat.slice(c.at, c.at + length) });
    c.at += length;
  }
  return statements;
}
