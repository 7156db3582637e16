import { z } from "zod";
import type { Json } from "../../contract/call.ts";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "memory/store",
  description:
    "Remember a JSON value under a key, to be read back later with memory/retrieve. " +
    "Namespaces: session (default when the call has a session), user (default otherwise), capsule, tenant, or a name of your own. " +
    "An existing value is replaced; give ifVersion to replace only what you have read.",
  input: z.strictObject({
    key: z.string().min(1).max(200).describe("Name of the entry, 1-200 characters."),
    value: z.unknown().describe("Any JSON value, at most 256 KiB as JSON."),
    namespace: z
      .string()
      .min(1)
      .max(100)
      .optional()
      .describe("session, user, capsule, tenant, or a name of your own (private to you)."),
    tags: z
      .array(z.string().min(1).max(100))
      .max(20)
      .optional()
      .describe("Words to find the entry by, at most 20."),
    ttlSeconds: z
      .int()
      .min(1)
      .max(31_536_000)
      .optional()
      .describe("Forget the entry after this many seconds. Default: keep it."),
    ifVersion: z
      .int()
      .min(0)
      .optional()
      .describe("Write only when the stored version is this one; 0 = only when absent."),
  }),
  output: z.strictObject({
    key: z.string(),
    namespace: z.string().describe("The namespace that was used."),
    version: z.int().describe("1 for a new entry, one more with each write."),
    created: z.boolean().describe("True when the entry did not exist before."),
    expiresAt: z.string().optional().describe("When it will be forgotten, ISO 8601."),
  }),
  risk: "moderate",
  effects: "system_write",
  needs: ["store"],
  timeoutMs: 10_000,
  meters: [{ metric: "memory_tokens", estimate: 100 }],
  aliases: ["store_data"],
  tags: ["notes"],
  examples: [
    { key: "deploy-target", value: "staging" },
    { key: "plan", value: { step: 2 }, namespace: "project-x", tags: ["plan"], ttlSeconds: 86_400 },
  ],
  async run({ key, value, namespace, tags, ttlSeconds, ifVersion }, { store }, context) {
    const stored = await store.memoryPut({
      key,
      value: value as Json, // arguments arrive as JSON
      ...(namespace !== undefined && { namespace }),
      ...(tags !== undefined && { tags }),
      ...(ttlSeconds !== undefined && { ttlSeconds }),
      ...(ifVersion !== undefined && { ifVersion }),
    });
    context.note({ usage: { memory_tokens: tokensOf(value) } });
    const { expiresAt, ...rest } = stored;
    return {
      key,
      ...rest,
      ...(expiresAt !== null && { expiresAt: new Date(expiresAt).toISOString() }),
    };
  },
});

/** About as many as a language model makes of it: four characters each. */
const CHARACTERS_PER_TOKEN = 4;
const tokensOf = (value: unknown): number =>
  Math.ceil((JSON.stringify(value) ?? "").length / CHARACTERS_PER_TOKEN);
