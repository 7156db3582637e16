// Values of secret-like fields never reach the record (L19): masked before they are stored, not when they are shown.
import type { Json, JsonObject } from "../call.ts";

export const MASK = "[masked]";

const SECRET_KEY =
  /pass(word|wd|phrase)?$|secret|token$|api[-_]?key|apikey|authorization|cookie|credential|private[-_]?key|^auth$/i;

/** True for names whose values nobody should read. */
export const isSecretName = (name: string): boolean =>
  SECRET_KEY.test(name) || /_?KEY$/i.test(name);

/** The same object when there is nothing to mask: most calls have nothing, and copying costs. */
export function maskSecrets<T extends Json | JsonObject>(value: T): T {
  return mask(value) as T;
}

function mask(value: Json): Json {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items = value as readonly Json[];
    let copy: Json[] | null = null;
    for (let i = 0; i < items.length; i++) {
      const inner = mask(items[i] ?? null);
      if (inner !== items[i]) (copy ??= [...items])[i] = inner;
    }
    return copy ?? items;
  }
  const object = value as JsonObject;
  let copy: Record<string, Json> | null = null;
  for (const key of Object.keys(object)) {
    const old = object[key] ?? null;
    const inner = SECRET_KEY.test(key) && old !== null ? MASK : mask(old);
    if (inner !== old) (copy ??= { ...object })[key] = inner;
  }
  return copy ?? value;
}
