import { z } from "zod";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "agent/stop",
  description:
    "Stop one of your agents: what it calls at the moment is cancelled, and so are its own agents. Stopping one that has ended is a success.",
  input: z.strictObject({
    agentId: z.string().min(1).max(100).describe("From agent/spawn or agent/coordinate."),
    reason: z.string().min(1).max(1_000).optional().describe("Why, for the record."),
  }),
  output: z.strictObject({
    agentId: z.string(),
    stopped: z.boolean(),
    cancelledExecutions: z.int(),
  }),
  risk: "moderate",
  effects: "system_write",
  needs: ["agents"],
  timeoutMs: 10_000,
  tags: ["agent"],
  examples: [{ agentId: "agt_example", reason: "not needed any more" }],
  run: async ({ agentId, reason }, { agents }) => ({
    agentId,
    ...(await agents.stop(agentId, reason ?? null)),
  }),
});
