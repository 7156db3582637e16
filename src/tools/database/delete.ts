import { z } from "zod";
import type { Json } from "../../contract/call.ts";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "database/delete",
  description:
    "Delete the rows that fit a condition, in one transaction. Nothing is deleted when more than maxRows fit. " +
    "Try it with dryRun first: it tells how many rows would go. " +
    "where is {column: value} or {column: {op, value}}, op one of eq, ne, lt, lte, gt, gte, in, is_null, like; joined by AND.",
  input: z.strictObject({
    table: z
      .string()
      .min(1)
      .max(128)
      .describe("Name of the table; on PostgreSQL also schema.table."),
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
    deleted: z.int().describe("Rows that were deleted; 0 in a dry run."),
  }),
  risk: "dangerous",
  effects: "system_write",
  needs: ["database"],
  timeoutMs: 30_000,
  tags: ["sql"],
  examples: [
    { table: "orders", where: { id: 900 } },
    { table: "customers", where: { name: { op: "like", value: "Z%" } }, maxRows: 5, dryRun: true },
  ],
  run({ table, where, connection, maxRows, dryRun }, { database }) {
    return database.remove(table, {
      where: where as Record<string, Json>,
      maxRows,
      dryRun,
      ...(connection !== undefined && { connection }),
    });
  },
});
