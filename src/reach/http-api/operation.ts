// An operation of an HTTP API: how a call becomes a request. Kept in the definition, so that a pin covers every word
// of it.
import type { Json, JsonObject } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";

export const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const;
export type Method = (typeof METHODS)[number];

/** The styles of OpenAPI, by the place they are for; the first is the usual one. */
export const STYLES = {
  path: ["simple", "label", "matrix"],
  query: ["form", "spaceDelimited", "pipeDelimited", "deepObject"],
  header: ["simple"],
} as const;
export type Place = keyof typeof STYLES;
export type Style = (typeof STYLES)[Place][number];

export interface Parameter {
  /** The argument that it is filled with. */
  readonly argument: string;
  /** What the API calls it. */
  readonly name: string;
  readonly in: Place;
  readonly style: Style;
  readonly explode: boolean;
  /** Written as JSON instead of in a style. */
  readonly json: boolean;
}

export interface Operation {
  readonly method: Method;
  /** Begins with `/`; `{name}` stands for a parameter. */
  readonly path: string;
  /** Sent with every call as it stands. */
  readonly query: readonly (readonly [name: string, value: string])[];
  readonly parameters: readonly Parameter[];
  readonly body: { readonly argument: string; readonly mediaType: string } | null;
  /** Names of the credentials that the API asks for. */
  readonly security: readonly string[];
  /** JSON pointers, `*` for every entry of a list: all that is handed on of an answer; null: everything. */
  readonly select: readonly string[] | null;
  /** Of every list in an answer the first so many; null: all. */
  readonly maxItems: number | null;
}

export const PLACEHOLDER = /\{([^{}/]+)\}/g;

export const jsonOf = (operation: Operation): JsonObject =>
  ({ ...operation }) as unknown as JsonObject;

/** What was stored, checked as far as a request depends on it: a broken one must not become a request. */
export function operationOf(stored: JsonObject | null): Operation {
  const { method, path, query, parameters, body, security, select, maxItems } = stored ?? {};
  const fine =
    (METHODS as readonly Json[]).includes(method ?? null) &&
    typeof path === "string" &&
    path.startsWith("/") &&
    isList(query, isPair) &&
    isList(parameters, isParameter) &&
    (body === null || isBody(body)) &&
    isList(security, isText) &&
    (select === null || isList(select, isText)) &&
    (maxItems === null || typeof maxItems === "number");
  if (!fine)
    throw new AppError(
      "EXECUTION_FAILED",
      "operation_invalid",
      "the stored operation of this tool cannot be read",
      { remedy: "import the API again" },
    );
  return stored as unknown as Operation;
}

const isText = (value: Json | undefined): boolean => typeof value === "string";
const isList = (value: Json | undefined, one: (item: Json) => boolean): boolean =>
  Array.isArray(value) && (value as readonly Json[]).every(one);
const isPair = (value: Json): boolean =>
  Array.isArray(value) && value.length === 2 && value.every(isText);
const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isBody = (value: Json | undefined): boolean =>
  isObject(value) && isText(value["argument"]) && isText(value["mediaType"]);

function isParameter(value: Json): boolean {
  if (!isObject(value)) return false;
  const { argument, name, in: place, style, explode, json } = value;
  if (typeof place !== "string" || !Object.hasOwn(STYLES, place)) return false;
  const styles: readonly Json[] = STYLES[place as Place];
  return (
    isText(argument) &&
    isText(name) &&
    styles.includes(style ?? null) &&
    typeof explode === "boolean" &&
    typeof json === "boolean"
  );
}
