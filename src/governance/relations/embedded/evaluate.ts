// The check: does this subject have that relation to this object? Synchronous, over memory.
import type { JsonObject } from "../../../contract/call.ts";
import { AppError } from "../../../contract/errors.ts";
import { invalid } from "./fault.ts";
import { and, butNot, NO, or, sameOutcome, YES, type CheckOutcome } from "./outcome.ts";
import type { Member, Node, Schema } from "./schema.ts";
import { everyone, expired, setKey, type Tuple, type Tuples } from "./tuples.ts";

export interface RelationSubject {
  readonly type: string;
  /** `*`: any subject of the type that no relationship names. */
  readonly id: string;
  /** Empty: the object itself. */
  readonly relation: string;
}

/** The depth at which SpiceDB refuses, too. */
export const MAX_DEPTH = 50;
/** The most passes over data with cycles; usually two are enough. */
const MAX_PASSES = 1000;

const TOO_DEEP: CheckOutcome = {
  has: "fault",
  error: invalid(
    `the relationships are nested deeper than ${MAX_DEPTH} steps`,
    "look for a cycle or a very long chain among the relationships",
  ),
};
const NEGATED_CYCLE: CheckOutcome = {
  has: "fault",
  error: invalid(
    "a permission depends on its own absence",
    "look for a cycle of relationships that leads through an exclusion (-)",
  ),
};
const UNKNOWN_CAVEAT: CheckOutcome = {
  has: "fault",
  error: new AppError(
    "UNAVAILABLE",
    "engine_unavailable",
    "a relationship names a caveat that the schema lacks",
    {
      remedy: "delete the relationship, or write a schema that has the caveat",
    },
  ),
};

/** One check. Make a new one for each: it remembers what it found. */
export class Evaluation {
  readonly #schema: Schema;
  readonly #tuples: Tuples;
  readonly #subject: RelationSubject;
  readonly #context: JsonObject | undefined;
  readonly #now: number;
  /** How many right sides of exclusions enclose this step. */
  #negations = 0;
  /** For members that can depend on themselves; created with the first of them. */
  #cycles: Cycles | null = null;

  constructor(
    schema: Schema,
    tuples: Tuples,
    subject: RelationSubject,
    context: JsonObject | undefined,
    now: number,
  ) {
    this.#schema = schema;
    this.#tuples = tuples;
    this.#subject = subject;
    this.#context = context;
    this.#now = now;
  }

  /**
   * Cycles are solved by passes: a member that is being evaluated counts as "no" in the first pass, then as the result
   * of the pass before, until nothing changes. That is the least fixed point, and each pass visits every object once.
   */
  check(member: Member, id: string): CheckOutcome {
    for (let pass = 0; pass < MAX_PASSES; pass += 1) {
      const outcome = this.#holds(member, id, 1);
      const cycles = this.#cycles;
      if (cycles === null || !cycles.met || !cycles.changed) return outcome;
      cycles.nextPass();
    }
    return TOO_DEEP;
  }

