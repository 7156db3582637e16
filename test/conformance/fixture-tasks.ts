// Tasks of the fixture server (SEP-2663), in memory, and the tools that the referee makes them with.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { ProtocolError, type CallToolResult } from "@modelcontextprotocol/server";

type Responses = Readonly<Record<string, unknown>>;
type Questions = Readonly<Record<string, { readonly method: string; readonly params: object }>>;

/** What the work of a task has: its cancel, and a way to ask the client. */
export interface TaskContext {
  readonly signal: AbortSignal;
  readonly ask: (questions: Questions) => Promise<Responses>;
}

interface FixtureTask {
  readonly task: {
    readonly taskId: string;
    status: string;
    readonly createdAt: string;
    lastUpdatedAt: string;
    readonly ttlMs: number;
    readonly pollIntervalMs: number;
  };
  readonly cancel: AbortController;
  ended: object;
  open: Record<string, Questions[string]>;
  readonly given: Record<string, unknown>;
  answered: () => void;
}

export class FixtureTasks {
  readonly #tasks = new Map<string, FixtureTask>();

  create(work: (context: TaskContext) => Promise<CallToolResult>) {
    const at = new Date().toISOString();
    const one: FixtureTask = {
      task: {
        taskId: randomUUID(),
        status: "working",
        createdAt: at,
        lastUpdatedAt: at,
        ttlMs: 600_000,
        pollIntervalMs: 50,
      },
      cancel: new AbortController(),
      ended: {},
      open: {},
      given: {},
      answered: () => undefined,
    };
    this.#tasks.set(one.task.taskId, one);
    const { signal } = one.cancel;
    work({ signal, ask: (questions) => ask(one, questions) }).then(
      (result) => end(one, "completed", { result }),
      (cause: unknown) => {
        if (signal.aborted) return end(one, "cancelled", {});
        end(one, "failed", { error: { code: -32603, message: String(cause) } });
      },
    );
    return { resultType: "task" as const, ...one.task };
  }

  get(taskId: string) {
    const { task, ended, open } = this.#found(taskId);
    return {
      ...task,
      ...ended,
      ...(task.status === "input_required" ? { inputRequests: { ...open } } : {}),
    };
  }

  update(taskId: string, responses: Responses): object {
    const one = this.#found(taskId);
    for (const [key, response] of Object.entries(responses)) {
      if (!Object.hasOwn(one.open, key)) continue;
      one.given[key] = response;
      const { [key]: _answered, ...open } = one.open;
      one.open = open;
    }
    if (Object.keys(one.open).length === 0) one.answered();
    return {};
  }

  cancel(taskId: string): object {
    this.#found(taskId).cancel.abort();
    return {};
  }

  #found(taskId: string): FixtureTask {
    const one = this.#tasks.get(taskId);
    if (!one) throw new ProtocolError(-32602, "Task not found");
    return one;
  }
}

function end(one: FixtureTask, status: string, ended: object): void {
  Object.assign(one.task, { status, lastUpdatedAt: new Date().toISOString() });
  one.ended = ended;
}

async function ask(one: FixtureTask, questions: Questions): Promise<Responses> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  one.open = { ...questions };
  one.answered = resolve;
  one.task.status = "input_required";
  one.cancel.signal.addEventListener("abort", () => reject(new Error("cancelled")));
  await promise;
  one.task.status = "working";
  return one.given;
}

const text = (words: string): CallToolResult => ({ content: [{ type: "text", text: words }] });
const form = (message: string, field: string, type: string) => ({
  method: "elicitation/create",
  params: {
    mode: "form",
    message,
    requestedSchema: { type: "object", properties: { [field]: { type } }, required: [field] },
  },
});

/** What each tool does, as a task or at once where the client knows no tasks. */
export const TASK_WORK: Readonly<
  Record<string, (args: Record<string, unknown>, context: TaskContext) => Promise<CallToolResult>>
> = {
  slow_compute: async ({ seconds = 0, label = "" }, { signal }) => {
    await sleep(Number(seconds) * 1000, undefined, { signal });
    return text(`computed ${String(label)}`);
  },
  failing_job: async (_args, { signal }) => {
    await sleep(1_000, undefined, { signal });
    return { ...text("it failed"), isError: true };
  },
  protocol_error_job: async (_args, { signal }) => {
    await sleep(700, undefined, { signal });
    throw new Error("the job broke");
  },
  confirm_delete: async ({ filename = "" }, { ask: askClient }) => {
    const { confirm } = await askClient({
      confirm: form(`Delete ${String(filename)}?`, "confirm", "boolean"),
    });
    return text(`${String(filename)}: ${JSON.stringify(confirm)}`);
  },
  multi_input: async (_args, { ask: askClient }) => {
    const answers = await askClient({
      name: form("What is your name?", "name", "string"),
      confirm: form("Are you sure?", "confirm", "boolean"),
    });
    return text(JSON.stringify(answers));
  },
};
