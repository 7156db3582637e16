import { z } from "zod";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "database/schema",
  description:
    "Show one table: its columns with types and defaults, its primary key, foreign keys and indexes. " +
    "Look here before writing a query, an insert or an update.",
  input: z.strictObject({
    table: z.string().min(1).max(128).describe("Name of the table or view."),
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
      .describe("Schema of the table; SQLite has only one."),
  }),
  output: z.strictObject({
    columns: z.array(
      z.strictObject({
        name: z.string(),
        type: z.string(),
        nullable: z.boolean(),
        default: z.string().optional(),
        comment: z.string().optional(),
      }),
    ),
    primaryKey: z.array(z.string()),
    foreignKeys: z.array(
      z.strictObject({
        columns: z.array(z.string()),
        table: z.string(),
        references: z.array(z.string()),
      }),
    ),
    indexes: z.array(
      z.strictObject({ name: z.string(), columns: z.array(z.string()), unique: z.boolean() }),
    ),
  }),
  risk: "safe",
  effects: "read_only",
  needs: ["database"],
  timeoutMs: 10_000,
  tags: ["sql"],
  examples: [{ table: "customers" }],
  async run({ table, connection, schema }, { database }, context) {
    const shape = await database.describe(table, {
      schema,
      ...(connection !== undefined && { connection }),
    });
    context.note({ untrusted: true });
    return shape;
  },
});
