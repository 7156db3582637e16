import { z } from "zod";
import type { JsonObject } from "../../contract/call.ts";
import { defineTool } from "../../contract/tool.ts";

const step = z.strictObject({
  id: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/)
    .max(64)
    .optional()
    .describe("Name of the step, for references. Default: step1, step2, …"),
  tool: z.string().min(3).max(100).describe("The tool to call, e.g. file/read."),
  input: z
    .record(z.string().max(200), z.unknown())
    .default({})
    .meta({ maxProperties: 100 })
    .describe("Arguments of the tool; texts may hold {{input.x}} and {{steps.<id>.output.path}}."),
  if: z
    .string()
    .min(1)
    .max(1_000)
    .optional()
    .describe(
      'Run the step only when this holds, e.g. {{steps.a.output.total}} > 0 and {{input.mode}} == "full".',
    ),
  continueOnError: z
    .boolean()
    .default(false)
    .describe("Go on with the next step when this one fails."),
  timeoutSeconds: z.int().min(1).max(300).optional().describe("Shorter time for this step."),
});

export default defineTool({
  name: "workflow/create",
  description:
    "Keep a list of tool calls as a workflow to run later with workflow/execute. Steps run in order; inputs may use {{input.x}} and {{steps.<id>.output.path}} (values only, no code). " +
    "Each step runs as the caller through the full gate: a workflow grants nothing. The same name again makes a new version. Answers the id, the version, the highest risk of its steps and warnings.",
  input: z.strictObject({
    name: z.string().min(1).max(255).describe("Name of the workflow, unique among yours."),
    description: z.string().max(1_000).default("").describe("What it is for."),
    trigger: z
      .enum(["manual", "scheduled", "webhook", "event"])
      .default("manual")
      .describe("How it is meant to be started; scheduled ones need workflow/schedule."),
    steps: z.array(step).min(1).max(50).describe("What to do, in order."),
    inputSchema: z
      .record(z.string().max(200), z.unknown())
      .optional()
      .meta({ maxProperties: 50 })
      .describe(
        "JSON Schema of the input a run takes; type object, without references and patterns.",
      ),
  }),
  output: z.strictObject({
    workflowId: z.string(),
    version: z.int(),
    risk: z.enum(["safe", "moderate", "dangerous"]).describe("The highest of its steps."),
    warnings: z.array(z.string()),
  }),
  risk: "moderate",
  effects: "system_write",
  needs: ["workflows"],
  timeoutMs: 15_000,
  tags: ["workflow"],
  examples: [
    {
      name: "Greeting",
      steps: [
        { id: "hello", tool: "system/echo", input: { text: "hello {{input.name}}" } },
        {
          id: "again",
          tool: "system/echo",
          input: { text: "{{steps.hello.output.text}}" },
          if: '{{input.name}} != "nobody"',
        },
      ],
      inputSchema: {
        type: "object",
        properties: { name: { type: "string" } },
        required: ["name"],
        additionalProperties: false,
      },
    },
  ],
  run({ steps, inputSchema, ...draft }, { workflows }) {
    return workflows.create({
      ...draft,
      // Arguments arrive as JSON.
      steps: steps.map(({ id, input, if: condition, timeoutSeconds, ...rest }) => ({
        ...rest,
        input: input as JsonObject,
        ...(id === undefined ? {} : { id }),
        ...(condition === undefined ? {} : { if: condition }),
        ...(timeoutSeconds === undefined ? {} : { timeoutSeconds }),
      })),
      ...(inputSchema === undefined ? {} : { inputSchema: inputSchema as JsonObject }),
    });
  },
});
