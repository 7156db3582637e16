// Waits for the outcome of a held call, on whichever instance it runs.
import type { Caller, Outcome } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { EnginePowers } from "./powers.ts";
import { recordedOutcome } from "./outcome.ts";

type Powers = Pick<EnginePowers, "approvals" | "active" | "recordOf" | "now" | "background"> & {
  /** Goes on with an approved call, where it is this instance's to do so. */
  readonly resume: (approvalId: string) => Promise<void>;
};

/** How often the record of a call on another instance is read; a call on this instance wakes the waiter itself. */
const [FIRST_POLL_MS, POLL_EVERY_MS] = [10, 250];

export async function follow(
  caller: Caller,
  executionId: string,
  { ms, signal }: { ms: number; signal?: AbortSignal },
  p: Powers,
): Promise<Outcome> {
  const until = performance.now() + ms;
  for (let pollMs = FIRST_POLL_MS; ;) {
    const record = await p.recordOf(caller, executionId);
    if (record === null)
      throw new AppError("NOT_FOUND", "unknown", `Execution '${executionId}' not found`, {
        remedy: "list your executions",
      });
    const approval = await p.approvals.ofExecution(executionId);
    const left = until - performance.now();
    if (record.endTime !== null || left <= 0 || signal?.aborted)
      return recordedOutcome(record, approval);
    if (approval?.state === "pending") await p.approvals.settled(executionId, left, signal);
    else {
      // Approved on another instance, which leaves it to the instance that the caller works with.
      if (approval?.state === "approved" && pollMs === POLL_EVERY_MS && !p.active.has(executionId))
        p.background(p.resume(approval.id));
      await ended(executionId, Math.min(left, pollMs), p);
      pollMs = Math.min(pollMs * 2, POLL_EVERY_MS);
    }
  }
}

async function ended(executionId: string, ms: number, { active }: Powers): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  await Promise.race([active.get(executionId)?.ended ?? late, late]);
  clearTimeout(timer);
}
