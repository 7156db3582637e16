// The references of a definition: where each stands, whether it can be filled, and that no step waits for itself.
import type { Json, JsonObject } from "../../contract/call.ts";
import type { AppError } from "../../contract/errors.ts";
import type { Risk } from "../../contract/tool.ts";
import type { WorkflowStep } from "../../storage/store/store.ts";
import { parseCondition, referencesOf } from "./condition.ts";
import { cycle, invalid, unknownReference } from "./definition-faults.ts";
import { referencesIn, type Reference } from "./template.ts";

/** What is known of the tool, workflow or wait of a step. */
export interface Doing {
  readonly name: string;
  readonly risk: Risk;
  readonly outputSchema: JsonObject | null;
  readonly idempotent: boolean;
}

/** A reference, and the field that it stands in. */
export interface Placed {
  readonly reference: Reference;
  readonly path: string;
}

export function referencesOfStep(step: WorkflowStep, at: number): Placed[] {
  const place = `/steps/${at}`;
  const condition = step.if === undefined ? null : parseCondition(step.if);
  if (typeof condition === "string") throw invalid([{ path: `${place}/if`, message: condition }]);
  const found = new Map<string, Placed>();
  for (const { path, text } of placedTexts(step))
    for (const reference of referencesIn(text)) {
      if (typeof reference === "string")
        throw unknownReference(step.id, reference, `${place}${path}`);
      if (!found.has(reference.text))
        found.set(reference.text, { reference, path: `${place}${path}` });
    }
  const asked = condition ? referencesOf(condition) : [];
  return [...found.values(), ...asked.map((one) => ({ reference: one, path: `${place}/if` }))];
}

/** The texts that may hold references, with their fields; as `textsOf`. */
function* placedTexts({ input, wait, forEach }: WorkflowStep): Generator<PlacedText> {
  yield* textsBelow(input, "/input");
  if (wait?.kind === "person") yield { path: "/wait/question", text: wait.question };
  if (wait?.kind === "time" && wait.until !== undefined)
    yield { path: "/wait/until", text: wait.until };
  if (forEach) yield { path: "/forEach/items", text: forEach.items };
}

interface PlacedText {
  readonly path: string;
  readonly text: string;
}

function* textsBelow(value: Json, path: string): Generator<PlacedText> {
  const rest: { value: Json; path: string }[] = [{ value, path }];
  for (let one = rest.pop(); one !== undefined; one = rest.pop()) {
    const { value: here, path: at } = one;
    if (typeof here === "string") yield { path: at, text: here };
    else if (typeof here === "object" && here !== null)
      for (const [key, inner] of Object.entries(here as JsonObject).reverse())
        rest.push({ value: inner ?? null, path: `${at}/${pointerPart(key)}` });
  }
}

const pointerPart = (key: string): string => key.replaceAll("~", "~0").replaceAll("/", "~1");

export function requireNeeds(
  { needs = [] }: WorkflowStep,
  at: number,
  ids: readonly string[],
): void {
  const unknown = needs.findIndex((id) => !ids.includes(id));
  if (unknown !== -1)
    throw invalid([
      {
        path: `/steps/${at}/needs/${unknown}`,
        message: `there is no step ${JSON.stringify(needs[unknown])}`,
      },
    ]);
}

/** Steps that wait for each other; checked first, as each reference alone would only be reported as "comes later". */
export function refuseCircle(
  steps: readonly WorkflowStep[],
  references: readonly Placed[][],
): void {
  const next = new Map(
    steps.map(({ id, needs = [] }, at) => [
      id,
      [
        ...needs,
        ...(references[at] ?? []).flatMap(({ reference: one }) =>
          one.from === "step" ? [one.step] : [],
        ),
      ],
    ]),
  );
  for (const [at, { id: start }] of steps.entries()) {
    const seen = new Set<string>();
    const waiting = [...(next.get(start) ?? [])];
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      if (id === start)
        throw cycle(
          `/steps/${at}`,
          `step ${start} needs its own output${seen.size > 0 ? `, by way of ${[...seen].join(", ")}` : ""}`,
        );
      if (!seen.has(id)) {
        seen.add(id);
        waiting.push(...(next.get(id) ?? []));
      }
    }
  }
}

interface Known {
  readonly ids: readonly string[];
  readonly doings: readonly Doing[];
  readonly steps: readonly WorkflowStep[];
  readonly inputSchema: JsonObject | undefined;
  /** Steps begin when the steps they need have ended, in whichever order they are written. */
  readonly anyOrder: boolean;
}

export function requireKnown({ reference: one, path }: Placed, at: number, known: Known): void {
  const { ids, doings, steps, inputSchema } = known;
  const fault = (what: string): AppError =>
    unknownReference(ids[at] ?? "", `{{${one.text}}}: ${what}`, path);
  if (one.from === "item" || one.from === "index") {
    if (!steps[at]?.forEach) throw fault(`only a step with forEach has items`);
    return;
  }
  if (one.from === "input") {
    if (inputSchema !== undefined && !mayHold(inputSchema, one.path))
      throw fault(`the input schema has no such property`);
    return;
  }
  const source = ids.indexOf(one.step);
  if (source === -1) throw fault(`there is no step ${one.step}`);
  if (source >= at && !known.anyOrder) throw fault(`step ${one.step} comes later`);
  // A loop gives a list of outputs.
  const schema = steps[source]?.forEach ? null : (doings[source]?.outputSchema ?? null);
  if (schema !== null && !mayHold(schema, one.path))
    throw fault(`the output of ${doings[source]?.name ?? one.step} has no such path`);
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
