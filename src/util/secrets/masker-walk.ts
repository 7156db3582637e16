// The walk over a value that masks its texts and its secret-like fields. What holds no secret is given back as the same
// object.
import type { Json, JsonObject } from "../../contract/call.ts";
import { secretArguments, type Program } from "./commands.ts";
import { isMasked, MASK } from "./mask.ts";
import {
  ARGUMENTS,
  byName,
  CODE_FIELD,
  hasOption,
  holdsSecret,
  HOLDS_SECRET,
  isSecretFlag,
  MOST_ARGUMENTS,
  PLAIN,
  programBeside,
  SECRET_FIELD,
  valueBeside,
  withData,
  withoutData,
} from "./masker-fields.ts";
import type { Way } from "./masker-texts.ts";

/** Deeper than any value that passes a door. */
export const MAX_DEPTH = 512;

export function walk(value: Json, way: Way, depth: number): Json {
  if (typeof value === "string") return way.texts.mask(value, way);
  if (typeof value !== "object" || value === null) return value;
  if (depth > MAX_DEPTH) return MASK;
  if (Array.isArray(value)) return walkList(value as readonly Json[], way, depth);
  return walkObject(value as JsonObject, way, depth);
}

/** `program` is whose arguments they are, where that stands beside them. */
function walkList(
  items: readonly Json[],
  way: Way,
  depth: number,
  program: Program | null = null,
): Json {
  let copy: Json[] | null = null;
  for (let at = 0; at < items.length; at++) {
    const old = items[at] ?? null;
    const flag = way.names && at > 0 && isSecretFlag(items[at - 1]);
    const inner = flag ? byName(old, way) : walk(old, way, depth + 1);
    if (inner !== old) (copy ??= [...items])[at] = inner;
  }
  return maskArguments(items, copy, program, way) ?? items;
}

/** Passwords among the arguments of a program. */
export function maskArguments(
  items: readonly Json[],
  given: Json[] | null,
  program: Program | null,
  way: Way,
): Json[] | null {
  if (!way.names || !hasOption(items)) return given;
  let copy = given;
  const words = items
    .slice(0, MOST_ARGUMENTS)
    .map((item) => (typeof item === "string" ? item : null));
  for (const { index, start } of secretArguments(words, program)) {
    const word = words[index] ?? "";
    const now = (copy ?? items)[index];
    // Whole already: by the name of its option.
    if (isMasked(now)) continue;
    (copy ??= [...items])[index] =
      word.slice(0, start) + way.render(word.slice(start), word.slice(start));
  }
  return copy;
}

function walkObject(object: JsonObject, way: Way, depth: number): Json {
  let copy: Record<string, Json> | null = null;
  let renamed = false;
  let fields = 0;
  for (const name in object) {
    const old = object[name] ?? null;
    const kind = way.texts.kindOf(name);
    fields++;
    // Plain texts under plain names are what nearly all fields are.
    const isPlain = kind === PLAIN && typeof old === "string";
    const inner = isPlain ? way.texts.mask(old, way) : walkField(object, name, kind, way, depth);
    if (inner !== old) (copy ??= { ...object })[name] = inner;
    renamed ||= kind === HOLDS_SECRET;
  }
  // One field has none beside it.
  if (fields < 2 && !renamed) return copy ?? object;
  return finished(object, copy, renamed, way);
}

export function walkField(
  object: JsonObject,
  name: string,
  kind: number,
  way: Way,
  depth: number,
): Json {
  const old = object[name] ?? null;
  if (way.names && kind === SECRET_FIELD) return byName(old, way);
  if (way.names && kind >= CODE_FIELD && holdsSecret(kind, old)) return byName(old, way);
  if (!Array.isArray(old)) return walk(old, way, depth + 1);
  if (name === "$content") return walkBlocks(old as readonly Json[], way, depth);
  const program = way.names && ARGUMENTS.has(name) ? programBeside(object) : null;
  return walkList(old as readonly Json[], way, depth + 1, program);
}

/** What the fields of an object say of each other, and names that hold a secret themselves. */
export function finished(
  object: JsonObject,
  given: Record<string, Json> | null,
  renamed: boolean,
  way: Way,
): Json {
  let copy = given;
  if (way.names) {
    const beside = valueBeside(object, way.texts.kindOf);
    if (beside !== null) (copy ??= { ...object })[beside] = byName(object[beside] ?? null, way);
  }
  if (!renamed) return copy ?? object;
  return Object.fromEntries(
    Object.entries(copy ?? object).map(([name, inner]) => [way.texts.mask(name, way), inner]),
  );
}

/** What is more than JSON: base64 of pictures is no text. */
function walkBlocks(blocks: readonly Json[], way: Way, depth: number): Json {
  let copy: Json[] | null = null;
  blocks.forEach((block, at) => {
    const rest = withoutData(block);
    const inner = walk(rest, way, depth + 1);
    if (inner !== rest) (copy ??= [...blocks])[at] = withData(inner, block);
  });
  return copy ?? blocks;
}
