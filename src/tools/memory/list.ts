import { z } from "zod";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "memory/list",
  description:
    "List the notes of a namespace by key, without their values: what is there, how large, when written, when it will be forgotten. " +
    "Narrow it with the beginning of the key or with tags; read one with memory/retrieve.",
  input: z.strictObject({
    namespace: z
      .string()
      .min(1)
      .max(100)
      .optional()
      .describe(
        "session (default when the call has a session), user (default otherwise), capsule, tenant, or a name of your own.",
      ),
    prefix: z.string().max(200).default("").describe("Only keys that begin with this."),
    tags: z
      .array(z.string().min(1).max(100))
      .max(20)
      .default([])
      .describe("Only notes that carry every one of these tags."),
    limit: z.int().min(1).max(1_000).default(100).describe("At most this many entries."),
    offset: z
      .int()
      .min(0)
      .max(1_000_000)
      .default(0)
      .describe("Leave out this many, for the next page."),
  }),
  output: z.strictObject({
    entries: z.array(
      z.strictObject({
        key: z.string(),
        tags: z.array(z.string()),
        bytes: z.int().describe("Size of the value as JSON."),
        updatedAt: z.string().describe("Time of the last write, ISO 8601."),
        expiresAt: z.string().optional().describe("When it will be forgotten, ISO 8601."),
      }),
    ),
    total: z.int().describe("How many there are, beyond this page too."),
  }),
  risk: "safe",
  effects: "read_only",
  needs: ["store"],
  timeoutMs: 10_000,
  tags: ["notes"],
  examples: [{}, { namespace: "user", prefix: "project-", limit: 20 }],
  async run({ namespace, ...question }, { store }, context) {
    const { entries, total } = await store.memoryList({
      ...question,
      ...(namespace === undefined ? {} : { namespace }),
    });
    if (entries.length > 0) context.note({ untrusted: true });
    return {
      total,
      entries: entries.map(({ updatedAt, expiresAt, ...entry }) => ({
        ...entry,
        updatedAt: new Date(updatedAt).toISOString(),
        ...(expiresAt === null ? {} : { expiresAt: new Date(expiresAt).toISOString() }),
      })),
    };
  },
});
