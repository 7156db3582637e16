// The operating mode as the rest of the server sees it: what it is, who changed it and why, and when it ends.
import type { Caller, Mode, Verdict } from "../../contract/call.ts";
import type { Resource } from "../../util/exhaustion.ts";

export interface ModeState {
  readonly mode: Mode;
  readonly reason: string;
  /** A user id, `sensor:<name>`, `timer`, or `system` (the stored mode could not be read). */
  readonly by: string;
  readonly since: number;
  /** Null: until it is changed. At this moment it goes back to `revertTo`. */
  readonly until: number | null;
  readonly revertTo: Mode | null;
  /** A change that sensors ask for and the table leaves to a human. */
  readonly proposal: { readonly mode: Mode; readonly reason: string; readonly at: number } | null;
  /** It holds here, but the store could not be written yet; that is tried again until it can. */
  readonly unsaved?: true;
}

export interface SensorReading {
  readonly name: string;
  readonly value: number;
  readonly threshold: number;
  /** off: not evaluated; warn: only reported; act: moves the mode. */
  readonly action: "off" | "warn" | "act";
  readonly firing: boolean;
}

/** One caller may make fewer calls for a while. The same object as long as it is the same throttle. */
export interface Throttle {
  readonly callsPerMinute: number;
  readonly until: number;
  /** Why, for people: `3 calls were forbidden within 10 minutes`. */
  readonly because: string;
}

/**
 * What the controller watches beside the machine itself. A held call counts as `denied` without a verdict: it was
 * attempted.
 */
export type ModeSignal =
  | { readonly kind: "ended"; readonly failed: boolean }
  | {
      readonly kind: "denied";
      readonly caller: Caller;
      readonly dangerous: boolean;
      readonly verdict: Verdict | null;
    }
  | { readonly kind: "audit_failed" }
  /** The database is older than what was written outside of it. */
  | { readonly kind: "rolled_back" }
  /** Something failed because this was used up. `by` says what, for the reason of a change. */
  | {
      readonly kind: "exhausted";
      readonly resource: Resource;
      readonly by: string;
      readonly caller?: Caller;
    };

export interface ModeController {
  /** Throws when it cannot be confirmed (a shared store that does not answer): the gate then denies. */
  current(): ModeState;
  /** Durable, audited as `mode.changed`, and all listeners are called before it resolves. */
  switch(actor: Caller, change: { mode: Mode; reason: string; forMs?: number }): Promise<ModeState>;
  readings(): readonly SensorReading[];
  signal(signal: ModeSignal): void;
  /** The limit on this caller after too many refusals or dangerous attempts; null when there is none. */
  throttleOf(caller: Caller): Throttle | null;
  onChange(listener: (state: ModeState, before: Mode) => void): () => void;
  close(): Promise<void>;
}
