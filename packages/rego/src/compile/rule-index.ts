// Of many rules with the same head only those are tried whose test of one input field can hold.
import { constantOf } from "../syntax/terms.ts";
import { keyOf } from "../values/value.ts";
import type { Get } from "../generate/code.ts";
import type { Context } from "../evaluate/context.ts";
import type { Program } from "../generate/generator.ts";
import type { Expr, Rule, Term } from "../syntax/ast.ts";
import type { Value } from "../values/value.ts";

// Below this an index costs more than it saves.
const MIN_RULES = 8;

/** The positions of the rules that can hold, in order. */
export type Candidates = (c: Context) => readonly number[];

interface Guard {
  readonly path: readonly Value[];
  readonly value: Value;
}

export function indexRules(program: Program, rules: readonly Rule[]): Candidates | undefined {
  if (program.traced || rules.length < MIN_RULES) return undefined;
  const guards = rules.map(guardsOf);
  const path = commonPath(guards);
  if (!path) return undefined;
  const id = keyOf(path);
  const always: number[] = [];
  const byValue = new Map<unknown, number[]>();
  guards.forEach((list, i) => {
    const guard = list.find((each) => keyOf(each.path) === id);
    if (!guard) always.push(i);
    else byValue.set(keyOf(guard.value), [...(byValue.get(keyOf(guard.value)) ?? []), i]);
  });
  for (const [key, list] of byValue)
    byValue.set(
      key,
      [...list, ...always].sort((a, b) => a - b),
    );
  return candidates(program.inputs.get(path), byValue, always);
}

function candidates(
  get: Get,
  byValue: ReadonlyMap<unknown, number[]>,
  always: readonly number[],
): Candidates {
  const none: (Value | undefined)[] = [];
  return (c) => {
    const value = get(c, none);
    return (value === undefined ? undefined : byValue.get(keyOf(value))) ?? always;
  };
}

/** The input path that most rules compare with a constant. */
function commonPath(guards: readonly (readonly Guard[])[]): readonly Value[] | undefined {
  const counts = new Map<unknown, { path: readonly Value[]; count: number }>();
  for (const list of guards) {
    for (const { path } of list) {
      const id = keyOf(path);
      const entry = counts.get(id) ?? { path, count: 0 };
      entry.count++;
      counts.set(id, entry);
    }
  }
  const [best] = [...counts.values()].sort((a, b) => b.count - a.count);
  return best && best.count >= MIN_RULES ? best.path : undefined;
}

// A rule with an else branch goes on when its body fails, so its body guards nothing.
function guardsOf(rule: Rule): readonly Guard[] {
  if (rule.otherwise) return [];
  return rule.body.flatMap((expr) => guardOf(expr) ?? []);
}

function guardOf(expr: Expr): Guard | undefined {
  if (expr.negated || expr.withs.length > 0 || expr.node.kind !== "eq") return undefined;
  const { left, right } = expr.node;
  const path = inputPath(left) ?? inputPath(right);
  const value = constantOf(inputPath(left) ? right : left);
  return path && value !== undefined ? { path, value } : undefined;
}

function inputPath(term: Term): readonly Value[] | undefined {
  if (term.kind !== "ref") return undefined;
  const [head, ...rest] = term.terms;
  if (head?.kind !== "var" || head.name !== "input") return undefined;
  const path = rest.map(constantOf);
  return path.every((key) => key !== undefined) ? path : undefined;
}
