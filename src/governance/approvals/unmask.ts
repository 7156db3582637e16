// An approver edits what was shown, secrets masked: where the mask still stands, the caller's own value goes back in.
import type { Json, JsonObject } from "../../contract/call.ts";
import type { FieldFault } from "../../contract/errors.ts";
import { holdsMask, isMasked, MASK, replaceMasks } from "../../util/secrets/mask.ts";
import type { Masker } from "../../util/secrets/masker.ts";

export interface Unmasked {
  readonly arguments: JsonObject;
  /** A mask where the call had nothing to put back. */
  readonly faults: readonly FieldFault[];
}

/** `shown` is the original as its masks show it. */
export function unmask(
  edited: JsonObject,
  original: JsonObject,
  shown: JsonObject,
  masker: Pick<Masker, "secretsIn">,
): Unmasked {
  const faults: FieldFault[] = [];
  const foreign = (path: string, mask: string): void => {
    faults.push({
      path,
      message: `${mask} stands for a value that the call did not have`,
      suggestion: "write the value itself, or leave the field out",
    });
  };
  /** `before` is what the call has at this place, `seen` what was shown of it. */
  const restore = (
    value: Json,
    before: Json | undefined,
    seen: Json | undefined,
    path: string,
  ): Json => {
    if (typeof value === "string") return restored(value, before, seen, path);
    if (typeof value !== "object" || value === null) return value;
    const inner = (one: Json, key: string): Json =>
      restore(one, child(before, key), child(seen, key), `${path}/${escaped(key)}`);
    if (Array.isArray(value))
      return (value as readonly Json[]).map((one, index) => inner(one, String(index)));
    return Object.fromEntries(
      Object.entries(value as JsonObject).map(([key, one]) => [key, inner(one, key)]),
    );
  };
  const restored = (
    value: string,
    before: Json | undefined,
    seen: Json | undefined,
    path: string,
  ): Json => {
    if (!holdsMask(value)) return value;
    const has = before !== undefined && before !== null;
    if (has && (value === seen || value === MASK)) return before;
    // A tag names the secret it stands for: another one than the call had there is not put back.
    if (isMasked(value) || typeof before !== "string") {
      foreign(path, isMasked(value) ? value : MASK);
      return value;
    }
    const secrets = masker.secretsIn(before);
    return replaceMasks(value, (mask) => {
      const secret = secrets.get(mask);
      if (typeof secret === "string") return secret;
      if (before.includes(mask)) return mask;
      foreign(path, mask);
      return mask;
    });
  };
  return { arguments: restore(edited, original, shown, "") as JsonObject, faults };
}

const escaped = (key: string): string => key.replaceAll("~", "~0").replaceAll("/", "~1");

function child(value: Json | undefined, key: string): Json | undefined {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
  return (value as JsonObject)[key];
}
