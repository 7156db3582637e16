// State of code generation for one rule or query: slots for variables, and which are bound by now.
import type { Builtin } from "../builtins/builtin.ts";
import type { InputPaths } from "../compile/input-paths.ts";
import type { RuleTree } from "../compile/rule-tree.ts";

export interface Program {
  readonly tree: RuleTree;
  readonly builtins: ReadonlyMap<string, Builtin>;
  readonly inputs: InputPaths;
  /** Also report every expression to a tracer. */
  readonly traced: boolean;
}

export class Gen {
  readonly program: Program;
  readonly slots = new Map<string, number>();
  bound = new Set<string>();

  constructor(program: Program) {
    this.program = program;
  }

  slot(name: string): number {
    const known = this.slots.get(name);
    if (known !== undefined) return known;
    const slot = this.slots.size;
    this.slots.set(name, slot);
    return slot;
  }

  bind(name: string): number {
    this.bound.add(name);
    return this.slot(name);
  }

  /** Makes code whose bindings do not outlive it. */
  scoped<T>(make: () => T): T {
    const before = this.bound;
    this.bound = new Set(before);
    const made = make();
    this.bound = before;
    return made;
  }
}
