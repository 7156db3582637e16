import { z } from "zod";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "agent/coordinate",
  description:
    "Split an objective over several agents that work at the same time: the configured model says what each shall do, and one agent is spawned for each. " +
    "None gets more than you have. Answers who does what; look at each with agent/status.",
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
  }),
  output: z.strictObject({
    groupId: z.string(),
    assignments: z.array(z.strictObject({ agentId: z.string(), task: z.string() })),
    status: z.enum(["running", "success", "failed", "stopped", "expired"]),
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
    const group = await agents.coordinate(request);
    context.note({ groupId: group.groupId, untrusted: true });
    return group;
  },
});
