// Random policies and inputs for comparing evaluators. The same seed gives the same policies.

export interface Pair {
  readonly source: string;
  readonly inputs: readonly unknown[];
}

export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0 || 1;
  }

  next(): number {
    // mulberry32: small, fast and good enough to vary policies.
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  int(max: number): number {
    return Math.floor(this.next() * max);
  }

  chance(p: number): boolean {
    return this.next() < p;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.int(items.length)] as T;
  }
}

const FIELDS = ["a", "b", "c", "xs", "o"];
const STRINGS = ["a", "b", "x", "", "foo", "é"];
const KINDS = ["number", "string", "array", "set", "object"];
const COLLECTIONS = ["array", "set", "object"];
const NUMBERS = ["0", "1", "2", "-1", "3.5", "10", "1e3", "9007199254740993"];

class Generator {
  readonly r: Random;
  readonly rules: string[] = [];
  readonly functions: string[] = [];
  depth = 0;
  vars: string[] = [];
  counter = 0;

  constructor(r: Random) {
    this.r = r;
  }

  fresh(): string {
    return `v${String(this.counter++)}`;
  }

  scalar(): string {
    const { r } = this;
    const kind = r.int(10);
    if (kind < 4) return r.pick(NUMBERS);
    if (kind < 8) return JSON.stringify(r.pick(STRINGS));
    return r.pick(["true", "false", "null"]);
  }

  input(): string {
    const { r } = this;
    if (r.chance(0.12)) return `data.base.${r.pick(FIELDS)}`;
    const parts = ["input", r.pick(FIELDS)];
    if (r.chance(0.3)) parts.push(r.pick(FIELDS));
    return parts.join(".") + (r.chance(0.15) ? `[${r.pick(["0", "1", '"a"'])}]` : "");
  }

  ref(): string {
    const { r } = this;
    const kind = r.int(6);
    if (kind < 2 && this.vars.length > 0) {
      const name = r.pick(this.vars);
      return name;
    }
    if (kind < 4 && this.rules.length > 0) {
      const name = r.pick(this.rules);
      return r.chance(0.3) ? `${name}${r.pick(["[input.a]", "[_]"])}` : name;
    }
    return this.input();
  }

  term(): string {
    const { r } = this;
    if (this.depth > 2) return r.chance(0.5) ? this.scalar() : this.ref();
    this.depth++;
    const made = this.deepTerm(r.int(16));
    this.depth--;
    return made;
  }

  deepTerm(kind: number): string {
    const { r } = this;
    if (kind < 4) return this.scalar();
    if (kind < 9) return this.ref();
    if (kind === 9) return `[${this.list()}]`;
    if (kind === 10) return `{${JSON.stringify(r.pick(STRINGS))}: ${this.term()}}`;
    if (kind === 11) return `{${this.term()}, ${this.term()}}`;
    if (kind === 12) return this.comprehension();
    if (kind === 13 && this.functions.length > 0)
      return `${r.pick(this.functions)}(${this.term()})`;
    if (kind === 14) return this.typed("number");
    return this.builtin();
  }

  list(): string {
    return Array.from({ length: this.r.int(4) }, () => this.term()).join(", ");
  }

  comprehension(): string {
    const name = this.fresh();
    const domain = this.typed(this.r.pick(COLLECTIONS));
    const before = this.vars;
    this.vars = [...before, name];
    const body = this.r.chance(0.5) ? `; ${this.expr()}` : "";
    const head = this.term();
    this.vars = before;
    const inner = `some ${name} in ${domain}${body}`;
    const kind = this.r.int(3);
    if (kind === 0) return `[${head} | ${inner}]`;
    if (kind === 1) return `{${head} | ${inner}}`;
    return `{${name}: ${head} | ${inner}}`;
  }

  /** A term of the kind wanted, mostly; sometimes of any, so that errors are compared too. */
  typed(kind: string): string {
    const { r } = this;
    if (r.chance(0.02)) return this.term();
    if (this.depth > 2 || r.chance(0.55)) return this.known(kind);
    this.depth++;
    const inner = this.typedDeep(kind);
    this.depth--;
    return inner;
  }

