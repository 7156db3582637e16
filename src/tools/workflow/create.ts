import { z } from "zod";
import type { JsonObject } from "../../contract/call.ts";
import { defineTool } from "../../contract/tool.ts";
import { workflowDraft } from "./shared/step-shape.ts";

export default defineTool({
  name: "workflow/create",
  description:
    "Keep a list of tool calls as a workflow to run later with workflow/execute. Steps run in order, or by their needs; inputs may use {{input.x}} and {{steps.<id>.output.path}} (values only, no code). " +
    "A step calls a tool, runs another workflow, or waits for a time, a person or an event. " +
    "Each step runs as the caller through the full gate: a workflow grants nothing. The same name again makes a new version. Answers the id, the version, the highest risk of its steps and warnings.",
  input: workflowDraft,
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
