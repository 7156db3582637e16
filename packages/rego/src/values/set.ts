import { compare, keyOf, textKey } from "./value.ts";
import type { Value } from "./value.ts";

/** An immutable Rego set. */
export class RegoSet {
  readonly #map: ReadonlyMap<unknown, Value>;
  #sorted: readonly Value[] | undefined;
  #text: string | undefined;

  private constructor(map: ReadonlyMap<unknown, Value>) {
    this.#map = map;
  }

  static readonly EMPTY = new RegoSet(new Map());

  static of(items: Iterable<Value>): RegoSet {
    const map = new Map<unknown, Value>();
    for (const item of items) {
      const key = keyOf(item);
      if (!map.has(key)) map.set(key, item);
    }
    return new RegoSet(map);
  }

  get size(): number {
    return this.#map.size;
  }

  has(item: Value): boolean {
    return this.#map.has(keyOf(item));
  }

  /** The member equal to the given value, as it was first written. */
  get(item: Value): Value | undefined {
    return this.#map.get(keyOf(item));
  }

  /** In Rego's order. */
  items(): readonly Value[] {
    return (this.#sorted ??= [...this.#map.values()].sort((a, b) => compare(a, b)));
  }

  textKey(depth: number): string {
    return (this.#text ??= `<${this.items()
      .map((item) => textKey(item, depth + 1))
      .join("")}>`);
  }
}
