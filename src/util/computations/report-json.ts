// Access to JSON of unknown shape: what a report lacks reads as empty.

/** Null where the text is not JSON. */
export function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

export const object = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
export const list = (value: unknown): Record<string, unknown>[] | null =>
  Array.isArray(value) ? value.map(object) : null;
export const str = (value: unknown): string => (typeof value === "string" ? value : "");
