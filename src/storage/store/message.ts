// How events and statements look inside the flat message between the main thread and the writer thread. What an event says of
// its execution travels beside its text, so that the writer reads no text.
import type { CancelReason, Status } from "../../contract/call.ts";
import { failure, StatementFailed, type Flat, type Groups } from "./group.ts";
import { project, type Amounts, type Effect, type Ended, type Started } from "./projection.ts";
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
}

/** Puts events into the queue; one that makes no sense is refused alone. */
export const appender =
  (queue: Groups): Store["log"]["append"] =>
  (event, known) => {
    try {
      const effect = project(event, known);
      return queue.push((flat) => putEvent(flat, event, effect)) as Promise<number>;
    } catch (cause) {
      return Promise.reject(new StatementFailed(failure(cause)));
    }
  };

function putEvent(flat: Flat[], e: LogEvent, effect: Effect | null): void {
  const kind = effect === null ? EVENT : (effect.start ? START : 0) + (effect.end ? END : 0);
  flat.push(kind, e.tenantId, e.at, e.action, e.actor, e.executionId, e.body);
  if (effect?.start) putStart(flat, e, effect.start);
  if (effect?.end) putEnd(flat, e, effect.end);
}

/** Null where it is the event's own: most values are, and need not travel twice. */
const unless = <T extends Flat>(own: T, value: T): T | null => (value === own ? null : value);

function putStart(fields: Flat[], e: LogEvent, s: Started): void {
  fields.push(
    unless(e.actor, s.userId),
    s.toolName,
    s.category,
    s.status,
    unless(e.at, s.startMs),
    s.timeoutMs,
    s.instanceId,
    s.approvalId,
    s.reserved,
    s.sessionId,
    s.traceKey,
  );
  putAmounts(fields, s.budget);
}

function putEnd(fields: Flat[], e: LogEvent, end: Ended): void {
  fields.push(
    unless(e.actor, end.userId),
    end.toolName,
    end.category,
    end.status,
    end.cancelReason,
    end.errorCode,
    unless(e.at, end.startMs),
    unless(e.at, end.endMs),
    end.durationMs,
  );
  // Only where there is something to say: successful calls do not pay for it.
  if (end.status !== "success") fields.push(end.said);
  putAmounts(fields, end.budget);
}

function putAmounts(fields: Flat[], amounts: Amounts | null): void {
  const at = fields.push(0) - 1;
  for (const metric in amounts) fields.push(metric, amounts[metric] ?? 0);
  fields[at] = (fields.length - at - 1) / 2;
}

export function putBatch(flat: Flat[], statements: readonly Statement[]): void {
  flat.push(BATCH, statements.length);
  for (const { sql, parameters } of statements) {
    flat.push(sql, parameters.length);
    for (const value of parameters) flat.push(value as Flat);
  }
}

export const putStep = (flat: Flat[], name: StepName, after: number, oldest: number): void =>
  void flat.push(STEP, name, after, oldest);

export interface Reader {
  event(event: LogEvent, effect: Effect | null): void;
  batch(statements: readonly Statement[]): void;
  step?(name: StepName, after: number, oldest: number): void;
}

/** Hands over item after item, in order. The fields were put there by the functions above, so their types are known. */
export function readItems(flat: readonly Flat[], reader: Reader): void {
  const cursor = new Cursor(flat);
  while (cursor.at < flat.length) {
    const kind = cursor.next() as number;
    if (kind === BATCH) reader.batch(statementsAt(cursor));
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

function startAt(c: Cursor, e: LogEvent): Started {
  return {
    seq: 0,
    tenantId: e.tenantId,
    userId: (c.next() ?? e.actor) as string,
    toolName: c.next() as string,
    category: c.next() as string,
    status: c.next() as Status,
    startMs: (c.next() ?? e.at) as number,
    timeoutMs: c.next() as number,
    instanceId: c.next() as string,
    approvalId: c.next() as string | null,
    reserved: c.next() as boolean,
    sessionId: c.next() as string | null,
    traceKey: c.next() as number | null,
    budget: amountsAt(c),
  };
}

function endAt(c: Cursor, e: LogEvent): Ended {
  const userId = (c.next() ?? e.actor) as string;
  const toolName = c.next() as string;
  const category = c.next() as string;
  const status = c.next() as Ended["status"];
  return {
    seq: 0,
    tenantId: e.tenantId,
    userId,
    toolName,
    category,
    status,
    cancelReason: c.next() as CancelReason | null,
    errorCode: c.next() as string | null,
    startMs: (c.next() ?? e.at) as number,
    endMs: (c.next() ?? e.at) as number,
    durationMs: c.next() as number,
    said: status === "success" ? null : (c.next() as string | null),
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
