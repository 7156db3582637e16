// What people ask of runs of workflows: to be cancelled, paused, resumed, run again; events for them, and their history.
import { z } from "zod";
import { endpoint, type ApiContext } from "./endpoint.ts";
import { executeTool } from "./executions.ts";
import { iso, jsonObject, time } from "./shapes.ts";
import { runShape, runView } from "./work-shapes.ts";

const runId = z.string().min(1).max(128);
const eventName = z
  .string()
  .regex(/^[^\s/]{1,255}$/, "1 to 255 characters without spaces and slashes");
const payload = jsonObject
  .default({})
  .describe("What the waiting steps get, or the input of the run");
/** A run that takes longer is answered as running. */
const ANSWER_MS = 5_000;

export const cancelRun = endpoint({
  name: "work.cancelRun",
  method: "POST",
  path: "/workflow-runs/{runId}/cancel",
  access: "caller",
  summary: "End a run: what is at work is cancelled, what it asked of people is taken back",
  input: z.strictObject({ runId }),
  output: runShape,
  run: async (input, { caller, doors }) => runView(await doors.runs.cancel(caller, input.runId)),
});

export const pauseRun = endpoint({
  name: "work.pauseRun",
  method: "POST",
  path: "/workflow-runs/{runId}/pause",
  access: "caller",
  summary: "Begin no further step of a run; what is at work ends by itself",
  input: z.strictObject({ runId }),
  output: runShape,
  run: async (input, { caller, doors }) => runView(await doors.runs.pause(caller, input.runId)),
});

export const resumeRun = endpoint({
  name: "work.resumeRun",
  method: "POST",
  path: "/workflow-runs/{runId}/resume",
  access: "caller",
  summary: "Let a paused run go on",
  input: z.strictObject({ runId }),
  output: runShape,
  run: async (input, { caller, doors }) => runView(await doors.runs.resume(caller, input.runId)),
});

/** Runs are started by a call, through the whole gate. */
const start = (args: Record<string, unknown>, context: ApiContext) =>
  executeTool.run(
    executeTool.input.parse({ name: "workflow/execute", arguments: args, timeout: ANSWER_MS }),
    context,
  );

export const rerunRun = endpoint({
  name: "work.rerunRun",
  method: "POST",
  path: "/workflow-runs/{runId}/rerun",
  access: "caller",
  summary:
    "Run a run of yours again from one of its steps, with its input or another one; earlier outputs are taken over",
  statuses: [200, 202],
  input: z.strictObject({
    runId,
    fromStep: z.string().min(1).max(64),
    input: jsonObject.optional().describe("Absent: that of the run before"),
  }),
  output: executeTool.output,
  async run({ runId: id, fromStep, input }, context) {
    const before = await context.doors.runs.ofOwn(context.caller, id);
    return start(
      {
        workflowId: before.workflowId,
        input: input ?? before.input,
        rerun: { runId: id, fromStep },
      },
      context,
    );
  },
});

export const sendRunEvent = endpoint({
  name: "work.sendRunEvent",
  method: "POST",
  path: "/workflow-runs/{runId}/events/{name}",
  access: "caller",
  summary: "Bring an event to the steps of one run that wait for it",
  input: z.strictObject({ runId, name: eventName, payload }),
  output: z.object({ delivered: z.array(z.string()).describe("Ids of runs") }),
  async run({ runId: id, name, payload: said }, { caller, doors }) {
    return { delivered: [...(await doors.runs.send(caller, id, { name, payload: json(said) }))] };
  },
});

export const sendEvent = endpoint({
  name: "work.sendEvent",
  method: "POST",
  path: "/events/{name}",
  access: "caller",
  summary:
    "Bring an event to all your runs that wait for it, and start your workflow of that name where its trigger is event",
  statuses: [200, 202],
  input: z.strictObject({ name: eventName, payload }),
  output: z.object({
    delivered: z.array(z.string()).describe("Ids of runs"),
    started: executeTool.output.optional().describe("The call that started a run"),
  }),
  async run({ name, payload: said }, context) {
    const { caller, doors } = context;
    const delivered = [...(await doors.runs.sendToAll(caller, { name, payload: json(said) }))];
    const workflowId = await doors.runs.startedBy(caller, name);
    if (workflowId === null) return { delivered };
    return { delivered, started: await start({ workflowId, input: said }, context) };
  },
});

export const listRunEvents = endpoint({
  name: "work.listRunEvents",
  method: "GET",
  path: "/workflow-runs/{runId}/events",
  access: "caller",
  summary: "What happened in a run, oldest first; `after` is the number of the last entry seen",
  input: z.strictObject({
    runId,
    after: z.int().min(0).default(0),
    limit: z.int().min(1).max(200).default(100),
  }),
  output: z.object({
    items: z.array(
      z.object({
        seq: z.int(),
        at: time,
        kind: z.string().describe("run.started, step.started, step.success, run.paused, …"),
        body: jsonObject.describe("Which step, which execution, why; secrets are masked"),
      }),
    ),
  }),
  async run({ runId: id, after, limit }, { caller, doors }) {
    const events = await doors.work.listRunEvents(caller, id, { after, limit });
    return {
      items: events.map(({ seq, at, kind, body }) => ({
        seq,
        at: iso(at),
        kind,
        body: { ...body },
      })),
    };
  },
});

/** What came over the wire is JSON. */
const json = (value: Record<string, unknown>) =>
  value as Parameters<ApiContext["doors"]["runs"]["send"]>[2]["payload"];
