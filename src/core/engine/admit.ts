// Whether a call may run: the gate, a slot, and the start of its record.
import type { ApprovalNotice, Call, Outcome } from "../../contract/call.ts";
import { AppError, faultOf, type Fault } from "../../contract/errors.ts";
import type { ExecutionRecord } from "../../storage/store/store.ts";
import type { CallObserver } from "../../telemetry/observer.ts";
import { decide, EXECUTE, faultOfVerdict, newTrail, undo, type Trail } from "../gate/index.ts";
import type { ActiveEntry } from "../run/active.ts";
import type { Ticket } from "../run/slots.ts";
import { find } from "./discover.ts";
import { hold } from "./hold.ts";
import { refusedOutcome, replayedOutcome } from "./outcome.ts";
import type { EnginePowers } from "./powers.ts";

/** What is needed to run a call that passed the gate. */
export interface Admitted {
  readonly trail: Trail;
  readonly ticket: Ticket;
  /** Resolves when the start is durable. */
  readonly begun: Promise<void>;
}

export const isAdmitted = (admission: Admitted | Outcome): admission is Admitted =>
  !("executionId" in admission);

/** The refusal, the hold or the earlier outcome as an answer, or what is needed to run. */
export async function admit(
  entry: ActiveEntry,
  observer: CallObserver,
  p: EnginePowers,
  sharesSlot: boolean,
): Promise<Admitted | Outcome> {
  const { call } = entry;
  const trail = newTrail();
  // A resumed call took its key before it was held.
  const hasFreshKey = call.idempotencyKey !== null && call.grant === null;
  try {
    if (hasFreshKey) {
      const earlier = await earlierOutcome(call, p);
      if (earlier) return earlier;
    }
    const stop = await decide(EXECUTE, call, p.gate, trail);
    observer.judged(trail);
    if (stop?.verdict === "hold") return await hold(call, trail, p);
    if (stop) return refused(call, trail, faultOfVerdict(stop), p);
    // An upstream server has slots of its own, so that a slow one fills only those.
    const ticket = sharesSlot || call.tool?.route ? NO_SLOT : p.slots.enter(call.signal);
    // Awaited later; until then a failure must not count as unhandled.
    ticket.ready?.catch(() => undefined);
    entry.status = ticket.ready ? "pending" : "running";
    // Only a call that will run takes the key; a refused one may be tried again with it.
    if (hasFreshKey) await reserveKey(call, ticket, p);
    if (call.tool?.route) p.prepare(call);
    const begun = p.recorder.begin(call, trail.gates, entry.status);
    // Awaited later, too. A call that could not begin gives back what the gate took for it.
    begun.catch(() => p.background(undo(trail)));
    return { trail, ticket, begun };
  } catch (cause) {
    return refused(call, trail, faultOf(cause), p);
  }
}

export function refuseWhileDraining(call: Call, p: EnginePowers): Outcome {
  return refused(call, newTrail(), faultOf(shuttingDown()), p);
}

/** What the same idempotency key gave before, unless the caller may no longer see the tool: then the gate answers. */
async function earlierOutcome(call: Call, p: EnginePowers): Promise<Outcome | null> {
  const earlier = await p.idempotency.replay(call);
  if (!earlier) return null;
  const tool = await find(call.caller, call.tool?.name ?? call.requestedName, p);
  return tool && replayedOutcome(earlier, await pendingApproval(earlier, p));
}

/** The approval that a recorded call still waits for. */
async function pendingApproval(
  { id, endTime }: ExecutionRecord,
  p: EnginePowers,
): Promise<ApprovalNotice | null> {
  return endTime === null ? p.approvals.ofExecution(id) : null;
}

/** A call that will not run gives back what the gate took for it. */
function refused(call: Call, trail: Trail, fault: Fault, p: EnginePowers): Outcome {
  if (trail.undo.length > 0) p.background(undo(trail));
  return refusedOutcome(call, trail, fault, p.now());
}

async function reserveKey(call: Call, ticket: Ticket, p: EnginePowers): Promise<void> {
  try {
    await p.idempotency.reserve(call);
  } catch (cause) {
    ticket.release();
    throw cause;
  }
}

/** An inner call shares its parent's slot: if both needed one, calls that wait for each other could fill all slots. */
const NO_SLOT: Ticket = { ready: null, release: () => undefined };

export function shuttingDown(): AppError {
  return new AppError("UNAVAILABLE", "shutting_down", "the server is shutting down", {
    remedy: "try again in a moment",
    retryAfterSeconds: 2,
  });
}
