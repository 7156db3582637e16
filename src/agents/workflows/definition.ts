// Checks a workflow before it runs: tools the caller sees, references that can be filled, no circle, and no retry of a
// tool that must not run twice.
import type { JsonObject } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { StepWait, Trigger, WorkflowRow, WorkflowStep } from "../../storage/store/store.ts";
import type { Risk, Tool } from "../../contract/tool.ts";
import { schemaFault } from "../caller-schema.ts";
import { mainThread } from "../../util/async/time-slices.ts";
import { cycle, invalid, noWebhook } from "./definition-faults.ts";
import { isGraph, reference } from "./run/graph.ts";
import {
  refuseCircle,
  referencesOfStep,
  requireKnown,
  requireNeeds,
  type Doing,
  type Placed,
} from "./references.ts";

export interface DraftStep {
  readonly id?: string;
  readonly tool?: string;
  /** Name of another workflow. */
  readonly workflow?: string;
  readonly wait?: StepWait;
  readonly input: JsonObject;
  readonly if?: string;
  readonly continueOnError: boolean;
  readonly timeoutSeconds?: number;
  readonly needs?: readonly string[];
  readonly retry?: { readonly attempts: number; readonly delaySeconds: number };
  readonly forEach?: {
    readonly items: string;
    readonly maxItems: number;
    readonly concurrency: number;
  };
}

export interface Draft {
  readonly name: string;
  readonly description: string;
  readonly trigger: Trigger;
  readonly steps: readonly DraftStep[];
  readonly inputSchema?: JsonObject;
}

export interface Checked {
  readonly steps: readonly WorkflowStep[];
  readonly risk: Risk;
  readonly warnings: readonly string[];
}

export interface Surroundings {
  /** Tools that the caller sees. */
  readonly visible: readonly Visible[];
  /** The newest version of the caller's workflow of this name. */
  readonly named: (name: string) => Promise<Nested | null>;
}

/** What the checks need of a workflow that a step runs. */
export type Nested = Pick<WorkflowRow, "risk"> & {
  readonly steps: readonly { readonly workflow?: string | undefined }[];
};

export type Visible = Pick<
  Tool,
  "name" | "wireName" | "aliases" | "risk" | "outputSchema" | "idempotent"
>;

const ORDER: readonly Risk[] = ["safe", "moderate", "dangerous"];
/** How deep workflows may run workflows; nested calls have a separate limit. */
const MAX_NESTED = 5;

export async function checkDefinition(draft: Draft, around: Surroundings): Promise<Checked> {
  const { checked, faults } = await judgeDefinition(draft, around);
  if (faults[0]) throw faults[0];
  return checked;
}

/** Each fault names its field; `checked` counts only where there is none. */
export async function judgeDefinition(
  draft: Draft,
  around: Surroundings,
): Promise<{ checked: Checked; faults: readonly AppError[] }> {
  const faults: AppError[] = [];
  const note = (cause: unknown): null => {
    if (!(cause instanceof AppError)) throw cause;
    if (faults.length < MAX_FAULTS) faults.push(cause);
    return null;
  };
  const check = (judge: () => void): void => {
    try {
      judge();
    } catch (cause) {
      note(cause);
    }
  };
  if (draft.trigger === "webhook") note(noWebhook());
  const ids = draft.steps.map(({ id }, at) => id ?? `step${at + 1}`);
  check(() => requireIds(ids));
  const schemaIs = draft.inputSchema === undefined ? null : schemaFault(draft.inputSchema);
  if (schemaIs !== null) note(invalid([{ path: "/inputSchema", message: schemaIs }]));
  const doings: Doing[] = [];
  const steps: WorkflowStep[] = [];
  for (const [at, step] of draft.steps.entries()) {
    const id = ids[at] ?? "";
    const doing = await doingOf({ ...step, id }, at, draft.name, around).catch(note);
    if (doing) check(() => requireStep(step, doing, at));
    doings.push(doing ?? UNKNOWN);
    steps.push(wholeStep(step, id, doing ?? UNKNOWN));
  }
  const needs: Placed[][] = [];
  const turn = mainThread.job("begun");
  for (const [at, step] of steps.entries()) {
    needs.push([]);
    check(() => (needs[at] = referencesOfStep(step, at)));
    check(() => requireNeeds(step, at, ids));
    const over = turn();
    if (over) await over;
  }
  check(() => refuseCircle(steps, needs));
  const known = { ids, doings, steps, inputSchema: draft.inputSchema, anyOrder: isGraph(steps) };
  // In a circle, each reference would also be reported as one to a later step.
  const isCircle = faults.some(({ fault }) => fault.reason === "cycle");
  needs.forEach((references, at) => {
    for (const one of isCircle ? [] : references) check(() => requireKnown(one, at, known));
  });
  const warnings = warningsOf(draft, steps, doings);
  return { checked: { steps, risk: highest(doings), warnings }, faults };
}

/** Stands for a step whose tool is not known, so that the other steps can be checked. */
const UNKNOWN: Doing = { name: "unknown", risk: "safe", outputSchema: null, idempotent: true };
const MAX_FAULTS = 100;

const highest = (doings: readonly Pick<Doing, "risk">[]): Risk =>
  doings
    .map(({ risk }) => risk)
    .reduce<Risk>(
      (most, each) => (ORDER.indexOf(each) > ORDER.indexOf(most) ? each : most),
      "safe",
    );

