// Workflows and plans for the caller of one call.
import type { Call } from "../../contract/call.ts";
import { taintNote, withSource, type TaintSource } from "../../contract/taint.ts";
import type { WorkflowsPower, RunView, PlanView } from "../../contract/powers/workflows.ts";
import type { Plans } from "./plans.ts";
import type { Workflows } from "./workflows.ts";
import type { PlanRow, RunRow } from "../../storage/store/store.ts";
import { untilAborted } from "../../core/run/aborted.ts";

export interface WorkflowsSettings {
  readonly workflows: Workflows;
  readonly plans: Plans;
  readonly now: () => number;
}

/** Part of the call's time that is kept for the answer itself. */
const ANSWER_MS = 500;

export const workflowsPower =
  ({ workflows, plans, now }: WorkflowsSettings) =>
  (call: Call, signal: AbortSignal): WorkflowsPower =>
    untilAborted<WorkflowsPower>(
      {
        async create(draft) {
          const { id, version, risk, warnings } = await workflows.create(call.caller, draft);
          return { workflowId: id, version, risk, warnings: [...warnings] };
        },
        async execute(request) {
          const left = call.startedAt + call.timeoutMs - now() - ANSWER_MS;
          return viewOf(await workflows.execute(call, signal, request, Math.max(0, left)));
        },
        dryRun: (request) => workflows.dryRun(call.caller, request),
        async schedule(request) {
          const { id, next } = await workflows.schedule(call.caller, request);
          return { scheduleId: id, next };
        },
        status: async (which) => viewOf(await workflows.status(call.caller, which)),
        async list(search, page) {
          const { rows, total } = await workflows.list(call.caller, search, page);
          const shown = rows.map(({ id, name, version, startedBy, scheduled, lastRun }) => ({
            workflowId: id,
            name,
            version,
            trigger: startedBy,
            // A workflow that is started by the clock never runs without a schedule.
            enabled: startedBy !== "scheduled" || scheduled,
            lastRun: lastRun && {
              runId: lastRun.id,
              status: lastRun.status,
              startedAt: lastRun.startedAt,
            },
          }));
          return { workflows: shown, total };
        },
        updatePlan: async (draft) => planView(await plans.update(call, draft)),
        advancePhase: async (step) => planView(await plans.advance(call, step)),
      },
      signal,
    );

function viewOf({ id, status, startedAt, endedAt, steps, output, error }: RunRow): RunView {
  const sources = steps.flatMap((step) => step.sources ?? []);
  const taint = taintNote(sources.reduce(withSource<TaintSource>, []));
  return { runId: id, status, startedAt, endedAt, steps, output, error, taint };
}

function planView({ id, version, phases, currentPhaseId }: PlanRow): PlanView {
  return {
    planId: id,
    version,
    phases: phases.map(({ id: phase, name, state }) => ({ id: phase, name, state })),
    currentPhaseId,
  };
}
