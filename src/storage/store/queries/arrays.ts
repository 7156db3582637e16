// Many rows in one: an array per column, or of small lists, costs a fraction of an object per row.
import { sql, type Expression, type SqlBool } from "kysely";
import type { Database } from "../database.ts";

/** How each database gathers what many rows have. Bytes are put together as they are. */
export const GATHER = {
  sqlite: {
    list: sql.raw("json_group_array"),
    tuple: sql.raw("json_array"),
    bytes: sql<Uint8Array | null>`cast(group_concat(cast(buckets as text), '') as blob)`,
  },
  postgres: {
    list: sql.raw("json_agg"),
    tuple: sql.raw("json_build_array"),
    bytes: sql<Uint8Array | null>`string_agg(buckets, ''::bytea)`,
  },
} as const;

/** SQLite answers text; PostgreSQL null where there were no rows, and what it answers is read by its client. */
export function listIn(gathered: unknown): unknown[] {
  return (typeof gathered === "string" ? JSON.parse(gathered) : (gathered ?? [])) as unknown[];
}

/** A query whose columns are known; it may have an order if it has a limit too. */
interface Rows<O> {
  as<A extends string>(
    alias: A,
  ): { readonly expression: Expression<O>; readonly alias: A | Expression<unknown> };
}

export type Arrays<O> = { readonly [K in keyof O]: readonly O[K][] };

/** Of history: one array per column, all in the order of the rows. */
export async function arraysOf<O extends object>(
  { history, kind }: Database,
  rows: Rows<O>,
  names: readonly (keyof O & string)[],
): Promise<Arrays<O>> {
  const columns = names.map((name) =>
    sql<string | null>`${GATHER[kind].list}(${sql.ref(name)})`.as(name),
  );
  const found = await history
    .selectFrom(rows.as("gathered") as never)
    .select(columns as never)
    .executeTakeFirst();
  return Object.fromEntries(
    names.map((name) => [name, listIn((found as Record<string, unknown> | undefined)?.[name])]),
  ) as never;
}

/** As one parameter, so that it is the same statement for any number of them. */
export function isAmong(
  { kind }: Pick<Database, "kind">,
  what: Expression<unknown>,
  numbers: readonly number[],
): Expression<SqlBool> {
  return kind === "sqlite"
    ? sql<SqlBool>`${what} in (select value from json_each(${JSON.stringify(numbers)}))`
    : sql<SqlBool>`${what} = any(${`{${numbers.join(",")}}`}::bigint[])`;
}
