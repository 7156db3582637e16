import { z } from "zod";
import type { JsonObject } from "../../contract/call.ts";
import { innerResult } from "./shared/inner-result.ts";
import { defineTool, toolError } from "../../contract/tool.ts";

export default defineTool({
  name: "system/call_tool",
  wireName: "ostiary_call",
  aliases: ["system_call_tool"],
  description:
    "Call any tool you may use by its name, as ostiary_find_tools tells it. It is a call of its own, as you, through the full gate, and this one answers " +
    "exactly what it answers. Where a person has to agree first, you are told the executionId to come back with.",
  input: z.strictObject({
    name: z.string().min(1).max(256).describe("Name of the tool, e.g. file_read."),
    arguments: z
      .record(z.string().max(256), z.unknown())
      .default({})
      .meta({ maxProperties: 1_000 })
      .describe("Its arguments, as its inputSchema wants them."),
    executionId: z
      .string()
      .min(1)
      .max(128)
      .optional()
      .describe(
        "Of an earlier call that was still waiting: its answer is told instead of calling again.",
      ),
  }),
  output: z.unknown(),
  passesOn: true,
  risk: "safe",
  effects: "network",
  needs: ["engine"],
  timeoutMs: 300_000,
  tags: ["search"],
  examples: [{ name: "system_echo", arguments: { text: "hello" } }],
  async run({ name, arguments: args, executionId }, { engine }, context) {
    // A cache option is about the inner tool.
    const metadata = context.metadata?.["cache"] === false ? { metadata: { cache: false } } : {};
    const outcome = await engine.relay({
      name,
      arguments: args as JsonObject,
      executionId,
      ...metadata,
    });
    context.note({ innerExecutionId: outcome.executionId, ...engine.taintFrom([outcome]) });
    const result = innerResult(outcome);
    if (result.fault === null) return result.output;
    const { reason, message, ...rest } = result.fault;
    throw toolError(reason, message, { ...rest, partial: result.partial });
  },
});
