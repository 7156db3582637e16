// JSON Schema drafts 4 to 7 at once, as OPA reads them: a checked tree of keywords.
import { RE2JS, RE2JSException } from "re2js";
import { numberText } from "../../values/number.ts";
import { keyText } from "../../values/json.ts";
import { RegoObject, isArray, isNumber } from "../../values/value.ts";
import type { NumberValue, Value } from "../../values/value.ts";
import { exactInteger } from "../../go/float.ts";
import { marshalJson } from "../../go/json.ts";

export class SchemaError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "SchemaError";
  }
}

export interface Node {
  /** A boolean schema. */
  pass?: boolean;
  ref?: Node;
  types: readonly string[];
  properties: readonly (readonly [string, Node])[];
  additionalProperties?: boolean | Node;
  patternProperties: readonly (readonly [RE2JS, Node])[];
  propertyNames?: Node;
  dependencies: ReadonlyMap<string, readonly string[] | Node>;
  items?: Node | readonly Node[];
  additionalItems?: boolean | Node;
  contains?: Node;
  multipleOf?: NumberValue;
  minimum?: NumberValue;
  exclusiveMinimum?: NumberValue;
  maximum?: NumberValue;
  exclusiveMaximum?: NumberValue;
  minLength?: number;
  maxLength?: number;
  minProperties?: number;
  maxProperties?: number;
  minItems?: number;
  maxItems?: number;
  uniqueItems: boolean;
  pattern?: RE2JS;
  patternText?: string;
  format?: string;
  required: readonly string[];
  constant?: string;
  enumeration?: readonly string[];
  oneOf: readonly Node[];
  anyOf: readonly Node[];
  allOf: readonly Node[];
  not?: Node;
  when?: Node;
  then?: Node;
  otherwise?: Node;
}

const TYPES = ["array", "boolean", "integer", "number", "null", "object", "string"];
const MAX_DEPTH = 200;

const emptyNode = (): Node => ({
  types: [],
  properties: [],
  patternProperties: [],
  dependencies: new Map(),
  uniqueItems: false,
  required: [],
  oneOf: [],
  anyOf: [],
  allOf: [],
});

const invalidType = (expected: string, given: string): never => {
  throw new SchemaError(`Invalid type. Expected: ${expected}, given: ${given}`);
};

export function compilePattern(pattern: string): RE2JS | undefined {
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    if (error instanceof RE2JSException) return undefined;
    throw error;
  }
}

/** Values are compared by their JSON text; 1.0 and 1 are the same there. */
export function canonicalText(value: Value): string {
  if (isNumber(value)) {
    const whole = exactInteger(numberText(value));
    return whole === undefined ? numberText(value) : whole.toString();
  }
  if (isArray(value)) return `[${value.map(canonicalText).join(",")}]`;
  if (value instanceof RegoObject) {
    return `{${value
      .entries()
      .map(([key, item]) => `${marshalJson(key)}:${canonicalText(item)}`)
      .join(",")}}`;
  }
  return marshalJson(value);
}

const LIMITS = [
  ["minLength", "maxLength"],
  ["minProperties", "maxProperties"],
  ["minItems", "maxItems"],
] as const;

export class Compiler {
  private readonly root: Value;
  private readonly refs = new Map<string, Node>();
  private readonly ids = new Map<string, Value>();

  constructor(root: Value) {
    this.root = root;
    this.collectIds(root, 0);
  }

  compile(): Node {
    if (isArray(this.root)) throw new SchemaError("schema is invalid");
    return this.node(this.root, 0);
  }

  private collectIds(value: Value, depth: number): void {
    if (depth > MAX_DEPTH) throw new SchemaError("schema is nested too deeply");
    if (isArray(value)) for (const item of value) this.collectIds(item, depth + 1);
    if (!(value instanceof RegoObject)) return;
    const id = value.get("id") ?? value.get("$id");
    if (typeof id === "string") this.ids.set(id, value);
    for (const item of value.values()) this.collectIds(item, depth + 1);
  }

  private node(value: Value, depth: number): Node {
    if (depth > MAX_DEPTH) throw new SchemaError("schema is nested too deeply");
    const node = emptyNode();
    if (typeof value === "boolean") {
      node.pass = value;
      return node;
    }
    if (!(value instanceof RegoObject))
      throw new SchemaError("Expected: Valid Schema, given: Invalid JSON");
    this.fill(node, value, depth + 1);
    return node;
  }

  private fill(node: Node, source: RegoObject, depth: number): void {
    this.text(source, source.has("id") ? "id" : "$id");
    this.definitions(source, depth);
    this.text(source, "title");
    this.text(source, "description");
    const ref = this.text(source, "$ref");
    if (ref !== undefined) {
      node.ref = this.reference(ref, depth);
      return;
    }
    node.types = this.types(source);
    this.objectKeywords(node, source, depth);
    this.arrayKeywords(node, source, depth);
    this.numberKeywords(node, source);
    this.limits(node, source);
    this.textKeywords(node, source);
    this.combinations(node, source, depth);
  }

