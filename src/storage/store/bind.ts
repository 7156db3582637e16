// Every value bound to a statement passes here. node:sqlite takes a leading object for named parameters and shifts
// the rest, binds numbers as REAL and NaN as NULL, all silently; PostgreSQL refuses NUL in text. So both get the same
// guard.

export type BoundValue = string | number | bigint | Uint8Array | null;

export function bind(value: unknown): BoundValue {
  assertStorable(value);
  if (typeof value === "boolean") return value ? 1n : 0n;
  return Number.isSafeInteger(value) ? BigInt(value as number) : (value as BoundValue);
}

/** Throws on what no database would give back as it was. */
export function assertStorable(value: unknown): void {
  switch (typeof value) {
    case "string":
      if (value.includes("\0")) throw new TypeError("text with a NUL character cannot be stored");
      if (!value.isWellFormed())
        throw new TypeError("text with a lone surrogate cannot be stored unchanged");
      return;
    case "number":
      if (Number.isFinite(value)) return;
      throw new TypeError(`${value} cannot be stored as a number`);
    case "bigint":
      if (BigInt.asIntN(64, value) === value) return;
      throw new TypeError("an integer beyond 64 bits cannot be stored");
    case "boolean":
      return;
    default:
      if (value === null || value instanceof Uint8Array) return;
      throw new TypeError(`a value of type ${typeof value} cannot be stored`);
  }
}
