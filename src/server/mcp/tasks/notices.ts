// Subscriptions to the states of tasks (SEP-2663): `subscriptions/listen` with `taskIds`. The SDK serves the stream and
// knows no tasks, so their notifications are put between its own.
import type { Caller, Json, JsonObject } from "../../../contract/call.ts";
import { declaresTasks } from "../../../util/mcp-tasks.ts";
import { isObject } from "../json-rpc.ts";
import type { McpEndpoint } from "../server.ts";
import { undeclared } from "./declared.ts";
import { taskOutcome } from "./handlers.ts";
import { detailedTask } from "./task.ts";

/** Tasks of one stream; further ones are not acknowledged. */
const MAX_TASKS = 32;
const FOLLOW_MS = 30_000;
/** How often the open questions are checked. */
const LOOK_EVERY_MS = 250;
const SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId";
const TOOLS_CHANGED = "notifications/tools/list_changed";

export interface TaskListening {
  /** The request for the SDK, which ends a stream that subscribes to nothing it knows. */
  readonly body: Json;
  /** The SDK's stream with the states of the tasks in it. */
  withStates(response: Response): Response;
}

/** Null: the request names no tasks. Throws a McpRefusal where the client did not declare them. */
export async function taskListening(
  endpoint: McpEndpoint,
  caller: Caller,
  body: Json | undefined,
): Promise<TaskListening | null> {
  const { id, params } = isObject(body) ? body : {};
  const { notifications, _meta: meta } = isObject(params) ? params : {};
  const wanted = isObject(notifications) ? notifications["taskIds"] : undefined;
  if (!isObject(body) || !isObject(params) || !isObject(notifications) || !Array.isArray(wanted))
    return null;
  const capabilities = isObject(meta) ? meta[CAPABILITIES] : undefined;
  if (!isObject(capabilities) || !declaresTasks(capabilities)) throw undeclared();
  const taskIds = await ownTasks(endpoint, caller, wanted as readonly Json[]);
  const wantsTools = notifications["toolsListChanged"] === true;
  const kept = { ...notifications, toolsListChanged: wantsTools || taskIds.length > 0 };
  return {
    body: { ...body, params: { ...params, notifications: kept } },
    withStates(response) {
      if (!response.body || taskIds.length === 0) return response;
      const gone = new AbortController();
      const waiting = [...taskIds];
      const states = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          const shown = shownFrame(chunk, taskIds, wantsTools);
          if (shown) controller.enqueue(shown);
          // The first event is the acknowledgement, and nothing may come before it.
          for (const taskId of waiting.splice(0))
            watch(endpoint, caller, taskId, gone.signal, (task) =>
              controller.enqueue(
                frame("notifications/tasks", { ...task, _meta: { [SUBSCRIPTION_ID]: id ?? null } }),
              ),
            ).catch((cause: unknown) =>
              endpoint.doors.log.debug({ err: cause }, "a task is not followed any more"),
            );
        },
        flush: () => gone.abort(),
        cancel: () => gone.abort(),
      });
      return new Response(response.body.pipeThrough(states), response);
    },
  };
}

const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";

async function ownTasks(
  endpoint: McpEndpoint,
  caller: Caller,
  wanted: readonly Json[],
): Promise<string[]> {
  const ids = new Set(wanted.filter((one) => typeof one === "string").slice(0, MAX_TASKS));
  const found = await Promise.all(
    [...ids].map(async (id) => ((await taskOutcome(endpoint, caller, id)) ? id : null)),
  );
  return found.filter((id) => id !== null);
}

/** Sends the present state and each that follows; resolves when the task has ended. */
async function watch(
  endpoint: McpEndpoint,
  caller: Caller,
  taskId: string,
  signal: AbortSignal,
  tell: (task: object) => void,
): Promise<void> {
  const { engine, clientTaint } = endpoint.doors;
  let told = "";
  for (let ms = 0; !signal.aborted; ms = FOLLOW_MS) {
    const next = new AbortController();
    const questions = (): string =>
      JSON.stringify(endpoint.resumableCalls.task(taskId)?.openQuestions ?? null);
    const before = questions();
    const looking = setInterval(() => questions() !== before && next.abort(), LOOK_EVERY_MS);
    let outcome;
    try {
      const either = AbortSignal.any([signal, next.signal]);
      outcome = await engine.follow(caller, taskId, { ms, signal: either });
    } finally {
      clearInterval(looking);
    }
    if (signal.aborted) return;
    if (outcome.endedAt !== null) clientTaint.read(caller, null, outcome);
    const open = endpoint.resumableCalls.task(taskId)?.openQuestions ?? null;
    const task = detailedTask(endpoint, outcome, open);
    const text = JSON.stringify(task);
    if (text !== told) tell(task);
    told = text;
    if (outcome.endedAt !== null) return;
  }
}

/** Every chunk of the SDK is one event. The acknowledgement names the tasks; events not asked for are left out. */
function shownFrame(
  chunk: Uint8Array,
  taskIds: readonly string[],
  wantsTools: boolean,
): Uint8Array | null {
  const text = Buffer.from(chunk).toString("utf8");
  const data = /^data: (.*)$/m.exec(text)?.[1];
  if (data === undefined) return chunk;
  const message = JSON.parse(data) as JsonObject; // the SDK's own
  if (message["method"] === TOOLS_CHANGED && !wantsTools) return null;
  if (message["method"] !== "notifications/subscriptions/acknowledged") return chunk;
  const { notifications, ...params } = message["params"] as JsonObject & {
    readonly notifications: JsonObject;
  };
  const { toolsListChanged: _added, ...others } = notifications;
  const agreed = wantsTools ? notifications : others;
  return frame(message["method"], { ...params, notifications: { ...agreed, taskIds } });
}

const frame = (method: string, params: object): Uint8Array =>
  Buffer.from(`event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", method, params })}\n\n`);
