import { z } from "zod";
import type { Json, JsonObject } from "../../contract/call.ts";
import type { ProgramHost } from "../../contract/powers.ts";
import { plainInnerResult } from "./shared/inner-result.ts";
import { CATEGORIES, defineTool, toolError } from "../../contract/tool.ts";

const found = z.strictObject({
  limit: z.int().min(1).max(50).default(10),
  category: z.enum(CATEGORIES).optional(),
});

const nullable = <T extends z.ZodType>(type: T, what: string) => type.nullable().describe(what);

export default defineTool({
  name: "system/run_code",
  wireName: "ostiary_code",
  aliases: ["system_run_code"],
  description:
    "Run a small JavaScript program that calls several tools and returns only what matters. It is the body of an async function: `await call(name, arguments)` calls a tool " +
    "as ostiary_call does, a refusal is thrown as an Error with code and reason, `await tools.find(query)` finds tools, `console.log` is shown, `return` answers. " +
    "No network, files, timers or modules; 50 calls, 32 MB, 2 s of its own work. A program whose call must wait for a person answers `suspended` and goes on by itself after the decision: " +
    "ask for its result with the programId, never run the code again.",
  input: z.strictObject({
    code: z
      .string()
      .min(1)
      .max(65_536)
      .optional()
      .describe(
        "The program, e.g. const a = await call('system_echo', { text: 'hi' }); return a.text;",
      ),
    programId: z
      .string()
      .min(1)
      .max(100)
      .optional()
      .describe("Instead of code: a program that was suspended, to wait for its result."),
  }),
  output: z.strictObject({
    result: z.unknown().optional().describe("What the program returned."),
    suspended: z
      .strictObject({
        programId: z.string(),
        waitsFor: z.array(
          z.strictObject({
            executionId: z.string(),
            approvalId: nullable(z.string(), "Null: it has not ended yet; nobody is asked."),
            tool: z.string(),
            expiresAt: nullable(z.number(), "When the question counts as declined, in ms."),
          }),
        ),
      })
      .optional()
      .describe("Instead of a result: the program waits for these calls and goes on by itself."),
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
  async run({ code: source, programId }, { code, engine }, context) {
    const host: ProgramHost = {
      tell(outcome) {
        const result = plainInnerResult(outcome);
        if (result.fault === null) return { value: result.output };
        const soFar = result.partial === null ? {} : { result: result.partial };
        const { executionId } = outcome;
        return { fault: { ...result.fault, executionId, ...soFar } as unknown as JsonObject };
      },
      async find(query, options) {
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
      notes(outcomes) {
        const notes = {
          calls: outcomes.map(({ executionId }) => executionId),
          ...engine.taintFrom(outcomes),
        };
        context.note(notes);
        return notes;
      },
    };
    const isNew = source !== undefined;
    if (isNew === (programId !== undefined))
      throw toolError("invalid_arguments", "expected either code or programId", {
        code: "BAD_REQUEST",
        remedy: "give code to run a program, or the programId of one that was suspended",
        errors: [{ path: "/code", message: "expected either this or programId" }],
      });
    const answered = await (isNew ? code.run(source, host) : code.goOn(String(programId), host));
    const { notes, result, suspended, printed, calls } = answered;
    context.note(notes);
    return {
      ...(suspended
        ? { suspended: { ...suspended, waitsFor: [...suspended.waitsFor] } }
        : { result: result ?? null }),
      printed: [...printed],
      calls: [...calls],
    };
  },
});
