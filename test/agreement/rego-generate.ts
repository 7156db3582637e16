// Modules over the whole language, most of them valid, some of them slightly broken, with inputs to try them on.
import {
  anyTerm,
  KINDS,
  literal,
  term,
  use,
  withName,
  type Kind,
  type Scope,
} from "./rego-terms.ts";
import { patternRule } from "./rego-patterns.ts";
import { Random } from "../fixtures/random.ts";

export interface Pair {
  readonly module: string;
  readonly inputs: readonly unknown[];
  readonly strict: boolean;
}

/** Base documents under data.base. */
export const BASE = {
  limit: 3,
  owner: "ada",
  open: true,
  list: [3, 1, 2, "a"],
  roles: { ada: ["admin", "dev"], bob: ["dev"], eve: [] },
  tools: { "system/echo": { enabled: true, risk: 1 }, "file/read": { enabled: false, risk: 2 } },
};

const INPUTS: readonly unknown[] = [
  {},
  {
    n: 1,
    m: 2.5,
    s: "abc",
    user: "ada",
    flag: true,
    xs: [1, 2, 3],
    names: ["a", "b", "a"],
    o: { x: 1, name: "a" },
    rows: [{ id: 1 }, { id: 2, tags: ["t"] }],
    deep: { a: { b: 7 } },
    nil: null,
    empty: [],
    none: {},
  },
  {
    n: 0,
    m: -1,
    s: "",
    user: "bob",
    flag: false,
    xs: [3, 3, 0],
    names: [],
    o: { x: 0, y: [1] },
    rows: [],
    deep: { a: { b: -2, c: null } },
    nil: null,
    empty: [],
    none: {},
  },
  {
    n: 9007199254740993n,
    m: 1e21,
    s: "日本 a,b",
    user: "eve",
    flag: true,
    xs: [0.1, 0.2, -5],
    names: ["b", "10"],
    o: { name: "x,y", x: 2, "": 1 },
    rows: [{ id: "a" }, 2],
    deep: { a: { b: 0.5 } },
    nil: null,
    empty: [],
    none: {},
  },
  {
    n: "1",
    m: [1],
    s: 5,
    user: null,
    flag: "true",
    xs: { a: 1 },
    names: "a",
    o: [1, 2],
    rows: { x: 1 },
    deep: { a: 1 },
  },
  {
    n: 4,
    s: "a.b.c",
    user: "ada",
    xs: [2, [1], { a: 1 }, "z", null, true],
    names: ["😀z", "é"],
    o: { a: { b: 1 }, name: "ada", x: 10 },
    deep: { a: { b: 1 }, "a/b": 2 },
    flag: true,
  },
];

export const inputOf = (random: Random): unknown => random.pick(INPUTS);

interface Draft {
  readonly random: Random;
  readonly rules: string[];
  names: Map<string, Kind | "any">;
  readonly functions: Map<string, { args: readonly Kind[]; result: Kind }>;
  counter: number;
}

/**
 * Rules with patterns are drawn from a stream of their own: a change there leaves the other rules of a seed as they
 * are.
 */
const PATTERN_SEEDS = 0x5eed_0000;

/** The one generator of policies: compared with OPA, and mutated by the fuzzer. */
export function generate(seed: number, name: string, inputs: number): Pair {
  const random = new Random(seed);
  const draft: Draft = { random, rules: [], names: new Map(), functions: new Map(), counter: 0 };
  for (let i = 2 + random.below(5); i > 0; i--) addRule(draft);
  const imports = random.chance(0.2) ? "import rego.v1\n\n" : "";
  const text = `package ${name}\n\n${imports}${draft.rules.join("\n\n")}\n`;
  return {
    module: random.chance(0.12)
      ? broken(random, text)
      : [text, ...patternRules(seed, draft)].join("\n"),
    inputs: random.times(inputs, inputs, () => inputOf(random)),
    strict: random.chance(0.3),
  };
}

function patternRules(seed: number, draft: Draft): string[] {
  const random = new Random(PATTERN_SEEDS + seed);
  // A lookup in a scalar is refused by both, and hides the rest of the module.
  const rules = [...draft.names]
    .filter(([, kind]) => kind === "arr" || kind === "set" || kind === "obj")
    .map(([name]) => name);
  return random.times(0, 2, () => {
    const name = `pattern${draft.counter++}`;
    return `${patternRule({ ...scopeOf(draft), random }, name, rules)}\n`;
  });
}

