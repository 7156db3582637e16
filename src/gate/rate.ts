// Rate windows (C19): one place in each that applies, in all of them or in none.
import type { RateWindow } from "../call.ts";
import type { RateAnswer, RateKind } from "../limits/rate.ts";
import { allow, deny, type Decision, type Stage, type Subject } from "./stage.ts";

export const rate: Stage = {
  name: "rate",
  engine: "state",
  hides: false,
  limitMs: 250,
  decide(subject, { rates }) {
    const answer = rates.take(subject);
    return answer instanceof Promise
      ? answer.then((settled) => decisionOf(subject, settled))
      : decisionOf(subject, answer);
  },
};

function decisionOf(subject: Subject, answer: RateAnswer): Decision {
  const { windows, refund } = answer;
  const read = subject.suppose ? { read: windows.map((window) => ({ ...window })) } : {};
  if (answer.ok) {
    if (windows.length === 0) return allow();
    return { kind: "allow", windows, ...(refund ? { undo: refund } : {}), ...read };
  }
  const violated = answer.violated.toSorted(
    (a, b) => b.window.resetSeconds - a.window.resetSeconds,
  );
  const [longest] = violated;
  // A state that refuses without saying why cannot be believed either.
  if (!longest) throw new Error("the rate windows refused a call and named none");
  const closed = violated.some(({ window }) => window.quota === 0);
  const seconds = Math.max(1, longest.window.resetSeconds);
  const limits = violated.map(({ kind, window }) => limitText(kind, window, subject)).join("; ");
  return deny("TOO_MANY_REQUESTS", `rate_${longest.kind}`, {
    message: closed ? limits : `${limits}; next place in ${seconds} s`,
    remedy: closed ? "wait until the operating mode changes" : `retry after ${seconds} s`,
    windows,
    ...(closed ? {} : { retryAfterSeconds: seconds }),
    ...read,
  });
}

const WHOSE: Record<RateKind, (subject: Subject) => string> = {
  user: ({ caller }) => `for user ${caller.userId}`,
  category: ({ tool }) => `for tools of category ${String(tool?.category)}`,
  tool: ({ requestedName }) => `for ${requestedName}`,
  mode: () => "in the present operating mode",
  key: () => "for this key",
  ip: () => "for this address",
};

/** `60 calls per minute for this key (key-minute)` */
function limitText(kind: RateKind, { name, quota }: RateWindow, subject: Subject): string {
  const unit = name.slice(name.lastIndexOf("-") + 1);
  const calls = quota === 0 ? "no calls" : `${quota} calls per ${unit}`;
  return `${calls} ${WHOSE[kind](subject)} (${name})`;
}
