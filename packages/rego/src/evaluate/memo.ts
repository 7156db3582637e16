import type { Memo } from "../builtins/builtin.ts";

/** Keeps the most recently made results of one policy; the oldest go first. */
export class BoundedMemo implements Memo {
  readonly #max: number;
  readonly #made = new Map<string, unknown>();

  constructor(max: number) {
    this.#max = max;
  }

  get<T>(kind: string, key: string, make: () => T): T {
    const id = `${kind}\u0000${key}`;
    // A kind always makes the same type, so what is stored under it has that type.
    if (this.#made.has(id)) return this.#made.get(id) as T;
    const made = make();
    if (this.#made.size >= this.#max) {
      const oldest = this.#made.keys().next();
      if (!oldest.done) this.#made.delete(oldest.value);
    }
    this.#made.set(id, made);
    return made;
  }
}
