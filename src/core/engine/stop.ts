// Stops executions: for their owner, or because the server shuts down.
import type { Caller } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { EnginePowers } from "./powers.ts";

/** Resolves once the end is recorded. Other callers' ids look like unknown ones. */
export async function cancel(
  caller: Caller,
  executionId: string,
  note: string | null,
  p: Pick<EnginePowers, "active" | "approvals" | "recordOf" | "cancelElsewhere">,
): Promise<void> {
  const entry = p.active.get(executionId);
  if (
    entry &&
    entry.call.caller.userId === caller.userId &&
    entry.call.caller.tenantId === caller.tenantId
  ) {
    entry.note = note;
    entry.abort("user");
    return entry.ended;
  }
  if ((await p.recordOf(caller, executionId)) !== null) {
    // A call that waits for a person may be withdrawn by its caller.
    if (await p.approvals.withdraw(caller, executionId)) return;
    if (await endsElsewhere(caller, executionId, p)) return;
    throw new AppError("CONFLICT", "not_running", `execution ${executionId} is not running`, {
      remedy: "only running executions can be cancelled",
    });
  }
  throw new AppError("NOT_FOUND", "unknown", `Execution '${executionId}' not found`, {
    remedy: "list your executions",
  });
}

/** Another instance may run it: it is told, and its record shows whether it stopped. */
async function endsElsewhere(
  caller: Caller,
  executionId: string,
  { cancelElsewhere, recordOf }: Pick<EnginePowers, "cancelElsewhere" | "recordOf">,
): Promise<boolean> {
  if (cancelElsewhere === null) return false;
  const hasEnded = async (): Promise<boolean> =>
    (await recordOf(caller, executionId))?.endTime !== null;
  if (await hasEnded()) return false;
  cancelElsewhere(executionId);
  for (const until = performance.now() + ELSEWHERE_MS; performance.now() < until;) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    if (await hasEnded()) return true;
  }
  return false;
}

const [ELSEWHERE_MS, LOOK_EVERY_MS] = [2_000, 50];

/** Waits for what runs, then cancels the rest with reason shutdown. */
export async function drain(
  graceMs: number,
  { active }: Pick<EnginePowers, "active">,
): Promise<void> {
  const all = (): Promise<unknown> => Promise.all(active.all().map((entry) => entry.ended));
  let timer: NodeJS.Timeout | undefined;
  await Promise.race([all(), new Promise((resolve) => (timer = setTimeout(resolve, graceMs)))]);
  clearTimeout(timer);
  for (const entry of active.all()) entry.abort("shutdown");
  await all();
}
