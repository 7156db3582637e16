// Statements as SQLite takes them: values made plain, rows as objects.
import type { DatabaseSync } from "node:sqlite";
import type { Json } from "../../../contract/call.ts";
import { badArguments } from "../faults.ts";
import type { Dialect, Statement } from "../statements.ts";

export const dialect: Dialect = {
  placeholder: (index) => `?${index}`,
  value: (value) => bound(value),
};

export function runAll(db: DatabaseSync, { sql, params }: Statement): Record<string, unknown>[] {
  return db.prepare(sql).all(...(params as never[]));
}

/** Of the last statement, without what its triggers did. */
export function changesOf(db: DatabaseSync): number {
  const row = db.prepare("select changes() as own").get() as { own: bigint };
  return Number(row.own);
}

/** node:sqlite takes an object for named parameters and binds numbers as REAL: each value is made plain here. */
export function bound(value: Json): string | number | bigint | null {
  if (value === null) return null;
  if (typeof value === "boolean") return value ? 1n : 0n;
  if (typeof value === "number") return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (typeof value === "string") {
    if (value.includes("\0") || !value.isWellFormed())
      throw badArguments(
        "/params",
        "a text with a NUL character or a lone surrogate cannot be stored unchanged",
        "leave it out",
      );
    return value;
  }
  return JSON.stringify(value);
}
