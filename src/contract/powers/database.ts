import type { Json } from "../call.ts";

/**
 * Named connections of the tenant; never the engine's own store. Values travel as parameters, names are checked and
 * quoted.
 */
export interface DatabasePower {
  connections(): Promise<
    readonly { name: string; kind: "postgres" | "sqlite"; readOnly: boolean; default: boolean }[]
  >;
  query(
    sql: string,
    options: {
      connection?: string;
      params: readonly Json[];
      limit: number;
      offset: number;
      explain: boolean;
    },
  ): Promise<QueryResult>;
  tables(options: {
    connection?: string;
    schema?: string;
    pattern?: string;
  }): Promise<readonly TableEntry[]>;
  describe(table: string, options: { connection?: string; schema?: string }): Promise<TableShape>;
  insert(
    table: string,
    rows: readonly Readonly<Record<string, Json>>[],
    options: { connection?: string; onConflict: "error" | "ignore"; returning: readonly string[] },
  ): Promise<{ inserted: number; skipped: number; returned: Json[] }>;
  update(
    table: string,
    set: Readonly<Record<string, Json>>,
    options: WhereOptions,
  ): Promise<{ matched: number; updated: number }>;
  remove(table: string, options: WhereOptions): Promise<{ matched: number; deleted: number }>;
}

export const OPERATORS = ["eq", "ne", "lt", "lte", "gt", "gte", "in", "is_null", "like"] as const;
export type Operator = (typeof OPERATORS)[number];

export interface WhereOptions {
  connection?: string;
  /** Joined by AND; a bare value means eq. */
  where: Readonly<Record<string, Json | { op: Operator; value?: Json }>>;
  /** More matches than this: rolled back with too_many_rows. */
  maxRows: number;
  dryRun: boolean;
}

export interface QueryResult {
  columns: { name: string; type: string }[];
  /** 64-bit and decimal as text, bytes as base64. */
  rows: Json[][];
  rowCount: number;
  truncated: boolean;
  elapsedMs: number;
  plan?: Json;
}

export interface TableEntry {
  schema: string;
  name: string;
  type: "table" | "view";
  rowsEstimate?: number;
  comment?: string;
}

export interface TableShape {
  columns: { name: string; type: string; nullable: boolean; default?: string; comment?: string }[];
  primaryKey: string[];
  foreignKeys: { columns: string[]; table: string; references: string[] }[];
  indexes: { name: string; columns: string[]; unique: boolean }[];
}
