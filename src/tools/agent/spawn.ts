import { z } from "zod";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "agent/spawn",
  description:
    "Start an agent of its own on an objective: it asks the configured model, uses tools as you through the full gate, and ends with a result. " +
    "It never gets more than you have: tools are a subset of yours, its budget and lifetime are bounded. Look at it with agent/status, or give wait to have the result in the answer.",
  input: z.strictObject({
    objective: z
      .string()
      .min(10)
      .max(4_000)
      .describe("What it shall reach, with everything it must know."),
    capsule: z
      .string()
      .min(1)
      .max(100)
      .optional()
      .describe("Only tools that this capsule holds, too. Default: your own."),
    tools: z
      .array(z.string().min(3).max(100))
      .max(100)
      .optional()
      .describe(
        "The tools it may use, a subset of yours. Default: yours, without those that make agents.",
      ),
    budget: z
      .strictObject({
        toolCalls: z
          .int()
          .min(1)
          .max(200)
          .optional()
          .describe("How many tools it may call. Default 20."),
        tokens: z
          .int()
          .min(100)
          .max(1_000_000)
          .optional()
          .describe("How many tokens it may use. Default 50000."),
      })
      .default({})
      .describe("What it may use up; an agent gives its own agents at most what it has left."),
    lifetimeSeconds: z
      .int()
      .min(10)
      .max(3_600)
      .default(300)
      .describe("After this it ends, wherever it is."),
    wait: z
      .boolean()
      .default(false)
      .describe("Answer when it has ended, as far as this call's time reaches."),
  }),
  output: z.strictObject({
    agentId: z.string(),
    status: z.enum(["running", "success", "failed", "stopped", "expired"]),
    tools: z.array(z.string()).describe("What it may use."),
    result: z.unknown().optional().describe("What it answered, once it has."),
  }),
  risk: "dangerous",
  effects: "system_dangerous",
  needs: ["agents"],
  timeoutMs: 30_000,
  tags: ["agent"],
  examples: [
    {
      objective: "Find out how full the disks are and say it in one sentence.",
      tools: ["system/disk"],
      budget: { toolCalls: 3, tokens: 5_000 },
      lifetimeSeconds: 60,
    },
  ],
  async run({ capsule, tools, budget, ...task }, { agents }, context) {
    const {
      agentId,
      status,
      tools: given,
      result,
      taint,
    } = await agents.spawn({
      ...task,
      budget: {
        ...(budget.toolCalls === undefined ? {} : { toolCalls: budget.toolCalls }),
        ...(budget.tokens === undefined ? {} : { tokens: budget.tokens }),
      },
      ...(capsule === undefined ? {} : { capsule }),
      ...(tools === undefined ? {} : { tools }),
    });
    context.note({ agentId, untrusted: true, ...(result === null ? {} : taint) });
    return { agentId, status, tools: given, ...(result === null ? {} : { result }) };
  },
});
