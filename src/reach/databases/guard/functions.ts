// Which functions of PostgreSQL a reading statement may call: the catalogue says what each is declared to do.
import { functionDenied } from "../faults.ts";
import type { Inspected } from "./postgres.ts";

/** Volatile, yet harmless. */
const HARMLESS = new Set([
  "random",
  "random_normal",
  "clock_timestamp",
  "timeofday",
  "gen_random_uuid",
  "uuidv4",
  "uuidv7",
  "pg_is_in_recovery",
  "pg_relation_size",
  "pg_table_size",
  "pg_indexes_size",
  "pg_total_relation_size",
  "pg_database_size",
]);

/** What the catalogue knows of a function of that name. */
export interface KnownFunction {
  readonly schema: string;
  readonly name: string;
  /** i immutable, s stable, v volatile */
  readonly volatility: string;
  readonly definer: boolean;
}

/**
 * Every function that a name may stand for must be declared free of effects; one that runs with its owner's rights
 * would pass by the role.
 */
export function requireHarmless(
  called: Inspected["functions"],
  known: readonly KnownFunction[],
): void {
  for (const { schema, name } of called) {
    const candidates = known.filter(
      (one) => one.name === name && (schema === null || one.schema === schema),
    );
    const harmful = candidates.find(
      (one) =>
        one.definer ||
        (one.volatility === "v" && !(one.schema === "pg_catalog" && HARMLESS.has(name))),
    );
    if (harmful) throw functionDenied(schema === null ? name : `${schema}.${name}`);
  }
}
