// What the names of fields and the places of arguments say of values.
import type { Json, JsonObject } from "../../contract/call.ts";
import { isMasked, isSecretField, secretKind } from "./mask.ts";
import { programOf, type Program } from "./commands.ts";
import { looksLikeCode } from "./appearance.ts";

/** What a name says: nothing, a secret, itself one, or one that depends on what the value looks like. */
export const PLAIN = 0;
export const SECRET_FIELD = 1;
export const HOLDS_SECRET = 2;
export const CODE_FIELD = 3;
const TEXTS_FIELD = 4;
const KINDS = { whole: SECRET_FIELD, code: CODE_FIELD, texts: TEXTS_FIELD } as const;

/** `spelt` is how the secret stood there: a known one may be encoded. */
export type Render = (secret: Json, spelt: Json) => string;

/** The whole value of a secret-like field; nothing, yes and no are no secrets, and a mask stays as it is. */
export function byName(value: Json, way: { readonly render: Render }): Json {
  if (value === null || typeof value === "boolean" || value === "" || isMasked(value)) return value;
  return way.render(value, value);
}

const VALUES = ["value", "text"] as const;
export const NAMES = [
  "name",
  "key",
  "field",
  "header",
  "label",
  "selector",
  "placeholder",
] as const;

/** `{name: "password", value: …}`: the name stands beside the value, whose name this is. */
export function valueBeside(object: JsonObject, kindOf: (name: string) => number): string | null {
  const value = VALUES.find((name) => object[name] !== undefined);
  if (value === undefined) return null;
  for (const beside of NAMES) {
    const label = object[beside];
    if (typeof label !== "string" || label.length > 200) continue;
    const kind = kindOf(lastWord(label));
    if (kind === SECRET_FIELD || (kind >= CODE_FIELD && holdsSecret(kind, object[value] ?? null)))
      return value;
  }
  return null;
}

/** `password` of `#login input[name="password"]`. */
const lastWord = (label: string): string => /([\w-]+)\W*$/.exec(label)?.[1] ?? label;

/** A block of a result without its picture. */
export function withoutData(block: Json): Json {
  if (typeof block !== "object" || block === null || Array.isArray(block)) return block;
  const { data: _data, ...rest } = block as JsonObject;
  return rest;
}

export function withData(masked: Json, block: Json): Json {
  const data = (block as JsonObject)["data"];
  return data === undefined ? masked : { ...(masked as JsonObject), data };
}

export const kindByName = (name: string): number => {
  const kind = secretKind(name);
  return kind === null ? PLAIN : KINDS[kind];
};

/** Of a name that is not always one of a secret: does the value look like one? */
export function holdsSecret(kind: number, value: Json): boolean {
  if (Array.isArray(value)) return value.some((item) => holdsSecret(kind, item as Json));
  if (kind === TEXTS_FIELD) return typeof value === "string";
  const text = typeof value === "number" ? String(value) : value;
  return typeof text === "string" && looksLikeCode(text);
}

/** `{command: "mysql", args: [...]}` */
export const ARGUMENTS = new Set(["args", "argv", "arguments", "params"]);
const PROGRAM_NAMES = ["command", "program", "cmd", "executable", "file", "bin"] as const;

export function programBeside(object: JsonObject): Program | null {
  for (const name of PROGRAM_NAMES) {
    const label = object[name];
    if (typeof label === "string") return programOf(label);
  }
  return null;
}

/** More than any program takes. */
export const MOST_ARGUMENTS = 4_096;

export function hasOption(items: readonly Json[]): boolean {
  const last = Math.min(items.length, MOST_ARGUMENTS);
  for (let at = 0; at < last; at++) {
    const item = items[at];
    if (typeof item === "string" && /^[-/]\w|^pass:/.test(item)) return true;
  }
  return false;
}

/** `--password`, as one of a program's arguments. */
export const isSecretFlag = (before: Json | undefined): boolean =>
  typeof before === "string" &&
  before.startsWith("-") &&
  before.length < 64 &&
  /^--?[\w-]+$/.test(before) &&
  isSecretField(before);
