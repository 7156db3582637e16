// The state of one evaluation. A `with` modifier evaluates in a copy that differs in what it replaces.
import { BuiltinError } from "../builtins/builtin.ts";
import { EvalError } from "../errors.ts";
import type { RegoObject } from "../values/value.ts";
import type { Builtin, BuiltinContext, Location, Memo, RegoPowers } from "../builtins/builtin.ts";
import type { RuleNode } from "../compile/rule-tree.ts";
import type { Tracer } from "./trace.ts";
import type { Value } from "../values/value.ts";

/** Paths of data that `with` replaced: rules below them are not looked at. */
export interface Shadow {
  readonly replaced: boolean;
  readonly children: ReadonlyMap<string, Shadow>;
}

/** What a call to a replaced function does instead. */
export type Mock =
  | { readonly kind: "value"; readonly value: Value }
  | { readonly kind: "builtin"; readonly builtin: Builtin }
  | { readonly kind: "function"; readonly node: RuleNode };

export interface Limits {
  readonly maxSteps: number;
  /** A reading of `clockMs` after which evaluation ends. */
  readonly deadlineAt: number;
  readonly clockMs: () => number;
}

/** Shared by all contexts of one evaluation: counters, and what must not change within it. */
export class Session {
  readonly limits: Limits;
  readonly powers: RegoPowers;
  readonly strict: boolean;
  readonly tracer: Tracer | undefined;
  readonly #options: SessionOptions;
  #builtinContext: QueryBuiltinContext | undefined;
  steps = 0;
  /** The first built-in that failed, in strict mode. */
  failure: EvalError | undefined;
  /** Steps until the limits are looked at again, and how many there were at first. */
  #fuel = 0;
  #granted = 0;

  constructor(options: SessionOptions) {
    this.limits = options.limits;
    this.powers = options.powers;
    this.strict = options.strict;
    this.tracer = options.tracer;
    this.#options = options;
  }

  get builtinContext(): QueryBuiltinContext {
    return (this.#builtinContext ??= new QueryBuiltinContext(this, this.#options));
  }

  tick(steps = 1): void {
    this.#fuel -= steps;
    if (this.#fuel < 0) this.#refuel();
  }

  #refuel(): void {
    const { maxSteps, deadlineAt, clockMs } = this.limits;
    this.steps += this.#granted - this.#fuel;
    if (this.steps > maxSteps) throw cancelled(`more than ${String(maxSteps)} steps`);
    if (deadlineAt < Infinity && clockMs() > deadlineAt) throw cancelled("the deadline has passed");
    this.#granted = this.#fuel = Math.min(CHUNK, maxSteps - this.steps);
  }
}

const CHUNK = 512;

function cancelled(reason: string): EvalError {
  return new EvalError("eval_cancel_error", `caller cancelled query execution: ${reason}`);
}

export interface SessionOptions {
  readonly limits: Limits;
  readonly powers: RegoPowers;
  readonly memo: Memo;
  readonly strict: boolean;
  readonly tracer: Tracer | undefined;
  readonly runtime: Value;
  readonly parseModule: (file: string, source: string) => Value;
}

const NOWHERE: Location = { file: "", line: 0, column: 0 };

/** Handed to built-ins; one object per evaluation, with the location of the current call. */
class QueryBuiltinContext implements BuiltinContext {
  readonly powers: RegoPowers;
  readonly memo: Memo;
  readonly runtime: Value;
  readonly parseModule: (file: string, source: string) => Value;
  readonly tick: (steps?: number) => void;
  readonly nowNs: () => bigint;
  readonly trace?: (note: string) => void;
  location: Location = NOWHERE;
  #cache: Map<string, unknown> | undefined;

  constructor(session: Session, options: SessionOptions) {
    this.powers = options.powers;
    this.memo = options.memo;
    this.runtime = options.runtime;
    this.parseModule = options.parseModule;
    const { tracer } = options;
    if (tracer) {
      this.trace = (note) => {
        tracer.note(note, this.location);
      };
    }
    this.tick = (steps) => {
      session.tick(steps);
    };
    let now: bigint | undefined;
    this.nowNs = () => {
      const { nowNs } = options.powers;
      if (!nowNs) throw new BuiltinError("halt", "the clock is not granted to this policy");
      return (now ??= nowNs());
    };
  }

  get cache(): Map<string, unknown> {
    return (this.#cache ??= new Map());
  }
}

export class Context {
  readonly session: Session;
  readonly input: Value | undefined;
  readonly data: RegoObject;
  readonly shadow: Shadow | undefined;
  readonly mocks: ReadonlyMap<string, Mock> | undefined;
  readonly tracer: Tracer | undefined;
  /** Results of rules by the number of their node; kept until what they depend on is replaced. */
  readonly results: (Value | typeof UNDEFINED | typeof BUSY | undefined)[] = [];
  /** Values found in input, by the number of their path. */
  readonly inputs: (Value | typeof UNDEFINED | undefined)[] = [];
  /** Results of functions by the number of their node, then by argument. */
  #calls: Map<number, CallCache> | undefined;

  constructor(session: Session, parts: ContextParts) {
    this.session = session;
    this.input = parts.input;
    this.data = parts.data;
    this.shadow = parts.shadow;
    this.mocks = parts.mocks;
    this.tracer = session.tracer;
  }

  replace(parts: Partial<ContextParts>): Context {
    const { input, data, shadow, mocks } = this;
    return new Context(this.session, { input, data, shadow, mocks, ...parts });
  }

  calls(node: number): CallCache {
    const known = this.#calls?.get(node);
    if (known) return known;
    const made: CallCache = new Map();
    (this.#calls ??= new Map()).set(node, made);
    return made;
  }
}

export interface ContextParts {
  readonly input: Value | undefined;
  readonly data: RegoObject;
  readonly shadow: Shadow | undefined;
  readonly mocks: ReadonlyMap<string, Mock> | undefined;
}

export type CallCache = Map<unknown, unknown>;

export const UNDEFINED = Symbol("undefined");
export const BUSY = Symbol("busy");
