import { z } from "zod";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "workflow/advance_phase",
  description:
    "End the current phase of the plan made with workflow/update_plan, say what came of it, and go on with the next one. " +
    "Answers the phase that is current now, or done:true after the last.",
  input: z.strictObject({
    phaseId: z.int().min(1).max(50).describe("The current phase."),
    outcome: z.string().min(1).max(4_000).describe("What came of it."),
    succeeded: z.boolean().default(true).describe("Whether its criteria are met."),
  }),
  output: z.strictObject({
    planId: z.string(),
    completed: z.int().describe("How many phases have ended."),
    currentPhaseId: z.int().nullable(),
    done: z.boolean(),
  }),
  risk: "moderate",
  effects: "system_write",
  needs: ["workflows"],
  timeoutMs: 10_000,
  aliases: ["advance_phase"],
  tags: ["plan"],
  examples: [{ phaseId: 1, outcome: "All files were read." }],
  async run(step, { workflows }) {
    const { planId, phases, currentPhaseId } = await workflows.advancePhase(step);
    const completed = phases.filter(
      ({ state }) => state === "succeeded" || state === "failed",
    ).length;
    return { planId, completed, currentPhaseId, done: currentPhaseId === null };
  },
});
