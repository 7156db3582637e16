import { z } from "zod";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "memory/clear",
  description:
    "Forget notes for good: one key, those with certain tags, or a whole namespace. " +
    "With dryRun it only tells what would be forgotten; do that first. There is no way back.",
  input: z.strictObject({
    namespace: z
      .string()
      .min(1)
      .max(100)
      .describe("session, user, capsule, tenant, or a name of your own."),
    key: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe("Only this note. Default: all of the namespace."),
    tags: z
      .array(z.string().min(1).max(100))
      .max(20)
      .default([])
      .describe("Only notes that carry every one of these tags."),
    dryRun: z
      .boolean()
      .default(false)
      .describe("Tell what would be forgotten, and forget nothing."),
  }),
  output: z.strictObject({
    removed: z.int().describe("How many were forgotten, or would be."),
    keys: z.array(z.string()).describe("Their keys, at most 50."),
  }),
  risk: "dangerous",
  effects: "system_write",
  needs: ["store"],
  timeoutMs: 10_000,
  tags: ["notes"],
  examples: [
    { namespace: "user", tags: ["draft"], dryRun: true },
    { namespace: "project-x", key: "plan" },
  ],
  run: ({ key, ...request }, { store }) =>
    store.memoryClear({ ...request, ...(key === undefined ? {} : { key }) }),
});
