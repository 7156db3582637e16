import type { Caller } from "../call.ts";

/** One change of an execution's state, as streamed to its owner. `id` is the sequence number in the log. */
export interface LiveEvent {
  readonly id: number;
  readonly event: string;
  readonly data: string;
}

export interface Live {
  /**
   * Changes of the caller's own executions from now on, or (with `after`) from the log first, nothing missing and
   * nothing twice. Ends when the signal fires; a reader that falls too far behind is cut off.
   */
  subscribe(
    caller: Caller,
    options: { after?: number; signal: AbortSignal },
  ): AsyncIterable<LiveEvent>;
}
