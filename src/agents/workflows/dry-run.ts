// Asks the gate about every step of a workflow without running anything.
import type { Caller, JsonObject } from "../../contract/call.ts";
import type { Explained } from "../../contract/powers.ts";
import type { WorkflowRow } from "../../storage/store/store.ts";
import { NothingThere, referencesIn, render } from "./template.ts";
import type { WorkflowEngine } from "./workflows.ts";

export interface DryStep {
  readonly id: string;
  readonly tool: string;
  readonly verdict: Explained["verdict"] | "depends";
  readonly summary: string;
}

export async function dryRun(
  workflow: WorkflowRow,
  input: JsonObject,
  as: Caller,
  engine: WorkflowEngine,
): Promise<DryStep[]> {
  const steps: DryStep[] = [];
  for (const step of workflow.steps) {
    const open = referencesIn(step.input).some(
      (one) => typeof one !== "string" && one.from === "step",
    );
    const args = open ? step.input : rendered(step.input, input);
    const explained = await engine.explain(as, { name: step.tool, arguments: args });
    steps.push({ id: step.id, tool: step.tool, ...verdictOf(explained, open) });
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
  explained: Explained | null,
  open: boolean,
): Pick<DryStep, "verdict" | "summary"> {
  if (explained === null)
    return { verdict: "deny", summary: "there is no such tool for you any more" };
  const refusing = explained.gates.filter(({ verdict }) => verdict !== "allow");
  const unsure =
    open &&
    refusing.length > 0 &&
    refusing.every(({ stage }) => stage === "input" || stage === "arguments");
  return unsure
    ? {
        verdict: "depends",
        summary: "its arguments come from an earlier step and are judged when it runs",
      }
    : { verdict: explained.verdict, summary: explained.summary };
}
