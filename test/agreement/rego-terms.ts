// Terms of a wanted type: literals, references, operators, comprehensions and calls of built-ins.
import type { Random } from "../fixtures/random.ts";

export type Kind = "num" | "str" | "bool" | "arr" | "set" | "obj";
export const KINDS: readonly Kind[] = ["num", "str", "bool", "arr", "set", "obj"];

/** What can be named at a place. */
export interface Scope {
  readonly random: Random;
  /** Variables and rules by what they hold. */
  readonly names: ReadonlyMap<string, Kind | "any">;
  readonly functions: ReadonlyMap<
    string,
    { readonly args: readonly Kind[]; readonly result: Kind }
  >;
  /** A name not used so far in this rule. */
  fresh(): string;
}

export function withName(scope: Scope, name: string, kind: Kind | "any"): Scope {
  return { ...scope, names: new Map([...scope.names, [name, kind]]) };
}

const NUMBERS = [
  "0",
  "1",
  "2",
  "3",
  "7",
  "10",
  "-1",
  "-3",
  "0.5",
  "1.25",
  "-2.5",
  "100",
  "1e3",
  "0.1",
  "9007199254740993",
  "1e-2",
];
const STRINGS = [
  '""',
  '"a"',
  '"b"',
  '"abc"',
  '"A b"',
  '"a.b.c"',
  '"ada"',
  '"x,y"',
  '"10"',
  '"é"',
  '"日本"',
  '"a\\tb"',
  "`raw\\d`",
  '"😀z"',
  '"%d"',
  '"/x/y"',
  '"Hello"',
];
const FIELDS: Record<Kind, readonly string[]> = {
  num: ["input.n", "input.m", "input.o.x", "data.base.limit", "input.xs[0]", "input.deep.a.b"],
  str: ["input.s", "input.user", "data.base.owner", "input.names[0]", "input.o.name"],
  bool: ["input.flag", "data.base.open"],
  arr: ["input.xs", "input.names", "data.base.list", "input.rows", "input.empty"],
  set: [],
  obj: ["input.o", "input.deep", "data.base.roles", "data.base.tools", "input.none"],
};
const ANY = [
  "input.missing",
  "input.nil",
  "input.o.missing",
  "input.deep.a",
  "data.base.nope",
  "input.rows[1]",
  "null",
];
const REGEXES = [
  '"^a"',
  '"[a-z]+"',
  "`\\d+`",
  '"(a)(b)?"',
  '"b$"',
  '"."',
  '"^$"',
  "`\\s`",
  '"[^,]+"',
];
const GLOBS = ['"a*"', '"*.b.*"', '"{a,b}*"', '"[a-c]?"', '"**"', '"a"'];

export function literal({ random }: Scope, kind: Kind, depth: number): string {
  const inner = () =>
    literal(
      { random } as Scope,
      random.pick(depth > 0 ? KINDS : ["num", "str", "bool"]),
      depth - 1,
    );
  const same = (): string[] => {
    const one = random.pick<Kind>(["num", "str"]);
    return random.times(0, 4, () => literal({ random } as Scope, one, 0));
  };
  switch (kind) {
    case "num":
      return random.pick(NUMBERS);
    case "str":
      return random.pick(STRINGS);
    case "bool":
      return random.pick(["true", "false"]);
    case "arr":
      return `[${(random.chance(0.6) ? same() : random.times(0, 3, inner)).join(", ")}]`;
    case "set": {
      const items = random.chance(0.7) ? same() : random.times(0, 3, inner);
      return items.length === 0 ? "set()" : `{${items.join(", ")}}`;
    }
    case "obj": {
      const key = () => (random.chance(0.9) ? random.pick(STRINGS) : inner());
      return `{${random.times(0, 3, () => `${key()}: ${inner()}`).join(", ")}}`;
    }
  }
}

export function anyTerm(scope: Scope, depth: number): string {
  const { random } = scope;
  if (random.chance(0.25)) return random.pick([...ANY, ...namesOf(scope, "any")]);
  return term(scope, random.pick(KINDS), depth);
}

