import { z } from "zod";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "workflow/update_plan",
  description:
    "Keep the plan of this session (or yours, where there is no session): a goal and the phases towards it, one of them current. " +
    "Use it when a task has several parts or the plan changes; go on with workflow/advance_phase. A new plan replaces the former one.",
  input: z.strictObject({
    goal: z.string().min(1).max(2_000).describe("What is to be reached."),
    phases: z
      .array(
        z.strictObject({
          name: z.string().min(1).max(200).describe("Short name."),
          description: z.string().max(4_000).describe("What is done in it."),
          successCriteria: z
            .array(z.string().min(1).max(1_000))
            .max(50)
            .describe("How to tell that it is done."),
        }),
      )
      .min(1)
      .max(50)
      .describe("In order; their ids are 1, 2, 3, …"),
    currentPhaseId: z.int().min(1).max(50).describe("The phase being worked on."),
  }),
  output: z.strictObject({
    planId: z.string(),
    version: z.int(),
    phases: z.array(
      z.strictObject({
        id: z.int(),
        name: z.string(),
        state: z.enum(["pending", "current", "succeeded", "failed"]),
      }),
    ),
    currentPhaseId: z.int(),
  }),
  risk: "moderate",
  effects: "system_write",
  needs: ["workflows"],
  timeoutMs: 10_000,
  aliases: ["update_plan"],
  tags: ["plan"],
  examples: [
    {
      goal: "A report about the logs",
      phases: [
        { name: "Read", description: "Read the logs", successCriteria: ["every file was read"] },
        {
          name: "Write",
          description: "Write the report",
          successCriteria: ["the report is one page"],
        },
      ],
      currentPhaseId: 1,
    },
  ],
  async run(draft, { workflows }) {
    const { planId, version, phases, currentPhaseId } = await workflows.updatePlan(draft);
    return {
      planId,
      version,
      phases: phases.map((phase) => ({ ...phase })),
      currentPhaseId: currentPhaseId ?? draft.currentPhaseId,
    };
  },
});