  private text(source: RegoObject, key: string): string | undefined {
    const value = source.get(key);
    if (value === undefined || typeof value === "string") return value;
    return invalidType("string", key);
  }

  private sub(source: RegoObject, key: string, depth: number): Node | undefined {
    const value = source.get(key);
    if (value === undefined) return undefined;
    if (typeof value === "boolean" || value instanceof RegoObject) return this.node(value, depth);
    throw new SchemaError(`${key} must be of an object`);
  }

  private list(source: RegoObject, key: string): readonly Value[] {
    const value = source.get(key);
    if (value === undefined) return [];
    if (isArray(value)) return value;
    throw new SchemaError(`${key} must be of an array`);
  }

  private definitions(source: RegoObject, depth: number): void {
    const definitions = source.get("definitions");
    if (definitions === undefined) return;
    if (!(definitions instanceof RegoObject)) return invalidType("Array Of Schemas", "definitions");
    for (const value of definitions.values()) {
      if (typeof value !== "boolean" && !(value instanceof RegoObject)) {
        return invalidType("Array Of Schemas", "definitions");
      }
      this.node(value, depth);
    }
  }

  /** Only places inside the same document: nothing is fetched. */
  private reference(ref: string, depth: number): Node {
    const known = this.refs.get(ref);
    if (known !== undefined) return known;
    const node = emptyNode();
    this.refs.set(ref, node);
    const target = this.resolve(ref);
    if (typeof target === "boolean") node.pass = target;
    else if (target instanceof RegoObject) this.fill(node, target, depth + 1);
    else throw new SchemaError("Schema must be of type object");
    return node;
  }

  private resolve(ref: string): Value {
    const byId = this.ids.get(ref);
    if (byId !== undefined) return byId;
    const hash = ref.indexOf("#");
    const base = hash < 0 ? ref : ref.slice(0, hash);
    const start = base === "" ? this.root : this.ids.get(base);
    if (start === undefined) throw new SchemaError(`remote reference loading disabled: ${ref}`);
    let value: Value | undefined = start;
    for (const part of hash < 0
      ? []
      : ref
          .slice(hash + 1)
          .split("/")
          .slice(1)) {
      const key = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
      value = isArray(value)
        ? value[Number(key)]
        : value instanceof RegoObject
          ? value.get(key)
          : undefined;
      if (value === undefined) throw new SchemaError(`Object has no key '${key}'`);
    }
    return value;
  }

  private types(source: RegoObject): readonly string[] {
    const value = source.get("type");
    if (value === undefined) return [];
    const names = typeof value === "string" ? [value] : value;
    if (!isArray(names)) return invalidType("type", "string/Array Of Strings");
    const seen: string[] = [];
    for (const name of names) {
      if (typeof name !== "string") return invalidType("type", "string/Array Of Strings");
      if (!TYPES.includes(name)) {
        throw new SchemaError(
          `has a primitive type that is NOT VALID -- given: /${name}/ Expected valid values are:[${TYPES.join(" ")}]`,
        );
      }
      if (seen.includes(name)) throw new SchemaError(`${name} type is duplicated`);
      seen.push(name);
    }
    return seen;
  }

  private objectKeywords(node: Node, source: RegoObject, depth: number): void {
    const properties = source.get("properties");
    if (properties !== undefined) {
      if (!(properties instanceof RegoObject))
        throw new SchemaError("Properties must be of type object");
      node.properties = properties
        .entries()
        .map(([key, value]) => [keyText(key), this.node(value, depth)]);
    }
    const additional = source.get("additionalProperties");
    if (typeof additional === "boolean") node.additionalProperties = additional;
    else if (additional instanceof RegoObject)
      node.additionalProperties = this.node(additional, depth);
    else if (additional !== undefined) invalidType("boolean/Valid Schema", "additionalProperties");
    const patterns = source.get("patternProperties");
    if (patterns !== undefined) {
      if (!(patterns instanceof RegoObject)) return invalidType("object", "patternProperties");
      node.patternProperties = patterns.entries().map(([key, value]) => {
        const pattern = compilePattern(keyText(key));
        if (pattern === undefined) throw new SchemaError(`Invalid regex pattern '${keyText(key)}'`);
        return [pattern, this.node(value, depth)];
      });
    }
    const names = this.sub(source, "propertyNames", depth);
    if (names !== undefined) node.propertyNames = names;
    this.dependencies(node, source, depth);
    const required = this.list(source, "required");
    if (required.some((name) => typeof name !== "string")) invalidType("string", "required");
    if (new Set(required).size !== required.length)
      throw new SchemaError("required items must be unique");
    node.required = required as readonly string[];
  }

