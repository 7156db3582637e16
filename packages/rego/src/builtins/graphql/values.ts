// Literal values and variables against the type that is wanted where they stand.
import { kindOf, typeName, typeText, valueText } from "./ast.ts";
import type { Definition, Position, TypeRef, ValueNode, VariableDefinition } from "./ast.ts";
import { isCompatible } from "./schema.ts";

export interface Expected {
  readonly type: TypeRef;
  readonly hasDefault: boolean;
}

export interface ValueContext {
  readonly types: ReadonlyMap<string, Definition>;
  /** undefined outside an operation: a fragment alone knows no variables. */
  readonly variables: ReadonlyMap<string, VariableDefinition> | undefined;
  readonly used: Set<string>;
  readonly report: (message: string, at: Position) => void;
}

export function checkValue(
  value: ValueNode,
  expected: Expected | undefined,
  ctx: ValueContext,
): void {
  const kind = kindOf(value);
  const def = expected === undefined ? undefined : ctx.types.get(typeName(expected.type));
  if (kind === "variable") checkVariable(value, expected, ctx);
  for (const child of value.Children) {
    if (kind === "object") {
      const field = def?.Fields.find(({ Name }) => Name === child.Name);
      const wanted = field && {
        type: field.Type,
        hasDefault: field.DefaultValue !== undefined && kindOf(field.DefaultValue) !== "null",
      };
      checkValue(child.Value, wanted, ctx);
    } else {
      const elem = expected?.type.Elem;
      checkValue(child.Value, elem && { type: elem, hasDefault: false }, ctx);
    }
  }
  if (kind === "object") uniqueFields(value, ctx);
  if (def !== undefined && expected !== undefined) checkLiteral(value, expected.type, def, ctx);
}

function checkVariable(value: ValueNode, expected: Expected | undefined, ctx: ValueContext): void {
  if (ctx.variables === undefined) return;
  const variable = ctx.variables.get(value.Raw);
  if (variable === undefined) {
    ctx.report(`Variable "$${value.Raw}" is not defined.`, value.at);
    return;
  }
  ctx.used.add(value.Raw);
  if (expected === undefined) return;
  const ownDefault =
    variable.DefaultValue !== undefined && kindOf(variable.DefaultValue) !== "null";
  const wanted =
    ownDefault || expected.hasDefault ? { ...expected.type, NonNull: false } : expected.type;
  if (isCompatible(variable.Type, wanted)) return;
  ctx.report(
    `Variable "$${value.Raw}" of type "${typeText(variable.Type)}" used in position expecting type "${typeText(expected.type)}".`,
    value.at,
  );
}

function uniqueFields(value: ValueNode, ctx: ValueContext): void {
  const seen = new Set<string>();
  for (const child of value.Children) {
    if (seen.has(child.Name))
      ctx.report(`There can be only one input field named "${child.Name}".`, child.at);
    seen.add(child.Name);
  }
}

const BUILT_IN = ["Int", "Float", "String", "Boolean", "ID"];

/** Kinds of literal that a built-in scalar takes. */
const SCALAR_LITERALS: Readonly<Record<string, readonly string[]>> = {
  int: ["Int", "Float", "ID"],
  float: ["Float"],
  string: ["String", "ID"],
  block: ["String", "ID"],
  boolean: ["Boolean"],
};

const MAX_INT64 = 2n ** 63n - 1n;

const fitsInt64 = (raw: string): boolean => {
  const n = BigInt(raw);
  return n <= MAX_INT64 && n >= -MAX_INT64 - 1n;
};

function checkLiteral(value: ValueNode, type: TypeRef, def: Definition, ctx: ValueContext): void {
  const kind = kindOf(value);
  if (kind === "null") {
    if (type.NonNull)
      ctx.report(`Expected value of type "${typeText(type)}", found null.`, value.at);
    return;
  }
  if (kind === "variable" || (def.Kind === "SCALAR" && !BUILT_IN.includes(def.Name))) return;
  const mismatch = (): void => {
    ctx.report(mismatchText(value, type, def), value.at);
  };
  switch (kind) {
    case "list":
      if (type.Elem === undefined) mismatch();
      return;
    case "object":
      checkObject(value, def, ctx);
      return;
    case "enum":
      if (def.Kind !== "ENUM") mismatch();
      else if (!def.EnumValues.some(({ Name }) => Name === value.Raw)) {
        ctx.report(`Value "${value.Raw}" does not exist in "${typeText(type)}" enum.`, value.at);
      }
      return;
    case "int":
      if (!fitsInt64(value.Raw)) mismatch();
      else if (!(SCALAR_LITERALS["int"] ?? []).includes(def.Name)) mismatch();
      return;
    default:
      if (!(SCALAR_LITERALS[kind] ?? []).includes(def.Name)) mismatch();
  }
}

function checkObject(value: ValueNode, def: Definition, ctx: ValueContext): void {
  for (const field of def.Fields) {
    const given = value.Children.some(({ Name }) => Name === field.Name);
    if (!field.Type.NonNull || given || field.DefaultValue !== undefined) continue;
    ctx.report(
      `Field "${def.Name}.${field.Name}" of required type "${typeText(field.Type)}" was not provided.`,
      value.at,
    );
  }
  if (def.Directives.some(({ Name }) => Name === "oneOf")) {
    const [only] = value.Children;
    if (only === undefined || value.Children.length !== 1) {
      ctx.report(`OneOf Input Object "${def.Name}" must specify exactly one key.`, value.at);
    } else if (kindOf(only.Value) === "null") {
      ctx.report(`Field "${def.Name}.${only.Name}" must be non-null.`, only.Value.at);
    }
  }
  for (const child of value.Children) {
    if (!def.Fields.some(({ Name }) => Name === child.Name)) {
      ctx.report(`Field "${child.Name}" is not defined by type "${def.Name}".`, child.at);
    }
  }
}

const SCALAR_TEXTS: Readonly<Record<string, string>> = {
  Int: "Int cannot represent non-integer value",
  String: "String cannot represent a non string value",
  "[String]": "String cannot represent a non string value",
  Boolean: "Boolean cannot represent a non boolean value",
  Float: "Float cannot represent non numeric value",
  ID: "ID cannot represent a non-string and non-integer value",
};

function mismatchText(value: ValueNode, type: TypeRef, def: Definition): string {
  const shown = valueText(value);
  const scalar = SCALAR_TEXTS[typeText(type).replace(/!$/, "")];
  if (scalar !== undefined) return `${scalar}: ${shown}`;
  if (def.Kind === "ENUM")
    return `Enum "${typeText(type)}" cannot represent non-enum value: ${shown}.`;
  return `Expected value of type "${typeText(type)}", found ${shown}.`;
}
