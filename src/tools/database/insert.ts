import { z } from "zod";
import type { Json } from "../../contract/call.ts";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "database/insert",
  description:
    "Insert 1 to 100 rows into a table, all or none. Every row names the same columns; values travel as parameters. " +
    "With returning the values the database gave (keys, defaults) come back, one object per inserted row.",
  input: z.strictObject({
    table: z
      .string()
      .min(1)
      .max(128)
      .describe("Name of the table; on PostgreSQL also schema.table."),
    rows: z
      .array(z.record(z.string().max(128), z.unknown()).meta({ maxProperties: 300 }))
      .min(1)
      .max(100)
      .describe("The rows, each as {column: value}; null where there is no value."),
    connection: z
      .string()
      .min(1)
      .max(63)
      .optional()
      .describe("Name of the database, see database/connections. Default: the default one."),
    onConflict: z
      .enum(["error", "ignore"])
      .default("error")
      .describe(
        "What a row does that exists already: error rolls back everything, ignore skips that row.",
      ),
    returning: z
      .array(z.string().min(1).max(128))
      .max(100)
      .default([])
      .describe("Columns to return of each inserted row."),
  }),
  output: z.strictObject({
    inserted: z.int(),
    skipped: z.int().describe("Rows that existed already, with onConflict ignore."),
    returned: z.array(z.record(z.string(), z.unknown()).meta({ maxProperties: 100 })),
  }),
  risk: "dangerous",
  effects: "system_write",
  needs: ["database"],
  timeoutMs: 30_000,
  tags: ["sql"],
  examples: [
    {
      table: "customers",
      rows: [
        { name: "Ada", city: "London" },
        { name: "Linus", city: null },
      ],
      returning: ["id"],
    },
    { table: "orders", rows: [{ id: 1, customer_id: 1, amount: 9.5 }], onConflict: "ignore" },
  ],
  async run({ table, rows, connection, onConflict, returning }, { database }) {
    const result = await database.insert(table, rows as Record<string, Json>[], {
      onConflict,
      returning,
      ...(connection !== undefined && { connection }),
    });
    return { ...result, returned: result.returned as Record<string, Json>[] };
  },
});
