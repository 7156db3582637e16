// Code for rules: their heads over the solutions of their bodies, else branches, defaults, conflicts.
import { eachSolution } from "./code.ts";
import { EvalError } from "../errors.ts";
import { Gen } from "./generator.ts";
import { genBody } from "./body.ts";
import { genGet, genMatch } from "./term.ts";
import { indexRules } from "../compile/rule-index.ts";
import { constantOf } from "../syntax/terms.ts";
import { equal } from "../values/value.ts";
import type { Get, Match, Step } from "./code.ts";
import type { Context } from "../evaluate/context.ts";
import type { Program } from "./generator.ts";
import type { Call, Evaluate, OwnedRule, RuleNode } from "../compile/rule-tree.ts";
import type { Location, Rule, Term } from "../syntax/ast.ts";
import type { Value } from "../values/value.ts";

const CONFLICT = "eval_conflict_error";

/** A rule or else branch that yields one value: the first branch whose body holds decides. */
interface Branch {
  readonly rule: Rule;
  readonly path: string;
  readonly args: readonly Match[];
  readonly body: Step;
  readonly value: Get;
  readonly constant: Value | undefined;
  readonly size: () => number;
  readonly otherwise: Branch | undefined;
}

function genBranch(program: Program, rule: Rule, path: string): Branch {
  const gen = new Gen(program);
  const args = (rule.head.args ?? []).map((arg) => genMatch(gen, arg));
  const body = genBody(gen, rule.body);
  const value = rule.head.value as Term;
  return {
    rule,
    path,
    args,
    body,
    value: genGet(gen, value),
    constant: constantOf(value),
    size: () => gen.slots.size,
    otherwise: rule.otherwise && genBranch(program, rule.otherwise, path),
  };
}

function runBranch(
  c: Context,
  start: Branch,
  args: readonly Value[],
  message: string,
): Value | undefined {
  for (let branch: Branch | undefined = start; branch; branch = branch.otherwise) {
    c.tracer?.enterRule(branch.rule, branch.path);
    const value = runOne(c, branch, args, message);
    c.tracer?.exitRule(branch.rule, branch.path, value);
    if (value !== undefined) return value;
  }
  return undefined;
}

function runOne(
  c: Context,
  branch: Branch,
  args: readonly Value[],
  message: string,
): Value | undefined {
  const f = new Array<Value | undefined>(branch.size());
  for (let i = 0; i < branch.args.length; i++) {
    if (!(branch.args[i] as Match)(c, f, args[i] as Value)) return undefined;
  }
  const { body, value: get, constant } = branch;
  if (body.test) return body.test(c, f) ? get(c, f) : undefined;
  let result: Value | undefined;
  body.each(c, f, () => {
    const value = get(c, f);
    if (value === undefined) return false;
    if (result === undefined) result = value;
    else if (!equal(result, value)) throw new EvalError(CONFLICT, message, branch.rule.loc);
    // A constant cannot conflict with itself: the first solution is enough.
    return constant !== undefined;
  });
  return result;
}

const NO_ARGS: readonly Value[] = [];

/** `p := v if ...`: all bodies that hold must agree. */
export function genComplete(
  program: Program,
  node: RuleNode,
  rules: readonly OwnedRule[],
): Evaluate {
  const run = genAlternatives(
    program,
    node,
    rules,
    "complete rules must not produce multiple outputs",
  );
  return (c) => run(c, NO_ARGS);
}

export function genFunction(program: Program, node: RuleNode, rules: readonly OwnedRule[]): Call {
  return genAlternatives(
    program,
    node,
    rules,
    "functions must not produce multiple outputs for same inputs",
  );
}

