// tasks/get, tasks/update and tasks/cancel. A task belongs to the key that made the call; for all others it does not
// exist. Nothing here can approve: input to a task reaches only the upstream server that asked for it.
import type { Server, ServerContext, StandardSchemaV1 } from "@modelcontextprotocol/server";
import type { Caller, Json, Outcome } from "../../../contract/call.ts";
import { AppError } from "../../../contract/errors.ts";
import { McpRefusal } from "../refusal.ts";
import type { McpRequest, McpEndpoint, Traced } from "../server.ts";
import { requireTasks } from "./declared.ts";
import { detailedTask } from "./task.ts";

type TaskParams = { readonly taskId: string };
const TASK: StandardSchemaV1<TaskParams> = {
  "~standard": {
    version: 1,
    vendor: "ostiary",
    validate(params) {
      const { taskId } = params as Partial<TaskParams>; // an object, from the SDK
      return typeof taskId === "string"
        ? { value: { taskId } }
        : { issues: [{ message: "taskId: expected the id that the call was answered with" }] };
    },
  },
};
/** Longer than every id of this server; longer ids are not looked up. */
const MAX_ID = 128;

export function installTasks(server: Server, endpoint: McpEndpoint, traced: Traced): void {
  const handle = (
    method: "tasks/get" | "tasks/update" | "tasks/cancel",
    work: (task: FoundTask, exchange: McpRequest, ctx: ServerContext) => Promise<object> | object,
  ): void => {
    server.setRequestHandler(method, { params: TASK }, ({ taskId }, ctx) =>
      traced(endpoint, ctx, method, {}, async (exchange) => {
        requireTasks(endpoint, ctx);
        const outcome = await taskOutcome(endpoint, exchange.caller, taskId);
        if (outcome === null) throw notFound();
        return { ...(await work({ taskId, outcome }, exchange, ctx)) };
      }),
    );
  };
  handle("tasks/get", ({ taskId, outcome }, { caller }, ctx) => {
    // The client reads the content of the result, as if it had waited for the answer.
    if (outcome.endedAt !== null)
      endpoint.doors.clientTaint.read(caller, ctx.sessionId ?? null, outcome);
    const call = endpoint.resumableCalls.task(taskId);
    return detailedTask(endpoint, outcome, call?.openQuestions ?? null);
  });
  handle("tasks/update", ({ taskId }, _exchange, ctx) => {
    const { inputResponses } = ctx.mcpReq;
    if (inputResponses === undefined)
      throw new McpRefusal({
        code: -32602,
        message: "inputResponses: expected an object with an answer for each key; see tasks/get",
      });
    const answers = inputResponses as Readonly<Record<string, Json>>; // parsed JSON
    endpoint.resumableCalls.task(taskId)?.giveAnswers(answers);
    return {};
  });
  handle("tasks/cancel", async ({ taskId, outcome }, { caller }) => {
    if (outcome.endedAt === null) await cancel(endpoint, caller, taskId);
    return {};
  });
}

interface FoundTask {
  readonly taskId: string;
  readonly outcome: Outcome;
}

/** Read from the record, so that any instance can answer. Null for unknown ids and for tasks of other callers. */
export async function taskOutcome(
  { doors }: McpEndpoint,
  caller: Caller,
  taskId: string,
): Promise<Outcome | null> {
  const record = taskId.length <= MAX_ID ? await doors.history.get(caller, taskId) : null;
  if (record === null || record.keyId !== caller.keyId) return null;
  return doors.engine.follow(caller, taskId, { ms: 0 });
}

const notFound = (): McpRefusal =>
  new McpRefusal({ code: -32602, message: "Task not found: no task of this caller has this id" });

/** A task that has just ended, or is about to run, is not changed: `tasks/get` shows its state. */
async function cancel({ doors }: McpEndpoint, caller: Caller, taskId: string): Promise<void> {
  try {
    await doors.engine.cancel(caller, taskId);
  } catch (cause) {
    if (!(cause instanceof AppError && cause.code === "CONFLICT")) throw cause;
  }
}
