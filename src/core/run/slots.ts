// How many executions run at once: a fixed number of slots, then a bounded queue, then a clear refusal.
import { AppError } from "../../contract/errors.ts";

export interface SlotLimits {
  /** Executions that run at the same time. */
  readonly maxRunning: number;
  /** Executions that may wait for a slot. */
  readonly maxQueued: number;
  readonly maxQueueWaitMs: number;
}

export interface Ticket {
  /** Null when the slot is there already; else resolves with it, or rejects when the wait is over. */
  readonly ready: Promise<void> | null;
  release(): void;
}

export interface Slots {
  enter(signal: AbortSignal): Ticket;
  readonly running: number;
  readonly queued: number;
}

interface Waiter {
  readonly ready: Promise<void>;
  granted: boolean;
  grant(): void;
  /** Gives the place in the queue up. */
  leave(cause: Error): void;
}

export function createSlots(limits: SlotLimits): Slots {
  let running = 0;
  const queue = new Set<Waiter>();

  const full = (): AppError =>
    new AppError(
      "UNAVAILABLE",
      "queue_full",
      `${running} executions are running and ${queue.size} are waiting`,
      {
        remedy: "try again after a short while",
        retryAfterSeconds: 1,
      },
    );

  const next = (): void => {
    const [first] = queue;
    if (first === undefined) running--;
    else {
      queue.delete(first);
      first.grant(); // the slot passes from hand to hand: `running` stays as it is
    }
  };

  const wait = (signal: AbortSignal): Waiter => {
    const { promise: ready, resolve, reject } = Promise.withResolvers<void>();
    const leave = (cause: Error): void => {
      if (!queue.delete(waiter)) return;
      finish();
      reject(cause);
    };
    const onAbort = (): void => leave(new Error("aborted while waiting for a slot"));
    const timer = setTimeout(() => leave(full()), limits.maxQueueWaitMs);
    const finish = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    };
    const grant = (): void => {
      waiter.granted = true;
      finish();
      resolve();
    };
    const waiter: Waiter = { ready, granted: false, grant, leave };
    queue.add(waiter);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    return waiter;
  };

  return {
    get running() {
      return running;
    },
    get queued() {
      return queue.size;
    },
    enter(signal) {
      if (running < limits.maxRunning) {
        running++;
        return { ready: null, release: once(next) };
      }
      if (queue.size >= limits.maxQueued) throw full();
      const waiter = wait(signal);
      const giveUp = (): void => waiter.leave(new Error("no longer wanted"));
      return { ready: waiter.ready, release: once(() => (waiter.granted ? next() : giveUp())) };
    },
  };
}

function once(act: () => void): () => void {
  let done = false;
  return () => {
    if (!done) act();
    done = true;
  };
}
