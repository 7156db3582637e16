import { z } from "zod";
import type { JsonObject } from "../../contract/call.ts";
import { defineTool } from "../../contract/tool.ts";
import { stepDraft } from "./shared/step-shape.ts";

export default defineTool({
  name: "workflow/create",
  description:
    "Keep a list of tool calls as a workflow to run later with workflow/execute. Steps run in order, or by their needs; inputs may use {{input.x}} and {{steps.<id>.output.path}} (values only, no code). " +
    "A step calls a tool, runs another workflow, or waits for a time, a person or an event. " +
    "Each step runs as the caller through the full gate: a workflow grants nothing. The same name again makes a new version. Answers the id, the version, the highest risk of its steps and warnings.",
  input: z.strictObject({
    name: z.string().min(1).max(255).describe("Name of the workflow, unique among yours."),
    description: z.string().max(1_000).default("").describe("What it is for."),
    trigger: z
      .enum(["manual", "scheduled", "webhook", "event"])
      .default("manual")
      .describe(
        "How it is meant to be started; scheduled ones need workflow/schedule, event: POST /api/v1/events/{name of the workflow}, its body is the input. webhook is refused.",
      ),
    steps: z.array(stepDraft).min(1).max(50).describe("What to do, in order."),
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
      steps: JSON.parse(JSON.stringify(steps)) as Parameters<typeof workflows.create>[0]["steps"],
      ...(inputSchema === undefined ? {} : { inputSchema: inputSchema as JsonObject }),
    });
  },
});
