import { z } from "zod";
import type { Json } from "../../contract/call.ts";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "database/update",
  description:
    "Change columns of the rows that fit a condition, in one transaction. Nothing is changed when more than maxRows fit. " +
    "Try it with dryRun first: it tells how many rows would change. " +
    "where is {column: value} or {column: {op, value}}, op one of eq, ne, lt, lte, gt, gte, in, is_null, like; joined by AND.",
  input: z.strictObject({
    table: z
      .string()
      .min(1)
      .max(128)
      .describe("Name of the table; on PostgreSQL also schema.table."),
    set: z
      .record(z.string().max(128), z.unknown())
      .meta({ minProperties: 1, maxProperties: 300 })
      .describe("New values as {column: value}."),
    where: z
      .record(z.string().max(128), z.unknown())
      .meta({ maxProperties: 50 })
      .describe(
        'Which rows, e.g. {"id": 7} or {"age": {"op": "gte", "value": 18}}. At least one condition.',
      ),
    connection: z
      .string()
      .min(1)
      .max(63)
      .optional()
      .describe("Name of the database, see database/connections. Default: the default one."),
    maxRows: z
      .int()
      .min(1)
      .max(10_000)
      .default(100)
      .describe("Refuse when more rows fit than this."),
    dryRun: z
      .boolean()
      .default(false)
      .describe("Do it and take it back: reports what would happen."),
  }),
  output: z.strictObject({
    matched: z.int().describe("Rows that fit the condition."),
    updated: z.int().describe("Rows that were changed; 0 in a dry run."),
  }),
  risk: "dangerous",
  effects: "system_write",
  needs: ["database"],
  timeoutMs: 30_000,
  tags: ["sql"],
  examples: [
    { table: "customers", set: { city: "Paris" }, where: { name: "Ada" } },
    {
      table: "orders",
      set: { amount: 0 },
      where: { amount: { op: "lt", value: 1 } },
      dryRun: true,
    },
  ],
  run({ table, set, where, connection, maxRows, dryRun }, { database }) {
    return database.update(table, set as Record<string, Json>, {
      where: where as Record<string, Json>,
      maxRows,
      dryRun,
      ...(connection !== undefined && { connection }),
    });
  },
});
