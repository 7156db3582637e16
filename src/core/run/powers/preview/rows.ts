// What a call would do to a database: the same connections and checks, and every change rolled back.
import type { Call, Json } from "../../../../contract/call.ts";
import type { DatabaseEffect } from "../../../../contract/effect.ts";
import type { DatabasePower } from "../../../../contract/powers/database.ts";
import type { Databases, RowsPreview, WriteRequest } from "../../../../reach/databases/database.ts";
import type { Masker } from "../../../../util/secrets/masker.ts";
import { connectionsOf, databasePower } from "../database.ts";
import { NoPreview } from "./no-preview.ts";

const STATEMENT_MS = 3_000;
const MAX_CELL_CHARS = 500;
const MAX_COLUMNS = 100;

export interface PreviewedRows {
  readonly power: DatabasePower;
  /** Null: nothing was asked of any database. */
  effect(): DatabaseEffect | null;
}

export function previewDatabase(
  databases: Databases,
  call: Call,
  signal: AbortSignal,
  masker: Pick<Masker, "valueInSlices">,
): PreviewedRows {
  let seen: DatabaseEffect | null = null;
  const { reading, writing } = connectionsOf(databases, call, signal);
  const real = databasePower({ databases })(call, signal);

  const write = async (name: string | undefined, request: WriteRequest): Promise<RowsPreview> => {
    const { connection, limits } = writing(name);
    const { database } = connection;
    const found = await database.preview(request, {
      ...limits,
      timeoutMs: Math.min(limits.timeoutMs, STATEMENT_MS),
    });
    if ("refused" in found) throw new NoPreview(found.refused);
    const facts = { connection: connection.name, engine: database.kind, table: request.table };
    seen = { kind: "database", ...facts, ...(await shown(request, found, masker)) };
    return found;
  };

  return {
    effect: () => seen,
    power: {
      connections: real.connections,
      tables: real.tables,
      describe: real.describe,
      async query(sql, { connection: name, ...request }) {
        const { connection, limits } = reading(name);
        const { database } = connection;
        // The statement is checked and planned, and not run.
        const planned = await database.query({ sql, ...request, explain: true }, limits);
        seen = {
          kind: "database",
          connection: connection.name,
          engine: database.kind,
          action: "read",
          table: null,
          rows: 0,
          ...NO_ROWS,
        };
        return planned;
      },
      async insert(table, rows, { connection, ...options }) {
        const found = await write(connection, { op: "insert", table, rows, ...options });
        return { inserted: found.rows, skipped: found.skipped, returned: [] };
      },
      async update(table, set, { connection, ...options }) {
        const found = await write(connection, { op: "change", table, set, ...options });
        return { matched: found.rows, updated: found.rows };
      },
      async remove(table, { connection, ...options }) {
        const found = await write(connection, { op: "change", table, ...options });
        return { matched: found.rows, deleted: found.rows };
      },
    },
  };
}

const NO_ROWS = { columns: [], before: [], after: [], cut: false } as const;

const actionOf = (request: WriteRequest): DatabaseEffect["action"] => {
  if (request.op === "insert") return "insert";
  return request.set === undefined ? "delete" : "update";
};

type Rows = readonly (readonly Json[])[];

async function shown(
  request: WriteRequest,
  { rows, skipped, otherRows, columns, before, after, cut }: RowsPreview,
  masker: Pick<Masker, "valueInSlices">,
): Promise<Omit<DatabaseEffect, "kind" | "connection" | "engine" | "table">> {
  const kept = columns.slice(0, MAX_COLUMNS);
  let shortened = kept.length < columns.length;
  const cells = (row: readonly Json[]): Json[] =>
    row.map((cell) => {
      const text = typeof cell === "object" && cell !== null ? JSON.stringify(cell) : cell;
      if (typeof text !== "string" || text.length <= MAX_CELL_CHARS) return cell;
      shortened = true;
      return `${text.slice(0, MAX_CELL_CHARS).toWellFormed()}…`;
    });
  const view = async (found: Rows): Promise<Json[][]> => {
    // By name, so that what a column is called counts.
    const named = found.map((row) =>
      Object.fromEntries(kept.map((name, index) => [name, row[index] ?? null])),
    );
    const masked = await masker.valueInSlices(named);
    return masked.map((row) => cells(kept.map((name) => row[name] ?? null)));
  };
  const [first, second] = [await view(before), await view(after)];
  return {
    action: actionOf(request),
    rows,
    ...(skipped > 0 ? { skipped } : {}),
    ...(otherRows === undefined || otherRows === 0 ? {} : { otherRows }),
    columns: kept,
    before: first,
    after: second,
    cut: cut || shortened,
  };
}
