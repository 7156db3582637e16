import { z } from "zod";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "database/tables",
  description:
    "List the tables and views of a database, with the engine's estimate of their rows where it has one. " +
    "Use database/schema to see the columns of one of them.",
  input: z.strictObject({
    connection: z
      .string()
      .min(1)
      .max(63)
      .optional()
      .describe("Name of the database, see database/connections. Default: the default one."),
    schema: z
      .string()
      .min(1)
      .max(128)
      .default("public")
      .describe("Schema to look in; SQLite has only one."),
    pattern: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe("Only names that fit this pattern, with * and ? as wildcards."),
  }),
  output: z.strictObject({
    tables: z.array(
      z.strictObject({
        schema: z.string(),
        name: z.string(),
        type: z.enum(["table", "view"]),
        rowsEstimate: z.number().optional(),
        comment: z.string().optional(),
      }),
    ),
  }),
  risk: "safe",
  effects: "read_only",
  needs: ["database"],
  timeoutMs: 10_000,
  tags: ["sql"],
  examples: [{}, { pattern: "order*" }],
  async run({ connection, schema, pattern }, { database }, context) {
    const tables = await database.tables({
      schema,
      ...(connection !== undefined && { connection }),
      ...(pattern !== undefined && { pattern }),
    });
    context.note({ untrusted: true });
    return { tables: [...tables] };
  },
});
