// Reads the referee's findings and compares them with the list of what is left out. Stricter than the referee: a
// warning is a failure, and a scenario that checked nothing of its own has not passed.
import { LEFT_OUT, type LeftOut, type RequirementSet } from "./mcp-left-out.ts";

export interface Check {
  readonly id: string;
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO";
  readonly errorMessage?: string;
}

export interface Judgement {
  readonly scenario: string;
  readonly verdict: "passed" | "failed" | "skipped";
  readonly note: string;
}

/** Added by the referee to every scenario; alone it proves nothing. */
const COMMON_CHECK = "wire-schema-valid";

export function judge(set: RequirementSet, scenario: string, checks: readonly Check[]): Judgement {
  const leftOut = LEFT_OUT.find((entry) => entry.set === set && entry.scenario === scenario);
  const faults = checks.filter(({ status }) => status === "FAILURE" || status === "WARNING");
  const proofs = checks.filter(({ id, status }) => status === "SUCCESS" && id !== COMMON_CHECK);
  const result = (verdict: Judgement["verdict"], note: string) => ({ scenario, verdict, note });

  if (leftOut?.hollow) return result("skipped", leftOut.reason);
  if (leftOut && !leftOut.checks) {
    if (faults.length > 0 || proofs.length === 0) return result("skipped", leftOut.reason);
    return result("failed", "passes now: take it off the list of what is left out");
  }
  const unexpected = faults.filter(({ id }) => !leftOut?.checks?.includes(id));
  if (unexpected.length > 0) {
    const texts = unexpected.map(({ id, errorMessage }) => `${id}: ${errorMessage ?? "failed"}`);
    return result("failed", texts.join("; "));
  }
  const stale = (leftOut?.checks ?? []).filter((id) => !faults.some((fault) => fault.id === id));
  if (stale.length > 0) return result("failed", `pass now or are gone: ${stale.join(", ")}`);
  if (proofs.length === 0) return result("failed", "no check of its own was made");
  return result("passed", `${proofs.length} checks${remark(leftOut)}`);
}

const remark = (leftOut: LeftOut | undefined): string =>
  leftOut ? `; ${leftOut.checks?.length ?? 0} left out: ${leftOut.reason}` : "";

/** Entries that name no scenario of the run: a typing error, or the referee has changed. */
export const unknownEntries = (set: RequirementSet, scenarios: readonly string[]): Judgement[] =>
  LEFT_OUT.filter((entry) => entry.set === set && !scenarios.includes(entry.scenario)).map(
    ({ scenario }) => ({ scenario, verdict: "failed", note: "left out, but not in the run" }),
  );
