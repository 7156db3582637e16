// Is a workflow sound before anybody runs it: tools the caller sees, references that can be filled, no circle, and
// nothing tried twice that must not run twice.
import type { JsonObject } from "../../contract/call.ts";
import { AppError, type FieldFault } from "../../contract/errors.ts";
import type { StepWait, Trigger, WorkflowRow, WorkflowStep } from "../../storage/store/store.ts";
import type { Risk, Tool } from "../../contract/tool.ts";
import { schemaFault } from "../caller-schema.ts";
import { mainThread } from "../../util/async/time-slices.ts";
import { parseCondition, referencesOf } from "./condition.ts";
import { isGraph, reference, textsOf } from "./run/graph.ts";
import { referencesIn, type Reference } from "./template.ts";

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
  /** The newest version of a workflow of theirs. */
  readonly named: (name: string) => Promise<WorkflowRow | null>;
}

type Visible = Pick<Tool, "name" | "wireName" | "aliases" | "risk" | "outputSchema" | "idempotent">;

/** What is known of the thing that a step does. */
interface Doing {
  readonly name: string;
  readonly risk: Risk;
  readonly outputSchema: JsonObject | null;
  readonly idempotent: boolean;
}

const ORDER: readonly Risk[] = ["safe", "moderate", "dangerous"];
/** How deep workflows may run workflows; calls within calls have a bound of their own. */
const MAX_NESTED = 5;

export async function checkDefinition(draft: Draft, around: Surroundings): Promise<Checked> {
  if (draft.trigger === "webhook") throw noWebhook();
  const ids = draft.steps.map(({ id }, at) => id ?? `step${at + 1}`);
  requireIds(ids);
  if (draft.inputSchema !== undefined) {
    const fault = schemaFault(draft.inputSchema);
    if (fault !== null) throw invalid([{ path: "/inputSchema", message: fault }]);
  }
  const doings: Doing[] = [];
  const steps: WorkflowStep[] = [];
  for (const [at, step] of draft.steps.entries()) {
    const id = ids[at] ?? "";
    const doing = await doingOf({ ...step, id }, at, draft.name, around);
    doings.push(doing);
    steps.push(wholeStep(step, id, doing, at));
  }
  const needs: Reference[][] = [];
  const turn = mainThread.job("begun");
  for (const [at, step] of steps.entries()) {
    needs.push(referencesOfStep(step, at));
    requireNeeds(step, at, ids);
    const over = turn();
    if (over) await over;
  }
  refuseCircle(steps, needs);
  const known = { ids, doings, steps, inputSchema: draft.inputSchema, anyOrder: isGraph(steps) };
  needs.forEach((references, at) => {
    for (const one of references) requireKnown(one, at, known);
  });
  return { steps, risk: highest(doings), warnings: warningsOf(draft, steps, doings) };
}

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
  const tool = toolOf(step.id, step.tool ?? "workflow/execute", visible);
  if (step.workflow === undefined) return { ...tool, outputSchema: tool.outputSchema ?? null };
  const child = await named(step.workflow);
  if (child === null && step.workflow !== name)
    throw invalid([
      {
        path: `/steps/${at}/workflow`,
        message: `you have no workflow ${JSON.stringify(step.workflow)}; define it first`,
      },
    ]);
  await refuseNested(name, step.workflow, child, named);
  const risk = highest([tool, { risk: child?.risk ?? "safe" }]);
  return { name: `workflow ${step.workflow}`, risk, outputSchema: null, idempotent: false };
}

