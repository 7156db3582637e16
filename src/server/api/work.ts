// Workflows and their runs, to be looked at: each caller's own, to administrators those of the tenant.
import { z } from "zod";
import { endpoint } from "./endpoint.ts";
import { jsonObject } from "./shapes.ts";
import { id, limit, offset, query, userId } from "./work-query.ts";
import { runShape, runView, workflowShape, workflowView } from "./work-shapes.ts";

const wholeRun = runShape.extend({
  input: jsonObject.describe("Secrets are masked"),
  output: z.unknown().describe("null until it has succeeded"),
});

export const listWorkflows = endpoint({
  name: "work.listWorkflows",
  method: "GET",
  path: "/workflows",
  access: "caller",
  summary: "Workflows in their newest version, newest first",
  input: z.strictObject({ userId, limit, offset }),
  output: z.object({ items: z.array(workflowShape) }),
  run: async (input, { caller, doors }) => ({
    items: (await doors.work.listWorkflows(caller, query(input))).map(workflowView),
  }),
});

export const listRuns = endpoint({
  name: "work.listRuns",
  method: "GET",
  path: "/workflows/{workflowId}/runs",
  access: "caller",
  summary: "Runs of a workflow with their steps, newest first",
  input: z.strictObject({ workflowId: id, userId, limit, offset }),
  output: z.object({ items: z.array(runShape) }),
  run: async ({ workflowId, ...input }, { caller, doors }) => ({
    items: (await doors.work.listRuns(caller, workflowId, query(input))).map(runView),
  }),
});

export const getRun = endpoint({
  name: "work.getRun",
  method: "GET",
  path: "/workflow-runs/{runId}",
  access: "caller",
  summary: "One run of a workflow: steps, input and output; for administrators anybody's",
  input: z.strictObject({ runId: id }),
  output: wholeRun,
  async run({ runId }, { caller, doors }) {
    const row = await doors.work.getRun(caller, runId);
    return { ...runView(row), input: { ...row.input }, output: row.output };
  },
});
