// Rules that bind variables by taking values apart and by looking things up: destructuring, joins, lookups in rules.
import { anyTerm, literal, withName, type Scope } from "./rego-terms.ts";

const COLLECTIONS = [
  "input.o",
  "input.deep",
  "input.rows",
  "input.xs",
  "input.names",
  "data.base.roles",
  "data.base.tools",
  "data.base.list",
];
const FIELDS = ["input.user", "input.s", "input.n", "input.o.name", "data.base.owner"];

/** `rules` are the names of rules defined before that hold a collection. */
export function patternRule(scope: Scope, name: string, rules: readonly string[]): string {
  const { random } = scope;
  const [a, b] = [scope.fresh(), scope.fresh()];
  const inner = withName(withName(scope, a, "any"), b, "any");
  const lines = [pattern(scope, a, b, rules)];
  if (random.chance(0.5)) lines.push(condition(inner, a, b));
  const value = random.chance(0.7) ? random.pick([a, b, `[${a}, ${b}]`]) : anyTerm(inner, 1);
  const head = random.pick([
    ` contains ${value}`,
    `[${a}] := ${value}`,
    `[${a}].y := ${value}`,
    `.k[${b}] contains ${value}`,
    `[${a}][${b}] := ${value}`,
    ` := ${value}`,
    "",
  ]);
  return `${name}${head} if {\n${lines.map((line) => `\t${line}`).join("\n")}\n}`;
}

function pattern({ random }: Scope, a: string, b: string, rules: readonly string[]): string {
  const from = () => random.pick(COLLECTIONS);
  const rule = rules.length > 0 ? random.pick(rules) : "data.base";
  const scalar = literal({ random } as Scope, random.pick(["num", "str", "bool"]), 0);
  return random.pick([
    `{"x": ${a}, "name": ${b}} = ${from()}`,
    `walk(${from()}, [${a}, ${b}])`,
    `${a} := ${random.pick(FIELDS)}; ${b} = data.base.roles[${a}]`,
    `data.base[${a}][${b}]`,
    `${b} = ${rule}[${a}]`,
    `[${a}, [${b}, _]] = [${scalar}, ${from()}]`,
    `some ${a}, {"id": ${b}} in ${from()}`,
    `${a} = ${b}; ${b} = ${from()}`,
    `some ${a}, ${b}; data.base.list[${a}] = input.xs[${b}]`,
    `some ${a}, ${b}; data.base.roles[${a}][_] = data.base.roles[${b}][_]`,
    `${a} = ${from()}[_]; ${b} = ${from()}[_]`,
  ]);
}

function condition(inner: Scope, a: string, b: string): string {
  const { random } = inner;
  return random.pick([
    `${a} != ${b}`,
    `not ${a} == ${anyTerm(inner, 0)}`,
    `${b} in ${random.pick(COLLECTIONS)}`,
    `every item in ${random.pick(COLLECTIONS)} { item != ${b} }`,
    `count({x | some x in ${random.pick(COLLECTIONS)}; x != ${a}}) > 0`,
  ]);
}
