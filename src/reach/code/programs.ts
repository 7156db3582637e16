// Programs of callers, each in a separate thread and interpreter: a program that fails does not stop the server.
import { Worker } from "node:worker_threads";
import type { Json, JsonObject } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import { parseStrict } from "../../util/json/json.ts";
import type { FromThread, ProgramLimits, ThreadData, ToThread } from "./messages.ts";
import { createProgramSlots } from "./slots.ts";

export interface Program {
  readonly source: string;
  /** The owner of the program; each owner has a limited number of slots. */
  readonly owner: string;
  /** 32 hex digits that its random numbers start from. */
  readonly seed: string;
  /** What its clock shows until the first answer. */
  readonly startedAt: number;
  readonly signal: AbortSignal;
  /**
   * Answers a question: calls `reply` once and resolves with true, or resolves with false: the answer is not there yet,
   * and the program is suspended once it can do nothing without it. What it throws stops the program. The signal fires
   * when the program is over.
   */
  ask(question: Question, reply: Reply, signal: AbortSignal): Promise<boolean>;
  /** The program can do nothing more before the next answer. What it throws stops the program. */
  idle?(): void;
}

/** `seq` counts the questions of a program from 1. */
export interface Question {
  readonly seq: number;
  readonly kind: "call" | "find";
  readonly name: string;
  /** The arguments, as JSON. */
  readonly json: string;
}

/** `at` is what the program's clock shows from now on. Answers reach the program in the order of these calls. */
export type Reply = (answer: ProgramAnswer, at: number) => void;

export type ProgramAnswer = { readonly value: Json } | { readonly fault: JsonObject };

export type ProgramEnd =
  | { readonly kind: "returned"; readonly result: Json; readonly printed: readonly string[] }
  | { readonly kind: "suspended"; readonly printed: readonly string[] };

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
/** Characters; a longer answer of a tool becomes a fault. */
const MAX_ANSWER = 4_000_000;
/** An interpreter that exceeds its processor time and does not stop by itself is ended from outside after this. */
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
      const { source, seed, startedAt } = program;
      const data: ThreadData = { source, limits, seed, startedAt };
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

/** Serves the thread until the program has ended or is suspended; calls still under way then are cancelled. */
async function ended(thread: Worker, program: Program, limits: ProgramLimits): Promise<ProgramEnd> {
  const printed: string[] = [];
  const over = new AbortController();
  const signal = AbortSignal.any([program.signal, over.signal]);
  const { promise, resolve, reject } = Promise.withResolvers<ProgramEnd>();
  const questions = { asked: 0, open: 0, waiting: 0, answered: 0, isIdle: false };
  // It must send a message after its start, and after each answer; while it waits for answers it need not.
  let overdue: NodeJS.Timeout | undefined;
  const owes = (): void => {
    clearTimeout(overdue);
    overdue = setTimeout(
      () => reject(failed("work", "", printed, limits)),
      limits.workMs + WORK_GRACE_MS,
    );
  };
  const suspendIfDone = (): void => {
    if (questions.isIdle && questions.open === 0 && questions.waiting > 0)
      resolve({ kind: "suspended", printed });
  };
  const ask = (question: Question): void => {
    // The thread counts too; it is not trusted to.
    if (++questions.asked > limits.maxCalls) return reject(failed("work", "", printed, limits));
    questions.open++;
    const reply: Reply = (answer, at) => {
      if (signal.aborted) return;
      questions.answered++;
      questions.isIdle = false;
      const json = answerText(question, answer);
      thread.postMessage({ id: question.seq, json, at } satisfies ToThread);
      owes();
    };
    program.ask(question, reply, signal).then((isAnswered) => {
      questions.open--;
      if (!isAnswered) questions.waiting++;
      suspendIfDone();
    }, reject);
  };
  const idle = (answered: number): void => {
    // It has not read the newest answers yet.
    if (answered !== questions.answered) return;
    clearTimeout(overdue);
    questions.isIdle = true;
    try {
      program.idle?.();
    } catch (cause) {
      return reject(cause);
    }
    suspendIfDone();
  };
  thread.on("message", (message: FromThread) => {
    switch (message.kind) {
      case "printed":
        return void printed.push(message.line);
      case "failed":
        return reject(failed(message.why, message.message, printed, limits));
      case "idle":
        return idle(message.answered);
      case "returned":
        try {
          const result = parseStrict(Buffer.from(message.json));
          return resolve({ kind: "returned", result, printed });
        } catch (cause) {
          const text = `the result is no JSON of ours: ${String(cause)}`;
          return reject(failed("threw", text, printed, limits));
        }
      case "call":
      case "find":
        return ask({ ...message, seq: message.id });
    }
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

function answerText({ kind, name }: Question, answer: ProgramAnswer): string {
  const text = JSON.stringify(answer);
  if (text.length <= MAX_ANSWER) return text;
  const who = kind === "call" ? name : "tools.find";
  return JSON.stringify({
    fault: {
      code: "EXECUTION_FAILED",
      reason: "answer_too_large",
      message: `${who} answered ${text.length} characters: a program takes at most ${MAX_ANSWER}`,
    },
  });
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
