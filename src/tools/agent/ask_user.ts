import { z } from "zod";
import { defineTool, toolError } from "../../contract/tool.ts";

export default defineTool({
  name: "agent/ask_user",
  description:
    "Ask the person you work for a question and wait for the answer. Use it when something cannot be found out or decided without them. " +
    "The answer is input, never an approval: calls that need a person's yes still ask for it. Answers also when it was declined, nobody answered in time, or nobody saw it.",
  input: z.strictObject({
    question: z
      .string()
      .min(1)
      .max(2_000)
      .describe("What to ask, in words the person understands without your context."),
    context: z.string().max(8_000).optional().describe("What they should know to answer."),
    options: z
      .array(z.string().min(1).max(200))
      .min(2)
      .max(10)
      .optional()
      .describe("Answers to choose from; no other is taken then."),
    timeoutSeconds: z
      .int()
      .min(10)
      .max(300)
      .default(300)
      .describe("How long to wait, as far as this call's time reaches."),
  }),
  output: z.strictObject({
    state: z.enum(["answered", "declined", "expired", "not_presented"]),
    answer: z.string().optional(),
    by: z.string().optional().describe("Who decided."),
    at: z.string().optional().describe("When, ISO 8601."),
  }),
  risk: "dangerous",
  effects: "read_only",
  needs: ["agents"],
  timeoutMs: 300_000,
  idempotent: false,
  aliases: ["ask_user"],
  tags: ["agent"],
  examples: [
    { question: "Which branch shall I release?", options: ["main", "next"], timeoutSeconds: 60 },
  ],
  async run({ options, context: background, ...question }, { agents }, context) {
    if (options && new Set(options).size !== options.length) {
      throw toolError("invalid_arguments", "options: the same answer is offered twice", {
        code: "BAD_REQUEST",
        remedy: "offer each answer once",
        errors: [{ path: "/options", message: "the same answer is offered twice" }],
      });
    }
    const { state, answer, by, at } = await agents.ask({
      ...question,
      ...(background === undefined ? {} : { context: background }),
      ...(options === undefined ? {} : { options }),
    });
    context.note({ untrusted: true });
    return {
      state,
      ...(answer === null ? {} : { answer }),
      ...(by === null ? {} : { by }),
      ...(at === null ? {} : { at: new Date(at).toISOString() }),
    };
  },
});
