import { z } from "zod";
import type { Json, JsonObject } from "../../contract/call.ts";
import { schemaErrors, schemaFault } from "../../util/schema/foreign-schema.ts";
import type { Generated, ModelPower } from "../../contract/powers.ts";
import { defineTool, toolError } from "../../contract/tool.ts";
import { spent } from "./shared/spent.ts";
import { withoutFence } from "../../util/json/model-json.ts";

export default defineTool({
  name: "ai/generate",
  description:
    "Let a language model write text from a prompt, with an optional system message. With a schema the answer is JSON of that " +
    "shape (one repair is tried). What comes back is the model's words: check facts before you rely on them.",
  input: z.strictObject({
    prompt: z.string().min(1).max(1_000_000).describe("What to write, or the question."),
    system: z.string().min(1).max(100_000).optional().describe("How the model should behave."),
    model: z
      .string()
      .min(1)
      .max(128)
      .optional()
      .describe("Name of a configured model; default: the cheapest that can write."),
    maxTokens: z.int().min(1).max(32_000).default(1_024).describe("Longest answer, in tokens."),
    temperature: z.number().min(0).max(2).default(0.7).describe("0 is the most predictable."),
    schema: z
      .record(z.string().max(200), z.unknown())
      .meta({ maxProperties: 100 })
      .optional()
      .describe("JSON Schema that the answer must fit."),
    stop: z
      .array(z.string().min(1).max(200))
      .max(4)
      .optional()
      .describe("Texts that end the answer."),
  }),
  output: z.strictObject({
    text: z.string().describe("The answer."),
    json: z.unknown().optional().describe("With a schema: the answer as data."),
    model: z.string().describe("The model that answered."),
    finishReason: z.enum(["stop", "length", "tool_calls", "refused"]),
    usage: z.strictObject({ input: z.int(), output: z.int() }).describe("Tokens."),
  }),
  risk: "moderate",
  effects: "network",
  needs: ["model"],
  timeoutMs: 60_000,
  tags: ["ai"],
  meters: [{ metric: "tokens", estimate: { argument: "/maxTokens", otherwise: 1_024 } }],
  examples: [
    { prompt: "Name three rivers of Europe.", temperature: 0 },
    {
      prompt: "Name a river and its length in km.",
      schema: {
        type: "object",
        properties: { name: { type: "string" }, km: { type: "number" } },
        required: ["name", "km"],
      },
    },
  ],
  async run({ prompt, schema, ...rest }, { model }, context) {
    const wanted = schema as JsonObject | undefined;
    const wrong = wanted === undefined ? null : schemaFault(wanted);
    if (wrong !== null)
      throw toolError("invalid_arguments", `schema: ${wrong}`, {
        code: "BAD_REQUEST",
        errors: [{ path: "/schema", message: wrong }],
      });
    const settings = Object.fromEntries(
      Object.entries(rest).filter(([, value]) => value !== undefined),
    );
    const ask = (messages: Parameters<ModelPower["generate"]>[0]["messages"]): Promise<Generated> =>
      model.generate({
        maxTokens: rest.maxTokens,
        ...settings,
        messages,
        ...(wanted === undefined ? {} : { schema: wanted }),
      });
    const first = await ask([{ role: "user", content: prompt }]);
    const note = (usage: Generated["usage"], ...answers: Generated[]): void =>
      context.note({
        usage: { tokens: usage.input + usage.output },
        untrusted: true,
        ...spent(...answers),
      });
    note(first.usage, first);
    if (wanted === undefined) return answerOf(first, first.usage);
    const faults = faultsOf(first.text, wanted);
    if ("json" in faults) return { ...answerOf(first, first.usage), json: faults.json };
    const repair = `That does not fit: ${faults.text}. Answer again with JSON that fits the schema, and nothing else.`;
    const second = await ask([
      { role: "user", content: prompt },
      { role: "assistant", content: first.text },
      { role: "user", content: repair },
    ]);
    const usage = {
      input: first.usage.input + second.usage.input,
      output: first.usage.output + second.usage.output,
    };
    note(usage, first, second);
    const again = faultsOf(second.text, wanted);
    if ("json" in again) return { ...answerOf(second, usage), json: again.json };
    throw toolError(
      "schema_not_satisfied",
      `the model's answer does not fit the schema: ${again.text}`,
      { remedy: "simplify the schema, describe the fields in the prompt, or use another model" },
    );
  },
});

function answerOf({ text, model, finishReason }: Generated, usage: Generated["usage"]) {
  return { text, model, finishReason, usage };
}

/** Models like to wrap JSON in a fence. */
function faultsOf(text: string, schema: JsonObject): { json: Json } | { text: string } {
  const bare = withoutFence(text);
  let json: Json;
  try {
    json = JSON.parse(bare) as Json;
  } catch {
    return { text: "it is not JSON" };
  }
  const errors = schemaErrors(schema, json);
  if (errors.length === 0) return { json };
  return {
    text: errors
      .slice(0, 3)
      .map(({ path, message }) => `${path || "/"} ${message}`)
      .join("; "),
  };
}
