// A run races its deadline and its cancel. The first to end decides; a late finish changes nothing.
import type { Call, CancelReason, TimeLimit } from "../../contract/call.ts";
import type { Runner, RunResult } from "./index.ts";

export type RunEnd = { readonly kind: "finished"; readonly result: RunResult } | Stopped;

export interface Stopped {
  readonly kind: "cancelled";
  readonly reason: CancelReason;
  /** What the handler handed over after the signal. */
  readonly result: RunResult | null;
  /** Of a timeout: the time that was up. Null: it was not the call's own limit, but that of the outer call. */
  readonly limit: TimeLimit | null;
}

export interface DeadlinePowers {
  /** Fires the call's abort signal with the reason. */
  readonly abort: (reason: CancelReason) => void;
  /** Called for a handler that ended after its execution was closed. */
  readonly late: (call: Call) => void;
}

/** After the signal a handler has this long to hand over what it has so far. */
const PARTIAL_GRACE_MS = 100;

/** However much progress an upstream server reports. */
const LONGEST_MS = 300_000;

export function runWithDeadline(
  runner: Runner,
  call: Call,
  p: DeadlinePowers,
): RunEnd | Promise<RunEnd> {
  const deadline = new Deadline(call.timeoutMs, p);
  if (call.signal.aborted) return stopped(call, null, deadline);
  const running = runner(watched(call, deadline));
  if (!(running instanceof Promise)) return endOf(running, call);
  return race(running, call, deadline, p);
}

/** The call's time: it stands still while the caller's client is asked, and begins anew with progress from outside. */
class Deadline {
  readonly #ms: number;
  readonly #powers: DeadlinePowers;
  #timer: NodeJS.Timeout | undefined;
  #began = 0;
  #left: number;
  #spent = 0;
  #questions = 0;
  #renewed = false;
  #limit: TimeLimit | null = null;
  #state: "new" | "on" | "ended" = "new";

  constructor(ms: number, powers: DeadlinePowers) {
    this.#ms = ms;
    this.#left = ms;
    this.#powers = powers;
  }

  /** Set once it has fired. */
  get limit(): TimeLimit | null {
    return this.#limit;
  }

  start(): void {
    this.#state = "on";
    this.#run();
  }

  end(): void {
    this.#state = "ended";
    clearTimeout(this.#timer);
  }

  async whileAsking<T>(question: () => Promise<T>): Promise<T> {
    if (this.#questions++ === 0) this.#stop();
    try {
      return await question();
    } finally {
      if (--this.#questions === 0) this.#run();
    }
  }

  renew(): void {
    if (this.#timer === undefined) return;
    this.#stop();
    this.#renewed = true;
    this.#left = Math.min(this.#ms, this.#longest - this.#spent);
    this.#run();
  }

  #run(): void {
    if (this.#state !== "on" || this.#questions > 0) return;
    this.#began = performance.now();
    this.#timer = setTimeout(() => this.#expire(), Math.max(0, this.#left));
  }

  #expire(): void {
    this.#limit = this.#applied();
    this.#powers.abort("timeout");
  }

  /** In all, however often it was renewed. */
  get #longest(): number {
    return Math.max(LONGEST_MS, this.#ms);
  }

  #applied(): TimeLimit {
    if (!this.#renewed) return { ms: this.#ms, whose: null };
    if (this.#spent + this.#ms > this.#longest)
      return { ms: this.#longest, whose: "the longest time, with progress" };
    return { ms: this.#ms, whose: "the time since its last progress" };
  }

  #stop(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const passed = performance.now() - this.#began;
    this.#left -= passed;
    this.#spent += passed;
  }
}

/** The same call, with whatever moves its deadline; most have nothing that could. */
function watched(call: Call, deadline: Deadline): Call {
  const { client, onProgress, tool } = call;
  const renews = onProgress !== null && (tool?.route ?? null) !== null;
  if (client === null && !renews) return call;
  return {
    ...call,
    client: client && {
      capabilities: client.capabilities,
      logLevel: client.logLevel,
      onTask: client.onTask,
      notify: (method, params) => client.notify(method, params),
      ask: (questions, from) => deadline.whileAsking(() => client.ask(questions, from)),
    },
    onProgress: renews
      ? (progress) => {
          deadline.renew();
          onProgress(progress);
        }
      : onProgress,
  };
}

function race(
  running: Promise<RunResult>,
  call: Call,
  deadline: Deadline,
  p: DeadlinePowers,
): Promise<RunEnd> {
  return new Promise((resolve) => {
    let open = true;
    deadline.start();
    let grace: NodeJS.Timeout | undefined;
    const close = (ended: RunEnd): void => {
      open = false;
      deadline.end();
      clearTimeout(grace);
      call.signal.removeEventListener("abort", onAbort);
      resolve(ended);
    };
    const onAbort = (): void => {
      grace = setTimeout(() => close(stopped(call, null, deadline)), PARTIAL_GRACE_MS);
    };
    call.signal.addEventListener("abort", onAbort, { once: true });
    running.then(
      (result) => {
        if (!open) p.late(call);
        else if (call.signal.aborted) close(stopped(call, result, deadline));
        else close(endOf(result, call));
      },
      // Runners answer with values; should one reject all the same, the call must not hang.
      () => (open ? close({ kind: "finished", result: BROKEN }) : p.late(call)),
    );
  });
}

/**
 * A tool whose own, shorter limit ended its work notes `timedOut` and that limit: the call has timed out, with what
 * there is so far.
 */
function endOf(result: RunResult, call: Call): RunEnd {
  const { timedOut, limitMs } = result.metadata;
  if (result.error !== null || timedOut !== true) return { kind: "finished", result };
  const limit =
    typeof limitMs === "number"
      ? { ms: limitMs, whose: "a limit of the tool itself" }
      : { ms: call.timeoutMs, whose: null };
  return { kind: "cancelled", reason: "timeout", result, limit };
}

const BROKEN: RunResult = {
  output: null,
  error: {
    code: "EXECUTION_FAILED",
    reason: "unexpected",
    message: "Execution error: the runner broke",
  },
  metadata: {},
};

function stopped(call: Call, result: RunResult | null, { limit }: Deadline): Stopped {
  return { kind: "cancelled", reason: call.signal.reason as CancelReason, result, limit };
}