function namesOf(scope: Scope, kind: Kind | "any"): string[] {
  return [...scope.names].filter(([, held]) => held === kind).map(([name]) => name);
}

export function term(scope: Scope, kind: Kind, depth: number): string {
  const { random } = scope;
  const named = [...namesOf(scope, kind), ...FIELDS[kind]];
  if (depth <= 0 || random.chance(0.25)) {
    if (named.length > 0 && random.chance(0.7)) return random.pick(named);
    return literal(scope, kind, 1);
  }
  // Now and then something of another kind: type errors and undefined results must agree too.
  if (random.chance(0.03)) return anyTerm(scope, depth - 1);
  const calls = [...scope.functions].filter(([, { result }]) => result === kind);
  if (calls.length > 0 && random.chance(0.15)) {
    const [name, { args }] = random.pick(calls);
    return `${name}(${args.map((arg) => term(scope, arg, depth - 1)).join(", ")})`;
  }
  return MAKERS[kind](scope, depth - 1);
}

type Maker = (scope: Scope, depth: number) => string;

const MAKERS: Record<Kind, Maker> = {
  num: (s, d) => {
    const n = () => term(s, "num", d);
    const str = () => term(s, "str", d);
    const arr = () => term(s, "arr", d);
    return s.random.pick<() => string>([
      () => `${n()} ${s.random.pick(["+", "-", "*", "/", "%"])} ${n()}`,
      () => `(${n()} ${s.random.pick(["+", "-", "*"])} ${n()}) * ${n()}`,
      () => `count(${term(s, s.random.pick(["arr", "set", "obj", "str"]), d)})`,
      () => `${s.random.pick(["sum", "product", "max", "min"])}([${n()}, ${n()}, ${n()}])`,
      () => `${s.random.pick(["sum", "max", "min"])}(${arr()})`,
      () => `${s.random.pick(["abs", "round", "ceil", "floor"])}(${n()})`,
      () => `to_number(${str()})`,
      () => `indexof(${str()}, ${str()})`,
      () => `strings.count(${str()}, ${str()})`,
      () => `${arr()}[${n()}]`,
      () => `object.get(${term(s, "obj", d)}, ${str()}, ${n()})`,
      () => `bits.${s.random.pick(["and", "or", "xor"])}(${n()}, ${n()})`,
      () => `bits.${s.random.pick(["lsh", "rsh"])}(${n()}, ${s.random.pick(["0", "1", "5"])})`,
      () => `units.parse_bytes("${s.random.pick(["1k", "2KiB", "0.5m", "x", "10"])}")`,
      () =>
        `semver.compare("${s.random.pick(["1.2.3", "1.0.0-rc.1"])}", "${s.random.pick(["1.2.3", "1.10.0", "bad"])}")`,
      () =>
        `time.parse_rfc3339_ns("${s.random.pick(["2024-02-29T12:00:00Z", "1970-01-01T00:00:00+01:00", "x"])}")`,
    ])();
  },
  str: (s, d) => {
    const str = () => term(s, "str", d);
    const n = () => term(s, "num", d);
    return s.random.pick<() => string>([
      () => `concat(${str()}, [${str()}, ${str()}])`,
      () => `${s.random.pick(["lower", "upper", "trim_space", "strings.reverse"])}(${str()})`,
      () =>
        `${s.random.pick(["trim", "trim_left", "trim_right", "trim_prefix", "trim_suffix"])}(${str()}, ${str()})`,
      () =>
        `sprintf(${s.random.pick(['"%v"', '"%s-%d"', '"%5.2f|%x"', '"%q"', '"%%"', '"%v %v"'])}, [${anyTerm(s, d)}, ${n()}])`,
      () => `replace(${str()}, ${str()}, ${str()})`,
      () =>
        `substring(${str()}, ${s.random.pick(["0", "1", "-1", "2"])}, ${s.random.pick(["-1", "0", "1", "10"])})`,
      () => `format_int(${n()}, ${s.random.pick(["2", "8", "10", "16"])})`,
      () =>
        `$"${s.random.pick(["", "a", "x="])}{${anyTerm(s, 0)}}${s.random.pick(["", "!", " "])}"`,
      () => `json.marshal(${anyTerm(s, d)})`,
      () => `type_name(${anyTerm(s, d)})`,
      () =>
        `${s.random.pick(["base64.encode", "base64url.encode", "hex.encode", "urlquery.encode"])}(${str()})`,
      () => `${s.random.pick(["base64.decode", "hex.decode", "urlquery.decode"])}(${str()})`,
      () => `crypto.${s.random.pick(["md5", "sha1", "sha256"])}(${str()})`,
      () =>
        `regex.replace(${str()}, ${s.random.pick(REGEXES)}, ${s.random.pick(['"-"', '"$1"', '""'])})`,
      () => `strings.replace_n({"a": ${str()}, "b": "B"}, ${str()})`,
      () => `yaml.marshal(${literal(s, "obj", 0)})`,
      () => `time.format(${s.random.pick(["0", "1709208000000000000"])})`,
      () => `${term(s, "arr", d)}[${s.random.pick(["0", "1"])}]`,
    ])();
  },
  bool: (s, d) => {
    const str = () => term(s, "str", d);
    return s.random.pick<() => string>([
      () => `${comparable(s, d)}`,
      () => `${s.random.pick(["startswith", "endswith", "contains"])}(${str()}, ${str()})`,
      () => `strings.any_prefix_match(${str()}, ["a", ${str()}])`,
      () => `regex.match(${s.random.pick(REGEXES)}, ${str()})`,
      () =>
        `glob.match(${s.random.pick(GLOBS)}, ${s.random.pick(["[]", '["."]', "null"])}, ${str()})`,
      () =>
        `is_${s.random.pick(["number", "string", "boolean", "array", "set", "object", "null"])}(${anyTerm(s, d)})`,
      () => `${anyTerm(s, d)} in ${term(s, s.random.pick(["arr", "set", "obj"]), d)}`,
      () => `(${str()}, ${anyTerm(s, d)} in ${term(s, "obj", d)})`,
      () =>
        `net.cidr_contains("10.0.0.0/8", "${s.random.pick(["10.1.2.3", "11.0.0.1", "10.0.0.0/9", "x"])}")`,
      () => `json.is_valid(${str()})`,
      () => `object.subset(${term(s, "obj", d)}, ${term(s, "obj", d)})`,
      () => `semver.is_valid(${str()})`,
    ])();
  },
  arr: (s, d) => {
    const arr = () => term(s, "arr", d);
    const str = () => term(s, "str", d);
    return s.random.pick<() => string>([
      () => `[${s.random.times(1, 3, () => anyTerm(s, d)).join(", ")}]`,
      () => comprehension(s, d, "[", "]", (inner) => anyTerm(inner, 1)),
      () => `split(${str()}, ${s.random.pick(['","', '"."', '""'])})`,
      () => `array.concat(${arr()}, ${arr()})`,
      () =>
        `array.slice(${arr()}, ${s.random.pick(["0", "1", "-1"])}, ${s.random.pick(["1", "2", "9"])})`,
      () => `array.reverse(${arr()})`,
      () => `sort(${term(s, s.random.pick(["arr", "set"]), d)})`,
      () => `numbers.range(${s.random.pick(["0", "1", "3"])}, ${s.random.pick(["-1", "4", "2"])})`,
      () => `regex.find_n(${s.random.pick(REGEXES)}, ${str()}, ${s.random.pick(["-1", "1"])})`,
      () => `regex.split(${s.random.pick(REGEXES)}, ${str()})`,
      () => `json.unmarshal(json.marshal(${arr()}))`,
      () => `[v | walk(${term(s, "obj", d)}, [_, v])]`,
      () => `indexof_n(${str()}, ${str()})`,
      () => `time.date([${s.random.pick(["0", "1709208000000000000"])}, "Europe/Berlin"][0])`,
    ])();
  },
  set: (s, d) => {
    const set = () => term(s, "set", d);
    return s.random.pick<() => string>([
      () => `{${s.random.times(1, 3, () => anyTerm(s, d)).join(", ")}}`,
      () => comprehension(s, d, "{", "}", (inner) => anyTerm(inner, 1)),
      () => `${set()} ${s.random.pick(["&", "|", "-"])} ${set()}`,
      () => `${s.random.pick(["union", "intersection"])}({${set()}, ${set()}})`,
      () => `{x | some x in ${term(s, s.random.pick(["arr", "set", "obj"]), d)}}`,
      () => `object.keys(${term(s, "obj", d)})`,
      () => `graph.reachable({"a": ["b"], "b": ["c", "a"], "c": []}, [${term(s, "str", d)}])`,
      () => `net.cidr_expand("192.168.0.${s.random.pick(["0/30", "1/32", "7"])}")`,
    ])();
  },
  obj: (s, d) => {
    const obj = () => term(s, "obj", d);
    const str = () => term(s, "str", d);
    return s.random.pick<() => string>([
      () => `{${s.random.times(1, 3, () => `${str()}: ${anyTerm(s, d)}`).join(", ")}}`,
      () => comprehension(s, d, "{", "}", (inner) => `${anyTerm(inner, 0)}: ${anyTerm(inner, 1)}`),
      () => `object.union(${obj()}, ${obj()})`,
      () => `object.union_n([${obj()}, ${obj()}])`,
      () =>
        `object.${s.random.pick(["remove", "filter"])}(${obj()}, ${term(s, s.random.pick(["arr", "set"]), d)})`,
      () =>
        `json.${s.random.pick(["filter", "remove"])}(${obj()}, ["${s.random.pick(["a", "x", "a/b", "name"])}"])`,
      () =>
        `json.patch(${obj()}, [{"op": "${s.random.pick(["add", "remove", "replace"])}", "path": "/${s.random.pick(["a", "x", "a/b"])}", "value": ${anyTerm(s, 0)}}])`,
      () => `json.unmarshal(json.marshal(${obj()}))`,
      () => `yaml.unmarshal(yaml.marshal(${obj()}))`,
      () => `urlquery.decode_object("${s.random.pick(["a=1&b=2&a=3", "", "%zz", "x"])}")`,
    ])();
  },
};

