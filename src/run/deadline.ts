// A run races its deadline and its cancel. The first to end decides; a late finish changes nothing (R137, L07).
import type { Call, CancelReason, Json } from "../call.ts";
import type { Runner, RunResult } from "./index.ts";

export type Ended =
  | { readonly kind: "finished"; readonly result: RunResult }
  | { readonly kind: "cancelled"; readonly reason: CancelReason; readonly partial: Json };

export interface DeadlinePowers {
  /** Fires the call's abort signal with the reason. */
  readonly abort: (reason: CancelReason) => void;
  /** Told of a handler that ended after its execution was closed. */
  readonly late: (call: Call) => void;
}

/** After the signal a handler has this long to hand over what it has so far (R141). */
const PARTIAL_GRACE_MS = 100;

/** However much progress a server upstream reports. */
const LONGEST_MS = 300_000;

export function runWithDeadline(
  runner: Runner,
  call: Call,
  p: DeadlinePowers,
): Ended | Promise<Ended> {
  if (call.signal.aborted) return cancelled(call, null);
  const deadline = new Deadline(call.timeoutMs, p);
  const running = runner(watched(call, deadline));
  if (!(running instanceof Promise)) return { kind: "finished", result: running };
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
  #state: "new" | "on" | "ended" = "new";

  constructor(ms: number, powers: DeadlinePowers) {
    this.#ms = ms;
    this.#left = ms;
    this.#powers = powers;
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
    this.#left = Math.min(this.#ms, Math.max(LONGEST_MS, this.#ms) - this.#spent);
    this.#run();
  }

  #run(): void {
    if (this.#state !== "on" || this.#questions > 0) return;
    this.#began = performance.now();
    this.#timer = setTimeout(() => this.#powers.abort("timeout"), Math.max(0, this.#left));
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
): Promise<Ended> {
  return new Promise((resolve) => {
    let open = true;
    deadline.start();
    let grace: NodeJS.Timeout | undefined;
    const close = (ended: Ended): void => {
      open = false;
      deadline.end();
      clearTimeout(grace);
      call.signal.removeEventListener("abort", onAbort);
      resolve(ended);
    };
    const onAbort = (): void => {
      grace = setTimeout(() => close(cancelled(call, null)), PARTIAL_GRACE_MS);
    };
    call.signal.addEventListener("abort", onAbort, { once: true });
    running.then(
      (result) => {
        if (!open) p.late(call);
        else if (call.signal.aborted) close(cancelled(call, result.output));
        else close(endOf(result));
      },
      // Runners answer with values; should one reject all the same, the call must not hang.
      () => (open ? close({ kind: "finished", result: BROKEN }) : p.late(call)),
    );
  });
}

/** A tool whose own, shorter limit ended its work notes `timedOut`: the call has timed out, with what there is so far. */
function endOf(result: RunResult): Ended {
  if (result.error !== null || result.metadata["timedOut"] !== true)
    return { kind: "finished", result };
  return { kind: "cancelled", reason: "timeout", partial: result.output };
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

function cancelled(call: Call, partial: Json): Ended {
  return { kind: "cancelled", reason: call.signal.reason as CancelReason, partial };
}
