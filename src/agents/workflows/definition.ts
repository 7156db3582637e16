// Is a workflow sound before anybody runs it: tools the caller sees, references that can be filled, no circle.
import type { JsonObject } from "../../contract/call.ts";
import { AppError, type FieldFault } from "../../contract/errors.ts";
import type { Trigger, WorkflowStep } from "../../storage/store/store.ts";
import type { Risk, Tool } from "../../contract/tool.ts";
import { schemaFault } from "../caller-schema.ts";
import { mainThread } from "../../util/async/time-slices.ts";
import { parseCondition, referencesOf } from "./condition.ts";
import { referencesIn, type Reference } from "./template.ts";

export interface Draft {
  readonly name: string;
  readonly description: string;
  readonly trigger: Trigger;
  readonly steps: readonly {
    readonly id?: string;
    readonly tool: string;
    readonly input: JsonObject;
    readonly if?: string;
    readonly continueOnError: boolean;
    readonly timeoutSeconds?: number;
  }[];
  readonly inputSchema?: JsonObject;
}

export interface Checked {
  readonly steps: readonly WorkflowStep[];
  readonly risk: Risk;
  readonly warnings: readonly string[];
}

type Visible = Pick<Tool, "name" | "wireName" | "aliases" | "risk" | "outputSchema">;

const ORDER: readonly Risk[] = ["safe", "moderate", "dangerous"];

export async function checkDefinition(draft: Draft, visible: readonly Visible[]): Promise<Checked> {
  const steps = draft.steps.map((step, at): WorkflowStep => ({
    ...step,
    id: step.id ?? `step${at + 1}`,
  }));
  const ids = steps.map(({ id }) => id);
  const twice = ids.find((id, at) => ids.indexOf(id) !== at);
  if (twice !== undefined)
    throw invalid([
      {
        path: `/steps/${ids.lastIndexOf(twice)}/id`,
        message: `the id ${JSON.stringify(twice)} is given twice`,
      },
    ]);
  if (draft.inputSchema !== undefined) {
    const fault = schemaFault(draft.inputSchema);
    if (fault !== null) throw invalid([{ path: "/inputSchema", message: fault }]);
  }
  const tools = steps.map((step) => toolOf(step, visible));
  const needs: Reference[][] = [];
  const turn = mainThread.job("begun");
  for (const [at, step] of steps.entries()) {
    needs.push(referencesOfStep(step, at));
    const over = turn();
    if (over) await over;
  }
  refuseCircle(ids, needs);
  needs.forEach((references, at) => {
    for (const reference of references)
      requireKnown(reference, at, { ids, tools, inputSchema: draft.inputSchema });
  });
  const risk = tools
    .map((tool) => tool.risk)
    .reduce<Risk>(
      (highest, each) => (ORDER.indexOf(each) > ORDER.indexOf(highest) ? each : highest),
      "safe",
    );
  // The canonical name: an alias may point elsewhere one day.
  return {
    steps: steps.map((step, at) => ({ ...step, tool: tools[at]?.name ?? step.tool })),
    risk,
    warnings: warningsOf(draft.trigger, steps, tools),
  };
}

function toolOf(step: WorkflowStep, visible: readonly Visible[]): Visible {
  const found = visible.find((tool) =>
    [tool.name, tool.wireName, ...tool.aliases].includes(step.tool),
  );
  if (found) return found;
  throw new AppError(
    "EXECUTION_FAILED",
    "tool_not_visible",
    `step ${step.id}: there is no tool ${JSON.stringify(step.tool)} for you`,
    { remedy: "use a tool of your own list" },
  );
}

function referencesOfStep(step: WorkflowStep, at: number): Reference[] {
  const condition = step.if === undefined ? null : parseCondition(step.if);
  if (typeof condition === "string")
    throw invalid([{ path: `/steps/${at}/if`, message: condition }]);
  const found = referencesIn(step.input);
  const unreadable = found.find((one) => typeof one === "string");
  if (unreadable !== undefined) throw unknownReference(step.id, unreadable);
  return [...(found as Reference[]), ...(condition ? referencesOf(condition) : [])];
}

/** Steps that wait for each other; told before a mere "comes later", which is what each of them alone would be. */
function refuseCircle(ids: readonly string[], needs: readonly Reference[][]): void {
  const next = (id: string): string[] =>
    (needs[ids.indexOf(id)] ?? []).flatMap((one) => (one.from === "step" ? [one.step] : []));
  for (const start of ids) {
    const seen = new Set<string>();
    const waiting = next(start);
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      if (id === start)
        throw new AppError(
          "EXECUTION_FAILED",
          "cycle",
          `step ${start} needs its own output${seen.size > 0 ? `, by way of ${[...seen].join(", ")}` : ""}`,
          { remedy: "let a step refer only to steps before it" },
        );
      if (!seen.has(id)) {
        seen.add(id);
        waiting.push(...next(id));
      }
    }
  }
}

interface Known {
  readonly ids: readonly string[];
  readonly tools: readonly Visible[];
  readonly inputSchema: JsonObject | undefined;
}

function requireKnown(reference: Reference, at: number, { ids, tools, inputSchema }: Known): void {
  const step = ids[at] ?? "";
  if (reference.from === "input") {
    if (inputSchema !== undefined && !mayHold(inputSchema, reference.path))
      throw unknownReference(step, `{{${reference.text}}}: the input schema has no such property`);
    return;
  }
  const source = ids.indexOf(reference.step);
  if (source === -1)
    throw unknownReference(step, `{{${reference.text}}}: there is no step ${reference.step}`);
  if (source >= at)
    throw unknownReference(step, `{{${reference.text}}}: step ${reference.step} comes later`);
  const schema = tools[source]?.outputSchema ?? null;
  if (schema !== null && !mayHold(schema, reference.path))
    throw unknownReference(
      step,
      `{{${reference.text}}}: the output of ${tools[source]?.name ?? reference.step} has no such path`,
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
  trigger: Trigger,
  steps: readonly WorkflowStep[],
  tools: readonly Visible[],
): string[] {
  const dangerous = steps.flatMap(({ id }, at) =>
    tools[at]?.risk === "dangerous"
      ? [`step ${id}: ${tools[at].name} is dangerous and may wait for a person's yes`]
      : [],
  );
  if (trigger === "scheduled")
    return [...dangerous, "it runs by the clock once workflow/schedule says when"];
  if (trigger === "manual") return dangerous;
  return [
    ...dangerous,
    `nothing here starts a workflow by ${trigger}: run it with workflow/execute`,
  ];
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
