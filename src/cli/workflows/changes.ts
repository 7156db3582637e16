// What differs between two definitions, field by field; steps are compared by their ids.
import type { Json, JsonObject } from "../../contract/call.ts";
import { canonicalJson } from "../../util/json/json.ts";

export interface FieldChange {
  readonly path: string;
  /** Undefined: it is not there. */
  readonly from: Json | undefined;
  readonly to: Json | undefined;
}

export function changesBetween(from: JsonObject, to: JsonObject): FieldChange[] {
  const [one, other] = [flat(from), flat(to)];
  return [...new Set([...one.keys(), ...other.keys()])]
    .map((path) => ({ path, from: one.get(path), to: other.get(path) }))
    .filter((field) => canonicalJson(field.from) !== canonicalJson(field.to));
}

function flat({ steps, ...rest }: JsonObject): Map<string, Json> {
  const found = new Map<string, Json>(Object.entries(rest) as [string, Json][]);
  const list = steps as readonly JsonObject[];
  found.set(
    "order of steps",
    list.map(({ id }) => String(id)),
  );
  for (const { id, ...step } of list)
    for (const [field, value] of Object.entries(step)) {
      const inner = field === "input" ? Object.entries(value as JsonObject) : [];
      if (inner.length === 0) found.set(`steps.${String(id)}.${field}`, value ?? null);
      for (const [name, given] of inner)
        found.set(`steps.${String(id)}.input.${name}`, given ?? null);
    }
  return found;
}
