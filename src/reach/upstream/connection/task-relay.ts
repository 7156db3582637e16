// A server that answers a call with a task (SEP-2663): the task is followed to its end, within the time of the call.
// Its questions go to the caller, and a cancel is passed on.
import { setTimeout as sleep } from "node:timers/promises";
import type { Json, JsonObject } from "../../../contract/call.ts";
import { UpstreamFault, type RequestOptions } from "../upstream.ts";
import { Deadline } from "./deadline.ts";
import { invalidResponse, isObject, rpcFault } from "./faults.ts";
import { MAX_ROUNDS, questionsOf } from "./questions.ts";

/** Sends one request about the task. */
export type TaskRequest = (
  method: "tasks/get" | "tasks/update" | "tasks/cancel",
  params: JsonObject,
  options: RequestOptions,
) => Promise<JsonObject>;

const MAX_ID = 1_024;
const [SHORTEST_POLL_MS, POLL_MS, LONGEST_POLL_MS] = [50, 1_000, 10_000];
/** One request about the task; the task itself may take longer. */
const REQUEST_MS = 15_000;
const CANCEL_MS = 5_000;
/** So many requests in a row may go wrong: the task goes on meanwhile. */
const MAX_FAILURES = 3;
const PASSING = new Set(["unreachable", "closed", "timeout"]);

export const isTask = ({ resultType }: JsonObject): boolean => resultType === "task";

/** The result of the call that became this task; throws UpstreamFault. */
export async function followTask(
  created: JsonObject,
  options: RequestOptions,
  request: TaskRequest,
): Promise<JsonObject> {
  const { taskId } = created;
  if (typeof taskId !== "string" || taskId.length === 0 || taskId.length > MAX_ID)
    throw invalidResponse("its task has no taskId");
  options.onTask?.();
  const late = new AbortController();
  const deadline = new Deadline(options.timeoutMs, () => late.abort());
  const signal = AbortSignal.any([options.signal, late.signal]);
  const task = new FollowedTask(taskId, { ...options, signal }, request, deadline);
  try {
    return await task.result(created);
  } catch (cause) {
    if (!task.hasEnded) cancelTask(taskId, request);
    if (options.signal.aborted) throw stopped("cancelled", "the call was cancelled", cause);
    if (late.signal.aborted)
      throw stopped("timeout", `its task did not end within ${options.timeoutMs} ms`, cause);
    throw cause;
  } finally {
    deadline.end();
  }
}

class FollowedTask {
  hasEnded = false;
  readonly #id: string;
  readonly #options: RequestOptions;
  readonly #request: TaskRequest;
  readonly #deadline: Deadline;
  readonly #answered = new Set<string>();
  #rounds = 0;

  constructor(id: string, options: RequestOptions, request: TaskRequest, deadline: Deadline) {
    this.#id = id;
    this.#options = options;
    this.#request = request;
    this.#deadline = deadline;
  }

  async result(created: JsonObject): Promise<JsonObject> {
    for (let task = created; ;) {
      await sleep(pollMs(task["pollIntervalMs"]), undefined, { signal: this.#options.signal });
      task = await this.#state();
      switch (task["status"]) {
        case "working":
          break;
        case "input_required":
          await this.#answer(task["inputRequests"]);
          break;
        case "completed":
          this.hasEnded = true;
          return resultOf(task["result"]);
        case "failed":
          this.hasEnded = true;
          throw rpcFault(task["error"]);
        case "cancelled":
          this.hasEnded = true;
          throw lost("the server cancelled its task");
        default:
          throw invalidResponse("its task has no known status");
      }
    }
  }

  async #state(): Promise<JsonObject> {
    for (let failures = 0; ;) {
      try {
        const task = await this.#send("tasks/get", {});
        if (task["taskId"] === this.#id) return task;
        throw invalidResponse("it tells of another task");
      } catch (cause) {
        if (!(cause instanceof UpstreamFault) || this.#options.signal.aborted) throw cause;
        // An error here is no error of the tool.
        if (cause.rpc) throw lost(`the server does not know its task any more: ${cause.message}`);
        if (!PASSING.has(cause.kind) || ++failures >= MAX_FAILURES)
          throw new UpstreamFault(cause.kind, cause.message, { dispatched: true, cause });
        await sleep(POLL_MS, undefined, { signal: this.#options.signal });
      }
    }
  }

  /** Each question is asked once; the server may need a while to take an answer in. */
  async #answer(given: Json | undefined): Promise<void> {
    const questions = questionsOf(given, this.#options);
    const open = Object.entries(questions).filter(([key]) => !this.#answered.has(key));
    if (open.length === 0) return;
    if (++this.#rounds > MAX_ROUNDS)
      throw invalidResponse(`its task asked for input more than ${MAX_ROUNDS} times`);
    this.#deadline.pause();
    try {
      const inputResponses = (await this.#options.ask?.(Object.fromEntries(open))) ?? {};
      await this.#send("tasks/update", { inputResponses });
      for (const [key] of open) this.#answered.add(key);
    } finally {
      this.#deadline.resume();
    }
  }

  #send(method: "tasks/get" | "tasks/update", params: JsonObject): Promise<JsonObject> {
    const { signal, maxResultBytes, ...rest } = this.#options;
    return this.#request(
      method,
      { taskId: this.#id, ...params },
      { ...rest, signal, maxResultBytes, timeoutMs: REQUEST_MS, onProgress: undefined },
    );
  }
}

function cancelTask(taskId: string, request: TaskRequest): void {
  const options = { signal: AbortSignal.timeout(CANCEL_MS), timeoutMs: CANCEL_MS };
  // The caller has its answer: whether the server takes the cancel changes nothing for it.
  request("tasks/cancel", { taskId }, options).catch(() => undefined);
}

function resultOf(result: Json | undefined): JsonObject {
  if (!isObject(result)) throw invalidResponse("its task is completed and has no result");
  return { ...result, resultType: "complete" };
}

const pollMs = (wanted: Json | undefined): number =>
  typeof wanted === "number" && Number.isFinite(wanted)
    ? Math.min(Math.max(wanted, SHORTEST_POLL_MS), LONGEST_POLL_MS)
    : POLL_MS;

const stopped = (kind: "cancelled" | "timeout", why: string, cause: unknown): UpstreamFault =>
  new UpstreamFault(kind, why, { dispatched: true, cause });

/** It began, and how far it came is not known. */
const lost = (why: string): UpstreamFault => new UpstreamFault("closed", why, { dispatched: true });
