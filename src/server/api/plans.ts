// The tool step of other people's pipelines: a plan's tools in order, their results appended to the state.
import { z } from "zod";
import type { JsonObject } from "../../contract/call.ts";
import type { PlannedTool } from "../../agents/plan-step.ts";
import { watchCaller } from "../http/long-lived.ts";
import { endpoint } from "./endpoint.ts";
import { jsonObject, served, toolName } from "./shapes.ts";

const MAX_TOOLS = 100;
const MAX_WAIT_SECONDS = 3600;

const plannedTool = z.union(
  [toolName, z.strictObject({ name: toolName, input: jsonObject.optional() })],
  "expected a tool's name, or an object with name and input",
);

const plan = z.looseObject({
  tools: z
    .array(plannedTool)
    .max(MAX_TOOLS)
    .nullish()
    .describe("In order; a bare name is called without input"),
});

const toolResult = z.object({
  tool: z.string().describe("As the plan spells it"),
  success: z.boolean(),
  result: z.unknown().describe("Null where there is none"),
  error: z.string().nullable(),
  elapsed: z.number().describe("Seconds"),
});

export const executePlan = endpoint({
  name: "tools.executePlan",
  method: "POST",
  path: "/plans/execute",
  access: "caller",
  summary: "Run the tools of a plan in order; a blocked or failing one does not stop the others",
  input: z.strictObject({
    state: z
      .looseObject({
        plan: plan.nullish(),
        tool_results: z.array(z.unknown()).nullish().describe("Kept; the new ones come after them"),
      })
      .describe("The state of the pipeline; comes back as it is, with tool_results"),
    wait: z
      .int()
      .min(0)
      .max(MAX_WAIT_SECONDS)
      .optional()
      .describe("Seconds to wait for approvals altogether; left out: what the approval rules say"),
  }),
  output: z.object({
    success: served,
    skipped: z.string().nullable().describe("Why no tool ran; the state is then unchanged"),
    state: z.looseObject({
      tool_results: z
        .array(z.union([toolResult, z.unknown()]))
        .nullish()
        .describe("Those that came with the state, then one for each tool of the plan"),
    }),
  }),
  async run({ state, wait }, context) {
    const { entry, traceparent, tracestate, within, ip, doors } = context;
    const watch = watchCaller(doors, context.caller);
    try {
      const { skipped, results } = await doors.planStep.run({
        tools: (state.plan?.tools ?? []).map(plannedToolOf),
        waitSeconds: wait,
        caller: watch.caller,
        signal: AbortSignal.any([context.signal, watch.signal]),
        request: {
          entry,
          within,
          ip,
          ...(traceparent === undefined ? {} : { traceparent }),
          ...(tracestate === undefined ? {} : { tracestate }),
        },
      });
      if (skipped !== null) return { success: true as const, skipped, state };
      const all = [...(state.tool_results ?? []), ...results];
      return { success: true as const, skipped, state: { ...state, tool_results: all } };
    } finally {
      watch.end();
    }
  },
});

function plannedToolOf(planned: z.output<typeof plannedTool>): PlannedTool {
  if (typeof planned === "string") return planned;
  const { name, input } = planned;
  return { name, ...(input === undefined ? {} : { input: input as JsonObject }) };
}
