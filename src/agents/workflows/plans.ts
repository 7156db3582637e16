// The plan of a session (or, without one, of the user): what is to be done in phases, one of them current.
import type { Call } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { PlanPhase, PlanRow, Store } from "../../storage/store/store.ts";
import type { Ids } from "../../util/ids.ts";

export interface Plans {
  update(
    call: Call,
    draft: {
      goal: string;
      phases: readonly Omit<PlanPhase, "id" | "state" | "outcome">[];
      currentPhaseId: number;
    },
  ): Promise<PlanRow>;
  advance(
    call: Call,
    step: { phaseId: number; outcome: string; succeeded: boolean },
  ): Promise<PlanRow>;
}

export function createPlans(p: {
  readonly plans: Store["plans"];
  readonly ids: Ids;
  readonly now: () => number;
}): Plans {
  const placeOf = ({ sessionId }: Call): string =>
    sessionId === null ? "user" : `session:${sessionId}`;
  const save = async (row: PlanRow, fromVersion: number): Promise<PlanRow> => {
    if (await p.plans.save(row, fromVersion)) return row;
    throw new AppError("CONFLICT", "stale", "somebody else changed the plan in the same moment", {
      remedy: "try again",
    });
  };
  return {
    async update(call, { goal, phases, currentPhaseId }) {
      if (currentPhaseId > phases.length) throw unknownPhase(currentPhaseId, phases.length);
      const { tenantId, userId } = call.caller;
      const former = await p.plans.get(call.caller, placeOf(call));
      // Phases before the current one count as done, with their stored outcome or as given now.
      const kept = (id: number, name: string): PlanPhase | undefined =>
        former?.phases.find((phase) => phase.id === id && phase.name === name);
      const stated = phases.map(({ name, description, successCriteria }, at): PlanPhase => {
        const id = at + 1;
        const before = kept(id, name);
        const outcome = before?.outcome === undefined ? {} : { outcome: before.outcome };
        const state =
          id === currentPhaseId
            ? "current"
            : id > currentPhaseId
              ? "pending"
              : before?.state === "failed"
                ? "failed"
                : "succeeded";
        return {
          id,
          name,
          description,
          successCriteria,
          state,
          ...(id < currentPhaseId ? outcome : {}),
        };
      });
      const version = (former?.version ?? 0) + 1;
      return save(
        {
          tenantId,
          userId,
          place: placeOf(call),
          id: former?.id ?? p.ids.handle("pln", p.now()),
          version,
          goal,
          phases: stated,
          currentPhaseId,
          updatedAt: p.now(),
        },
        version - 1,
      );
    },
    async advance(call, { phaseId, outcome, succeeded }) {
      const plan = await p.plans.get(call.caller, placeOf(call));
      if (!plan)
        throw new AppError("EXECUTION_FAILED", "phase_unknown", "there is no plan yet", {
          remedy: "make one with workflow/update_plan",
        });
      if (!plan.phases.some(({ id }) => id === phaseId))
        throw unknownPhase(phaseId, plan.phases.length);
      if (plan.currentPhaseId !== phaseId) {
        const now =
          plan.currentPhaseId === null ? "the plan is done" : `phase ${plan.currentPhaseId} is`;
        throw new AppError(
          "CONFLICT",
          "phase_not_current",
          `phase ${phaseId} is not the current one: ${now}`,
          { remedy: "advance the current phase, or change the plan with workflow/update_plan" },
        );
      }
      const next = phaseId < plan.phases.length ? phaseId + 1 : null;
      const phases = plan.phases.map((phase): PlanPhase => {
        if (phase.id === phaseId)
          return { ...phase, state: succeeded ? "succeeded" : "failed", outcome };
        return phase.id === next ? { ...phase, state: "current" } : phase;
      });
      return save(
        { ...plan, version: plan.version + 1, phases, currentPhaseId: next, updatedAt: p.now() },
        plan.version,
      );
    },
  };
}

function unknownPhase(id: number, count: number): AppError {
  return new AppError(
    "EXECUTION_FAILED",
    "phase_unknown",
    `there is no phase ${id}: the plan has ${count}`,
    { remedy: `use an id from 1 to ${count}` },
  );
}
