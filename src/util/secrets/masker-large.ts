// Large values are masked beside everything else: long texts in a thread, and the rest a few milliseconds at a time.
import type { Json, JsonObject } from "../../contract/call.ts";
import { withoutData } from "./masker-fields.ts";

/** A text masked for the caller and for the record. */
export interface MaskedText {
  readonly answer: string;
  readonly recorded: string;
  readonly masked: number;
}

/** Masks long texts in another thread. */
export interface LongTexts {
  mask(text: string): Promise<MaskedText>;
  /** The thread has to know what this one knows. */
  know(secret: string): void;
  knowTemporary(secret: string): void;
}

/**
 * Characters, where a value counts as some of them. Below it masking takes a few milliseconds, whatever the text
 * says.
 */
const LARGE = 32_768;
/** From here on a text goes to the thread; below it is masked in a turn. */
export const LONG_TEXT = 16_384;
const PER_VALUE = 12;

export const isLarge = (value: Json): boolean => sizeOf(value, LARGE) > LARGE;

/** Reads no more than `limit` of it. */
function sizeOf(value: Json, limit: number): number {
  if (typeof value === "string") return value.length + PER_VALUE;
  if (typeof value !== "object" || value === null) return PER_VALUE;
  let size = PER_VALUE;
  if (Array.isArray(value)) {
    const items = value as readonly Json[];
    for (let at = 0; at < items.length && size <= limit; at++)
      size += sizeOf(items[at] ?? null, limit - size);
    return size;
  }
  const object = value as JsonObject;
  for (const name in object) {
    size += name.length + sizeOf(object[name] ?? null, limit - size);
    if (size > limit) break;
  }
  return size;
}

/** The cut may have gone through a secret: what is left of it goes, too. */
export const MARGIN = 4_096;

/** The beginning of a value, masked: what is shown in part is masked in part. */
export function maskedBeginning(value: Json, characters: number, mask: (part: Json) => Json): Json {
  if (sizeOf(value, characters) <= characters) return mask(value);
  const masked = mask(beginningOf(value, characters + MARGIN));
  const size = sizeOf(masked, characters + MARGIN);
  return beginningOf(masked, Math.min(characters, size - MARGIN));
}

/** The first so many characters of a value, in the order in which it is written. */
function beginningOf(value: Json, characters: number): Json {
  let left = characters;
  const walk = (item: Json): Json => {
    if (typeof item === "string") {
      const text = item.length <= left ? item : item.slice(0, Math.max(0, left));
      left -= item.length + PER_VALUE;
      return text;
    }
    left -= PER_VALUE;
    if (typeof item !== "object" || item === null) return item;
    if (Array.isArray(item)) {
      const items: Json[] = [];
      for (const one of item as readonly Json[]) {
        if (left <= 0) break;
        items.push(walk(one));
      }
      return items;
    }
    const entries: [string, Json][] = [];
    for (const name in item as JsonObject) {
      if ((left -= name.length) <= 0) break;
      entries.push([name, walk((item as JsonObject)[name] ?? null)]);
    }
    return Object.fromEntries(entries);
  };
  return walk(value);
}

/** Long texts and long names in a value; base64 of pictures is no text. */
export function* longTextsIn(value: Json): Generator<string | null> {
  const rest: Json[] = [value];
  for (let item = rest.pop(); item !== undefined; item = rest.pop()) {
    if (typeof item === "string") yield item;
    if (typeof item !== "object" || item === null) continue;
    // A place to pause.
    yield null;
    for (const [name, inner] of Object.entries(item as JsonObject)) {
      if (name.length >= LONG_TEXT) yield name;
      if (name === "$content" && Array.isArray(inner)) rest.push(...inner.map(withoutData));
      else if (typeof inner === "string" ? inner.length >= LONG_TEXT : typeof inner === "object")
        rest.push(inner);
    }
  }
}
