// Rules ask for the same few paths of input again and again; each is looked up once per evaluation.
import { UNDEFINED } from "../evaluate/context.ts";
import { lookup } from "../values/lookup.ts";
import { keyOf } from "../values/value.ts";
import type { Get } from "../generate/code.ts";
import type { Value } from "../values/value.ts";

interface Level {
  readonly get: Get;
  readonly below: Map<unknown, Level>;
}

export class InputPaths {
  readonly #root: Level = { get: (c) => c.input, below: new Map() };
  #count = 0;

  /** Code for `input` followed by constant keys. */
  get(path: readonly Value[]): Get {
    let level = this.#root;
    for (const key of path) {
      const id = keyOf(key);
      let next = level.below.get(id);
      if (!next) level.below.set(id, (next = this.#level(level.get, key)));
      level = next;
    }
    return level.get;
  }

  #level(parent: Get, key: Value): Level {
    const slot = this.#count++;
    const get: Get = (c, f) => {
      const known = c.inputs[slot];
      if (known !== undefined) return known === UNDEFINED ? undefined : known;
      const outer = parent(c, f);
      const value = outer === undefined ? undefined : lookup(outer, key);
      c.inputs[slot] = value === undefined ? UNDEFINED : value;
      return value;
    };
    return { get, below: new Map() };
  }
}
