// json.patch (RFC 6902), extended to sets: an element of a set is its own key.
import { numberText } from "../../values/number.ts";
import { RegoObject, RegoSet, equal, isArray, isNumber, typeName } from "../../values/value.ts";
import type { Value } from "../../values/value.ts";
import { valueText } from "../../values/text.ts";
import { ANY, STRING, arrayOf, record } from "../../types/type.ts";
import type { Builtin, BuiltinContext } from "../builtin.ts";
import { parsePath } from "./paths.ts";
import { arg, array, fail, fn, orElse } from "../operands.ts";
import type { Args } from "../operands.ts";

type Path = readonly Value[];
/** undefined: the whole document was removed. */
type Doc = Value | undefined;

const GO_TYPES: Readonly<Record<string, string>> = {
  null: "ast.Null",
  boolean: "ast.Boolean",
  number: "ast.Number",
  string: "ast.String",
};
const goType = (value: Value): string => GO_TYPES[typeName(value)] ?? typeName(value);

function index(length: number, key: Value): number {
  if (key === "-") return length;
  if (typeof key !== "string" && !isNumber(key)) return fail("invalid type for indexing");
  const text = typeof key === "string" ? key : numberText(key);
  if (!/^[+-]?\d{1,15}$/.test(text)) {
    return fail(`invalid ${typeof key === "string" ? "string" : "number type"} for indexing`);
  }
  if (typeof key === "string" && key !== "0" && key.startsWith("0")) {
    return fail("leading zeros are not allowed in JSON paths");
  }
  return Number(text);
}

function child(value: Value, key: Value): Value {
  if (value instanceof RegoObject) {
    return orElse(value.get(key), () =>
      fail(`path ${valueText(key)} does not exist in object term ${valueText(value)}`),
    );
  }
  if (value instanceof RegoSet) {
    return orElse(value.get(key), () =>
      fail(`path [${valueText(key)}] does not exist in set term ${valueText(value)}`),
    );
  }
  if (isArray(value)) {
    const at = index(value.length, key);
    return orElse(value[at], () =>
      fail(`path ${at} does not exist in array term ${valueText(value)}`),
    );
  }
  return fail(
    `expected composite type for path ${valueText(key)}, found value: ${valueText(value)} (type: ${goType(value)})`,
  );
}

function insert(value: Value, key: Value, item: Value): Value {
  if (value instanceof RegoObject) return value.with(key, item);
  if (value instanceof RegoSet) {
    if (!equal(key, item)) {
      fail(`set key ${valueText(key)} does not equal value to be inserted ${valueText(item)}`);
    }
    return RegoSet.of([...value.items(), item]);
  }
  if (!isArray(value))
    return fail(
      `expected composite type, found value: ${valueText(value)} (type: ${goType(value)})`,
    );
  const at = index(value.length, key);
  if (at < 0 || at > value.length) return fail("index for array insertion out of bounds");
  return value.toSpliced(at, 0, item);
}

function drop(value: Value, key: Value): Value {
  if (value instanceof RegoObject) {
    if (!value.has(key)) fail(`cannot delete child key ${valueText(key)} that does not exist`);
    return RegoObject.of(value.entries().filter(([k]) => !equal(k, key)));
  }
  if (value instanceof RegoSet) {
    if (!value.has(key)) fail(`cannot delete child key ${valueText(key)} that does not exist`);
    return RegoSet.of(value.items().filter((item) => !equal(item, key)));
  }
  if (!isArray(value))
    return fail(
      `expected composite type, found value: ${valueText(value)} (type: ${goType(value)})`,
    );
  const at = index(value.length, key);
  if (at < 0 || at >= value.length) return fail("index for array delete out of bounds");
  return value.toSpliced(at, 1);
}

/** Puts a changed child back in its place. */
function replaceChild(value: Value, key: Value, item: Value): Value {
  if (value instanceof RegoObject) return value.with(key, item);
  if (isArray(value)) return value.with(index(value.length, key), item);
  if (value instanceof RegoSet) {
    return RegoSet.of([...value.items().filter((other) => !equal(other, key)), item]);
  }
  return value;
}

function existing(doc: Doc): Value {
  return orElse(doc, () => fail("deleted node encountered during delete operation"));
}

/** Applies `change` to the parent of the last key of a path. */
function edit(value: Value, path: Path, change: (parent: Value, key: Value) => Value): Value {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  if (rest.length === 0) return change(value, key);
  return replaceChild(value, key, edit(child(value, key), rest, change));
}

function addAt(doc: Doc, path: Path, item: Value): Doc {
  if (path.length === 0) return item;
  return edit(existing(doc), path, (parent, key) => insert(parent, key, item));
}

function removeAt(doc: Doc, path: Path): Doc {
  const value = existing(doc);
  return path.length === 0 ? undefined : edit(value, path, drop);
}

const readAt = (doc: Doc, path: Path): Value =>
  path.reduce<Value>((value, key) => child(value, key), existing(doc));

function attribute(op: RegoObject, name: string): Value {
  return orElse(op.get(name), () => fail(`missing required attribute '${name}'`));
}

function apply(doc: Doc, op: RegoObject): Doc {
  const rawPath = attribute(op, "path");
  const kind = attribute(op, "op");
  if (typeof kind !== "string") {
    return fail(`attribute 'op' must be a string but found: ${typeName(kind)}`);
  }
  const path = parsePath(rawPath);
  switch (kind) {
    case "add":
      return addAt(doc, path, attribute(op, "value"));
    case "remove":
      return removeAt(doc, path);
    case "replace": {
      const without = removeAt(doc, path);
      return addAt(without, path, attribute(op, "value"));
    }
    case "move": {
      const from = parsePath(attribute(op, "from"));
      const item = readAt(doc, from);
      return addAt(removeAt(doc, from), path, item);
    }
    case "copy":
      return addAt(doc, path, readAt(doc, parsePath(attribute(op, "from"))));
    case "test": {
      const found = readAt(doc, path);
      const wanted = attribute(op, "value");
      if (equal(found, wanted)) return doc;
      return fail(
        `value from EditTree != patch value.\n\nExpected: ${valueText(wanted)}\n\nFound: ${valueText(found)}`,
      );
    }
    default:
      return fail(`unrecognized op: '${kind}'`);
  }
}

function patch(args: Args, ctx: BuiltinContext): Value | undefined {
  let doc: Doc = arg(args, 1);
  for (const op of array(args, 2)) {
    ctx.tick();
    if (!(op instanceof RegoObject)) {
      return fail(
        "must be an array of JSON-Patch objects, but at least one element is not an object",
      );
    }
    doc = apply(doc, op);
  }
  return doc;
}

export const JSON_PATCH: readonly Builtin[] = [
  fn("json.patch", [ANY, arrayOf(record({ op: STRING, path: ANY }, ANY, ANY))], ANY, patch),
];