function requireIds(ids: readonly string[]): void {
  const twice = ids.find((id, at) => ids.indexOf(id) !== at);
  if (twice !== undefined)
    throw invalid([
      {
        path: `/steps/${ids.lastIndexOf(twice)}/id`,
        message: `the id ${JSON.stringify(twice)} is given twice`,
      },
    ]);
}

const WAIT_OUTPUTS: Record<StepWait["kind"], JsonObject> = {
  time: { type: "object", properties: { at: {} }, additionalProperties: false },
  person: {
    type: "object",
    properties: { answer: {}, answeredBy: {} },
    additionalProperties: false,
  },
  event: { type: "object", properties: { payload: {}, by: {} }, additionalProperties: false },
};

async function doingOf(
  step: DraftStep & { readonly id: string },
  at: number,
  name: string,
  { visible, named }: Surroundings,
): Promise<Doing> {
  const said = [step.tool, step.workflow, step.wait].filter((one) => one !== undefined).length;
  if (said !== 1)
    throw invalid([
      {
        path: `/steps/${at}`,
        message: `expected exactly one of tool, workflow and wait, got ${said}`,
      },
    ]);
  if (step.wait) {
    if (
      step.wait.kind === "time" &&
      (step.wait.seconds === undefined) === (step.wait.until === undefined)
    )
      throw invalid([
        { path: `/steps/${at}/wait`, message: "expected exactly one of seconds and until" },
      ]);
    const outputSchema = WAIT_OUTPUTS[step.wait.kind];
    return { name: "wait", risk: "safe", outputSchema, idempotent: false };
  }
  const tool = toolOf({ ...step, at }, step.tool ?? "workflow/execute", visible);
  if (step.workflow === undefined) return { ...tool, outputSchema: tool.outputSchema ?? null };
  const child = await named(step.workflow);
  if (child === null && step.workflow !== name)
    throw invalid([
      {
        path: `/steps/${at}/workflow`,
        message: `you have no workflow ${JSON.stringify(step.workflow)}; define it first`,
      },
    ]);
  await refuseNested(name, { called: step.workflow, row: child, at }, named);
  const risk = highest([tool, { risk: child?.risk ?? "safe" }]);
  return { name: `workflow ${step.workflow}`, risk, outputSchema: null, idempotent: false };
}

/** Workflows that run each other would never end. */
async function refuseNested(
  name: string,
  { called: first, row: child, at }: { called: string; row: Nested | null; at: number },
  named: Surroundings["named"],
): Promise<void> {
  const field = `/steps/${at}/workflow`;
  let level = [{ called: first, row: child, path: [name, first] }];
  for (let depth = 1; level.length > 0; depth++) {
    const circle = level.find(({ called }) => called === name);
    if (circle) throw cycle(field, `the workflow runs itself: ${circle.path.join(" → ")}`);
    if (depth > MAX_NESTED)
      throw cycle(
        field,
        `workflows run workflows more than ${MAX_NESTED} deep: ${level[0]?.path.join(" → ")}`,
      );
    const next: typeof level = [];
    for (const { row, path } of level)
      for (const { workflow } of row?.steps ?? [])
        if (workflow !== undefined)
          next.push({ called: workflow, row: await named(workflow), path: [...path, workflow] });
    level = next;
  }
}

function requireStep(step: DraftStep, doing: Doing, at: number): void {
  const { tool } = step;
  if (step.retry && step.retry.attempts > 1 && !doing.idempotent)
    throw invalid([
      {
        path: `/steps/${at}/retry`,
        message:
          tool === undefined
            ? "only a step that calls a tool is tried again"
            : `${doing.name} is not idempotent: running it twice may do harm`,
      },
    ]);
  if (step.forEach && tool === undefined)
    throw invalid([
      { path: `/steps/${at}/forEach`, message: "only a step that calls a tool can be a loop" },
    ]);
  if (step.forEach && reference(step.forEach.items) === null)
    throw invalid([
      {
        path: `/steps/${at}/forEach/items`,
        message: "expected one reference, e.g. {{input.files}} or {{steps.a.output.list}}",
      },
    ]);
}

function wholeStep(step: DraftStep, id: string, doing: Doing): WorkflowStep {
  const { tool: _tool, workflow, wait, ...rest } = step;
  if (wait) return { ...rest, id, wait };
  // The canonical name: an alias may point elsewhere one day.
  return workflow === undefined ? { ...rest, id, tool: doing.name } : { ...rest, id, workflow };
}

function toolOf(
  { id, tool, at }: { readonly id: string; readonly tool?: string; readonly at: number },
  named: string,
  visible: readonly Visible[],
): Visible {
  const found = visible.find((one) => [one.name, one.wireName, ...one.aliases].includes(named));
  if (found) return found;
  const message = `there is no tool ${JSON.stringify(named)} for you`;
  throw new AppError("EXECUTION_FAILED", "tool_not_visible", `step ${id}: ${message}`, {
    remedy: "use a tool of your own list",
    errors: [{ path: `/steps/${at}/${tool === undefined ? "workflow" : "tool"}`, message }],
  });
}

function warningsOf(
  { trigger, name }: Draft,
  steps: readonly WorkflowStep[],
  doings: readonly Doing[],
): string[] {
  const dangerous = steps.flatMap(({ id }, at) =>
    doings[at]?.risk === "dangerous"
      ? [`step ${id}: ${doings[at].name} is dangerous and may wait for a person's yes`]
      : [],
  );
  if (trigger === "scheduled")
    return [...dangerous, "it runs by the clock once workflow/schedule says when"];
  if (trigger === "event")
    return [...dangerous, `it runs when you send POST /api/v1/events/${encodeURIComponent(name)}`];
  return dangerous;
}
