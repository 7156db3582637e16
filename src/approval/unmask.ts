// An approver edits what was shown, secrets masked: where the mask still stands, the caller's own value goes back in.
import type { Json, JsonObject } from "../call.ts";
import type { FieldFault } from "../errors.ts";
import { MASK } from "../util/mask.ts";

export interface Unmasked {
  readonly arguments: JsonObject;
  /** A mask where the call had nothing to put back. */
  readonly faults: readonly FieldFault[];
}

export function unmask(edited: JsonObject, original: JsonObject): Unmasked {
  const faults: FieldFault[] = [];
  const restore = (value: Json, before: Json | undefined, path: string): Json => {
    if (value === MASK) {
      if (before !== undefined && before !== null) return before;
      faults.push({ path, message: `${MASK} stands for a value that the call did not have`, suggestion: "write the value itself, or leave the field out" }); // prettier-ignore
      return value;
    }
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) {
      const items = value as readonly Json[];
      return items.map((item, index) => restore(item, child(before, String(index)), `${path}/${index}`)); // prettier-ignore
    }
    return Object.fromEntries(
      Object.entries(value as JsonObject).map(([key, inner]) => [
        key,
        restore(inner, child(before, key), `${path}/${escaped(key)}`),
      ]),
    );
  };
  return { arguments: restore(edited, original, "") as JsonObject, faults };
}

const escaped = (key: string): string => key.replaceAll("~", "~0").replaceAll("/", "~1");

function child(value: Json | undefined, key: string): Json | undefined {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
  return (value as JsonObject)[key];
}
