// History made anew from the log, in the background of the server that owns the store; one at a time.
import type { Caller, JsonObject } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { Action, ExecutionStore } from "../../storage/store/store.ts";

export interface RebuildState {
  readonly state: "idle" | "running" | "done" | "failed";
  /** Events read so far, and how far the log is covered. */
  readonly events: number;
  readonly seq: number;
  readonly head: number;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly error: string | null;
}

export interface Rebuilds {
  /** Returns at once; `state` has the progress. CONFLICT while one is under way. */
  start(caller: Caller): Promise<RebuildState>;
  state(): RebuildState;
}

export interface RebuildPowers {
  readonly rebuild: ExecutionStore["rebuild"];
  readonly now: () => number;
  readonly note: (action: Action, who: Caller, body: JsonObject) => Promise<void>;
}

const IDLE: RebuildState = {
  state: "idle",
  events: 0,
  seq: 0,
  head: 0,
  startedAt: null,
  endedAt: null,
  error: null,
};

export function createRebuilds({ rebuild, now, note }: RebuildPowers): Rebuilds {
  let state = IDLE;

  async function run(caller: Caller): Promise<void> {
    try {
      const { events, head } = await rebuild((progress) => (state = { ...state, ...progress }));
      await note("history.rebuilt", caller, {
        events,
        seq: head,
        ms: now() - (state.startedAt ?? 0),
      });
      state = { ...state, state: "done", endedAt: now() };
    } catch (cause) {
      state = {
        ...state,
        state: "failed",
        endedAt: now(),
        error: cause instanceof Error ? cause.message : String(cause),
      };
    }
  }

  return {
    async start(caller) {
      if (state.state === "running") throw underWay();
      state = { ...IDLE, state: "running", startedAt: now() };
      const whole = run(caller);
      // What another instance is doing is known at once, and is part of the answer.
      await Promise.race([whole, new Promise((resolve) => setImmediate(resolve))]);
      return state;
    },
    state: () => state,
  };
}

function underWay(): AppError {
  return new AppError("CONFLICT", "already_exists", "History is being rebuilt already", {
    remedy:
      "wait until it is done: GET /api/v1/history/rebuild, or ostiary history rebuild --status",
  });
}
