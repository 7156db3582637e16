// A set for what comes and goes with every call. When the table of a Map or Set grows, V8 keeps the old table, which
// refers to the new one. Once an old table is in the old generation, everything that was ever added stays in memory
// until the next full garbage collection. An array does not do that.

export interface UnorderedItem {
  /** Its index in the set. Only the set writes it. */
  index: number;
}

export class UnorderedSet<T extends UnorderedItem> {
  readonly #items: T[] = [];

  get size(): number {
    return this.#items.length;
  }

  add(item: T): void {
    item.index = this.#items.push(item) - 1;
  }

  has(item: T): boolean {
    return this.#items[item.index] === item;
  }

  /** False when it was not there. The last item moves to its index, so the order is not kept. */
  delete(item: T): boolean {
    if (!this.has(item)) return false;
    const last = this.#items.pop();
    if (last && last !== item) {
      this.#items[item.index] = last;
      last.index = item.index;
    }
    return true;
  }

  /** A copy, which does not change during a loop. */
  all(): T[] {
    return [...this.#items];
  }

  find(is: (item: T) => boolean): T | undefined {
    return this.#items.find(is);
  }
}
