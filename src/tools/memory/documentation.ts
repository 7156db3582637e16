import { z } from "zod";
import { defineTool } from "../../contract/tool.ts";

export default defineTool({
  name: "memory/documentation",
  description:
    "Search Ostiary's own documentation: how calls are decided, approvals, modes, limits, policies, relations, governance files, settings and errors. " +
    "Use it when a call was refused, or to answer questions about this installation. Answers whole sections, best first.",
  input: z.strictObject({
    query: z
      .string()
      .min(1)
      .max(500)
      .describe("Words to look for, e.g. why a call waits for approval."),
    topK: z.int().min(1).max(10).default(5).describe("At most this many sections."),
    categories: z
      .array(z.string().min(1).max(64))
      .max(20)
      .default([])
      .describe("Only these pages, by name without ending, e.g. approvals. Default: all."),
    platforms: z
      .array(z.string().min(1).max(64))
      .max(20)
      .default([])
      .describe(
        "Accepted for other documentation sets; Ostiary's own pages hold for every platform.",
      ),
  }),
  output: z.strictObject({
    documents: z.array(
      z.strictObject({
        id: z.string().describe("Page and heading."),
        title: z.string().describe("Title of the page."),
        section: z.string().describe("Heading of the section."),
        text: z.string(),
        url: z.string().optional(),
        score: z.number().describe("Higher is better."),
      }),
    ),
  }),
  risk: "safe",
  effects: "read_only",
  needs: ["store"],
  timeoutMs: 15_000,
  cacheable: true,
  aliases: ["retrieve_documentation"],
  tags: ["documentation"],
  examples: [
    { query: "why does my call wait for approval" },
    { query: "rate limit", topK: 2, categories: ["limits"] },
  ],
  async run({ query, topK, categories }, { store }) {
    return { documents: await store.documentation(query, { topK, categories }) };
  },
});
