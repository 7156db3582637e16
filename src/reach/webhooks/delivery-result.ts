// What an attempt means for a message and its endpoint.
import type { DeliveryChange, WebhookDisabled, WebhookRow } from "../../storage/store/store.ts";
import { isAccepted, type AttemptResult } from "./attempt.ts";

export interface RetryRules {
  /** Waits between attempts; one attempt more than there are waits. */
  readonly waitsMs: readonly number[];
  /** An endpoint that took nothing for so long is switched off. */
  readonly disableAfterMs: number;
}

const GONE = 410;
/** Each wait is up to this part longer, so that what failed together does not come back together. */
const JITTER = 0.2;
const MAX_RETRY_AFTER_MS = 86_400_000;

/** `random`: from 0 up to 1. */
export function deliveryChange(
  attemptsBefore: number,
  answer: AttemptResult,
  now: number,
  random: number,
  { waitsMs }: RetryRules,
): DeliveryChange & { attemptedAt: number } {
  const attempts = attemptsBefore + 1;
  const attempted = {
    attempts,
    lastStatus: answer.status,
    lastError: answer.error,
    response: answer.response,
    attemptedAt: now,
  };
  if (isAccepted(answer.status)) return { ...attempted, state: "delivered", nextAt: now };
  const wait = waitsMs[attempts - 1];
  if (wait === undefined || answer.status === GONE)
    return { ...attempted, state: "dead", nextAt: now };
  const wish = Math.min(answer.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS);
  return {
    ...attempted,
    state: "pending",
    nextAt: Math.round(now + Math.max(wait * (1 + JITTER * random), wish)),
  };
}

/** Why an endpoint is to be switched off after this answer; null when it is not. */
export function disableReason(
  { failingSince }: Pick<WebhookRow, "failingSince">,
  { status }: AttemptResult,
  now: number,
  { disableAfterMs }: RetryRules,
): WebhookDisabled | null {
  if (status === GONE) return "gone";
  if (isAccepted(status) || failingSince === null) return null;
  return now - failingSince >= disableAfterMs ? "failing" : null;
}