  known(kind: string): string {
    const { r } = this;
    if (r.chance(0.6)) return this.input();
    if (kind === "number") return r.pick(NUMBERS);
    if (kind === "string") return JSON.stringify(r.pick(STRINGS));
    if (kind === "array") return r.pick(["[1, 2]", '["a", "b"]', "[]", "[[1, 2], [3, 4]]"]);
    if (kind === "set") return r.pick(["{1, 2}", '{"a"}', "set()", "{2, 3}"]);
    return r.pick(['{"a": 1}', '{"b": [1]}', "{}", '{"a": "x", "b": 2}']);
  }

  typedDeep(kind: string): string {
    const { r } = this;
    const t = (inner: string): string => this.typed(inner);
    switch (kind) {
      case "number":
        return r.pick([
          `(${t("number")} ${r.pick(["+", "-", "*", "/", "%"])} ${t("number")})`,
          `count(${t(r.pick(COLLECTIONS))})`,
          `abs(${t("number")})`,
          `sum(${t("array")})`,
          `to_number(${this.input()})`,
        ]);
      case "string":
        return r.pick([
          `upper(${t("string")})`,
          `concat("-", ${this.input()})`,
          `type_name(${this.ref()})`,
          `json.marshal(${this.ref()})`,
          `sprintf("%v %d", [${this.ref()}, ${t("number")}])`,
          `$"{${this.input()}}!"`,
        ]);
      case "array":
        return r.pick([
          `[${this.list()}]`,
          `split(${t("string")}, "a")`,
          `sort(${t("set")})`,
          `array.concat(${t("array")}, ${t("array")})`,
          this.comprehension(),
        ]);
      case "set":
        return r.pick([
          `{${this.ref()}, ${this.scalar()}}`,
          `(${t("set")} ${r.pick(["|", "&", "-"])} ${t("set")})`,
          `object.keys(${t("object")})`,
        ]);
      default:
        return r.pick([
          `{"a": ${this.ref()}}`,
          `object.union(${t("object")}, ${t("object")})`,
          `{${JSON.stringify(r.pick(STRINGS))}: ${this.ref()}, "k": ${this.scalar()}}`,
        ]);
    }
  }

  builtin(): string {
    return this.typed(this.r.pick(KINDS));
  }

  expr(): string {
    const { r } = this;
    const kind = r.int(13);
    if (kind < 4) {
      const type = r.pick(KINDS);
      const sign = r.pick(["==", "!=", "<", ">", "<=", ">="]);
      return `${this.typed(type)} ${sign} ${this.typed(type)}`;
    }
    if (kind < 6) return this.ref();
    if (kind === 6) return `not ${this.ref()}`;
    if (kind === 7) return `${this.ref()} in ${this.domain()}`;
    if (kind === 8) return this.every();
    if (kind === 9) return `not ${this.input()} == ${this.term()}`;
    if (kind === 10 && r.chance(0.3)) {
      const rule = this.rules.length > 0 ? r.pick(this.rules) : "input.a";
      return `${r.pick([`data.base.${r.pick(FIELDS)}`, rule])} with data.base.${r.pick(FIELDS)} as ${this.term()}`;
    }
    if (kind === 10 && this.rules.length > 0) {
      return `${r.pick(this.rules)} with input.${r.pick(FIELDS)} as ${this.term()}`;
    }
    if (kind === 11) return `${this.input()} = ${this.term()}`;
    return this.binding();
  }

  // OPA 1.22 indexes rules by the constants in a collection literal after `in` and forgets its other
  // members, so literals here hold constants only.
  domain(): string {
    return this.r.chance(0.6) ? this.known(this.r.pick(COLLECTIONS)) : this.input();
  }

  every(): string {
    const name = this.fresh();
    const domain = this.typed(this.r.pick(COLLECTIONS));
    const before = this.vars;
    this.vars = [...before, name];
    const body = this.r.chance(0.8) ? `${name} != ${this.scalar()}` : `${name} == ${this.input()}`;
    this.vars = before;
    return `every ${name} in ${domain} { ${body} }`;
  }

  /** Binds variables for what follows in the same body. */
  binding(): string {
    const { r } = this;
    const name = this.fresh();
    const kind = r.int(5);
    const value = kind < 2 ? this.typed(r.pick(COLLECTIONS)) : this.term();
    if (kind === 0) {
      const other = this.fresh();
      this.vars = [...this.vars, name, other];
      return r.chance(0.5)
        ? `some ${name}, ${other} in ${value}`
        : `[${name}, ${other}] := ${value}`;
    }
    if (r.chance(0.25)) return this.pattern(name);
    this.vars = [...this.vars, name];
    if (kind === 1) return `some ${name} in ${value}`;
    if (kind === 2) return `${name} = ${this.input()}[_]`;
    return `${name} := ${value}`;
  }

