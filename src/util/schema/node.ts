// The parts of an interpreted schema: checks over values, and what one run over a value carries along.
import type { Json, JsonObject } from "../../contract/call.ts";
import { canonicalJson } from "../json/json.ts";
import type { LinearPattern } from "./linear-pattern.ts";

/** A place where a value does not fit, in the words that ajv uses. */
export interface Misfit {
  readonly keyword: string;
  readonly instancePath: string;
  readonly message: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly data: Json;
  readonly parentSchema: JsonObject;
}

/** A part of a schema that has an address of its own. */
export interface Resource {
  readonly root: Json;
  readonly uri: string;
  readonly anchors: Map<string, Json>;
  readonly dynamicAnchors: Map<string, Json>;
}

export interface CheckRun {
  /** Null while only yes or no is asked. */
  misfits: Misfit[] | null;
  /** How much may still be looked at. */
  steps: number;
  /** And how much work single checks may still make of it. */
  work: number;
  depth: number;
  /** The resources that were entered, outermost first; only kept where a schema asks for them. */
  readonly scope: Resource[];
}

/** What of one value was looked at by whom: `unevaluated…` judges the rest. */
export interface Seen {
  readonly keys: Set<string>;
  readonly items: Set<number>;
}

export type Check = (value: Json, path: string, run: CheckRun, seen: Seen | null) => boolean;

/** A schema that cannot be used; the message says why. */
export class UnusableSchema extends Error {}

/** Turns a subschema into a check; `at` is its place, for messages. */
type Sub = (schema: Json | undefined, at: string) => Check;

export interface Place {
  readonly schema: JsonObject;
  readonly at: string;
  readonly sub: Sub;
}

const MAX_MISFITS = 10;

export const freshSeen = (): Seen => ({ keys: new Set(), items: new Set() });

export function misfit(run: CheckRun, one: Misfit): false {
  if (run.misfits !== null && run.misfits.length < MAX_MISFITS) run.misfits.push(one);
  return false;
}

/** A check of the same value by another schema; what it looked at counts only when it fits. */
export function inPlace(
  check: Check,
  value: Json,
  path: string,
  run: CheckRun,
  seen: Seen | null,
): boolean {
  if (seen === null) return check(value, path, run, null);
  const own = freshSeen();
  if (!check(value, path, run, own)) return false;
  for (const key of own.keys) seen.keys.add(key);
  for (const item of own.items) seen.items.add(item);
  return true;
}

/** Work within one check, in units of some 0.1 µs; throws when all of it together has taken too long. */
export function pay(run: CheckRun, work: number): void {
  run.work -= work;
  if (run.work < 0) throw new UnusableSchema("checking the value takes too long");
}

export function occurs(pattern: LinearPattern, text: string, run: CheckRun): boolean {
  pay(run, pattern.weight * text.length);
  return pattern.test(text);
}

/** A value to compare with others: equal texts, equal values. */
export function textOf(value: Json, run: CheckRun): string {
  const text = canonicalJson(value);
  pay(run, text.length / 10);
  return text;
}

export function keysOf(value: JsonObject, run: CheckRun): string[] {
  const keys = Object.keys(value);
  pay(run, keys.length);
  return keys;
}

/** Checks without collecting reasons. */
export function quietly(run: CheckRun, ask: () => boolean): boolean {
  const { misfits } = run;
  run.misfits = null;
  try {
    return ask();
  } finally {
    run.misfits = misfits;
  }
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

export const pointer = (name: string): string => name.replaceAll("~", "~0").replaceAll("/", "~1");

/** The keyword's value when it is there and of its kind; else the schema cannot be used. */
export function numberIn({ schema, at }: Place, keyword: string): number | null {
  const value = schema[keyword];
  if (value === undefined) return null;
  if (typeof value !== "number") throw new UnusableSchema(`${at}/${keyword}: expected a number`);
  return value;
}

export function namesIn(value: Json, at: string): readonly string[] {
  if (isList(value) && value.every((name) => typeof name === "string")) return value;
  throw new UnusableSchema(`${at}: expected a list of texts`);
}

export function mapIn(
  { schema, at }: Place,
  keyword: string,
): readonly (readonly [string, Json])[] {
  const value = schema[keyword];
  if (value === undefined) return [];
  if (!isObject(value)) throw new UnusableSchema(`${at}/${keyword}: expected an object`);
  return Object.entries(value);
}
