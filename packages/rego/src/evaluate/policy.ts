// A compiled policy: prepare queries once, evaluate them many times.
import { generate } from "../compile/compile.ts";
import { Context, Session } from "./context.ts";
import { EvalError } from "../errors.ts";
import { Coverage, Recorder } from "./explain.ts";
import { fromJson } from "../values/json.ts";
import type { BoundedMemo } from "./memo.ts";
import { moduleJson } from "../syntax/module-json.ts";
import { compileQuery } from "../compile/query.ts";
import { RuleTree } from "../compile/rule-tree.ts";
import { RegoObject, TooDeep } from "../values/value.ts";
import type { RegoPowers } from "../builtins/builtin.ts";
import type { Compiled } from "../compile/compile.ts";
import type { EvalErrorCode } from "../errors.ts";
import type { CoverageReport, Explanation } from "./explain.ts";
import type { Program } from "../generate/generator.ts";
import type { Location, RegoVersion } from "../syntax/ast.ts";
import type { Limits } from "./context.ts";
import type { QueryCode, Solution } from "../compile/query.ts";
import type { Tracer } from "./trace.ts";
import type { Value } from "../values/value.ts";

export interface EvaluateOptions {
  /** A JSON-like value; absent means that input is undefined. Must not change during evaluation. */
  readonly input?: unknown;
  /** Replaces the data of the policy for this evaluation. */
  readonly data?: unknown;
  readonly powers?: RegoPowers;
  readonly deadlineMs?: number;
  readonly maxSteps?: number;
  readonly strictBuiltinErrors?: boolean;
  readonly explain?: boolean;
  readonly coverage?: boolean;
  readonly runtime?: unknown;
}

export interface EvaluationError {
  readonly code: EvalErrorCode;
  readonly message: string;
  readonly location: Location | undefined;
}

export type Evaluation =
  | {
      readonly ok: true;
      /** The value of the query when it is a single reference; undefined when that is undefined. */
      readonly value: Value | undefined;
      readonly solutions: readonly Solution[];
      readonly explanation?: Explanation;
      readonly coverage?: CoverageReport;
    }
  | {
      readonly ok: false;
      readonly error: EvaluationError;
      readonly explanation?: Explanation;
      readonly coverage?: CoverageReport;
    };

export interface PreparedQuery {
  readonly source: string;
  evaluate(options?: EvaluateOptions): Evaluation;
}

interface Shared {
  readonly compiled: Compiled;
  readonly version: RegoVersion;
  readonly memo: BoundedMemo;
  /** The same rules with code that reports to a tracer; made when first asked for. */
  traced?: Program;
}

export class Policy {
  readonly #shared: Shared;
  readonly #data: RegoObject;
  readonly #queries = new Map<string, PreparedQuery>();

  constructor(shared: Shared, data: RegoObject) {
    this.#shared = shared;
    this.#data = data;
  }

