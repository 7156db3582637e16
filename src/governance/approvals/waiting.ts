// Callers that wait for a decision: woken by this instance, by a message of another one, or by polling every second.
import type { State } from "../../storage/state/state.ts";

export interface Waiting {
  /** Wakes all that wait for this execution, on every instance. */
  wake(executionId: string): void;
  /** Resolves when `isOver` returns true, the time is over or the signal fires. */
  until(
    executionId: string,
    isOver: () => Promise<boolean>,
    ms: number,
    signal?: AbortSignal,
  ): Promise<void>;
  /** Does its caller still wait for it? Null: not on this instance, and others are not asked. */
  isAwaited(executionId: string): boolean | null;
  close(): void;
}

const CHANNEL = "approvals";
const POLL_EVERY_MS = 1_000;

export function createWaiting({
  state,
  shared,
  report,
}: {
  readonly state: Pick<State, "publish" | "subscribe">;
  readonly shared: boolean;
  readonly report: (message: string, fields: Record<string, unknown>) => void;
}): Waiting {
  const waiters = new Map<string, Set<() => void>>();
  const wakeHere = (executionId: string): void => {
    for (const wake of waiters.get(executionId) ?? []) wake();
  };
  const unsubscribe = state.subscribe(CHANNEL, wakeHere);

  const add = (executionId: string, wake: () => void): (() => void) => {
    const set = waiters.get(executionId) ?? new Set();
    waiters.set(executionId, set.add(wake));
    return () => {
      set.delete(wake);
      if (set.size === 0 && waiters.get(executionId) === set) waiters.delete(executionId);
    };
  };

  return {
    isAwaited: (executionId) => waiters.has(executionId) || (shared ? null : false),
    wake(executionId) {
      wakeHere(executionId);
      // A lost message delays the waiter by one second at most.
      Promise.resolve(state.publish(CHANNEL, executionId)).catch((cause: unknown) =>
        report("notice of an approval was lost", { err: cause }),
      );
    },
    async until(executionId, isOver, ms, signal) {
      const end = performance.now() + ms;
      for (;;) {
        const { promise: woken, resolve } = Promise.withResolvers<void>();
        const wake = (): void => resolve();
        // Registered before the check, so that no change after it is missed.
        const leave = add(executionId, wake);
        let timer: NodeJS.Timeout | undefined;
        try {
          if (signal?.aborted || (await isOver())) return;
          const left = end - performance.now();
          if (left <= 0) return;
          signal?.addEventListener("abort", wake, { once: true });
          timer = setTimeout(wake, shared ? Math.min(left, POLL_EVERY_MS) : left);
          await woken;
        } finally {
          clearTimeout(timer);
          signal?.removeEventListener("abort", wake);
          leave();
        }
      }
    },
    close: unsubscribe,
  };
}
