import { z } from "zod";
import type { FoundTool } from "../../contract/powers.ts";
import { CATEGORIES, defineTool, RISKS } from "../../contract/tool.ts";

/** Schemas of other servers can be large: beyond this, the rest comes without. */
const MAX_SCHEMA_CHARACTERS = 100_000;
const MAX_DESCRIPTION = 2_000;

export default defineTool({
  name: "system/find_tools",
  wireName: "ostiary_find_tools",
  aliases: ["system_find_tools"],
  description:
    "Find tools by what they do. Searches names, descriptions, tags and parameters of every tool you may use, best first; " +
    "call what you found with ostiary_call. Without a query it lists them in order of their names.",
  input: z.strictObject({
    query: z
      .string()
      .max(500)
      .default("")
      .describe("What you want to do, in a few words, e.g. read a file."),
    limit: z.int().min(1).max(50).default(10).describe("At most this many tools."),
    category: z.enum(CATEGORIES).optional().describe("Only tools of this kind."),
  }),
  output: z.strictObject({
    tools: z.array(
      z.strictObject({
        name: z.string().describe("What ostiary_call takes as name."),
        description: z.string(),
        category: z.string(),
        risk: z.enum(RISKS),
        inputSchema: z
          .record(z.string(), z.unknown())
          .meta({ maxProperties: 10_000 })
          .optional()
          .describe(
            "What its arguments must fit; left out where the answer would be too long: ask for fewer tools.",
          ),
        score: z.number().describe("Higher fits better; 0 without a query."),
      }),
    ),
    total: z.int().describe("How many fit."),
  }),
  risk: "safe",
  effects: "read_only",
  needs: ["engine"],
  timeoutMs: 15_000,
  tags: ["search"],
  examples: [{ query: "read a file" }, { category: "system", limit: 3 }],
  async run({ query, limit, category }, { engine }) {
    const { total, tools } = await engine.find(query, { limit, category });
    let room = MAX_SCHEMA_CHARACTERS;
    const shown = ({
      wireName,
      description,
      category: kind,
      risk,
      inputSchema,
      score,
    }: FoundTool) => {
      room -= JSON.stringify(inputSchema).length;
      return {
        name: wireName,
        description: description.slice(0, MAX_DESCRIPTION).toWellFormed(),
        category: kind,
        risk,
        ...(room >= 0 ? { inputSchema } : {}),
        score,
      };
    };
    return { tools: tools.map(shown), total };
  },
});
