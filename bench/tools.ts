// Many harmless tools with realistic schemas, to see what a large registry costs.
import { z } from "zod";
import { defineTool, type Tool } from "../src/contract/tool.ts";

export function manyTools(count: number): Tool[] {
  return Array.from({ length: count }, (_, index) =>
    defineTool({
      name: `system/bench_${String(index).padStart(4, "0")}`,
      description: `Bench tool ${index}: answers with the number of words in the text it was given.`,
      input: z.strictObject({
        text: z.string().max(1000).describe("The text to count."),
        limit: z.int().min(1).max(100).default(10).describe("Stop counting here."),
        mode: z.enum(["words", "lines"]).optional().describe("What to count."),
      }),
      output: z.strictObject({ count: z.number().describe("How many there are.") }),
      risk: "safe",
      effects: "read_only",
      needs: [],
      timeoutMs: 5_000,
      tags: ["bench", `group-${index % 10}`],
      examples: [{ text: "one two", limit: 10 }],
      run: ({ text, limit }) => ({ count: Math.min(limit, text.split(" ").length) }),
    }),
  );
}