  /** The same policy over other data. Nothing is compiled or copied. */
  withData(data: unknown): Policy {
    return new Policy(this.#shared, dataObject(data));
  }

  get modules(): Compiled["modules"] {
    return this.#shared.compiled.modules;
  }

  /** Throws a LoadFailure when the query is not valid. */
  prepare(source: string): PreparedQuery {
    const { compiled, version } = this.#shared;
    const code = compileQuery(compiled, compiled.program, source, version);
    let tracedCode: QueryCode | undefined;
    const traced = (): QueryCode =>
      (tracedCode ??= compileQuery(compiled, tracedProgram(this.#shared), source, version));
    return {
      source,
      evaluate: (options = {}) => this.#evaluate(code, traced, options),
    };
  }

  /** Prepares the query when it is new. Throws a LoadFailure when it is not valid. */
  evaluate(query: string | PreparedQuery, options: EvaluateOptions = {}): Evaluation {
    if (typeof query !== "string") return query.evaluate(options);
    let prepared = this.#queries.get(query);
    if (!prepared) {
      prepared = this.prepare(query);
      if (this.#queries.size >= MAX_QUERIES) this.#queries.clear();
      this.#queries.set(query, prepared);
    }
    return prepared.evaluate(options);
  }

  #evaluate(plain: QueryCode, traced: () => QueryCode, options: EvaluateOptions): Evaluation {
    const wantsTrace = options.explain === true || options.coverage === true;
    if (!wantsTrace) return run(plain, this.#context(options, undefined));
    const recorder = options.explain ? new Recorder() : undefined;
    const coverage = options.coverage ? new Coverage(this.modules) : undefined;
    const evaluation = run(traced(), this.#context(options, both(recorder, coverage)));
    return {
      ...evaluation,
      ...(recorder && { explanation: recorder.explanation() }),
      ...(coverage && { coverage: coverage.report() }),
    };
  }

  #context(options: EvaluateOptions, tracer: Tracer | undefined): Context {
    const { deadlineMs, maxSteps = Infinity } = options;
    const limits: Limits =
      deadlineMs === undefined && maxSteps === Infinity
        ? NO_LIMITS
        : { maxSteps, deadlineAt: clockMs() + (deadlineMs ?? Infinity), clockMs };
    const session = new Session({
      limits,
      powers: options.powers ?? NO_POWERS,
      memo: this.#shared.memo,
      strict: options.strictBuiltinErrors === true,
      tracer,
      runtime: options.runtime === undefined ? RegoObject.EMPTY : fromJson(options.runtime),
      parseModule: moduleJson,
    });
    return new Context(session, {
      input: options.input === undefined ? undefined : fromJson(options.input),
      data: options.data === undefined ? this.#data : dataObject(options.data),
      shadow: undefined,
      mocks: undefined,
    });
  }
}

function clockMs(): number {
  return performance.now();
}

const NO_LIMITS: Limits = { maxSteps: Infinity, deadlineAt: Infinity, clockMs };
const MAX_QUERIES = 256;
const NO_POWERS: RegoPowers = {};

function run(code: QueryCode, context: Context): Evaluation {
  try {
    if (code.value) {
      const value = code.value(context);
      if (context.session.failure) throw context.session.failure;
      return { ok: true, value, solutions: value === undefined || value === false ? [] : [EMPTY] };
    }
    const solutions: Solution[] = [];
    code.run(context, (solution) => solutions.push(solution));
    if (context.session.failure) throw context.session.failure;
    return { ok: true, value: undefined, solutions };
  } catch (error) {
    return { ok: false, error: evaluationError(context.session.failure ?? error) };
  }
}

const EMPTY: Solution = { bindings: new Map(), locals: new Set() };

function evaluationError(error: unknown): EvaluationError {
  if (error instanceof EvalError) {
    const { code, message, location } = error;
    return { code, message, location };
  }
  const tooDeep = error instanceof TooDeep || error instanceof RangeError;
  if (!tooDeep) throw error;
  const reason = error instanceof TooDeep ? error.message : "rules or values nest too deeply";
  const message = `eval_internal_error: ${reason}`;
  return { code: "eval_internal_error", message, location: undefined };
}

function dataObject(data: unknown): RegoObject {
  const value = fromJson(data);
  if (value instanceof RegoObject) return value;
  throw new TypeError("data must be an object");
}

function tracedProgram(shared: Shared): Program {
  if (shared.traced) return shared.traced;
  const { program } = shared.compiled;
  const tree = new RuleTree();
  for (const node of program.tree.nodes) {
    const copy = tree.at(node.path);
    copy.rules = node.rules;
    copy.kind = node.kind;
    copy.arity = node.arity;
    copy.isPackage = node.isPackage;
  }
  shared.traced = { ...program, tree, traced: true };
  generate(shared.traced);
  return shared.traced;
}

function both(a: Tracer | undefined, b: Tracer | undefined): Tracer | undefined {
  if (!a || !b) return a ?? b;
  return {
    enterRule: (rule, path) => {
      a.enterRule(rule, path);
      b.enterRule(rule, path);
    },
    exitRule: (rule, path, value) => {
      a.exitRule(rule, path, value);
      b.exitRule(rule, path, value);
    },
    expression: (expr, held) => {
      a.expression(expr, held);
      b.expression(expr, held);
    },
    note: (text, at) => {
      a.note(text, at);
      b.note(text, at);
    },
  };
}
