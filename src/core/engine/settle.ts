// How a call ends: the outcome is durable before the caller gets it.
import type { Call, JsonObject, Outcome } from "../../contract/call.ts";
import { AppError, type Fault } from "../../contract/errors.ts";
import type { CallObserver } from "../../telemetry/observer.ts";
import type { ActiveEntry } from "../run/active.ts";
import { isAdmitted, type Admitted } from "./admit.ts";
import { isUsed } from "./hold.ts";
import { refusedOutcome, type GateReport } from "./outcome.ts";
import type { EnginePowers } from "./powers.ts";
import { runAdmitted } from "./run-admitted.ts";

/** `isDetached`: the client may not wait for the answer, so its result is kept for a later question. */
export function settle(
  entry: ActiveEntry,
  admission: Admitted | Outcome,
  observer: CallObserver,
  p: EnginePowers,
  isDetached = false,
): Promise<Outcome> {
  return isAdmitted(admission)
    ? runAndRecord(entry, admission, observer, p, isDetached)
    : recordRefusal(entry, admission, observer, p);
}

async function runAndRecord(
  entry: ActiveEntry,
  admission: Admitted,
  observer: CallObserver,
  p: EnginePowers,
  isDetached: boolean,
): Promise<Outcome> {
  const { call } = entry;
  try {
    const outcome = await runAdmitted(entry, admission, observer, p);
    const isFetched = isDetached || call.idempotencyKey !== null || call.grant !== null;
    // Appended at once, so that start and end of a quick call are one write; the start is checked first.
    const ended = p.recorder.end(call, outcome, isFetched);
    ended.catch(() => undefined);
    await admission.begun; // without a durable start nothing had an effect: a refusal, not an unknown outcome
    try {
      await ended;
    } catch (cause) {
      throw outcome.dispatched ? outcomeUnknown(call, cause) : cause;
    }
    if (!outcome.dispatched && call.idempotencyKey !== null) await p.idempotency.release(call);
    return announced(call, withoutSecrets(outcome, p), observer, p);
  } catch (cause) {
    observer.failed(cause);
    throw cause;
  } finally {
    entry.close();
  }
}

/** Repeated refusals may be answered with a limit of their own, which is not always recorded. */
async function recordRefusal(
  entry: ActiveEntry,
  refusal: Outcome,
  observer: CallObserver,
  p: EnginePowers,
): Promise<Outcome> {
  const { call } = entry;
  try {
    const limit = isCallersFault(refusal) ? p.refusals.next(call.caller, call.ip) : null;
    const outcome = limit ? refusedOutcome(call, NO_GATES, limit.fault, p.now()) : refusal;
    // An earlier answer, a held call and a call that another instance runs are on record already, or will be.
    const isRecorded =
      outcome.replayed || outcome.status === "pending" || isUsed(outcome) || isBegun(outcome);
    if (!isRecorded && limit?.recorded !== false) await p.recorder.refuse(call, outcome);
    return announced(call, outcome, observer, p);
  } catch (cause) {
    observer.failed(cause);
    throw cause;
  } finally {
    entry.close();
  }
}

function announced(call: Call, outcome: Outcome, observer: CallObserver, p: EnginePowers): Outcome {
  if (!outcome.replayed) p.onEnded(call, outcome);
  observer.ended(outcome);
  return outcome;
}

/** Another begins it, or has begun it, under the very same id. */
const isBegun = ({ error }: Outcome): boolean =>
  error?.code === "CONFLICT" && error.reason === "still_running";

/** Only what the caller did wrong counts towards the limit of refusals; other limits have answers of their own. */
const isCallersFault = ({ error, replayed }: Outcome): boolean =>
  error !== null && !replayed && CALLERS_FAULTS.has(error.code);
const CALLERS_FAULTS = new Set<Fault["code"]>(["BAD_REQUEST", "NOT_FOUND", "FORBIDDEN"]);
/** The answer shows no verdicts about the tool. */
const NO_GATES: GateReport = { gates: [], windows: [] };

/** The metadata that a tool noted may hold a secret; the record masks it separately. */
function withoutSecrets(outcome: Outcome, p: EnginePowers): Outcome {
  const { metadata } = outcome;
  for (const _key in metadata) {
    const masked = p.masker.result(metadata).answer as JsonObject; // masking keeps the shape
    return masked === metadata ? outcome : { ...outcome, metadata: masked };
  }
  return outcome;
}

function outcomeUnknown(call: Call, cause: unknown): AppError {
  return new AppError(
    "OUTCOME_UNKNOWN",
    "not_recorded",
    `${call.id} may have run, but its outcome could not be recorded`,
    { remedy: "check the tool's effect before you run it again", cause },
  );
}
