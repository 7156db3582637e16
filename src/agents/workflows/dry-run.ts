// Asks the gate about every step of a workflow without running anything.
import type { JsonObject } from "../../contract/call.ts";
import type { Explained } from "../../contract/powers.ts";
import type { WorkflowRow } from "../../storage/store/store.ts";
import { NothingThere, referencesIn, render } from "./template.ts";

/** What the gate says about a call. */
export type Verdict = Pick<Explained, "verdict" | "summary"> & {
  readonly gates: readonly { readonly stage: string; readonly verdict: string }[];
};

export interface DryStep {
  readonly id: string;
  readonly tool: string;
  readonly verdict: Explained["verdict"] | "depends";
  readonly summary: string;
}

/** The gate is asked about calls; a wait is none. */
const WAITS = {
  time: "it waits until its time has come; no tool is called",
  person: "it waits for a person's answer; no tool is called",
  event: "it waits for an event; no tool is called",
} as const;

/** `input` is null where it is not known yet: then references to it are as open as those to earlier steps. */
export async function dryRun(
  { steps: written }: Pick<WorkflowRow, "steps">,
  input: JsonObject | null,
  explain: (request: { name: string; arguments: JsonObject }) => Promise<Verdict | null>,
): Promise<DryStep[]> {
  const steps: DryStep[] = [];
  for (const step of written) {
    if (step.wait) {
      steps.push({ id: step.id, tool: "wait", verdict: "allow", summary: WAITS[step.wait.kind] });
      continue;
    }
    const name = step.tool ?? "workflow/execute";
    const open = referencesIn(step.input).some(
      (one) => typeof one !== "string" && (input === null || one.from !== "input"),
    );
    const own = open || input === null ? step.input : rendered(step.input, input);
    const args = step.workflow === undefined ? own : { workflowId: step.workflow, input: own };
    const explained = await explain({ name, arguments: args });
    const from = input === null ? "the input or an earlier step" : "an earlier step";
    steps.push({ id: step.id, tool: name, ...verdictOf(explained, open ? from : null) });
  }
  return steps;
}

function rendered(value: JsonObject, input: JsonObject): JsonObject {
  try {
    return render(value, { input, outputs: new Map() }) as JsonObject;
  } catch (cause) {
    if (cause instanceof NothingThere) return value;
    throw cause;
  }
}

/** Arguments that an earlier step will fill cannot be judged yet. */
function verdictOf(
  explained: Verdict | null,
  openFrom: string | null,
): Pick<DryStep, "verdict" | "summary"> {
  if (explained === null)
    return { verdict: "deny", summary: "there is no such tool for you any more" };
  const refusing = explained.gates.filter(({ verdict }) => verdict !== "allow");
  const unsure =
    openFrom !== null &&
    refusing.length > 0 &&
    refusing.every(({ stage }) => stage === "input" || stage === "arguments");
  return unsure
    ? {
        verdict: "depends",
        summary: `its arguments come from ${openFrom} and are judged when it runs`,
      }
    : { verdict: explained.verdict, summary: explained.summary };
}
