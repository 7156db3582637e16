// What the record keeps of one value: all of it up to a number of bytes, else its beginning, its size and its hash.
// The limit comes before masking, so that masking works on little more than what is kept.
import { hash } from "node:crypto";
import type { Json, JsonObject } from "../../contract/call.ts";
import type { Cut } from "../../storage/store/store.ts";
import { canonicalJson } from "../../util/json/json.ts";
import { NAMES } from "../../util/secrets/masker-fields.ts";
import type { TimeSlices } from "../../util/async/time-slices.ts";

export interface CutValue<T extends Json> {
  readonly value: T;
  /** Null: it is whole. */
  readonly cut: Cut | null;
}

/** A text that is cut is masked with so much more of it: what the cut went through is dropped, even half a secret. */
const MARGIN = 8_192;
/** A character as JSON: an escape has six bytes, other than that there are three at most. */
const BYTES_PER_CHARACTER = 6;
const MAX_ROUNDS = 8;
const MAX_NAMING = 200;
const ELLIPSIS = "…";

/** Of a value that needs no masking. Objects stay objects. */
export function cutToSize<T extends Json>(value: T, maxBytes: number): CutValue<T> {
  if (surelyFits(value, maxBytes)) return { value, cut: null };
  const text = canonicalJson(value);
  const size = Buffer.byteLength(text);
  if (size <= maxBytes) return { value, cut: null };
  return { value: fitted(value, maxBytes), cut: { size, sha256: hash("sha256", text) } };
}

export type MaskInTurns = <T extends Json>(value: T) => T | Promise<T>;

/** Of a value that does not surely fit: in slices, hashed and masked in threads, so that it delays no other call. */
export async function cutToSizeInTurns<T extends Json>(
  value: T,
  maxBytes: number,
  p: { readonly mask: MaskInTurns; readonly turns: Pick<TimeSlices, "next"> },
): Promise<CutValue<T>> {
  await p.turns.next();
  const bytes = Buffer.from(canonicalJson(value));
  const size = bytes.length;
  if (size <= maxBytes) return { value: await p.mask(value), cut: null };
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  const { value: first, inText } = prune(value, maxBytes, MARGIN);
  const masked = await p.mask(first);
  await p.turns.next();
  const kept = fitted((inText ? withoutMargin(masked, MARGIN) : masked) as T, maxBytes);
  return { value: kept, cut: { size, sha256: Buffer.from(digest).toString("hex") } };
}

/** Of any value; reads no more than the limit allows. */
export const surelyFits = (value: Json, maxBytes: number): boolean =>
  roughly(value, maxBytes) <= maxBytes;

/** At least as many bytes as the value has; stops once they are more than `limit`. */
function roughly(value: Json, limit: number): number {
  if (typeof value === "string") return value.length * BYTES_PER_CHARACTER + 2;
  if (typeof value !== "object" || value === null) return 25;
  let size = 2;
  if (Array.isArray(value)) {
    for (const item of value as readonly Json[]) {
      size += 1 + roughly(item, limit - size);
      if (size > limit) return size;
    }
    return size;
  }
  const object = value as JsonObject;
  for (const key in object) {
    size += key.length * BYTES_PER_CHARACTER + 4 + roughly(object[key] ?? null, limit - size);
    if (size > limit) return size;
  }
  return size;
}

/** As much of its beginning as there is room for. What is masked in it already stays so. */
function fitted<T extends Json>(value: T, maxBytes: number): T {
  let kept = value;
  let budget = maxBytes;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const size = Buffer.byteLength(JSON.stringify(kept));
    if (size <= maxBytes) return kept;
    budget = round === 0 ? maxBytes : Math.floor(((budget * maxBytes) / size) * 0.9);
    const pruned = prune(value, budget, 0);
    kept = (pruned.inText ? withoutMargin(pruned.value, 0) : pruned.value) as T;
  }
  return emptyLike(value) as T;
}

const emptyLike = (value: Json): Json =>
  typeof value === "string" ? "" : Array.isArray(value) ? [] : {};

interface Pruned<T> {
  readonly value: T;
  /** The last text of it is cut, and longer than wanted by the margin. */
  readonly inText: boolean;
}

/** The first so many characters of a value, in the order in which it is written. */
function prune<T extends Json>(value: T, characters: number, margin: number): Pruned<T> {
  let left = characters;
  let inText = false;
  /** Nothing follows what was cut. */
  let isOver = false;
  const walk = (item: Json): Json => {
    if (typeof item === "string") {
      left -= 2;
      if (item.length <= left) {
        left -= item.length;
        return item;
      }
      [inText, isOver] = [true, true];
      return item.slice(0, Math.max(0, left) + margin);
    }
    if (typeof item !== "object" || item === null) {
      left -= 5;
      return item;
    }
    left -= 2;
    return Array.isArray(item) ? walkList(item as readonly Json[]) : walkObject(item as JsonObject);
  };
  const walkList = (items: readonly Json[]): Json => {
    const kept: Json[] = [];
    for (const item of items) {
      if (isOver || (isOver = left <= 0)) break;
      left -= 1;
      kept.push(walk(item));
    }
    return kept;
  };
  const walkObject = (object: JsonObject): Json => {
    const kept: Record<string, Json> = namesIn(object);
    for (const key in object) {
      if (key === "__proto__" || Object.hasOwn(kept, key)) continue;
      if (isOver || (isOver = left <= key.length + 4)) break;
      left -= key.length + 4;
      kept[key] = walk(object[key] ?? null);
    }
    return kept;
  };
  const pruned = walk(value) as T;
  return { value: pruned, inText };
}

/** A field that marks the value beside it as a secret is kept with it, wherever it is in the object. */
function namesIn(object: JsonObject): Record<string, Json> {
  const names: Record<string, Json> = {};
  for (const key of NAMES) {
    const name = Object.hasOwn(object, key) ? object[key] : undefined;
    if (typeof name === "string" && name.length <= MAX_NAMING) names[key] = name;
  }
  return names;
}

/** The cut text is the last of the value. A mask may have replaced it already. */
function withoutMargin(value: Json, margin: number): Json {
  if (typeof value === "string")
    return value.slice(0, Math.max(0, value.length - margin)) + ELLIPSIS;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items = value as readonly Json[];
    return items.length === 0
      ? items
      : [...items.slice(0, -1), withoutMargin(items.at(-1) ?? null, margin)];
  }
  const entries = Object.entries(value as JsonObject);
  const last = entries.at(-1);
  if (last === undefined) return value;
  return { ...(value as JsonObject), [last[0]]: withoutMargin(last[1] ?? null, margin) };
}
