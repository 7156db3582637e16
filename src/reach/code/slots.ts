// Limits how many programs run at once, in total and per owner; others wait for a while, in order.
import { AppError } from "../../contract/errors.ts";

export interface ProgramSlots {
  /** Resolves with the function that frees the slot; throws UNAVAILABLE if none became free in time, or CANCELLED. */
  acquire(owner: string, signal: AbortSignal): Promise<() => void>;
}

interface Waiter {
  readonly owner: string;
  readonly go: () => void;
}

export function createProgramSlots(p: { all: number; each: number; waitMs: number }): ProgramSlots {
  const taken = new Map<string, number>();
  const waiting = new Set<Waiter>();
  let all = 0;
  const isFree = (owner: string): boolean => all < p.all && (taken.get(owner) ?? 0) < p.each;
  const take = (owner: string): void => {
    all++;
    taken.set(owner, (taken.get(owner) ?? 0) + 1);
  };
  const leave = (owner: string): void => {
    all--;
    const left = (taken.get(owner) ?? 1) - 1;
    if (left === 0) taken.delete(owner);
    else taken.set(owner, left);
    for (const waiter of waiting) {
      if (!isFree(waiter.owner)) continue;
      waiting.delete(waiter);
      take(waiter.owner);
      waiter.go();
    }
  };
  return {
    async acquire(owner, signal) {
      if (signal.aborted) throw new AppError("CANCELLED", "user", "the program was cancelled");
      if (isFree(owner)) take(owner);
      else await waitForSlot(owner, signal, waiting, p.waitMs);
      let here = true;
      return () => {
        if (here) leave(owner);
        here = false;
      };
    },
  };
}

function waitForSlot(
  owner: string,
  signal: AbortSignal,
  waiting: Set<Waiter>,
  ms: number,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      waiting.delete(waiter);
      settle();
    };
    const onAbort = (): void =>
      end(() => reject(new AppError("CANCELLED", "user", "the program was cancelled")));
    const late = (): void =>
      end(() =>
        reject(
          new AppError(
            "UNAVAILABLE",
            "resource_exhausted",
            "other programs are running, and none ended in time",
            { remedy: "try again in a moment", retryAfterSeconds: 2 },
          ),
        ),
      );
    const timer = setTimeout(late, ms);
    const waiter: Waiter = { owner, go: () => end(resolve) };
    signal.addEventListener("abort", onAbort, { once: true });
    waiting.add(waiter);
  });
}
