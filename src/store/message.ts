// How events and statements look inside the flat message between the main thread and the writer thread.
import type { Flat } from "./group.ts";
import type { LogEvent } from "./store.ts";

export const EVENT = 0;
export const BATCH = 1;

export interface Statement {
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

export function eventFields(e: LogEvent): Flat[] {
  return [EVENT, e.tenantId, e.at, e.action, e.actor, e.executionId, e.body];
}

export function batchFields(statements: readonly Statement[]): Flat[] {
  const fields: Flat[] = [BATCH, statements.length];
  for (const { sql, parameters } of statements) {
    fields.push(sql, parameters.length);
    for (const value of parameters) fields.push(value as Flat);
  }
  return fields;
}

export type Item =
  | { kind: typeof EVENT; event: LogEvent }
  | { kind: typeof BATCH; statements: readonly Statement[] };

export function* itemsOf(flat: readonly Flat[]): Generator<Item> {
  let at = 0;
  while (at < flat.length) {
    if (flat[at] === EVENT) {
      yield { kind: EVENT, event: eventAt(flat, at + 1) };
      at += 7;
      continue;
    }
    const statements: Statement[] = [];
    let count = flat[at + 1] as number;
    at += 2;
    for (; count > 0; count--) {
      const length = flat[at + 1] as number;
      statements.push({
        sql: flat[at] as string,
        parameters: flat.slice(at + 2, at + 2 + length),
      });
      at += 2 + length;
    }
    yield { kind: BATCH, statements };
  }
}

// The fields were put there by eventFields, so their types are known.
function eventAt(flat: readonly Flat[], at: number): LogEvent {
  return {
    tenantId: flat[at] as string,
    at: flat[at + 1] as number,
    action: flat[at + 2] as LogEvent["action"],
    actor: flat[at + 3] as string,
    executionId: flat[at + 4] as string | null,
    body: flat[at + 5] as string,
  };
}
