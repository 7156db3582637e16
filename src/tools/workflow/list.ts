import { z } from "zod";
import { runStatus } from "./shared/run-shape.ts";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "workflow/list",
  description:
    "List your workflows, newest first: id, name, newest version, how it is started, whether it is switched on, and its last run. Search by part of the name or description.",
  input: z.strictObject({
    search: z
      .string()
      .max(200)
      .default("")
      .describe("Part of name or description; capitals do not matter."),
    limit: z.int().min(1).max(100).default(50).describe("At most this many."),
    offset: z
      .int()
      .min(0)
      .max(1_000_000)
      .default(0)
      .describe("Leave out this many, for the next page."),
  }),
  output: z.strictObject({
    workflows: z.array(
      z.strictObject({
        workflowId: z.string(),
        name: z.string(),
        version: z.int(),
        trigger: z.enum(["manual", "scheduled", "webhook", "event"]),
        enabled: z
          .boolean()
          .describe("False: it waits for the clock, and no schedule is switched on."),
        lastRun: z
          .strictObject({ runId: z.string(), status: runStatus, startedAt: z.string() })
          .optional(),
      }),
    ),
    total: z.int(),
  }),
  risk: "safe",
  effects: "read_only",
  needs: ["workflows"],
  timeoutMs: 5_000,
  tags: ["workflow"],
  examples: [{}, { search: "greet", limit: 5 }],
  async run({ search, limit, offset }, { workflows }) {
    const { workflows: rows, total } = await workflows.list(search, { limit, offset });
    return {
      total,
      workflows: rows.map(({ lastRun, ...row }) => ({
        ...row,
        ...(lastRun === null
          ? {}
          : { lastRun: { ...lastRun, startedAt: new Date(lastRun.startedAt).toISOString() } }),
      })),
    };
  },
});
