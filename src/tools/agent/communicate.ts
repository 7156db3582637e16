import { z } from "zod";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "agent/communicate",
  description:
    "Tell one of your agents something while it works; it reads it before its next step. With waitReply the answer holds what it says next, as far as this call's time reaches.",
  input: z.strictObject({
    agentId: z.string().min(1).max(100).describe("From agent/spawn or agent/coordinate."),
    message: z.string().min(1).max(16_000).describe("What it shall know."),
    waitReply: z.boolean().default(false).describe("Wait for its next words."),
  }),
  output: z.strictObject({
    messageId: z.string(),
    delivered: z.boolean(),
    reply: z.string().optional(),
  }),
  risk: "moderate",
  effects: "system_write",
  needs: ["agents"],
  timeoutMs: 30_000,
  tags: ["agent"],
  examples: [{ agentId: "agt_example", message: "Leave out the temporary files." }],
  async run(request, { agents }, context) {
    const { messageId, delivered, reply, taint } = await agents.communicate(request);
    if (reply === null) return { messageId, delivered };
    context.note({ untrusted: true, ...taint });
    return { messageId, delivered, reply };
  },
});
