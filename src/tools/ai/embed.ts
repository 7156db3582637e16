import { z } from "zod";
import { spent } from "./shared/spent.ts";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "ai/embed",
  description:
    "Turn texts into vectors whose closeness says how alike the texts are, for search and grouping. " +
    "One vector per text, in the order given.",
  input: z.strictObject({
    input: z
      .union([
        z.string().min(1).max(65_536),
        z.array(z.string().min(1).max(65_536)).min(1).max(256),
      ])
      .describe("One text, or a list of up to 256."),
    model: z
      .string()
      .min(1)
      .max(128)
      .optional()
      .describe("Name of a configured model; default: the cheapest that embeds."),
    dimensions: z
      .int()
      .min(1)
      .max(8_192)
      .optional()
      .describe("Length of the vectors, where the model can shorten them."),
  }),
  output: z.strictObject({
    model: z.string().describe("The model that was used."),
    dimensions: z.int().describe("Numbers per vector."),
    embeddings: z.array(z.array(z.number())).describe("One vector per text."),
    usage: z.strictObject({ input: z.int(), output: z.int() }).describe("Tokens."),
  }),
  risk: "moderate",
  effects: "network",
  idempotent: true,
  needs: ["model"],
  timeoutMs: 30_000,
  tags: ["ai"],
  meters: [
    { metric: "tokens", estimate: 1_000 },
    { metric: "vector_ops", estimate: 1 },
  ],
  examples: [{ input: "a sentence" }, { input: ["one", "two"] }],
  async run({ input, model: name, dimensions }, { model }, context) {
    const {
      embeddings,
      model: used,
      usage,
      ...answer
    } = await model.embed({
      input: typeof input === "string" ? [input] : input,
      ...(name === undefined ? {} : { model: name }),
      ...(dimensions === undefined ? {} : { dimensions }),
    });
    context.note({
      usage: { tokens: usage.input + usage.output, vector_ops: embeddings.length },
      untrusted: true,
      ...spent(answer),
    });
    return { model: used, dimensions: embeddings[0]?.length ?? 0, embeddings, usage };
  },
});
