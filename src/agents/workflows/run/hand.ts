// A run as its driver holds it: the row as it was written last, and the only way to change it. Every write carries the
// fence of the claim, so that an instance that has lost the run to another writes nothing more.
import type { Json, JsonObject } from "../../../contract/call.ts";
import type { Fault } from "../../../contract/errors.ts";
import type { NewRunEvent, RunRow, StepState, Store } from "../../../storage/store/store.ts";
import { hasEnded } from "./graph.ts";

/** Another instance has the run, or it has ended. */
export class Superseded extends Error {}

export interface Hand {
  readonly run: RunRow;
  state(stepId: string): StepState;
  /** Durable when it resolves; changes are written one after the other. */
  set(state: StepState): Promise<void>;
  paused(isPaused: boolean): Promise<void>;
  end(status: RunRow["status"], end: { error: Fault | null; output: Json }): Promise<void>;
}

export interface HandPowers {
  readonly runs: Pick<Store["runs"], "update">;
  /** Called after each change is durable; `before` is the run before the change. */
  readonly changed: (run: RunRow, before: RunRow) => void;
  readonly now: () => number;
}

export function takeInHand(row: RunRow, p: HandPowers): Hand {
  let run = row;
  let last: Promise<unknown> = Promise.resolve();

  const save = (
    change: (now: RunRow) => { to: Partial<RunRow>; event: Omit<NewRunEvent, "at"> | null },
  ): Promise<void> => {
    const written = last.then(async () => {
      const { to, event } = change(run);
      const next = { ...run, ...to };
      const { status, steps, output, error, endedAt } = next;
      const events = event ? [{ ...event, at: p.now() }] : [];
      const columns = { status, steps, output, error, endedAt };
      if (!(await p.runs.update(run.id, run.fence, columns, events))) throw new Superseded();
      const before = run;
      run = next;
      p.changed(run, before);
    });
    last = written.catch(() => undefined);
    return written;
  };

  return {
    get run() {
      return run;
    },
    state: (stepId) =>
      run.steps.find(({ id }) => id === stepId) ?? {
        id: stepId,
        executionId: null,
        status: "waiting",
        ms: 0,
      },
    set: (state) =>
      save((now) => {
        const steps = now.steps.map((one) => (one.id === state.id ? state : one));
        const former = now.steps.find(({ id }) => id === state.id);
        const event = former?.status === state.status ? null : eventOf(state);
        return { to: { steps, status: statusOf(steps, now.status) }, event };
      }),
    paused: (isPaused) =>
      save((now) => ({
        to: { status: isPaused ? "paused" : statusOf(now.steps, "running") },
        event: { kind: isPaused ? "run.paused" : "run.resumed", body: {} },
      })),
    end: (status, { error, output }) =>
      save((now) => ({
        to: {
          status,
          error,
          output,
          endedAt: p.now(),
          steps: now.steps.map((step): StepState =>
            hasEnded(step)
              ? step
              : step.status === "waiting"
                ? { ...step, status: "skipped" }
                : { ...withoutWaits(step), status: "cancelled", endedAt: p.now() },
          ),
        },
        event: { kind: `run.${status}`, body: error ? { error: faultBody(error) } : {} },
      })),
  };
}

/** It waits for a person as long as one of its steps does. */
function statusOf(steps: readonly StepState[], now: RunRow["status"]): RunRow["status"] {
  if (now === "paused") return now;
  return steps.some(({ status }) => status === "pending") ? "pending" : "running";
}

/** Removes what the step waited for: it is shown only while the step waits. */
export function withoutWaits({
  pendingApproval: _approval,
  wakeAt: _wakeAt,
  eventName: _event,
  ...state
}: StepState): StepState {
  return state;
}

function eventOf(state: StepState): Omit<NewRunEvent, "at"> {
  const { id, status, executionId, attempt, error, pendingApproval } = state;
  const kind =
    status === "running"
      ? "step.started"
      : status === "waiting"
        ? "step.again"
        : status === "pending"
          ? "step.waits"
          : `step.${status}`;
  return {
    kind,
    body: {
      stepId: id,
      executionId,
      ...(attempt === undefined ? {} : { attempt }),
      ...(pendingApproval ? { approvalId: pendingApproval.id } : {}),
      ...(error ? { error: faultBody(error) } : {}),
    },
  };
}

const faultBody = ({ code, reason, message }: Fault): JsonObject => ({ code, reason, message });
