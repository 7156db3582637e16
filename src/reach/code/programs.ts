// Programs of callers, each in a thread and an interpreter of its own: whatever one does to itself, the server goes on.
import { Worker } from "node:worker_threads";
import type { Json, JsonObject } from "../../contract/call.ts";
import { AppError, faultOf } from "../../contract/errors.ts";
import { parseStrict } from "../../util/json/json.ts";
import type { FromThread, ProgramLimits, ThreadData, ToThread } from "./messages.ts";
import { createProgramSlots } from "./slots.ts";

export interface Program {
  readonly source: string;
  /** The owner of the program; each owner has a limited number of slots. */
  readonly owner: string;
  readonly signal: AbortSignal;
  /** Runs a call through the whole gate. Resolves with `{ value }` or `{ fault }`. */
  call(name: string, given: JsonObject, signal: AbortSignal): Promise<ProgramAnswer>;
  find(query: string, options: JsonObject): Promise<ProgramAnswer>;
}

type ProgramAnswer = { readonly value: Json } | { readonly fault: JsonObject };

export interface ProgramEnd {
  readonly result: Json;
  readonly printed: readonly string[];
}

export interface Programs {
  /** Throws an AppError when the program fails, with what it printed last. */
  run(program: Program): Promise<ProgramEnd>;
  close(): Promise<void>;
}

export const LIMITS: ProgramLimits = {
  memoryBytes: 32 * 1_048_576,
  stackBytes: 512 * 1_024,
  workMs: 2_000,
  maxCalls: 50,
  maxArguments: 1_000_000,
  maxResult: 250_000,
  maxPrinted: 50_000,
};

const MAX_AT_ONCE = 4;
const MAX_OF_ONE_OWNER = 2;
const MAX_WAIT_MS = 10_000;
/** Calls of one program that are under way at the same time. */
const CALLS_AT_ONCE = 4;
/** Characters; a longer answer of a tool becomes a fault. */
const MAX_ANSWER = 4_000_000;
/** An interpreter that works longer than it may is ended from outside, should it not notice. */
const WORK_GRACE_MS = 25_000;
/** Of the thread's own heap; the interpreter's memory is bounded by itself. */
const HEAP = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 16 };

const entry = new URL(
  import.meta.url.endsWith(".ts") ? "./code-thread.ts" : "./code-thread.js",
  import.meta.url,
);

export function createPrograms(limits: ProgramLimits = LIMITS): Programs {
  const places = createProgramSlots({
    all: MAX_AT_ONCE,
    each: MAX_OF_ONE_OWNER,
    waitMs: MAX_WAIT_MS,
  });
  const threads = new Set<Worker>();
  return {
    async run(program) {
      const leave = await places.acquire(program.owner, program.signal);
      const data: ThreadData = { source: program.source, limits };
      // An environment of its own, and nothing it writes reaches the server's own output.
      const thread = new Worker(entry, {
        name: "code",
        workerData: data,
        env: {},
        stdout: true,
        stderr: true,
        resourceLimits: HEAP,
      });
      threads.add(thread);
      try {
        return await ended(thread, program, limits);
      } finally {
        threads.delete(thread);
        await thread.terminate();
        leave();
      }
    },
    async close() {
      await Promise.all([...threads].map((thread) => thread.terminate()));
    },
  };
}