/** Workflows that run each other would never end. */
async function refuseNested(
  name: string,
  first: string,
  child: WorkflowRow | null,
  named: Surroundings["named"],
): Promise<void> {
  let level = [{ called: first, row: child, path: [name, first] }];
  for (let depth = 1; level.length > 0; depth++) {
    const circle = level.find(({ called }) => called === name);
    if (circle) throw cycle(`the workflow runs itself: ${circle.path.join(" → ")}`);
    if (depth > MAX_NESTED)
      throw cycle(
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

function wholeStep(step: DraftStep, id: string, doing: Doing, at: number): WorkflowStep {
  const { tool, workflow, wait, ...rest } = step;
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
  if (wait) return { ...rest, id, wait };
  // The canonical name: an alias may point elsewhere one day.
  return workflow === undefined ? { ...rest, id, tool: doing.name } : { ...rest, id, workflow };
}

function toolOf(step: string, named: string, visible: readonly Visible[]): Visible {
  const found = visible.find((tool) => [tool.name, tool.wireName, ...tool.aliases].includes(named));
  if (found) return found;
  throw new AppError(
    "EXECUTION_FAILED",
    "tool_not_visible",
    `step ${step}: there is no tool ${JSON.stringify(named)} for you`,
    { remedy: "use a tool of your own list" },
  );
}

function referencesOfStep(step: WorkflowStep, at: number): Reference[] {
  const condition = step.if === undefined ? null : parseCondition(step.if);
  if (typeof condition === "string")
    throw invalid([{ path: `/steps/${at}/if`, message: condition }]);
  const found = referencesIn(textsOf(step));
  const unreadable = found.find((one) => typeof one === "string");
  if (unreadable !== undefined) throw unknownReference(step.id, unreadable);
  return [...(found as Reference[]), ...(condition ? referencesOf(condition) : [])];
}

function requireNeeds({ needs = [] }: WorkflowStep, at: number, ids: readonly string[]): void {
  const unknown = needs.findIndex((id) => !ids.includes(id));
  if (unknown !== -1)
    throw invalid([
      {
        path: `/steps/${at}/needs/${unknown}`,
        message: `there is no step ${JSON.stringify(needs[unknown])}`,
      },
    ]);
}

/** Steps that wait for each other; told before a mere "comes later", which is what each of them alone would be. */
function refuseCircle(steps: readonly WorkflowStep[], references: readonly Reference[][]): void {
  const next = new Map(
    steps.map(({ id, needs = [] }, at) => [
      id,
      [
        ...needs,
        ...(references[at] ?? []).flatMap((one) => (one.from === "step" ? [one.step] : [])),
      ],
    ]),
  );
  for (const { id: start } of steps) {
    const seen = new Set<string>();
    const waiting = [...(next.get(start) ?? [])];
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      if (id === start)
        throw cycle(
          `step ${start} needs its own output${seen.size > 0 ? `, by way of ${[...seen].join(", ")}` : ""}`,
        );
      if (!seen.has(id)) {
        seen.add(id);
        waiting.push(...(next.get(id) ?? []));
      }
    }
  }
}

const cycle = (what: string): AppError =>
  new AppError("EXECUTION_FAILED", "cycle", what, {
    remedy: "let a step refer only to steps before it, and a workflow run only others",
  });

interface Known {
  readonly ids: readonly string[];
  readonly doings: readonly Doing[];
  readonly steps: readonly WorkflowStep[];
  readonly inputSchema: JsonObject | undefined;
  /** Steps begin when what they need has ended, wherever they are written. */
  readonly anyOrder: boolean;
}

function requireKnown(one: Reference, at: number, known: Known): void {
  const { ids, doings, steps, inputSchema } = known;
  const step = ids[at] ?? "";
  if (one.from === "item" || one.from === "index") {
    if (!steps[at]?.forEach)
      throw unknownReference(step, `{{${one.text}}}: only a step with forEach has items`);
    return;
  }
  if (one.from === "input") {
    if (inputSchema !== undefined && !mayHold(inputSchema, one.path))
      throw unknownReference(step, `{{${one.text}}}: the input schema has no such property`);
    return;
  }
  const source = ids.indexOf(one.step);
  if (source === -1) throw unknownReference(step, `{{${one.text}}}: there is no step ${one.step}`);
  if (source >= at && !known.anyOrder)
    throw unknownReference(step, `{{${one.text}}}: step ${one.step} comes later`);
  // A loop gives a list of outputs.
  const schema = steps[source]?.forEach ? null : (doings[source]?.outputSchema ?? null);
  if (schema !== null && !mayHold(schema, one.path))
    throw unknownReference(
      step,
      `{{${one.text}}}: the output of ${doings[source]?.name ?? one.step} has no such path`,
    );
}

/** False only where the schema lists its properties, takes no others, and this is none of them. */
function mayHold(schema: JsonObject, path: readonly string[]): boolean {
  let place: JsonObject = schema;
  for (const part of path) {
    const properties = place["properties"] as JsonObject | undefined;
    if (properties === undefined) return true;
    if (!Object.hasOwn(properties, part)) return place["additionalProperties"] !== false;
    place = properties[part] as JsonObject;
  }
  return true;
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

function noWebhook(): AppError {
  const message = "nothing here takes webhooks of other systems as they send them";
  return new AppError("BAD_REQUEST", "invalid_arguments", `/trigger: ${message}`, {
    remedy:
      "use trigger event: POST /api/v1/events/{name of the workflow} with your key starts it, and the body is its input",
    errors: [{ path: "/trigger", message }],
  });
}

function unknownReference(step: string, what: string): AppError {
  return new AppError("EXECUTION_FAILED", "reference_unknown", `step ${step}: ${what}`, {
    remedy: "refer to {{input.<name>}} or {{steps.<id>.output.<path>}} of an earlier step",
  });
}

function invalid(errors: readonly FieldFault[]): AppError {
  return new AppError(
    "BAD_REQUEST",
    "invalid_arguments",
    `Input validation failed: ${errors.map(({ path, message }) => `${path} ${message}`).join("; ")}`,
    { errors, remedy: "correct the field and send it again" },
  );
}
