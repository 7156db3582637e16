// What the steps of one run need while it is advanced.
import type {
  Caller,
  CallParent,
  CallRequest,
  Json,
  Mandate,
  Outcome,
} from "../../../contract/call.ts";
import type { Fault } from "../../../contract/errors.ts";
import type { TaintSource } from "../../../contract/taint.ts";
import type { Tool } from "../../../contract/tool.ts";
import type {
  Owner,
  QuestionRow,
  StepState,
  Store,
  WorkflowRow,
  WorkflowStep,
} from "../../../storage/store/store.ts";
import type { Ids } from "../../../util/ids.ts";
import type { Work } from "../../../work/work.ts";
import type { Scope } from "../template.ts";
import type { Hand } from "./hand.ts";
import type { Notices } from "./notices.ts";

export interface StepEngine {
  execute(caller: Caller, request: CallRequest): Promise<Outcome>;
  follow(
    caller: Caller,
    executionId: string,
    wait: { ms: number; signal?: AbortSignal },
  ): Promise<Outcome>;
  cancel(caller: Caller, executionId: string, note?: string): Promise<void>;
}

export interface DriverPowers {
  readonly store: Pick<Store, "workflows" | "runs" | "runEvents" | "questions" | "shared">;
  readonly engine: () => StepEngine;
  /** The caller of stored work with their present rights; null when user or key is gone. */
  readonly callerAgain: (mandate: Mandate) => Promise<Caller | null>;
  /** Reports (null) that the rights of the caller have ended; the returned function stops watching. */
  readonly watch: (caller: Caller, changed: (now: Caller | null) => void) => () => void;
  /** Called for each run that has ended, once that is written. */
  readonly onEnded: () => void;
  /** Called when a run waits for something else than before, or has ended. */
  readonly onStatus: (run: Hand["run"]) => void;
  readonly tool: (name: string) => Pick<Tool, "idempotent"> | null;
  /** Asks a person on behalf of a run; durable when it resolves. A time: until then no more questions are allowed. */
  readonly ask: (question: QuestionRow) => Promise<number | null>;
  /** Content from outside that an outcome brings along. */
  readonly brings: (outcome: Outcome) => readonly TaintSource[];
  readonly work: Pick<Work, "add" | "wake">;
  readonly notices: Notices;
  readonly instanceId: string;
  readonly ids: Ids;
  readonly now: () => number;
  /** Takes all work that no caller waits for. */
  readonly background: (work: Promise<unknown>) => void;
}

export interface StepContext {
  readonly hand: Hand;
  readonly owner: Owner;
  readonly workflow: WorkflowRow;
  readonly parent: CallParent;
  /** Ends the calls of its steps. */
  readonly signal: AbortSignal;
  /** Executions that this process is calling at the moment, started by any of its drivers. */
  readonly calling: Set<string>;
  /** The caller whose rights the next call has, read again each time; throws RightsEnded. */
  readonly caller: () => Promise<Caller>;
  /** With the outputs that the step refers to. */
  readonly scopeOf: (step: WorkflowStep) => Promise<Scope>;
  readonly p: DriverPowers;
}

/** How a step ended, or that nothing is to be done for it until `at` (null: until the run is woken). */
export type StepOutcome =
  | {
      readonly kind: "ended";
      readonly status: "success" | "failed" | "cancelled";
      readonly executionId: string | null;
      readonly output: Json;
      readonly error: Fault | null;
      readonly sources: readonly TaintSource[];
    }
  | { readonly kind: "parked"; readonly at: number | null }
  /** Another attempt: its state says when. */
  | { readonly kind: "again" };

export const failedStep = (error: Fault, executionId: string | null = null): StepOutcome => ({
  kind: "ended",
  status: "failed",
  executionId,
  output: null,
  error,
  sources: [],
});

/** A step as it begins or continues: it has not ended yet. */
export const begunState = (
  state: StepState,
  change: Partial<StepState>,
  now: number,
): StepState => {
  const { error: _error, ...rest } = state;
  return {
    ...rest,
    status: "running",
    attempt: state.attempt ?? 1,
    startedAt: state.startedAt ?? now,
    ...change,
  };
};