function scopeOf(draft: Draft): Scope {
  const { random, names, functions } = draft;
  return { random, names, functions, fresh: () => `v${draft.counter++}` };
}

function addRule(draft: Draft): void {
  const { random } = draft;
  const name = `${random.pick(["p", "q", "r", "allow"])}${draft.counter++}`;
  const kind = random.pick(KINDS);
  random.pick([
    complete,
    complete,
    conditional,
    elseChain,
    partialSet,
    partialObject,
    func,
    dotted,
    withDefault,
    several,
  ])(draft, name, kind);
}

type RuleMaker = (draft: Draft, name: string, kind: Kind) => void;

const complete: RuleMaker = (draft, name, kind) => {
  draft.rules.push(`${name} := ${term(scopeOf(draft), kind, 3)}`);
  draft.names.set(name, kind);
};

const conditional: RuleMaker = (draft, name, kind) => {
  const { lines, inner } = body(scopeOf(draft));
  const value = draft.random.chance(0.8) ? ` := ${term(inner, kind, 2)}` : "";
  draft.rules.push(`${name}${value} if ${block(lines)}`);
  draft.names.set(name, value === "" ? "bool" : kind);
};

const elseChain: RuleMaker = (draft, name, kind) => {
  const parts = draft.random.times(2, 3, () => {
    const { lines, inner } = body(scopeOf(draft), 2);
    return `:= ${term(inner, kind, 1)} if ${block(lines)}`;
  });
  const last = draft.random.chance(0.3) ? ` else := ${term(scopeOf(draft), kind, 1)}` : "";
  draft.rules.push(`${name} ${parts.join(" else ")}${last}`);
  draft.names.set(name, kind);
};

const partialSet: RuleMaker = (draft, name) => {
  for (let i = 1 + draft.random.below(2); i > 0; i--) {
    const { lines, inner } = body(scopeOf(draft));
    draft.rules.push(`${name} contains ${anyTerm(inner, 1)} if ${block(lines)}`);
  }
  draft.names.set(name, "set");
};

const partialObject: RuleMaker = (draft, name) => {
  for (let i = 1 + draft.random.below(2); i > 0; i--) {
    const { lines, inner } = body(scopeOf(draft));
    const key = draft.random.chance(0.8) ? term(inner, "str", 1) : anyTerm(inner, 0);
    draft.rules.push(`${name}[${key}] := ${anyTerm(inner, 1)} if ${block(lines)}`);
  }
  draft.names.set(name, "obj");
};

const func: RuleMaker = (draft, name, kind) => {
  const args = draft.random.times(1, 2, () => draft.random.pick(KINDS));
  for (let i = 1 + draft.random.below(2); i > 0; i--) {
    let scope = scopeOf(draft);
    const heads = args.map((arg) => {
      if (draft.random.chance(0.15)) return literal(scope, arg, 0);
      if (draft.random.chance(0.05)) return "_";
      const variable = scope.fresh();
      scope = withName(scope, variable, arg);
      return variable;
    });
    const { lines, inner } = body(scope, 2);
    draft.rules.push(`${name}(${heads.join(", ")}) := ${term(inner, kind, 2)} if ${block(lines)}`);
  }
  if (draft.random.chance(0.2)) {
    const wild = args.map(() => "_").join(", ");
    draft.rules.push(`default ${name}(${wild}) := ${literal(scopeOf(draft), kind, 0)}`);
  }
  draft.functions.set(name, { args, result: kind });
};

const dotted: RuleMaker = (draft, name, kind) => {
  for (let i = 1 + draft.random.below(2); i > 0; i--) {
    const { lines, inner } = body(scopeOf(draft), 2);
    const step = () => draft.random.pick([".x", ".y", '["a b"]', `[${term(inner, "str", 0)}]`]);
    const path = draft.random.times(1, 2, step).join("");
    const head = draft.random.chance(0.3)
      ? `contains ${anyTerm(inner, 0)}`
      : `:= ${term(inner, kind, 1)}`;
    draft.rules.push(`${name}${path} ${head} if ${block(lines)}`);
  }
  draft.names.set(name, "obj");
};

const withDefault: RuleMaker = (draft, name, kind) => {
  draft.rules.push(`default ${name} := ${literal(scopeOf(draft), kind, 1)}`);
  conditional(draft, name, kind);
};

