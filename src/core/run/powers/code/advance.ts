// Continues suspended programs and those whose process died: a new call of system/run_code as their owner, with the
// owner's present rights, through the whole gate.
import { innerRequest, type Caller, type CallParent } from "../../../../contract/call.ts";
import { CODES, type Code, type Fault } from "../../../../contract/errors.ts";
import type { ExecutionRecord, ProgramRow } from "../../../../storage/store/store.ts";
import type { Advance } from "../../../../work/work.ts";
import { LOOK_AFTER_MS } from "./drive.ts";
import type { CodeSettings, ProgramSeal } from "./settings.ts";

/** How long the answer of a program that has ended is kept for its caller. */
const KEPT_MS = 86_400_000;
/** A decision wakes the program; this is for the case that the notice was lost. */
const LOOK_AGAIN_MS = 30_000;
/** After a refusal that can be retried. */
const TRY_AGAIN_MS = 5_000;

export const advancer =
  (p: CodeSettings, seal: ProgramSeal) =>
  async (id: string): Promise<Advance> => {
    const row = await p.store.programs.find(id);
    if (row === null) return { done: true };
    if (row.endedAt !== null) return keepEnded(row, p);
    const next = await nextOf(row, p);
    if ("at" in next) return { done: false, at: next.at };
    if ("fault" in next) return end(row, next.fault, p, seal);
    const { parent } = seal.beginning.open(row.sealed, id);
    const owner = await p.ownerOf(row, parent);
    if (typeof owner === "object") return end(row, ownerless(owner.over), p, seal);
    const caller = await p.callerAgain(row.mandate);
    if (caller === null) return end(row, revoked(), p, seal);
    return goOn(row, caller, parent, { p, seal });
  };

type Next = { readonly at: number } | { readonly fault: Fault } | { readonly goOn: true };

async function nextOf(row: ProgramRow, p: CodeSettings): Promise<Next> {
  const now = p.now();
  if (row.expiresAt <= now) return { fault: expired() };
  if (row.state === "running") return fateOf(await p.store.executions.get(row.driver), now);
  for (const wait of row.waits) if (await isDecided(wait, p)) return { goOn: true };
  const ends = row.waits.map(({ expiresAt }) => expiresAt ?? Infinity);
  return { at: Math.min(row.expiresAt, now + LOOK_AGAIN_MS, ...ends.map((at) => at + 1_000)) };
}

async function isDecided(
  { executionId, approvalId }: ProgramRow["waits"][number],
  { store }: CodeSettings,
): Promise<boolean> {
  const record = await store.executions.get(executionId);
  if (record !== null && record.endTime !== null) return true;
  if (approvalId === null) return false;
  return (await store.approvals.ofExecution(executionId))?.state !== "pending";
}

/** What to do with a program whose last run stored no end. */
function fateOf(driver: ExecutionRecord | null, now: number): Next {
  // The run's id was chosen, but the run never began.
  if (driver === null) return { goOn: true };
  if (driver.endTime === null) return { at: now + LOOK_AFTER_MS };
  const code = driver.errorCode as Code | null;
  const isCutOff = code === "OUTCOME_UNKNOWN" || driver.cancelReason === "shutdown";
  if (code === null || isCutOff) return { goOn: true };
  if (CODES[code].retryable && code !== "TIMEOUT")
    return driver.endTime + TRY_AGAIN_MS > now
      ? { at: driver.endTime + TRY_AGAIN_MS }
      : { goOn: true };
  const { errorReason, error, remedy } = driver;
  const fault = { code, reason: String(errorReason), message: String(error) };
  return { fault: remedy === null ? fault : { ...fault, remedy } };
}

async function goOn(
  row: ProgramRow,
  caller: Caller,
  parent: CallParent,
  { p, seal }: { readonly p: CodeSettings; readonly seal: ProgramSeal },
): Promise<Advance> {
  const { id } = row;
  const driver = p.ids.execution(p.now());
  const claimed = await p.store.programs.claim(id, row.fence, driver);
  // Another instance has claimed the program and continues it.
  if (claimed === null) return { done: false, at: p.now() + LOOK_AFTER_MS };
  const request = innerRequest(parent, "tool", {
    id: driver,
    name: "system/run_code",
    arguments: { programId: id },
  });
  // The outcome is in the record and in the program's row.
  await p.engine().execute(caller, request);
  const after = await p.store.programs.find(id);
  if (after === null) return { done: true };
  if (after.endedAt !== null) return keepEnded(after, p);
  const next = await nextOf(after, p);
  return "fault" in next
    ? end(after, next.fault, p, seal)
    : { done: false, at: "at" in next ? next.at : p.now() };
}

/** An instance that still runs it is stopped by the fence; approvals that wait on its behalf are closed. */
async function end(
  { id, fence, driver }: ProgramRow,
  fault: Fault,
  p: CodeSettings,
  seal: ProgramSeal,
): Promise<Advance> {
  const claimed = await p.store.programs.claim(id, fence, driver);
  if (claimed === null) return { done: false, at: p.now() };
  const answer = seal.answer.close({ fault, notes: {} }, id);
  const change = { state: "ended", waits: [], answer, endedAt: p.now() } as const;
  await p.store.programs.update(id, claimed.fence, change);
  p.onEnded();
  return { done: false, at: change.endedAt + KEPT_MS };
}

async function keepEnded({ id, endedAt }: ProgramRow, p: CodeSettings): Promise<Advance> {
  const at = Number(endedAt) + KEPT_MS;
  if (at > p.now()) return { done: false, at };
  await p.store.programs.remove(id);
  return { done: true };
}

const revoked = (): Fault => ({
  code: "FORBIDDEN",
  reason: "key_inactive",
  message: "the key, sign-in or user that the program ran for is not active any more",
  remedy: "run the program again with a key that is active",
});

const ownerless = (why: string): Fault => ({
  code: "CANCELLED",
  reason: "user",
  message: `nobody waits for the program any more: ${why}`,
  remedy: "run the program again",
});

const expired = (): Fault => ({
  code: "TIMEOUT",
  reason: "timeout",
  message: "the program was suspended for too long and is over",
  remedy: "look at its calls, then run a new program for the rest",
});