function comparable(s: Scope, d: number): string {
  const op = s.random.pick(["==", "!=", "<", "<=", ">", ">="]);
  if (s.random.chance(0.3)) return `${anyTerm(s, d)} ${op} ${anyTerm(s, d)}`;
  const kind = s.random.pick(KINDS);
  return `${term(s, kind, d)} ${op} ${term(s, kind, d)}`;
}

function comprehension(
  s: Scope,
  d: number,
  open: string,
  close: string,
  head: (inner: Scope) => string,
): string {
  const value = s.fresh();
  const key = s.fresh();
  const domain = term(s, s.random.pick(["arr", "obj", "set"]), d);
  const keyed = s.random.chance(0.4);
  const inner = withName(keyed ? withName(s, key, "any") : s, value, "any");
  const used = (keyed ? [key, value] : [value]).map((name) => use(s, name)).join("");
  const bind = `some ${keyed ? `${key}, ` : ""}${value} in ${domain}`;
  const test = s.random.chance(0.6) ? `; ${term(inner, "bool", d)}` : "";
  return `${open}${head(inner)} | ${bind}${used}${test}${close}`;
}

/** A declared variable must be used; mostly it is, in a way that seldom decides anything. */
export function use({ random }: Scope, name: string): string {
  if (random.chance(0.03)) return "";
  const test = random.pick([
    `${name} != 77`,
    `${name} == ${name}`,
    `count([${name}]) == 1`,
    `not is_null(${name})`,
    `${name} > 0`,
  ]);
  return `; ${test}`;
}