  private dependencies(node: Node, source: RegoObject, depth: number): void {
    const value = source.get("dependencies");
    if (value === undefined) return;
    if (!(value instanceof RegoObject))
      throw new SchemaError("dependencies must be of type object");
    node.dependencies = new Map(
      value.entries().map(([key, item]): [string, readonly string[] | Node] => {
        if (typeof item === "boolean" || item instanceof RegoObject)
          return [keyText(key), this.node(item, depth)];
        if (!isArray(item) || item.some((name) => typeof name !== "string")) {
          throw new SchemaError("Dependency must be of type Schema Or Array Of Strings");
        }
        return [keyText(key), item as readonly string[]];
      }),
    );
  }

  private arrayKeywords(node: Node, source: RegoObject, depth: number): void {
    const items = source.get("items");
    if (items !== undefined) {
      if (isArray(items)) node.items = items.map((item) => this.node(item, depth));
      else if (typeof items === "boolean" || items instanceof RegoObject)
        node.items = this.node(items, depth);
      else invalidType("Valid Schema/Array Of Schemas", "items");
    }
    const additional = source.get("additionalItems");
    if (typeof additional === "boolean") node.additionalItems = additional;
    else if (additional instanceof RegoObject) node.additionalItems = this.node(additional, depth);
    else if (additional !== undefined) invalidType("boolean/Valid Schema", "additionalItems");
    const unique = source.get("uniqueItems");
    if (unique !== undefined && typeof unique !== "boolean")
      throw new SchemaError("uniqueItems must be of a boolean");
    node.uniqueItems = unique === true;
    const contains = source.get("contains");
    if (contains !== undefined) node.contains = this.node(contains, depth);
  }

  private numberKeywords(node: Node, source: RegoObject): void {
    const multiple = source.get("multipleOf");
    if (multiple !== undefined) {
      if (!isNumber(multiple)) return invalidType("Number", "multipleOf");
      if (Number(numberText(multiple)) <= 0)
        throw new SchemaError("multipleOf must be strictly greater than 0");
      node.multipleOf = multiple;
    }
    this.bound(node, source, "minimum", "exclusiveMinimum");
    this.bound(node, source, "maximum", "exclusiveMaximum");
  }

  /** Draft 4 says `exclusiveMinimum: true` beside `minimum`, later drafts give a number. */
  private bound(
    node: Node,
    source: RegoObject,
    plain: "minimum" | "maximum",
    exclusive: "exclusiveMinimum" | "exclusiveMaximum",
  ): void {
    const limit = source.get(plain);
    if (limit !== undefined) {
      if (!isNumber(limit)) throw new SchemaError(`${plain} must be of a Number`);
      node[plain] = limit;
    }
    const strict = source.get(exclusive);
    if (strict === undefined) return;
    if (isNumber(strict)) node[exclusive] = strict;
    else if (typeof strict !== "boolean") invalidType("boolean/number", exclusive);
    else if (node[plain] === undefined)
      throw new SchemaError(`${exclusive} cannot be used without ${plain}`);
    else if (strict) {
      node[exclusive] = node[plain];
      delete node[plain];
    }
  }

  private limits(node: Node, source: RegoObject): void {
    for (const [low, high] of LIMITS) {
      for (const key of [low, high]) {
        const value = source.get(key);
        if (value === undefined) continue;
        const n = isNumber(value) ? exactInteger(numberText(value)) : undefined;
        if (n === undefined) throw new SchemaError(`${key} must be of an integer`);
        if (n < 0n) throw new SchemaError(`${key} must be greater than or equal to 0`);
        node[key] = Number(n);
      }
      const [from, to] = [node[low], node[high]];
      if (low !== "minItems" && from !== undefined && to !== undefined && from > to) {
        throw new SchemaError(`${low} cannot be greater than ${high}`);
      }
    }
  }

  private textKeywords(node: Node, source: RegoObject): void {
    const pattern = this.text(source, "pattern");
    if (pattern !== undefined) {
      const compiled = compilePattern(pattern);
      if (compiled === undefined) throw new SchemaError("pattern must be a valid regex");
      node.pattern = compiled;
      node.patternText = pattern;
    }
    const format = this.text(source, "format");
    if (format !== undefined) node.format = format;
    const constant = source.get("const");
    if (constant !== undefined) node.constant = canonicalText(constant);
    if (!source.has("enum")) return;
    const texts = this.list(source, "enum").map(canonicalText);
    if (new Set(texts).size !== texts.length) throw new SchemaError("enum items must be unique");
    node.enumeration = texts;
  }

  private combinations(node: Node, source: RegoObject, depth: number): void {
    for (const key of ["oneOf", "anyOf", "allOf"] as const) {
      node[key] = this.list(source, key).map((item) => this.node(item, depth));
    }
    const pairs = [
      ["not", "not"],
      ["when", "if"],
      ["then", "then"],
      ["otherwise", "else"],
    ] as const;
    for (const [field, key] of pairs) {
      const sub = this.sub(source, key, depth);
      if (sub !== undefined) node[field] = sub;
    }
  }
}
