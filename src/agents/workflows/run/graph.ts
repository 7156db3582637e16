// Which steps wait for which: one after the other, or by their needs and references as soon as one step says `needs`.
import type { Json } from "../../../contract/call.ts";
import type { StepState, WorkflowStep } from "../../../storage/store/store.ts";
import { parseCondition, referencesOf } from "../condition.ts";
import { parseReference, referencesIn, type Reference } from "../template.ts";

/** All texts of a step that may hold references. */
const textsOf = ({ input, wait, forEach }: WorkflowStep): Json => [
  input,
  wait?.kind === "person" ? wait.question : null,
  wait?.kind === "time" ? (wait.until ?? null) : null,
  forEach ? forEach.items : null,
];

/** Every reference of a step; what cannot be read counts as none, since a stored definition was checked. */
export function referencesOfStep(step: WorkflowStep): Reference[] {
  const condition = step.if === undefined ? null : parseCondition(step.if);
  const found = referencesIn(textsOf(step)).filter((one) => typeof one !== "string");
  return condition === null || typeof condition === "string"
    ? found
    : [...found, ...referencesOf(condition)];
}

export const isGraph = (steps: readonly WorkflowStep[]): boolean =>
  steps.some(({ needs }) => needs !== undefined);

/** By step: the steps that must have ended before it begins. */
export function needsOf(steps: readonly WorkflowStep[]): ReadonlyMap<string, readonly string[]> {
  const graph = isGraph(steps);
  return new Map(
    steps.map((step, at) => {
      const before = steps[at - 1];
      if (!graph) return [step.id, before ? [before.id] : []];
      const referred = referencesOfStep(step).flatMap((one) =>
        one.from === "step" ? [one.step] : [],
      );
      return [step.id, [...new Set([...(step.needs ?? []), ...referred])]];
    }),
  );
}

/** The steps that need this one, directly or by way of others, and itself. */
export function dependentsOf(steps: readonly WorkflowStep[], from: string): ReadonlySet<string> {
  const needs = needsOf(steps);
  const found = new Set([from]);
  for (let grown = true; grown;) {
    grown = false;
    for (const [id, ids] of needs)
      if (!found.has(id) && ids.some((one) => found.has(one))) {
        found.add(id);
        grown = true;
      }
  }
  return found;
}

const ENDS: ReadonlySet<StepState["status"]> = new Set([
  "success",
  "failed",
  "cancelled",
  "skipped",
]);
export const hasEnded = ({ status }: Pick<StepState, "status">): boolean => ENDS.has(status);

export const reference = (text: string): Reference | null => {
  const inner = /^\s*\{\{([^{}]*)\}\}\s*$/.exec(text)?.[1];
  const parsed = inner === undefined ? null : parseReference(inner);
  return typeof parsed === "string" ? null : parsed;
};
