// What the rate stage asks: a call is counted in all windows that apply to it, or in none.
import type { RateWindow } from "../../contract/call.ts";
import type { Subject } from "../../contract/subject.ts";
import type { Throttle } from "../modes/mode.ts";

export interface RateResult {
  readonly ok: boolean;
  /** All windows that apply, tightest first. */
  readonly windows: readonly RateWindow[];
  /** Of a refusal: which had no room. */
  readonly violated: readonly Violated[];
  /** Undoes the count; absent when nothing was taken. */
  readonly refund?: () => void | Promise<void>;
}

export interface Violated {
  readonly kind: RateKind;
  readonly window: RateWindow;
  /** Of the throttle: why the caller is held to it, and until when. */
  readonly throttle?: Throttle;
}

export const RATE_KINDS = [
  "user",
  "tenant",
  "throttle",
  "category",
  "tool",
  "mode",
  "key",
  "ip",
] as const;
export type RateKind = (typeof RATE_KINDS)[number];

export interface Rates {
  /** With `subject.suppose` it takes nothing. A call with a grant was counted when it asked. */
  take(subject: Subject): RateResult | Promise<RateResult>;
}
