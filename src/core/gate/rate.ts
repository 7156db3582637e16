// Rate windows: one call is counted in every window that applies, or in none.
import type { RateResult, RateKind, Violated } from "../../governance/limits/rate.ts";
import type { Subject } from "../../contract/subject.ts";
import { whenReady } from "../../util/async/when-ready.ts";
import { allow, deny, type Decision, type Stage } from "./stage.ts";

export const rate: Stage = {
  name: "rate",
  engine: "state",
  hides: false,
  limitMs: 250,
  decide(subject, { rates }) {
    return whenReady(rates.take(subject), decisionOf, subject, undefined);
  },
};

function decisionOf(result: RateResult, subject: Subject): Decision {
  const { windows, refund } = result;
  const read = subject.suppose ? { read: windows.map((window) => ({ ...window })) } : {};
  if (result.ok) {
    if (windows.length === 0) return allow();
    return { kind: "allow", windows, ...(refund ? { undo: refund } : {}), ...read };
  }
  const violated = result.violated.toSorted(
    (a, b) => b.window.resetSeconds - a.window.resetSeconds,
  );
  const [longest] = violated;
  // A refusal that names no window is a fault of the state engine: the gate then denies.
  if (!longest) throw new Error("the rate windows refused a call and named none");
  const shut = violated.find(({ window }) => window.quota === 0);
  const seconds = Math.max(1, longest.window.resetSeconds);
  const limits = violated.map((each) => limitText(each, subject)).join("; ");
  return deny("TOO_MANY_REQUESTS", `rate_${longest.kind}`, {
    message: `Rate limit exceeded: ${limits}${shut ? "" : `. Retry in ${seconds} s`}`,
    remedy: shut ? remedyOfShut(shut) : remedyOf(violated, seconds),
    windows,
    ...(shut ? {} : { retryAfterSeconds: seconds }),
    ...read,
  });
}

/** No call passes: time alone does not help, or nobody knows how long. */
const remedyOfShut = ({ throttle }: Violated): string =>
  throttle ? `wait until ${isoOf(throttle.until)}` : "wait until the operating mode changes";

function remedyOf(violated: readonly Violated[], seconds: number): string {
  const wait = `retry after ${seconds} s`;
  if (!violated.some(({ kind }) => kind === "throttle")) return wait;
  return `${wait}; stop making the calls that were refused (ostiary history list --status failed)`;
}

const isoOf = (at: number): string => new Date(at).toISOString();

const WHOSE: Record<RateKind, (subject: Subject) => string> = {
  user: ({ caller }) => `for user ${caller.userId}`,
  tenant: ({ caller }) => `for tenant ${caller.tenantId}`,
  throttle: ({ caller }) => `for user ${caller.userId}`,
  category: ({ tool }) => `for tools of category ${String(tool?.category)}`,
  tool: ({ requestedName }) => `for ${requestedName}`,
  mode: () => "in the present operating mode",
  key: () => "for this key",
  ip: () => "for this address",
};

/** `60 calls per minute for this key (key-minute)` */
function limitText({ kind, window, throttle }: Violated, subject: Subject): string {
  const { name, quota } = window;
  const unit = name.slice(name.lastIndexOf("-") + 1);
  const calls = quota === 0 ? "no calls" : `${quota} calls per ${unit}`;
  if (!throttle) return `${calls} ${WHOSE[kind](subject)} (${name})`;
  const { userId } = subject.caller;
  return `user ${userId} is throttled to ${calls} until ${isoOf(throttle.until)}, because ${throttle.because} (${name})`;
}
