import type { ColumnTypes } from "./index.ts";

// Every call pays for every index. Pages in order of time and of a category are merged from the indexes of status and
// of tools.
export const fewerIndexes = (_: ColumnTypes): string[] =>
  ["executions_by_time", "executions_by_category"].flatMap((name) => [
    `drop index if exists ${name}`,
    // The other name that a rebuild may have given it.
    `drop index if exists ${name}_b`,
  ]);
