// Unions, selection and compatibility of types.
import { ANY, BOOLEAN, NULL, NUMBER, STRING } from "./type.ts";
import { typeName } from "../values/value.ts";
import type { Type } from "./type.ts";
import type { Value } from "../values/value.ts";

/** Not known yet. Only compared by identity, so it never leaks into a real union. */
export const NIL: Type = { kind: "any", of: [] };

/** No value at all: what the empty set holds. */
export const NEVER: Type = { kind: "any", of: [] };

type ObjectType = Type & { kind: "object" };
type ArrayType = Type & { kind: "array" };

export function isAny(type: Type): boolean {
  return type.kind === "any" && type.of.length === 0 && type !== NIL && type !== NEVER;
}

/** Unknown, or with an unknown part. */
export function hasNil(type: Type): boolean {
  if (type === NIL) return true;
  switch (type.kind) {
    case "array":
      return type.items.some(hasNil) || (type.rest !== undefined && hasNil(type.rest));
    case "set":
      return hasNil(type.of);
    case "object":
      return (
        [...type.props.values()].some(hasNil) ||
        (type.key !== undefined && hasNil(type.key)) ||
        (type.value !== undefined && hasNil(type.value))
      );
    case "any":
      return type.of.some(hasNil);
    default:
      return false;
  }
}

/** With every unknown part taken for anything. */
export function withoutNil(type: Type): Type {
  if (type === NIL) return ANY;
  if (!hasNil(type)) return type;
  switch (type.kind) {
    case "array":
      return {
        ...type,
        items: type.items.map(withoutNil),
        rest: type.rest && withoutNil(type.rest),
      };
    case "set":
      return { ...type, of: withoutNil(type.of) };
    case "object":
      return {
        ...type,
        props: new Map([...type.props].map(([name, value]) => [name, withoutNil(value)])),
        key: type.key && withoutNil(type.key),
        value: type.value && withoutNil(type.value),
      };
    default:
      return ANY;
  }
}

/** A text that is the same for equal types. */
function typeKey(type: Type): string {
  if (type === NIL || type === NEVER) return type === NIL ? "?" : "!";
  switch (type.kind) {
    case "any":
      return `any<${type.of.map(typeKey).join("|")}>`;
    case "array":
      return `[${type.items.map(typeKey).join(",")}${type.rest ? `...${typeKey(type.rest)}` : ""}]`;
    case "set":
      return `set<${typeKey(type.of)}>`;
    case "object": {
      const props = [...type.props].sort(([a], [b]) => (a < b ? -1 : 1));
      const fixed = props.map(([name, value]) => `${JSON.stringify(name)}:${typeKey(value)}`);
      const rest = type.key && type.value ? `[${typeKey(type.key)}]:${typeKey(type.value)}` : "";
      return `{${fixed.join(",")};${rest}}`;
    }
    case "function":
      return `fn(${type.args.map(typeKey).join(",")})${type.result ? typeKey(type.result) : ""}`;
    default:
      return type.kind;
  }
}

// A union of this size carries no information.
const MAX_UNION = 32;

export function or(a: Type, b: Type): Type {
  if (a === NIL) return b;
  if (b === NIL || b === NEVER) return a;
  if (a === NEVER) return b;
  if (a.kind === "function" && b.kind === "function") return functionUnion(a, b);
  if (isAny(a) || isAny(b)) return ANY;
  const parts = new Map<string, Type>();
  for (const part of [...members(a), ...members(b)]) parts.set(typeKey(part), part);
  const [only] = parts.values();
  if (parts.size === 1 && only) return only;
  if (parts.size > MAX_UNION) return ANY;
  return { kind: "any", of: [...parts.values()] };
}

function members(type: Type): readonly Type[] {
  return type.kind === "any" ? type.of : [type];
}

function functionUnion(a: Type & { kind: "function" }, b: Type & { kind: "function" }): Type {
  const args = a.args.map((arg, i) => or(arg, b.args[i] ?? NIL));
  return { kind: "function", args, result: or(a.result ?? NIL, b.result ?? NIL) };
}

export function typeOfValue(value: Value): Type {
  switch (typeName(value)) {
    case "null":
      return NULL;
    case "boolean":
      return BOOLEAN;
    case "number":
      return NUMBER;
    case "string":
      return STRING;
    default:
      return ANY;
  }
}

