import { z } from "zod";
import type { JsonObject } from "../../contract/call.ts";
import { runStatus, stepShape, stepView } from "./shared/run-shape.ts";
import { defineTool, toolError } from "../../contract/tool.ts";

export default defineTool({
  name: "workflow/execute",
  description:
    "Run a workflow made with workflow/create. Each step is a call of its own, as you, through the full gate. Answers when the run has ended; " +
    "where it takes longer than this call or a step waits for a person's yes, it goes on by itself and workflow/status tells how it stands. " +
    "With dryRun nothing runs: each step is told what the gate would say to it.",
  input: z.strictObject({
    workflowId: z.string().min(1).max(255).describe("Id or name of the workflow."),
    input: z
      .record(z.string().max(200), z.unknown())
      .default({})
      .meta({ maxProperties: 100 })
      .describe("What {{input.x}} stands for; must fit the workflow's inputSchema."),
    version: z.int().min(1).max(1_000_000).optional().describe("Default: the newest."),
    rerun: z
      .strictObject({
        runId: z.string().min(1).max(100).describe("A run of yours that has ended."),
        fromStep: z
          .string()
          .min(1)
          .max(64)
          .describe("Id of the step to begin with; what does not hang on it is taken over."),
      })
      .optional()
      .describe(
        "Run that run again, in its version, from one of its steps, with the input given here.",
      ),
    dryRun: z.boolean().default(false).describe("Explain each step instead of running it."),
  }),
  output: z.strictObject({
    runId: z.string().nullable().describe("Null for a dry run."),
    status: z.union([runStatus, z.literal("dry_run")]),
    steps: z.array(
      stepShape.extend({
        verdict: z.enum(["allow", "deny", "hold", "depends"]).optional(),
        summary: z.string().optional(),
      }),
    ),
    output: z
      .unknown()
      .optional()
      .describe("Output of the last step that ran, once the run succeeded."),
  }),
  risk: "moderate",
  effects: "system_write",
  needs: ["workflows"],
  timeoutMs: 300_000,
  tags: ["workflow"],
  examples: [
    { workflowId: "Greeting", input: { name: "Ada" } },
    { workflowId: "Greeting", input: { name: "Ada" }, dryRun: true },
  ],
  async run({ workflowId, input, version, rerun, dryRun }, { workflows }, context) {
    const request = {
      workflowId,
      input: input as JsonObject,
      ...(version === undefined ? {} : { version }),
      ...(rerun === undefined ? {} : { rerun }),
    };
    if (dryRun) {
      const steps = await workflows.dryRun(request);
      return {
        runId: null,
        status: "dry_run" as const,
        steps: steps.map(({ id, verdict, summary }) => ({
          id,
          executionId: null,
          status: "waiting" as const,
          ms: 0,
          verdict,
          summary,
        })),
      };
    }
    const run = await workflows.execute(request);
    context.note({ runId: run.runId, untrusted: true, ...run.taint });
    if (run.status === "failed") {
      const error = run.error;
      const ids = run.steps
        .map(
          ({ id, status, executionId }) =>
            `${id} ${status}${executionId === null ? "" : ` (${executionId})`}`,
        )
        .join(", ");
      throw toolError(
        "step_failed",
        `${error?.message ?? "a step failed"}; run ${run.runId}: ${ids}`,
        {
          remedy: error?.remedy ?? `look at it with workflow/status`,
          // Earlier steps have taken effect: the caller learns how far the run came.
          partial: { runId: run.runId, status: run.status, steps: run.steps.map(stepView) },
        },
      );
    }
    return {
      runId: run.runId,
      status: run.status,
      steps: run.steps.map(stepView),
      ...(run.status === "success" ? { output: run.output } : {}),
    };
  },
});
