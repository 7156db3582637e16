// A tool as somebody drafts it: the same fields for the tool agent/create_tool, the API and a manifest.
import { z } from "zod";

const schema = z.record(z.string().max(200), z.unknown()).meta({ maxProperties: 50 });
const value = z.record(z.string().max(200), z.unknown()).meta({ maxProperties: 100 });

const test = z.strictObject({
  input: value.describe("Arguments that fit the schema."),
  files: z
    .record(z.string().max(64), z.string().max(65_536))
    .meta({ maxProperties: 10 })
    .optional()
    .describe("Files in the folder where the test runs, by name, without folders."),
  output: z.unknown().optional().describe("What it must answer, exactly."),
  error: z
    .string()
    .min(1)
    .max(500)
    .optional()
    .describe("Instead of output: part of the message that it must fail with."),
});

const config = z
  .strictObject({
    kind: z.enum(["code", "command", "http", "upstream"]).describe("code or command are run."),
    language: z.enum(["js", "python"]).optional().describe("Of code."),
    source: z
      .string()
      .min(1)
      .max(65_536)
      .optional()
      .describe(
        "Of code. js: a module with `export default (input) => output`, also async; python: a function `run(input)`.",
      ),
    command: z
      .array(z.string().min(1).max(4_096))
      .min(1)
      .max(100)
      .optional()
      .describe("Of command: program and arguments; it reads the arguments as JSON on stdin."),
    url: z.string().min(1).max(2_048).optional().describe("Of http and upstream: refused here."),
  })
  .describe("How it runs: always in a sandbox, without network unless an administrator grants it.");

export const draftInput = z.strictObject({
  name: z
    .string()
    .min(3)
    .max(73)
    .describe(
      "category/name in a-z, 0-9 and _, the category one of the known ones, e.g. file/count_lines.",
    ),
  description: z
    .string()
    .min(10)
    .max(2_000)
    .describe("What it does, when to use it, what comes back."),
  schema: schema.describe(
    "JSON Schema of its arguments: type object, at most 10 levels deep, without references and patterns.",
  ),
  config,
  outputSchema: schema.optional().describe("JSON Schema of what it answers; type object."),
  examples: z
    .array(value)
    .max(10)
    .default([])
    .describe("Arguments that show how it is used; they must fit the schema."),
  tests: z
    .array(test)
    .max(20)
    .default([])
    .describe("Run in the sandbox at once; the results are kept for the administrator."),
  timeoutSeconds: z.int().min(1).max(120).default(10).describe("How long one call may take."),
  risk: z
    .enum(["safe", "moderate", "dangerous"])
    .optional()
    .describe("A proposal for whoever reviews it."),
  replaces: z
    .string()
    .max(40)
    .optional()
    .describe("To draft a new version of a tool: the newest version there is, e.g. 1.0.0."),
});

export type DraftInput = z.output<typeof draftInput>;

/** The same as a file of a folder: `file` stands beside it and holds the source. */
export const draftManifest = z.strictObject({
  name: draftInput.shape.name,
  description: draftInput.shape.description,
  language: config.shape.language,
  file: z
    .string()
    .regex(/^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$/, "expected the name of a file of the same folder")
    .optional(),
  command: config.shape.command,
  input: draftInput.shape.schema,
  output: draftInput.shape.outputSchema,
  examples: draftInput.shape.examples,
  tests: draftInput.shape.tests,
  timeoutSeconds: draftInput.shape.timeoutSeconds,
  risk: draftInput.shape.risk,
  replaces: draftInput.shape.replaces,
});
