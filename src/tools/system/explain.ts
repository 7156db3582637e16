import { z } from "zod";
import { defineTool, toolError } from "../../contract/tool.ts";

const gate = z.strictObject({
  stage: z.string(),
  verdict: z.enum(["allow", "deny", "hold"]),
  ms: z.number(),
  reason: z.string().optional(),
  message: z.string().optional(),
  remedy: z.string().optional(),
  rule: z.string().optional().describe("File and line of the rule."),
  asks: z.string().optional().describe("Why a person must be asked."),
});

export default defineTool({
  name: "system/explain",
  description:
    "Say why a call of yours was refused, or what would happen to one, stage by stage, and what would have to change. " +
    "Nothing is run. Give `executionId` of an earlier call, or `tool` with the `arguments` you have in mind.",
  input: z
    .strictObject({
      tool: z.string().min(1).max(128).optional().describe("Name of a tool you can see."),
      arguments: z
        .record(z.string().max(128), z.unknown())
        .meta({ maxProperties: 100 })
        .optional()
        .describe("What you would call `tool` with."),
      executionId: z.string().min(1).max(128).optional().describe("An earlier call of yours."),
    })
    // Not in the schema: models' interfaces refuse oneOf at its top.
    .refine(
      ({ tool, executionId }) => (tool === undefined) !== (executionId === undefined),
      "give tool or executionId",
    )
    .refine(
      ({ executionId, arguments: args }) => executionId === undefined || args === undefined,
      "arguments go with tool only",
    ),
  output: z.strictObject({
    tool: z.string(),
    verdict: z.enum(["allow", "deny", "hold"]),
    summary: z.string().describe("One sentence."),
    gates: z.array(gate),
    wouldChange: z.array(z.string()).describe("What would have to change for another answer."),
  }),
  risk: "safe",
  effects: "read_only",
  needs: ["engine"],
  timeoutMs: 5_000,
  tags: ["diagnostics"],
  examples: [
    { tool: "file/read", arguments: { path: "notes.md" } },
    { executionId: "exec_1794700800000_5fbz0nm2v8x1r4c7d9e3g6h0jk" },
  ],
  async run({ tool, executionId, arguments: args }, { engine }) {
    const found =
      executionId === undefined
        ? await engine.explain({ tool: tool ?? "", ...(args ? { arguments: args as never } : {}) })
        : await engine.explain({ executionId });
    // The same text for a tool that does not exist and for one that is hidden from this caller.
    if (!found)
      throw toolError(
        "unknown",
        executionId === undefined
          ? `Tool '${tool}' not found`
          : `Execution '${executionId}' not found`,
        { code: "NOT_FOUND", remedy: "list the tools you may use, or your executions" },
      );
    return {
      tool: found.tool,
      verdict: found.verdict,
      summary: found.summary,
      gates: found.gates.map(({ stage, verdict, ms, reason, message, remedy, rule, asks }) => ({
        stage,
        verdict,
        ms,
        ...given({ reason, message, remedy, rule, asks }),
      })),
      wouldChange: [...found.wouldChange],
    };
  },
});

function given(fields: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