function genAlternatives(
  program: Program,
  node: RuleNode,
  rules: readonly OwnedRule[],
  message: string,
): Call {
  const normal = rules.filter(({ rule }) => !rule.isDefault);
  const branches = normal.map(({ rule }) => genBranch(program, rule, node.name));
  const fallback = rules.find(({ rule }) => rule.isDefault);
  const last = fallback && genBranch(program, fallback.rule, node.name);
  const [first] = branches;
  const sameConstant = branches.every(
    ({ constant, otherwise }) =>
      constant !== undefined &&
      first?.constant !== undefined &&
      !otherwise &&
      equal(constant, first.constant),
  );
  const candidates = indexRules(
    program,
    normal.map(({ rule }) => rule),
  );
  const all = branches.map((_, i) => i);
  return (c, args) => {
    let result: Value | undefined;
    for (const i of candidates ? candidates(c) : all) {
      const branch = branches[i] as Branch;
      const value = runBranch(c, branch, args, message);
      if (value === undefined) continue;
      if (result !== undefined && !equal(result, value)) throw conflict(message, branch.rule.loc);
      result = value;
      if (sameConstant) break;
    }
    if (result === undefined && last) return runBranch(c, last, args, message);
    return result;
  };
}

function conflict(message: string, at: Location): EvalError {
  return new EvalError(CONFLICT, message, at);
}

/** One solution of a partial rule: the keys under the node, then the value or the member. */
export interface Contribution {
  readonly keys: readonly Value[];
  readonly value: Value;
  readonly isMember: boolean;
}

export type Partial = (c: Context, add: (contribution: Contribution) => void) => void;
/** As Partial, for one key only. */
export type Keyed = (c: Context, key: Value, add: (contribution: Contribution) => void) => void;

/** Calls back with everything a partial rule contributes. */
export function genPartial(
  program: Program,
  node: RuleNode,
  owned: OwnedRule,
  tail: readonly Term[],
): Partial {
  const run = genContributions(program, node, owned.rule, tail);
  return (c, add) => {
    run(c, undefined, add);
  };
}

/** With the first key given, the body starts from it instead of going through all keys. */
export function genKeyed(
  program: Program,
  node: RuleNode,
  owned: OwnedRule,
  tail: readonly Term[],
): Keyed {
  const given = (tail[0] ?? owned.rule.head.key) as Term;
  if (isPattern(given)) return genContributions(program, node, owned.rule, tail, given);
  const run = genContributions(program, node, owned.rule, tail);
  return (c, key, add) => {
    run(c, undefined, (item) => {
      if (equal(item.keys[0] ?? item.value, key)) add(item);
    });
  };
}

/** Can a value be taken apart by the term? Sets and unknown keys of objects cannot. */
function isPattern(term: Term): boolean {
  switch (term.kind) {
    case "var":
      return true;
    case "array":
      return term.items.every(isPattern);
    case "object":
      return term.entries.every(([key, value]) => key.kind === "scalar" && isPattern(value));
    default:
      return constantOf(term) !== undefined;
  }
}

function genContributions(
  program: Program,
  node: RuleNode,
  rule: Rule,
  tail: readonly Term[],
  given?: Term,
): (c: Context, key: Value | undefined, add: (contribution: Contribution) => void) => void {
  const gen = new Gen(program);
  const match = given && genMatch(gen, given);
  const body = genBody(gen, rule.body);
  const keys = tail.map((term) => genGet(gen, term));
  const isMember = rule.head.key !== undefined;
  const value = genGet(gen, (rule.head.key ?? rule.head.value) as Term);
  return (c, key, add) => {
    const f = new Array<Value | undefined>(gen.slots.size);
    if (match && (key === undefined || !match(c, f, key))) return;
    c.tracer?.enterRule(rule, node.name);
    let last: Value | undefined;
    eachSolution(body, c, f, () => {
      const member = value(c, f);
      if (member !== undefined) {
        last = member;
        add({ keys: keys.map((get) => get(c, f) as Value), value: member, isMember });
      }
      return false;
    });
    c.tracer?.exitRule(rule, node.name, last);
  };
}