/** Serves the thread until the program has ended; calls that are still under way then are cancelled. */
async function ended(thread: Worker, program: Program, limits: ProgramLimits): Promise<ProgramEnd> {
  const printed: string[] = [];
  const over = new AbortController();
  const signal = AbortSignal.any([program.signal, over.signal]);
  const { promise, resolve, reject } = Promise.withResolvers<ProgramEnd>();
  let underWay = 0;
  let asked = 0;
  const queue: Extract<FromThread, { kind: "call" | "find" }>[] = [];
  // It owes us a word from its start, and from its last answer on; while it waits for calls it owes nothing.
  let overdue: NodeJS.Timeout | undefined;
  const owes = (): void => {
    clearTimeout(overdue);
    if (underWay > 0) return;
    overdue = setTimeout(
      () => reject(failed("work", "", printed, limits)),
      limits.workMs + WORK_GRACE_MS,
    );
  };

  const next = (): void => {
    while (underWay < CALLS_AT_ONCE && !signal.aborted) {
      const question = queue.shift();
      if (!question) return;
      underWay++;
      answered(question, program, signal).then((json) => {
        underWay--;
        if (signal.aborted) return;
        thread.postMessage({ id: question.id, json } satisfies ToThread);
        next();
        owes();
      }, reject);
    }
  };
  thread.on("message", (message: FromThread) => {
    if (message.kind === "printed") return void printed.push(message.line);
    if (message.kind === "failed")
      return reject(failed(message.why, message.message, printed, limits));
    if (message.kind === "returned") {
      try {
        return resolve({ result: parseStrict(Buffer.from(message.json)), printed });
      } catch (cause) {
        return reject(
          failed("threw", `the result is no JSON of ours: ${String(cause)}`, printed, limits),
        );
      }
    }
    // The thread counts too; it is not trusted to.
    if (++asked > limits.maxCalls) return reject(failed("work", "", printed, limits));
    clearTimeout(overdue);
    queue.push(message);
    next();
  });
  thread.on("error", (cause: Error) => reject(failed("memory", cause.message, printed, limits)));
  thread.on("exit", () => reject(failed("stuck", "its thread ended", printed, limits)));
  const onAbort = (): void =>
    reject(new AppError("CANCELLED", "user", "the program was cancelled"));
  program.signal.addEventListener("abort", onAbort, { once: true });
  if (program.signal.aborted) onAbort();
  owes();
  try {
    return await promise;
  } finally {
    clearTimeout(overdue);
    program.signal.removeEventListener("abort", onAbort);
    over.abort("user");
  }
}

/** Never rejects: faults are returned to the program. */
async function answered(
  { kind, name, json }: Extract<FromThread, { kind: "call" | "find" }>,
  program: Program,
  signal: AbortSignal,
): Promise<string> {
  try {
    const given = objectOf(json);
    const answer =
      kind === "call" ? await program.call(name, given, signal) : await program.find(name, given);
    const text = JSON.stringify(answer);
    if (text.length <= MAX_ANSWER) return text;
    return JSON.stringify({
      fault: {
        code: "EXECUTION_FAILED",
        reason: "answer_too_large",
        message: `${name} answered ${text.length} characters: a program takes at most ${MAX_ANSWER}`,
      },
    });
  } catch (cause) {
    return JSON.stringify({ fault: faultOf(cause) });
  }
}

function objectOf(json: string): JsonObject {
  let value: Json;
  try {
    value = parseStrict(Buffer.from(json));
  } catch (cause) {
    throw new AppError("BAD_REQUEST", "invalid_arguments", `arguments: ${String(cause)}`);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as JsonObject;
  throw new AppError("BAD_REQUEST", "invalid_arguments", "arguments: expected an object");
}

const SHOWN_LINES = 5;
const SHOWN_CHARACTERS = 1_000;

function failed(
  why: Extract<FromThread, { kind: "failed" }>["why"],
  message: string,
  printed: readonly string[],
  limits: ProgramLimits,
): AppError {
  const output = printed.slice(-SHOWN_LINES).join("\n").slice(-SHOWN_CHARACTERS).toWellFormed();
  const after = output === "" ? "" : `\nIt printed last:\n${output}`;
  const fault = (reason: string, text: string, remedy: string): AppError =>
    new AppError("EXECUTION_FAILED", reason, text + after, { remedy });
  const total: Record<typeof why, () => AppError> = {
    threw: () => fault("program_failed", message, "correct the program"),
    work: () =>
      fault(
        "program_too_long",
        `the program worked longer than ${limits.workMs} ms, calls not counted`,
        "look for a loop without end, or do less at once",
      ),
    memory: () =>
      fault(
        "program_memory",
        `the program needed more than ${limits.memoryBytes / 1_048_576} MB`,
        "keep less at once",
      ),
    stuck: () =>
      fault(
        "program_stuck",
        `the program waits for something that never comes${message === "" ? "" : `: ${message}`}`,
        "await only calls",
      ),
    too_large: () =>
      fault(
        "program_answer_too_large",
        `the program returned ${message} characters, ${limits.maxResult} are allowed`,
        "return less: count, filter or shorten",
      ),
  };
  return total[why]();
}
