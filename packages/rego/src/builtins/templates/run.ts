// Go's text/template, executed. Numbers of the data are text to Go (json.Number), and so they are here.
import { numberText } from "../../values/number.ts";
import { RegoObject, isArray, isNumber } from "../../values/value.ts";
import type { Value, Num } from "../../values/value.ts";
import { sprintf } from "../../go/format.ts";
import type { FormatArg } from "../../go/format.ts";
import { TemplateError } from "./parse.ts";
import type { Node, Operand, Pipeline, Template } from "./parse.ts";
import { queryEscape } from "../../go/url.ts";

/** A number that the template itself made: a literal or a length. */
export class GoNumber {
  readonly value: bigint | number;

  constructor(value: bigint | number) {
    this.value = value;
  }

  toString(): string {
    return String(this.value);
  }
}

/** undefined is a missing entry, printed as <no value>. */
type Data = Value | GoNumber | undefined;

class Signal extends Error {
  readonly kind: "break" | "continue";

  constructor(kind: "break" | "continue") {
    super(kind);
    this.kind = kind;
  }
}

const MAX_OUTPUT = 16 * 1024 * 1024;
const MAX_CALLS = 1_000;

const isRecord = (value: Data): value is RegoObject => value instanceof RegoObject;
const isList = (value: Data): value is readonly Value[] =>
  value !== undefined && !(value instanceof GoNumber) && isArray(value);
const isDataNumber = (value: Data): value is number | Num =>
  value !== undefined && !(value instanceof GoNumber) && isNumber(value);

/** As fmt.Print shows a value. */
export function show(value: Data, nested = false): string {
  if (value === undefined) return "<no value>";
  if (value === null) return nested ? "<nil>" : "<no value>";
  if (isDataNumber(value)) return numberText(value);
  if (isList(value)) return `[${value.map((item) => show(item, true)).join(" ")}]`;
  if (isRecord(value)) {
    const parts = value.entries().map(([key, item]) => `${show(key, true)}:${show(item, true)}`);
    return `map[${parts.join(" ")}]`;
  }
  if (typeof value === "boolean") return String(value);
  return value instanceof GoNumber ? value.toString() : (value as string);
}

function isTrue(value: Data): boolean {
  if (value === undefined || value === null || value === false || value === "") return false;
  if (value instanceof GoNumber) return value.value !== 0n && value.value !== 0;
  if (isList(value)) return value.length > 0;
  return isRecord(value) ? value.size > 0 : true;
}

type Fn = (args: readonly Data[]) => Data;

const length: Fn = ([value]) => {
  if (typeof value === "string")
    return new GoNumber(BigInt(new TextEncoder().encode(value).length));
  if (isDataNumber(value)) return new GoNumber(BigInt(numberText(value).length));
  if (isList(value)) return new GoNumber(BigInt(value.length));
  if (isRecord(value)) return new GoNumber(BigInt(value.size));
  throw new TemplateError("error calling len: len of type");
};

const position = (value: Data): number => {
  if (value instanceof GoNumber && typeof value.value === "bigint") return Number(value.value);
  throw new TemplateError("cannot index slice/array with this type");
};

const index: Fn = ([start, ...keys]) =>
  keys.reduce<Data>((value, key) => {
    if (isList(value)) {
      const at = position(key);
      if (at < 0 || at >= value.length)
        throw new TemplateError(`error calling index: index out of range: ${at}`);
      return value[at];
    }
    if (isRecord(value) && typeof key === "string") return value.get(key);
    throw new TemplateError("error calling index: can't index item");
  }, start);

const slice: Fn = ([value, from, to]) => {
  const [a, b] = [
    from === undefined ? 0 : position(from),
    to === undefined ? undefined : position(to),
  ];
  if (typeof value !== "string" && !isList(value))
    throw new TemplateError("error calling slice: can't slice item");
  if (a < 0 || a > (b ?? value.length) || (b ?? 0) > value.length) {
    throw new TemplateError("error calling slice: index out of range");
  }
  return value.slice(a, b);
};

const comparable = (value: Data): { kind: string; key: string | number | bigint | boolean } => {
  if (typeof value === "string") return { kind: "string", key: value };
  if (isDataNumber(value)) return { kind: "string", key: numberText(value) };
  if (typeof value === "boolean") return { kind: "bool", key: value };
  if (value instanceof GoNumber) {
    return { kind: typeof value.value === "bigint" ? "int" : "float", key: value.value };
  }
  throw new TemplateError("error calling eq: non-comparable type");
};

