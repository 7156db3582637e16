// What differs between two definitions, field by field; steps are compared by their ids.
import type { Json, JsonObject } from "../../contract/call.ts";
import { canonicalJson } from "../../util/json/json.ts";
import { maskSecrets } from "../../util/secrets/masker.ts";

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
    .filter((field) => canonicalJson(field.from) !== canonicalJson(field.to))
    .map((field) => ({ ...field, to: withoutSecrets(field.path, field.to) }));
}

/** Masked as the server masks `from`: printed text may end up in logs that others read. */
function withoutSecrets(path: string, value: Json | undefined): Json | undefined {
  if (value === undefined || (typeof value === "string" && /^\{\{[^{}]*\}\}$/.test(value)))
    return value;
  const name = path.slice(path.lastIndexOf(".") + 1);
  return maskSecrets({ [name]: value })[name];
}

function flat({ steps, ...rest }: JsonObject): Map<string, Json> {
  const found = new Map<string, Json>();
  for (const [field, value] of Object.entries(rest)) found.set(field, value ?? null);
  const list = steps as readonly (JsonObject & { readonly id: string })[];
  found.set(
    "order of steps",
    list.map(({ id }) => id),
  );
  for (const { id, ...step } of list)
    for (const [field, value] of Object.entries<Json | undefined>(step)) {
      const inner = field === "input" ? Object.entries(value as JsonObject) : [];
      if (inner.length === 0) found.set(`steps.${id}.${field}`, value ?? null);
      for (const [name, given] of inner) found.set(`steps.${id}.input.${name}`, given ?? null);
    }
  return found;
}
