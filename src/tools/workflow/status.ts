import { z } from "zod";
import { pendingApproval, runStatus, stepShape, stepView } from "./shared/run-shape.ts";
import { defineTool, toolError } from "../../contract/tool.ts";

export default defineTool({
  name: "workflow/status",
  description:
    "How a workflow run stands: each step with its execution, what failed and why, and whether a step waits for a person's yes. " +
    "Name the run by its runId, or by the execution of the workflow/execute call that started it.",
  input: z.strictObject({
    runId: z
      .string()
      .min(1)
      .max(100)
      .optional()
      .describe("Id of the run, from workflow/execute. Give this or executionId."),
    executionId: z
      .string()
      .min(1)
      .max(100)
      .optional()
      .describe("Execution of the workflow/execute call. Give this or runId."),
  }),
  output: z.strictObject({
    runId: z.string(),
    status: runStatus,
    startedAt: z.string(),
    endedAt: z.string().optional(),
    steps: z.array(stepShape),
    output: z.unknown().optional(),
    error: z.strictObject({ code: z.string(), reason: z.string(), message: z.string() }).optional(),
    pendingApproval: pendingApproval.optional(),
  }),
  risk: "safe",
  effects: "read_only",
  needs: ["workflows"],
  timeoutMs: 5_000,
  tags: ["workflow"],
  examples: [{ executionId: "exec_1_test" }],
  async run({ runId, executionId }, { workflows }, context) {
    if ((runId === undefined) === (executionId === undefined)) {
      throw toolError("invalid_arguments", "expected exactly one of runId and executionId", {
        code: "BAD_REQUEST",
        remedy: "name the run by one of the two",
        errors: [{ path: "/runId", message: "give exactly one of runId and executionId" }],
      });
    }
    const run = await workflows.status(
      runId === undefined ? { executionId: executionId ?? "" } : { runId },
    );
    context.note({ untrusted: true, ...run.taint });
    const held = run.steps.find(
      ({ status, pendingApproval: waits }) => status === "pending" && waits !== undefined,
    )?.pendingApproval;
    const { error } = run;
    return {
      runId: run.runId,
      status: run.status,
      startedAt: new Date(run.startedAt).toISOString(),
      ...(run.endedAt === null ? {} : { endedAt: new Date(run.endedAt).toISOString() }),
      steps: run.steps.map(stepView),
      ...(run.status === "success" ? { output: run.output } : {}),
      ...(error
        ? { error: { code: error.code, reason: error.reason, message: error.message } }
        : {}),
      ...(held ? { pendingApproval: { ...held } } : {}),
    };
  },
});