function compare(a: Data, b: Data): number {
  const [x, y] = [comparable(a), comparable(b)];
  if (x.kind !== y.kind) throw new TemplateError("incompatible types for comparison");
  return x.key < y.key ? -1 : x.key > y.key ? 1 : 0;
}

const equals: Fn = ([first, ...others]) => {
  if (others.length === 0)
    throw new TemplateError("error calling eq: missing argument for comparison");
  return others.some((other) => compare(first, other) === 0);
};

/** Go puts a space between operands when neither is a string. */
function print(args: readonly Data[]): string {
  return args
    .map((arg, i) => {
      const glue = i > 0 && typeof arg !== "string" && typeof args[i - 1] !== "string" ? " " : "";
      return glue + show(arg, true);
    })
    .join("");
}

const formatArg = (value: Data): FormatArg => {
  if (value instanceof GoNumber) {
    return typeof value.value === "bigint"
      ? { kind: "int", value: value.value, big: false }
      : { kind: "float", value: value.value };
  }
  const type = isDataNumber(value) ? { type: "json.Number" } : {};
  return { kind: "string", value: show(value, true), ...type };
};

const HTML: Readonly<Record<string, string>> = {
  "<": "&lt;",
  ">": "&gt;",
  "&": "&amp;",
  '"': "&#34;",
  "'": "&#39;",
  "\0": "\ufffd",
};
const JS: Readonly<Record<string, string>> = {
  "\\": "\\\\",
  "'": "\\'",
  '"': '\\"',
  "<": "\\u003C",
  ">": "\\u003E",
  "&": "\\u0026",
  "=": "\\u003D",
};
const escapeJs = (text: string): string =>
  text.replace(
    // eslint-disable-next-line no-control-regex -- these are what must be escaped
    /[\\'"<>&=\x00-\x1f]/g,
    (c) => JS[c] ?? `\\u${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`,
  );

const FUNCTIONS: Readonly<Record<string, Fn>> = {
  len: length,
  index,
  slice,
  not: ([value]) => !isTrue(value),
  eq: equals,
  ne: ([a, b]) => compare(a, b) !== 0,
  lt: ([a, b]) => compare(a, b) < 0,
  le: ([a, b]) => compare(a, b) <= 0,
  gt: ([a, b]) => compare(a, b) > 0,
  ge: ([a, b]) => compare(a, b) >= 0,
  print: (args) => print(args),
  println: (args) => `${args.map((arg) => show(arg, true)).join(" ")}\n`,
  printf: ([format, ...args]) => sprintf(show(format), args.map(formatArg)),
  html: (args) => print(args).replace(/[<>&"'\0]/g, (c) => HTML[c] ?? c),
  js: (args) => escapeJs(print(args)),
  urlquery: (args) => queryEscape(print(args)),
};

type Variables = { readonly name: string; value: Data }[];

export class TemplateRunner {
  private out: string[] = [];
  private size = 0;
  private calls = 0;
  private readonly template: Template;
  private readonly tick: (steps?: number) => void;

  constructor(template: Template, tick: (steps?: number) => void) {
    this.template = template;
    this.tick = tick;
  }

  run(data: Value): string {
    this.nodes(this.template.body, data, [{ name: "$", value: data }]);
    return this.out.join("");
  }

  private write(text: string): void {
    this.size += text.length;
    if (this.size > MAX_OUTPUT) throw new TemplateError("output is too long");
    this.out.push(text);
  }

  private nodes(nodes: readonly Node[], dot: Data, variables: Variables): void {
    const scope = [...variables];
    for (const node of nodes) {
      this.tick();
      this.node(node, dot, scope);
    }
  }

  private node(node: Node, dot: Data, scope: Variables): void {
    switch (node.kind) {
      case "text":
        this.write(node.text);
        return;
      case "print": {
        const value = this.pipeline(node.pipeline, dot, scope);
        if (node.pipeline.declares.length === 0) this.write(show(value));
        return;
      }
      case "if":
      case "with": {
        const inner = [...scope];
        const value = this.pipeline(node.pipeline, dot, inner);
        if (isTrue(value)) this.nodes(node.then, node.kind === "with" ? value : dot, inner);
        else this.nodes(node.otherwise, dot, inner);
        return;
      }
      case "range":
        this.range(node, dot, scope);
        return;
      case "template": {
        const body = this.template.defined.get(node.name);
        if (body === undefined)
          throw new TemplateError(`template ${JSON.stringify(node.name)} not defined`);
        if (++this.calls > MAX_CALLS) throw new TemplateError("exceeded maximum template depth");
        const value =
          node.pipeline === undefined ? undefined : this.pipeline(node.pipeline, dot, scope);
        this.nodes(body, value, [{ name: "$", value }]);
        this.calls--;
        return;
      }
      case "break":
      case "continue":
        throw new Signal(node.kind);
    }
  }

  private entries(value: Data): (readonly [Data, Data])[] {
    if (isList(value)) return value.map((item, i) => [new GoNumber(BigInt(i)), item] as const);
    if (isRecord(value)) return value.entries().map(([key, item]) => [key, item] as const);
    if (value instanceof GoNumber && typeof value.value === "bigint") {
      const count = Number(value.value);
      if (count > 1_000_000) throw new TemplateError("range is too long");
      return Array.from({ length: Math.max(0, count) }, (_, i) => {
        const n = new GoNumber(BigInt(i));
        return [n, n] as const;
      });
    }
    if (value === undefined || value === null) return [];
    throw new TemplateError(`range can't iterate over ${show(value)}`);
  }

  private range(node: Node & { kind: "if" | "with" | "range" }, dot: Data, scope: Variables): void {
    const { declares } = node.pipeline;
    const value = this.pipeline({ ...node.pipeline, declares: [] }, dot, scope);
    const entries = this.entries(value);
    if (entries.length === 0) {
      this.nodes(node.otherwise, dot, scope);
      return;
    }
    for (const [key, item] of entries) {
      const names = declares.length === 2 ? [key, item] : [item];
      const inner = [...scope, ...declares.map((name, i) => ({ name, value: names[i] }))];
      try {
        this.nodes(node.then, item, inner);
      } catch (error) {
        if (!(error instanceof Signal)) throw error;
        if (error.kind === "break") return;
      }
    }
  }

  private pipeline(pipeline: Pipeline, dot: Data, scope: Variables): Data {
    let value: Data;
    let first = true;
    for (const command of pipeline.commands) {
      value = this.command(command, dot, scope, first ? [] : [value]);
      first = false;
    }
    for (const name of pipeline.declares) {
      const known = pipeline.assigns
        ? scope.findLast((variable) => variable.name === name)
        : undefined;
      if (known !== undefined) known.value = value;
      else scope.push({ name, value });
    }
    return value;
  }

  private command(
    command: readonly Operand[],
    dot: Data,
    scope: Variables,
    piped: readonly Data[],
  ): Data {
    const [head, ...rest] = command;
    if (head === undefined) throw new TemplateError("empty command");
    if (head.kind !== "function") {
      if (rest.length > 0 || piped.length > 0) {
        throw new TemplateError("can't give argument to non-function");
      }
      return this.operand(head, dot, scope);
    }
    const lazy = rest.map((operand) => (): Data => this.operand(operand, dot, scope));
    const all = [...lazy, ...piped.map((value) => (): Data => value)];
    if (head.name === "and" || head.name === "or") return shortCircuit(head.name, all);
    const run = Object.hasOwn(FUNCTIONS, head.name) ? FUNCTIONS[head.name] : undefined;
    if (run === undefined)
      throw new TemplateError(`function ${JSON.stringify(head.name)} not defined`);
    return run(all.map((get) => get()));
  }

  private operand(operand: Operand, dot: Data, scope: Variables): Data {
    switch (operand.kind) {
      case "dot":
        return dot;
      case "nil":
        throw new TemplateError("nil is not a command");
      case "bool":
      case "string":
        return operand.value;
      case "int":
      case "float":
        return new GoNumber(operand.value);
      case "field":
        return this.fields(dot, operand.path);
      case "variable": {
        const found = scope.findLast((variable) => variable.name === operand.name);
        if (found === undefined)
          throw new TemplateError(`undefined variable ${JSON.stringify(operand.name)}`);
        return this.fields(found.value, operand.path);
      }
      case "function":
        return this.command([operand], dot, scope, []);
      case "pipeline":
        return this.fields(this.pipeline(operand.pipeline, dot, [...scope]), operand.path);
    }
  }

  private fields(start: Data, path: readonly string[]): Data {
    return path.reduce<Data>((value, name) => {
      if (isRecord(value)) return value.get(name);
      if (value === undefined) return undefined;
      if (value === null) {
        throw new TemplateError(`nil pointer evaluating interface {}.${name}`);
      }
      throw new TemplateError(`can't evaluate field ${name} in type interface {}`);
    }, start);
  }
}

function shortCircuit(name: "and" | "or", args: readonly (() => Data)[]): Data {
  let value: Data;
  for (const get of args) {
    value = get();
    if (isTrue(value) === (name === "or")) return value;
  }
  return value;
}
