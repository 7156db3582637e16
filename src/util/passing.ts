// Things that come and go with every call. A Map or a Set would do, but each time its table is full it leaves behind one that
// refers to its successor: once such a table is old, all that ever passed is kept until the next full collection, which begins
// the next such row.

export interface PassingItem {
  /** Where it stands; not to be touched by others. */
  place: number;
}

export class Passing<T extends PassingItem> {
  readonly #items: T[] = [];

  get size(): number {
    return this.#items.length;
  }

  add(item: T): void {
    item.place = this.#items.push(item) - 1;
  }

  has(item: T): boolean {
    return this.#items[item.place] === item;
  }

  /** False when it was not there. The last one takes its place: the order is nobody's. */
  delete(item: T): boolean {
    if (!this.has(item)) return false;
    const last = this.#items.pop();
    if (last && last !== item) {
      this.#items[item.place] = last;
      last.place = item.place;
    }
    return true;
  }

  /** A copy, which does not change while it is walked through. */
  all(): T[] {
    return [...this.#items];
  }

  find(is: (item: T) => boolean): T | undefined {
    return this.#items.find(is);
  }
}