/** Several definitions of one rule: they agree, or they conflict. */
const several: RuleMaker = (draft, name, kind) => {
  const value = literal(scopeOf(draft), kind, 0);
  for (let i = 2; i > 0; i--) {
    const { lines, inner } = body(scopeOf(draft), 2);
    const own = draft.random.chance(0.7) ? value : term(inner, kind, 0);
    draft.rules.push(`${name} := ${own} if ${block(lines)}`);
  }
  draft.names.set(name, kind);
};

const block = (lines: readonly string[]): string =>
  `{\n${lines.map((line) => `\t${line}`).join("\n")}\n}`;

function body(scope: Scope, most = 4): { lines: string[]; inner: Scope } {
  const lines: string[] = [];
  let inner = scope;
  for (let i = 1 + scope.random.below(most); i > 0; i--) inner = statement(inner, lines);
  // The order is the compiler's affair.
  if (scope.random.chance(0.15)) lines.reverse();
  return { lines, inner };
}

function statement(s: Scope, lines: string[]): Scope {
  const { random } = s;
  const kind = random.pick(KINDS);
  const coll = () => term(s, random.pick(["arr", "set", "obj"]), 1);
  const name = s.fresh();
  const other = s.fresh();
  const one = withName(s, name, "any");
  const two = withName(one, other, "any");
  const say = (line: string, next: Scope = s): Scope => {
    lines.push(line);
    return next;
  };
  return random.pick<() => Scope>([
    () => say(`${name} := ${term(s, kind, 2)}`, withName(s, name, kind)),
    () => say(`${name} = ${term(s, kind, 2)}`, withName(s, name, kind)),
    () => say(`some ${name} in ${coll()}${use(s, name)}`, one),
    () => say(`some ${name}, ${other} in ${coll()}${use(s, name)}${use(s, other)}`, two),
    () => say(`[${name}, ${random.pick(["_", other, "1"])}] = ${anyTerm(s, 1)}`, one),
    () => say(`{"a": ${name}} = ${term(s, "obj", 1)}`, one),
    () =>
      say(
        `some ${name}; ${other} = ${random.pick(["input.xs", "input.o", "data.base.roles", "input.rows"])}[${name}]`,
        two,
      ),
    () => say(`${other} := data.base.roles[${name}][_]`, two),
    () => say(term(s, "bool", 2)),
    () => say(term(s, "bool", 2)),
    () => say(`not ${term(s, "bool", 1)}`.replace(/^not true$/, "not false")),
    () => say(`not ${anyTerm(s, 1)}`.replace(/^not true$/, "not false")),
    () => say(`every ${name} in ${coll()} { ${term(one, "bool", 1)}${use(s, name)} }`),
    () =>
      say(
        `every ${name}, ${other} in ${coll()} { ${term(two, "bool", 1)}${use(s, name)}; ${other} != 5 }`,
      ),
    () =>
      say(
        `${name} := ${anyTerm(s, 1)} with ${random.pick(["input", "input.n", "input.o.x", "data.base.limit", "data.base"])} as ${anyTerm(s, 0)}`,
        one,
      ),
    () =>
      say(
        `${term(s, "bool", 1)} with ${random.pick(["count", "lower", "startswith", "input.flag"])} as ${literal(s, random.pick(KINDS), 0)}`,
      ),
    () => say(`walk(${term(s, "obj", 0)}, [${name}, ${other}])`, two),
    () => say(`${name} := ${random.pick(["input", "data.base"])}[${other}]`, two),
    () => say(anyTerm(s, 1)),
  ])();
}

const BITS = [
  "{",
  "}",
  "(",
  ")",
  "[",
  "]",
  ",",
  ":=",
  "=",
  "if",
  "not",
  "some",
  "in",
  "|",
  '"',
  ".",
  "else",
  "contains",
  "with",
  "undefined_name",
  "1",
  "\n",
  "default",
  "data",
  "#",
  "as",
];

/** One or two words taken out, doubled, moved or replaced. */
function broken(random: Random, text: string): string {
  const words = text.split(/(\s+|[[\](){},.:=|"])/).filter((word) => word !== "");
  for (let i = 1 + random.below(2); i > 0; i--) {
    const at = 3 + random.below(Math.max(1, words.length - 3));
    const kind = random.below(4);
    if (kind === 0) words.splice(at, 1);
    else if (kind === 1) words.splice(at, 0, words[at] ?? "");
    else if (kind === 2) words.splice(at, 1, random.pick(BITS));
    else words.splice(at, 0, random.pick(words));
  }
  return words.join("");
}
