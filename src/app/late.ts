// For two parts that need each other: the earlier one is given a `Late`, and the later one is set once it is open.
export interface Late<T> {
  /** Throws before `set`: nothing may use the part while the server is still being opened. */
  get(): T;
  set(value: T): void;
}

export function createLate<T extends object>(name: string): Late<T> {
  let part: T | null = null;
  return {
    get() {
      if (part === null) throw new Error(`${name} is not open yet`);
      return part;
    },
    set(value) {
      part = value;
    },
  };
}
