// What the rate stage asks: all windows that apply to a call, taken together or not at all (C19).
import type { RateWindow } from "../call.ts";
import type { Subject } from "../gate/stage.ts";

export interface RateAnswer {
  readonly ok: boolean;
  /** All windows that apply, tightest first. */
  readonly windows: readonly RateWindow[];
  /** Of a refusal: which kinds had no room: user, category, tool, mode, key, ip. */
  readonly violated: readonly { readonly kind: RateKind; readonly window: RateWindow }[];
  /** Gives the places back; absent when nothing was taken. */
  readonly refund?: () => void | Promise<void>;
}

export const RATE_KINDS = ["user", "category", "tool", "mode", "key", "ip"] as const;
export type RateKind = (typeof RATE_KINDS)[number];

export interface Rates {
  /** With `subject.suppose` it only looks. A call with a grant was counted when it asked. */
  take(subject: Subject): RateAnswer | Promise<RateAnswer>;
}
