// Search parameters of an address, as a page takes them: what it does not know is left out.

/** A text that is not empty. */
export function textOf<K extends string>(
  raw: Record<string, unknown>,
  key: K,
): { [P in K]?: string } {
  const value = raw[key];
  const text = typeof value === "number" ? String(value) : value;
  return (typeof text === "string" && text !== "" ? { [key]: text } : {}) as { [P in K]?: string };
}

/** One of the values that are known. */
export function oneOf<K extends string, const V extends string>(
  raw: Record<string, unknown>,
  key: K,
  values: readonly V[],
): { [P in K]?: V } {
  const found = values.find((value) => value === raw[key]);
  return (found === undefined ? {} : { [key]: found }) as { [P in K]?: V };
}
