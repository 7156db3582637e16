// Processes that can be killed: SQLite knows no interrupt, and a parser fed with foreign text may take its time. Each
// serves one request at a time and keeps nothing between two.
import { fork, type ChildProcess } from "node:child_process";
import { AppError, type Fault } from "../../contract/errors.ts";
import type { Limits } from "./database.ts";
import { timedOut } from "./faults.ts";
import { Exhausted, type Resource } from "../../util/exhaustion.ts";

export type ChildAnswer =
  | { readonly value: unknown }
  /** `exhausted`: what was used up; the cause itself stays in the other process. */
  | { readonly fault: Fault; readonly exhausted?: Resource };

export interface Children {
  /** Sends the request to a free process. An abort or a timeout kills that process at once. */
  run(request: object, limits: Limits): Promise<unknown>;
  close(): void;
}

const MAX_IDLE = 4;
/** Without work for so long, a process is given up. */
const IDLE_MS = 30_000;
const MAX_RUNNING = 8;
const HEAP_MB = 256;
/** What the process may need besides the statement: to start on a busy machine. */
const START_MS = 20_000;

const entry = new URL(
  import.meta.url.endsWith(".ts") ? "./sql-child.ts" : "./sql-child.js",
  import.meta.url,
);

export function createChildren(): Children {
  const all = new Set<ChildProcess>();
  const idle: ChildProcess[] = [];
  const timers = new WeakMap<ChildProcess, NodeJS.Timeout>();
  const slots = createSlots(MAX_RUNNING);
  let closed = false;

  const leave = (child: ChildProcess): void => {
    const at = idle.indexOf(child);
    if (at >= 0) idle.splice(at, 1);
  };
  const start = (): ChildProcess => {
    const child = fork(entry, [], {
      execArgv: ["--no-warnings", `--max-old-space-size=${HEAP_MB}`],
      env: {},
      cwd: "/",
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      serialization: "advanced",
    });
    all.add(child);
    child.on("error", () => undefined);
    child.on("exit", () => {
      all.delete(child);
      leave(child);
    });
    return child;
  };
  const rest = (child: ChildProcess): void => {
    if (closed || idle.length >= MAX_IDLE || !child.connected) return void child.kill("SIGKILL");
    // A process without work does not keep this one alive.
    child.unref();
    child.channel?.unref();
    idle.push(child);
    const timer = setTimeout(() => {
      leave(child);
      child.kill("SIGKILL");
    }, IDLE_MS);
    timer.unref();
    timers.set(child, timer);
  };

  return {
    async run(request, { signal, timeoutMs }) {
      if (signal.aborted) throw aborted();
      await slots.take(signal);
      try {
        const child = idle.pop() ?? start();
        clearTimeout(timers.get(child));
        child.ref();
        child.channel?.ref();
        const answer = await exchange(child, request, signal, timeoutMs).catch((cause: unknown) => {
          child.kill("SIGKILL");
          throw cause;
        });
        rest(child);
        return valueOf(answer);
      } finally {
        slots.give();
      }
    },
    close() {
      closed = true;
      for (const child of all) child.kill("SIGKILL");
    },
  };
}

interface Slots {
  /** Waits for a free slot, in the order of asking; rejects at an abort. */
  take(signal: AbortSignal): Promise<void>;
  give(): void;
}

function createSlots(most: number): Slots {
  const waiting: (() => void)[] = [];
  let taken = 0;
  return {
    async take(signal) {
      if (taken < most) return void taken++;
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const given = (): void => resolve();
      const gone = (): void => {
        const at = waiting.indexOf(given);
        if (at >= 0) waiting.splice(at, 1);
        reject(aborted());
      };
      waiting.push(given);
      signal.addEventListener("abort", gone, { once: true });
      await promise.finally(() => signal.removeEventListener("abort", gone));
    },
    give() {
      // A slot passes to the next in line without becoming free, so that nobody can overtake.
      const next = waiting.shift();
      if (next) next();
      else taken--;
    },
  };
}

function valueOf(answer: ChildAnswer): unknown {
  if (!("fault" in answer)) return answer.value;
  const { code, reason, message, ...extra } = answer.fault;
  const cause = answer.exhausted ? { cause: new Exhausted(answer.exhausted) } : {};
  throw new AppError(code, reason, message, { ...extra, ...cause });
}

function exchange(
  child: ChildProcess,
  request: object,
  signal: AbortSignal,
  timeoutMs: number,
): Promise<ChildAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<ChildAnswer>();
  let timer = setTimeout(() => reject(ended()), START_MS + timeoutMs);
  const onMessage = (message: ChildAnswer | "started"): void => {
    if (message !== "started") return resolve(message);
    clearTimeout(timer);
    timer = setTimeout(() => reject(timedOut(timeoutMs)), timeoutMs);
  };
  const onEnd = (): void => reject(ended());
  const onAbort = (): void => reject(aborted());
  child.on("message", onMessage);
  child.on("exit", onEnd);
  child.on("error", onEnd);
  signal.addEventListener("abort", onAbort, { once: true });
  child.send(request, (failed) => (failed ? onEnd() : undefined));
  return promise.finally(() => {
    clearTimeout(timer);
    child.off("message", onMessage);
    child.off("exit", onEnd);
    child.off("error", onEnd);
    signal.removeEventListener("abort", onAbort);
  });
}

/** The engine knows from its signal whether that was a person, the deadline or the shutdown. */
const aborted = () =>
  new AppError("CANCELLED", "user", "the call was ended before the database answered");

const ended = () =>
  new AppError(
    "UNAVAILABLE",
    "resource_exhausted",
    "the process of the statement ended before it answered",
    {
      remedy: "ask for less: it may have needed too much memory",
    },
  );
