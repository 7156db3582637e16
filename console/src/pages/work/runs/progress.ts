// How far a step of a run has come, in a few words.
import type { RunStep, Workflow } from "../data.ts";

type Step = Workflow["steps"][number];

/** Which attempt of how many, and how many items of its loop have begun; empty where neither applies. */
export function progressOf(
  { retry }: Pick<Step, "retry">,
  { attempt = 1, executionIds }: Pick<RunStep, "attempt" | "executionIds">,
): readonly string[] {
  const most = retry?.attempts;
  return [
    ...(attempt > 1 || (most ?? 1) > 1
      ? [`attempt ${attempt}${most === undefined ? "" : ` of ${most}`}`]
      : []),
    ...(executionIds ? [`${begunIn(executionIds)} of ${executionIds.length} items begun`] : []),
  ];
}

export const begunIn = (executionIds: readonly (string | null)[]): number =>
  executionIds.filter((id) => id !== null).length;