function union(types: readonly Type[]): Type {
  return types.reduce(or, NIL);
}

/** What can be looked up in a value of the type; nil when nothing can. */
export function keysOf(type: Type): Type {
  switch (type.kind) {
    case "array":
      return type.items.length > 0 || type.rest ? NUMBER : NIL;
    case "set":
      return type.of === NEVER ? NIL : type.of;
    case "object":
      return or(type.props.size > 0 ? STRING : NIL, type.key ?? NIL);
    case "any":
      // Beside other types even an empty array is indexed by numbers.
      return isAny(type)
        ? ANY
        : union(type.of.map((part) => (part.kind === "array" ? NUMBER : keysOf(part))));
    default:
      return NIL;
  }
}

export function valuesOf(type: Type): Type {
  switch (type.kind) {
    case "array":
      return or(union(type.items), type.rest ?? NIL);
    case "set":
      return type.of === NEVER ? NIL : type.of;
    case "object":
      return or(union([...type.props.values()]), type.value ?? NIL);
    case "any":
      return isAny(type) ? ANY : union(type.of.map(valuesOf));
    default:
      return NIL;
  }
}

/** The type found under a constant key; nil when there can be none. */
export function select(type: Type, key: Value): Type {
  switch (type.kind) {
    case "array":
      return typeof key === "number" ? itemAt(type, key) : NIL;
    case "object":
      return selectProperty(type, key);
    case "set": {
      const own = typeOfValue(key);
      if (isAny(type.of) || isAny(own)) return isAny(type.of) ? own : type.of;
      return members(type.of).some((part) => typeKey(part) === typeKey(own)) ? own : NIL;
    }
    case "any":
      return isAny(type) ? ANY : union(type.of.map((part) => select(part, key)));
    default:
      return NIL;
  }
}

export function itemAt(type: ArrayType, index: number): Type {
  return type.items[index] ?? (index >= 0 ? (type.rest ?? NIL) : NIL);
}

function selectProperty(type: ObjectType, key: Value): Type {
  const fixed = typeof key === "string" ? type.props.get(key) : undefined;
  if (fixed) return fixed;
  if (!type.key || !type.value) return NIL;
  return unifies(type.key, typeOfValue(key)) ? type.value : NIL;
}

/** Can one value have both types? */
export function unifies(a: Type, b: Type): boolean {
  if (a === NIL || b === NIL) return false;
  if (a === NEVER || b === NEVER) return true;
  if (a.kind === "any" || b.kind === "any") return anyUnifies(a, b);
  if (a.kind !== b.kind) return false;
  if (a.kind === "array" && b.kind === "array") return arraysUnify(a, b);
  if (a.kind === "object" && b.kind === "object") return objectsUnify(a, b);
  if (a.kind === "set" && b.kind === "set") return unifies(a.of, b.of);
  if (a.kind === "function" && b.kind === "function") {
    return (
      a.args.length === b.args.length && a.args.every((arg, i) => unifies(arg, b.args[i] as Type))
    );
  }
  return true;
}

function anyUnifies(a: Type, b: Type): boolean {
  if (
    a.kind === "any" &&
    b.kind !== "function" &&
    (a.of.length === 0 || a.of.some((part) => unifies(part, b)))
  ) {
    return true;
  }
  return (
    b.kind === "any" &&
    a.kind !== "function" &&
    (b.of.length === 0 || b.of.some((part) => unifies(part, a)))
  );
}

function arraysUnify(a: ArrayType, b: ArrayType): boolean {
  const fits = (one: ArrayType, other: ArrayType): boolean =>
    one.items.every((item, i) => unifies(item, itemAt(other, i)));
  if (!fits(a, b) || !fits(b, a)) return false;
  return !a.rest || !b.rest || unifies(a.rest, b.rest);
}

function objectsUnify(a: ObjectType, b: ObjectType): boolean {
  // An object that may have more properties may also have the missing one.
  const isOpen = a.value !== undefined || b.value !== undefined;
  const fits = (one: ObjectType, other: ObjectType): boolean =>
    [...one.props].every(([name, value]) => {
      const found = selectProperty(other, name);
      return found === NIL ? isOpen : unifies(value, found);
    });
  if (!fits(a, b) || !fits(b, a)) return false;
  return !a.value || !b.value || unifies(a.value, b.value);
}