  #holds(member: Member, id: string, depth: number): CheckOutcome {
    const subject = this.#subject;
    if (subject.relation === member.name && subject.id === id && subject.type === member.type)
      return YES;
    if (depth > MAX_DEPTH) return TOO_DEEP;
    return member.recursive ? this.#guarded(member, id, depth) : this.#derive(member, id, depth);
  }

  #guarded(member: Member, id: string, depth: number): CheckOutcome {
    const cycles = (this.#cycles ??= new Cycles());
    const key = setKey(member.type, id, member.name);
    const entered = cycles.inProgress.get(key);
    if (entered !== undefined) {
      if (entered !== this.#negations) return NEGATED_CYCLE;
      cycles.met = true;
      return cycles.found.get(key) ?? NO;
    }
    if (cycles.done.has(key)) return cycles.found.get(key) ?? NO;
    cycles.inProgress.set(key, this.#negations);
    const outcome = this.#derive(member, id, depth);
    cycles.inProgress.delete(key);
    cycles.done.add(key);
    if (!sameOutcome(cycles.found.get(key) ?? NO, outcome)) {
      cycles.changed = true;
      cycles.found.set(key, outcome);
    }
    return outcome;
  }

  #derive(member: Member, id: string, depth: number): CheckOutcome {
    return member.allowed === null
      ? this.#node(member.body, member.type, id, depth)
      : this.#relation(member, id, depth);
  }

  #relation(member: Member, id: string, depth: number): CheckOutcome {
    const standing = this.#tuples.at(member.type, id, member.name);
    if (standing === undefined) return NO;
    const subject = this.#subject;
    let outcome: CheckOutcome = NO;
    const ofType = standing.direct.get(subject.type);
    if (ofType !== undefined) {
      // A wildcard admits sets of its type as well, as in SpiceDB.
      outcome = this.#condition(ofType.get("*"));
      if (subject.relation === "") outcome = or(this.#condition(ofType.get(subject.id)), outcome);
      if (outcome === YES) return YES;
    }
    for (const tuple of standing.sets.values()) {
      const next = this.#member(tuple.subjectType, tuple.subjectRelation);
      if (next === undefined || expired(tuple, this.#now)) continue;
      const inside = this.#holds(next, tuple.subjectId, depth + 1);
      if (inside === NO) continue;
      outcome = or(outcome, and(inside, this.#condition(tuple)));
      if (outcome === YES) return YES;
    }
    return outcome;
  }

  #node(node: Node, type: string, id: string, depth: number): CheckOutcome {
    switch (node.kind) {
      case "member":
        return this.#holds(node.member, id, depth + 1);
      case "union": {
        let outcome: CheckOutcome = NO;
        for (const child of node.children) {
          outcome = or(outcome, this.#node(child, type, id, depth));
          if (outcome === YES) return YES;
        }
        return outcome;
      }
      case "intersection": {
        let outcome: CheckOutcome = YES;
        for (const child of node.children) {
          outcome = and(outcome, this.#node(child, type, id, depth));
          if (outcome === NO) return NO;
        }
        return outcome;
      }
      case "exclusion": {
        const base = this.#node(node.base, type, id, depth);
        if (base === NO) return NO;
        this.#negations += 1;
        const subtract = this.#node(node.subtract, type, id, depth);
        this.#negations -= 1;
        return butNot(base, subtract);
      }
      case "arrow":
        return this.#arrow(node, type, id, depth);
      case "self": {
        const { type: subjectType, id: subjectId, relation } = this.#subject;
        return relation === "" && subjectId === id && subjectType === type ? YES : NO;
      }
      case "nil":
        return NO;
    }
  }

  #arrow(
    node: Extract<Node, { kind: "arrow" }>,
    type: string,
    id: string,
    depth: number,
  ): CheckOutcome {
    const standing = this.#tuples.at(type, id, node.relation);
    if (standing === undefined) return NO;
    let outcome: CheckOutcome | null = null;
    for (const tuple of everyone(standing)) {
      if (expired(tuple, this.#now)) continue;
      // Of a set (`folder:a#parent`) an arrow follows the object.
      const next = this.#member(tuple.subjectType, node.target);
      const inside = next === undefined ? NO : this.#holds(next, tuple.subjectId, depth + 1);
      const step = inside === NO ? NO : and(inside, this.#condition(tuple));
      if (node.all) outcome = outcome === null ? step : and(outcome, step);
      else outcome = outcome === null ? step : or(outcome, step);
      if (outcome === (node.all ? NO : YES)) return outcome;
    }
    return outcome ?? NO;
  }

  #condition(tuple: Tuple | undefined): CheckOutcome {
    if (tuple === undefined || expired(tuple, this.#now)) return NO;
    if (tuple.caveat === "") return YES;
    const caveat = this.#schema.caveats.get(tuple.caveat);
    return caveat === undefined ? UNKNOWN_CAVEAT : caveat.evaluate(tuple.context, this.#context);
  }

  #member(type: string, name: string): Member | undefined {
    return this.#schema.types.get(type)?.members.get(name);
  }
}

class Cycles {
  /** Key -> how many negations enclosed it when it began. */
  readonly inProgress = new Map<string, number>();
  readonly done = new Set<string>();
  readonly found = new Map<string, CheckOutcome>();
  met = false;
  changed = false;

  nextPass(): void {
    this.done.clear();
    this.met = false;
    this.changed = false;
  }
}
