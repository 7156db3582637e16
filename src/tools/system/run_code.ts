import { z } from "zod";
import type { Json, JsonObject, Outcome } from "../../contract/call.ts";
import { plainInnerResult } from "./shared/inner-result.ts";
import { CATEGORIES, defineTool } from "../../contract/tool.ts";

const found = z.strictObject({
  limit: z.int().min(1).max(50).default(10),
  category: z.enum(CATEGORIES).optional(),
});

export default defineTool({
  name: "system/run_code",
  wireName: "ostiary_code",
  aliases: ["system_run_code"],
  description:
    "Run a small JavaScript program that calls several tools and returns only what matters. It is the body of an async function: `await call(name, arguments)` calls a tool " +
    "as ostiary_call does, a refusal is thrown as an Error with code and reason, `await tools.find(query)` finds tools, `console.log` is shown, `return` answers. " +
    "No network, files, timers or modules; 50 calls, 32 MB, 2 s of its own work.",
  input: z.strictObject({
    code: z
      .string()
      .min(1)
      .max(65_536)
      .describe(
        "The program, e.g. const a = await call('system_echo', { text: 'hi' }); return a.text;",
      ),
  }),
  output: z.strictObject({
    result: z.unknown().describe("What the program returned."),
    printed: z.array(z.string()).describe("What it printed."),
    calls: z
      .array(
        z.strictObject({
          name: z.string(),
          executionId: z.string(),
          status: z.string(),
        }),
      )
      .describe("Executions it made, in the order they ended."),
  }),
  risk: "moderate",
  effects: "network",
  needs: ["code", "engine"],
  timeoutMs: 120_000,
  tags: ["search", "code"],
  examples: [
    {
      code: "const { tools: found } = await tools.find('echo', { limit: 1 });\nreturn await call(found[0].name, { text: 'hi' });",
    },
  ],
  async run({ code: source }, { code, engine }, context) {
    const calls: { name: string; executionId: string; status: string }[] = [];
    const outcomes: Outcome[] = [];
    const program = {
      source,
      async call(name: string, given: JsonObject, signal: AbortSignal) {
        const outcome = await engine.relay({ name, arguments: given, signal });
        const { executionId, status } = outcome;
        calls.push({ name, executionId, status });
        outcomes.push(outcome);
        const result = plainInnerResult(outcome);
        if (result.fault === null) return { value: result.output };
        const soFar = result.partial === null ? {} : { result: result.partial };
        return { fault: { ...result.fault, executionId, ...soFar } as unknown as JsonObject };
      },
      async find(query: string, options: JsonObject) {
        const { success, data, error } = found.safeParse(options);
        if (!success)
          return {
            fault: {
              code: "BAD_REQUEST",
              reason: "invalid_arguments",
              message: `tools.find: ${error.issues.map(({ path, message }) => `${path.join(".")} ${message}`).join("; ")}`,
            },
          };
        const { total, tools } = await engine.find(query, data);
        const shown = tools.map(
          ({ wireName, description, category, risk, inputSchema, score }): JsonObject => ({
            name: wireName,
            description,
            category,
            risk,
            inputSchema,
            score,
          }),
        );
        return { value: { tools: shown, total } as Json };
      },
    };
    try {
      const { result, printed } = await code.run(program);
      return { result, printed: [...printed], calls };
    } finally {
      context.note({
        calls: calls.map(({ executionId }) => executionId),
        ...engine.taintFrom(outcomes),
      });
    }
  },
});
