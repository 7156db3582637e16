// What the endpoints that help an approver decide take and give.
import { z } from "zod";
import { COMMAND_VERDICTS, ENTRY_TYPES, FILE_CHANGES, ROW_ACTIONS } from "../../contract/effect.ts";
import { cutShape, jsonObject, moment, status, time } from "./shapes.ts";

const handle = z.string().min(1).max(128);

export const ruleMatch = z.strictObject({
  pointer: z.string().max(500).describe("JSON pointer into the arguments; empty means all of them"),
  equals: z.unknown().optional(),
  glob: z.string().max(500).optional(),
});

const rule = z.object({ at: z.string().describe("File and line"), text: z.string() });
const refusal = {
  code: z.string(),
  reason: z.string(),
  message: z.string(),
  remedy: z.string().optional(),
};

const none = z.object({ kind: z.literal("none"), reason: z.string() });
const files = z.object({
  kind: z.literal("files"),
  changes: z.array(
    z.object({
      change: z.enum(FILE_CHANGES),
      type: z.enum(ENTRY_TYPES),
      path: z.string(),
      from: z.string().optional().describe("Of what is moved: where it is now"),
      replaces: z.literal(true).optional().describe("A file at the new place is replaced"),
      sizeBytes: z.int().optional().describe("Of files: afterwards, or before they are removed"),
      previousSizeBytes: z.int().optional(),
      files: z.int().optional().describe("Of folders that are moved or removed: files in them"),
      bytes: z.int().optional().describe("Of folders that are moved or removed: their files'"),
      diff: z.string().optional().describe("Unified, secrets masked"),
      diffCut: z.literal(true).optional().describe("Lines were left out at the end of the diff"),
      addedLines: z.int().optional(),
      removedLines: z.int().optional(),
      note: z.string().optional().describe("Why there is no diff"),
    }),
  ),
  totals: z.object({
    created: z.int(),
    changed: z.int(),
    moved: z.int(),
    removed: z.int(),
  }),
  cut: z.boolean().describe("There are more changes than are listed"),
});

const fails = z.object({
  kind: z.literal("fails"),
  ...refusal,
  leaves: files.optional().describe("What it changes before it fails, and does not take back"),
});

const database = z.object({
  kind: z.literal("database"),
  connection: z.string(),
  engine: z.enum(["sqlite", "postgres"]),
  action: z.enum(ROW_ACTIONS),
  table: z.string().nullable().describe("Null: a reading statement"),
  rows: z.int().describe("Inserted, changed or deleted; 0 of what only reads"),
  skipped: z.int().optional().describe("Of an insert: rows that exist already"),
  otherRows: z.int().optional().describe("Changed besides by triggers and foreign keys"),
  columns: z.array(z.string()),
  before: z.array(z.array(z.unknown())).describe("The first rows as they are; none of an insert"),
  after: z.array(z.array(z.unknown())).describe("As they will be; none of a deletion"),
  cut: z.boolean().describe("There are more rows than are shown, or values were cut"),
});

const shell = z.object({
  kind: z.literal("shell"),
  commands: z.array(
    z.object({
      text: z.string(),
      verdict: z.enum(COMMAND_VERDICTS).describe("Of the argument rules, for this command alone"),
      message: z.string().optional(),
      rule,
    }),
  ),
});

const http = z.object({
  kind: z.literal("http"),
  method: z.string(),
  url: z.string(),
  host: z.string(),
  verdict: z.enum(COMMAND_VERDICTS).describe("Of the rules for hosts"),
  message: z.string().optional(),
  rule,
  bodyBytes: z.int(),
});

export const previewInput = z.strictObject({
  id: handle,
  arguments: jsonObject.optional().describe("Preview these instead, as an approver edits them"),
  version: z
    .string()
    .max(64)
    .optional()
    .describe("`version` of what you read: refused when it was edited since"),
});

export const previewShape = z.object({
  approvalId: z.string(),
  toolName: z.string(),
  version: z.string().describe("Of the approval that was previewed"),
  edited: z.boolean().describe("Other arguments than the approval has were previewed"),
  at: time,
  denied: z
    .object({ stage: z.string(), ...refusal, rule: z.string().optional() })
    .nullable()
    .describe("The gate would refuse the call today, even with an approval"),
  effect: z.discriminatedUnion("kind", [none, fails, files, database, shell, http]),
});

export const similarInput = z.strictObject({ id: handle });

export const similarShape = z.object({
  similar: z
    .object({
      approvalId: z.string(),
      executionId: z.string(),
      requester: z.string(),
      sameRequester: z.boolean(),
      toolName: z.string(),
      sameTool: z.boolean().describe("False: the tool's definition has changed since"),
      arguments: jsonObject.describe("What was approved: the edited ones if there was an edit"),
      edited: z.boolean(),
      votes: z.array(z.object({ userId: z.string(), comment: z.string().nullable(), at: time })),
      decidedAt: time,
    })
    .nullable(),
});

export const rulePreviewInput = z.strictObject({
  id: handle,
  matches: z.array(ruleMatch).max(50).optional().describe("Default: exactly the same arguments"),
  last: z.int().min(1).max(10_000).default(1000).describe("At most so many calls, the newest"),
  since: moment.optional().describe("Calls from then on; default: all that are kept"),
});

export const rulePreviewShape = z.object({
  userId: z.string().describe("Whose calls it would cover"),
  toolName: z.string(),
  matches: z.array(ruleMatch),
  tried: z.int().describe("Recorded calls that were looked at"),
  covered: z.int(),
  unknown: z
    .int()
    .describe(
      "Calls for which this is unknown: in the record their arguments are cut, or masked where the rule compares",
    ),
  oldest: time.nullable().describe("When the oldest call that was looked at began"),
  newest: z
    .array(
      z.object({
        executionId: z.string(),
        at: time,
        status,
        arguments: jsonObject.describe("Secret-like values masked"),
        argumentsCut: cutShape.optional(),
      }),
    )
    .describe("The newest of the covered calls, 20 at most"),
  broader: z.boolean().describe("It covers other arguments than exactly these"),
  summary: z.string(),
});

export const taintSource = z.object({
  from: z.string().describe("Host, server or file"),
  tool: z.string(),
  reader: z.string().describe("Who has read it: a chat, an agent, or the client of an MCP session"),
});
