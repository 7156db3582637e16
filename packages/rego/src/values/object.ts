import { fromJson } from "./json.ts";
import { compare, keyOf, textKey } from "./value.ts";
import type { Value } from "./value.ts";

export type Entry = readonly [Value, Value];

type Source = Readonly<Record<string, unknown>>;

/**
 * An immutable Rego object. One made from JSON keeps the JSON and converts only what is read:
 * a policy that reads three fields of a large input pays for three.
 */
export class RegoObject {
  #source: Source | undefined;
  #children: Map<string, Value> | undefined;
  #map: Map<unknown, Entry> | undefined;
  #sorted: readonly Entry[] | undefined;
  #text: string | undefined;

  private constructor(source: Source | undefined, map: Map<unknown, Entry> | undefined) {
    this.#source = source;
    this.#map = map;
  }

  static readonly EMPTY = new RegoObject(undefined, new Map());

  /** A later entry replaces an earlier one of the same key. */
  static of(entries: Iterable<Entry>): RegoObject {
    const map = new Map<unknown, Entry>();
    for (const entry of entries) map.set(keyOf(entry[0]), entry);
    return new RegoObject(undefined, map);
  }

  /** Keeps the given JSON object, which must not change afterwards. */
  static fromJson(source: Source): RegoObject {
    return new RegoObject(source, undefined);
  }

  get size(): number {
    return this.#entryMap().size;
  }

  get(key: Value): Value | undefined {
    if (this.#map !== undefined) {
      const entry = this.#map.get(keyOf(key));
      return entry === undefined ? undefined : entry[1];
    }
    return typeof key === "string" ? this.#fromSource(this.#source as Source, key) : undefined;
  }

  has(key: Value): boolean {
    return this.get(key) !== undefined;
  }

  /** In the order of the keys. */
  entries(): readonly Entry[] {
    return (this.#sorted ??= [...this.#entryMap().values()].sort((a, b) => compare(a[0], b[0])));
  }

  keys(): readonly Value[] {
    return this.entries().map((entry) => entry[0]);
  }

  values(): readonly Value[] {
    return this.entries().map((entry) => entry[1]);
  }

  /** A copy with one key set. */
  with(key: Value, value: Value): RegoObject {
    const map = new Map(this.#entryMap());
    map.set(keyOf(key), [key, value]);
    return new RegoObject(undefined, map);
  }

  textKey(depth: number): string {
    return (this.#text ??= `{${this.entries()
      .map(([key, value]) => textKey(key, depth + 1) + textKey(value, depth + 1))
      .join("")}}`);
  }

  #fromSource(source: Source, key: string): Value | undefined {
    if (!Object.hasOwn(source, key)) return undefined;
    const raw = source[key];
    if (typeof raw !== "object" || raw === null)
      return raw === undefined ? undefined : fromJson(raw);
    const known = this.#children?.get(key);
    if (known !== undefined) return known;
    const child = fromJson(raw);
    (this.#children ??= new Map()).set(key, child);
    return child;
  }

  #entryMap(): Map<unknown, Entry> {
    if (this.#map !== undefined) return this.#map;
    const source = this.#source as Source;
    const map = new Map<unknown, Entry>();
    for (const key of Object.keys(source)) {
      const value = this.#fromSource(source, key);
      if (value !== undefined) map.set(keyOf(key), [key, value]);
    }
    this.#map = map;
    this.#source = undefined;
    this.#children = undefined;
    return map;
  }
}
