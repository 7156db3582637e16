import { z } from "zod";
import { defineTool } from "../../contract/tool.ts";

const status = z.enum(["running", "success", "failed", "stopped", "expired"]);

export default defineTool({
  name: "agent/coordinate",
  description:
    "Split an objective over several agents that work at the same time: the configured model says what each shall do, and one agent is spawned for each. " +
    "None gets more than you have. Answers who does what, and with wait what came of it; look at them later with agent/status.",
  input: z.strictObject({
    objective: z.string().min(10).max(4_000).describe("What they shall reach together."),
    agents: z
      .array(z.string().min(1).max(200))
      .min(1)
      .max(50)
      .describe("Who they are, one role each, e.g. researcher, reviewer."),
    strategy: z
      .enum(["research", "development", "analysis", "deployment", "auto"])
      .default("auto")
      .describe("How the work is split."),
    maxAgents: z.int().min(1).max(50).default(5).describe("Refuse more agents than this."),
    wait: z
      .boolean()
      .default(false)
      .describe("Answer when all have ended, as far as this call's time reaches."),
  }),
  output: z.strictObject({
    groupId: z.string().describe("For agent/status."),
    assignments: z.array(
      z.strictObject({
        agentId: z.string(),
        task: z.string(),
        status,
        result: z.unknown().optional().describe("What it answered, once it has."),
      }),
    ),
    status: status.describe("Running while one runs, a success when all are."),
  }),
  risk: "dangerous",
  effects: "system_dangerous",
  needs: ["agents"],
  timeoutMs: 60_000,
  tags: ["agent"],
  examples: [
    {
      objective: "Compare the two log files and write down what differs.",
      agents: ["reader", "reviewer"],
      strategy: "analysis",
    },
  ],
  async run(request, { agents }, context) {
    const { taint, ...group } = await agents.coordinate(request);
    context.note({ groupId: group.groupId, untrusted: true, ...taint });
    return {
      ...group,
      assignments: group.assignments.map(({ result, ...one }) => ({
        ...one,
        ...(result === null ? {} : { result }),
      })),
    };
  },
});
