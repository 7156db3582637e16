// Types of built-in arguments and results, and what the checker infers from policies.

export type Type =
  | { readonly kind: "null" | "boolean" | "number" | "string" }
  | { readonly kind: "any"; readonly of: readonly Type[] }
  | { readonly kind: "array"; readonly items: readonly Type[]; readonly rest: Type | undefined }
  | { readonly kind: "set"; readonly of: Type }
  | {
      readonly kind: "object";
      readonly props: ReadonlyMap<string, Type>;
      readonly key: Type | undefined;
      readonly value: Type | undefined;
    }
  | {
      readonly kind: "function";
      readonly args: readonly Type[];
      readonly result: Type | undefined;
    };

export const NULL: Type = { kind: "null" };
export const BOOLEAN: Type = { kind: "boolean" };
export const NUMBER: Type = { kind: "number" };
export const STRING: Type = { kind: "string" };
/** Any value at all: the union with no restriction. */
export const ANY: Type = { kind: "any", of: [] };

export function anyOf(...of: readonly Type[]): Type {
  return { kind: "any", of };
}

/** `[]item`: any number of items of one type. */
export function arrayOf(item: Type): Type {
  return { kind: "array", items: [], rest: item };
}

/** A fixed list of items, such as `[boolean, object]`. */
export function tupleOf(...items: readonly Type[]): Type {
  return { kind: "array", items, rest: undefined };
}

export function setOf(of: Type): Type {
  return { kind: "set", of };
}

/** An object of any keys. */
export function objectOf(key: Type, value: Type): Type {
  return { kind: "object", props: new Map(), key, value };
}

/** An object with known string keys; pass key and value when others may follow. */
export function record(props: Readonly<Record<string, Type>>, key?: Type, value?: Type): Type {
  return { kind: "object", props: new Map(Object.entries(props)), key, value };
}