  /** Destructuring, relations and lookups that bind. */
  pattern(name: string): string {
    const { r } = this;
    const other = this.fresh();
    this.vars = [...this.vars, name, other];
    const rule = this.rules.length > 0 ? r.pick(this.rules) : "data.base";
    return r.pick([
      `{"a": ${name}, "b": ${other}} = ${this.input()}`,
      `walk(${this.input()}, [${name}, ${other}])`,
      `${name} := ${this.input()}; ${other} = data.base[${name}]`,
      `data.base[${name}][${other}]`,
      `${other} = ${rule}[${name}]`,
      `[${name}, [${other}, _]] = [${this.scalar()}, ${this.input()}]`,
      `some ${name}, {"a": ${other}} in ${this.input()}`,
      `${name} = ${other}; ${other} = ${this.input()}`,
      `some ${name}, ${other}; data.base.xs[${name}] = data.base.o[${other}]`,
    ]);
  }

  body(): string {
    const length = 1 + this.r.int(3);
    return Array.from({ length }, () => `\t${this.expr()}`).join("\n");
  }

  rule(index: number): string {
    const { r } = this;
    const name = `r${String(index)}`;
    this.vars = [];
    const kind = r.int(9);
    if (kind === 0) {
      this.vars = ["x"];
      const body = this.body();
      const text = `f${String(index)}(x) := ${this.term()} if {\n${body}\n}`;
      this.functions.push(`f${String(index)}`);
      return text;
    }
    const make = (): string => {
      this.vars = [];
      const body = this.body();
      if (kind === 1 || kind === 2) return `${name} contains ${this.term()} if {\n${body}\n}`;
      if (kind === 3) return `${name}[${this.term()}] := ${this.term()} if {\n${body}\n}`;
      if (kind === 4) return `${name}.k${String(r.int(2))} := ${this.term()} if {\n${body}\n}`;
      if (kind === 7) {
        const tail = r.pick([
          `[${this.ref()}].y`,
          `.k[${this.ref()}]`,
          `[${this.ref()}][${this.ref()}]`,
        ]);
        const head = r.chance(0.5) ? `contains ${this.term()}` : `:= ${this.term()}`;
        return `${name}${tail} ${head} if {\n${body}\n}`;
      }
      if (kind === 5) return `${name} if {\n${body}\n}`;
      const otherwise = kind === 6 ? ` else := ${this.scalar()} if {\n${this.body()}\n}` : "";
      return `${name} := ${this.term()} if {\n${body}\n}${otherwise}`;
    };
    const parts = Array.from({ length: 1 + (r.chance(0.3) ? 1 : 0) }, make);
    if (kind >= 5 && kind !== 7 && r.chance(0.4))
      parts.unshift(`default ${name} := ${this.scalar()}`);
    this.rules.push(name);
    return parts.join("\n\n");
  }
}

function json(r: Random, depth = 0): unknown {
  const kind = r.int(depth > 2 ? 4 : 7);
  if (kind === 0) return r.pick([0, 1, 2, -1, 3.5, 10]);
  if (kind === 1) return r.pick(STRINGS);
  if (kind === 2) return r.pick([true, false]);
  if (kind === 3) return null;
  if (kind === 4) return Array.from({ length: r.int(4) }, () => json(r, depth + 1));
  return Object.fromEntries(
    FIELDS.filter(() => r.chance(0.6)).map((name) => [name, json(r, depth + 1)]),
  );
}

/** The base document of all generated policies. */
export const BASE = {
  a: 1,
  b: "x",
  c: { a: null, b: [1, "a"], xs: [] },
  xs: ["a", 2, { a: 1, b: 2 }],
  o: { a: "a", b: { a: 1 }, k: 2 },
};

/** A policy of a few rules that use each other, and inputs for it. */
export function generatePair(seed: number, inputs = 4): Pair {
  const r = new Random(seed);
  const generator = new Generator(r);
  const rules = Array.from({ length: 2 + r.int(3) }, (_, i) => generator.rule(i));
  return {
    source: `package t\n\n${rules.join("\n\n")}\n`,
    inputs: Array.from({ length: inputs }, () =>
      Object.fromEntries(FIELDS.filter(() => r.chance(0.8)).map((name) => [name, json(r)])),
    ),
  };
}
