// Arguments as parts of an address or a header, in the styles of OpenAPI. Whatever they hold, they stay in their place.
import type { Json, JsonObject } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import { PLACEHOLDER, type Parameter } from "./operation.ts";

const MAX_DECODINGS = 3;

/** The path with its placeholders filled in; every byte that is not a plain letter of a path is encoded. */
export function fillPath(
  template: string,
  parameters: readonly Parameter[],
  args: JsonObject,
): string {
  const byName = new Map(
    parameters.filter((one) => one.in === "path").map((one) => [one.name, one]),
  );
  let path = "";
  let from = 0;
  for (const match of template.matchAll(PLACEHOLDER)) {
    const parameter = byName.get(match[1] ?? "");
    const value = parameter && args[parameter.argument];
    if (!parameter || value === undefined || value === null)
      throw fault(
        parameter?.argument ?? match[1] ?? "",
        "is part of the path and missing",
        "give it a value",
      );
    path += fixed(template.slice(from, match.index)) + inPath(parameter, value);
    from = match.index + match[0].length;
  }
  return path + fixed(template.slice(from));
}

/** What a template says itself: encoded where an address needs it, else as it is. */
const fixed = (text: string): string =>
  text.replace(/[^A-Za-z0-9\-._~!$&'()*+,;=:@/%]/gu, encodeURIComponent);

function inPath(parameter: Parameter, value: Json): string {
  const { argument, name, style, explode, json } = parameter;
  const step = (text: string): string => encoded(asStep(argument, text), argument);
  if (json) return step(JSON.stringify(value));
  const key = encodeURIComponent(name);
  const parts = partsOf(value, argument);
  const pairs = (joint: string): string[] =>
    parts.map(([own, one]) => (own === null ? step(one) : `${step(own)}${joint}${step(one)}`));
  if (parts.length === 0) throw fault(argument, "is part of the path and empty", "give it a value");
  const isPlain = typeof value !== "object";
  if (style === "label") return `.${pairs(explode ? "=" : ",").join(explode ? "." : ",")}`;
  if (style !== "matrix") return pairs(explode ? "=" : ",").join(",");
  if (isPlain || !explode) return `;${key}=${pairs(",").join(",")}`;
  return Array.isArray(value)
    ? pairs("=")
        .map((one) => `;${key}=${one}`)
        .join("")
    : `;${pairs("=").join(";")}`;
}

/** A step of a path that is one, for every server behind the first that decodes it once more. */
function asStep(argument: string, text: string): string {
  if (text === "") throw fault(argument, "is part of the path and empty", "give it a value");
  let seen = text;
  for (let round = 0; ; round++) {
    const plain = seen.normalize("NFKC");
    if (/\p{Cc}/u.test(plain)) throw fault(argument, "holds control characters", "leave them out");
    if (plain.split(/[\\/]/).some((one) => /^\.{1,2}(;|$)/.test(one)))
      throw fault(
        argument,
        "leads to another path",
        "send the plain value, without . or .. as a step",
      );
    const next = decodedOnce(seen);
    if (next === seen || round >= MAX_DECODINGS) return text;
    seen = next;
  }
}

/** Also the long forms of . / and \ that UTF-8 forbids and some servers read. */
const decodedOnce = (text: string): string =>
  text
    .replace(/%c0%ae/gi, ".")
    .replace(/%c0%af/gi, "/")
    .replace(/%c1%9c/gi, "\\")
    .replace(/%[0-9a-f]{2}/gi, (code) => String.fromCharCode(Number.parseInt(code.slice(1), 16)));

/** Pairs of the query, encoded. `taken`: names that no free key of an argument may pose as. */
export function queryPairs(
  parameter: Parameter,
  value: Json,
  taken: ReadonlySet<string>,
): string[] {
  const { argument, name, style, explode, json } = parameter;
  const word = (text: string): string => encoded(text, argument);
  const key = word(name);
  if (json) return [`${key}=${word(JSON.stringify(value))}`];
  if (style === "deepObject")
    return deep(value, name, argument).map(([path, one]) => `${word(path)}=${word(one)}`);
  const parts = partsOf(value, argument);
  if (typeof value !== "object") return parts.map(([, one]) => `${key}=${word(one)}`);
  if (explode && style === "form")
    return parts.map(([own, one]) => {
      if (own !== null && own !== name && taken.has(own))
        throw fault(
          argument,
          `holds the key ${JSON.stringify(own)}, which is a parameter of its own`,
          "leave the key out",
        );
      return `${own === null ? key : word(own)}=${word(one)}`;
    });
  if (parts.length === 0) return [];
  const joint = style === "spaceDelimited" ? "%20" : style === "pipeDelimited" ? "%7C" : ",";
  return [
    `${key}=${parts.flatMap(([own, one]) => (own === null ? [word(one)] : [word(own), word(one)])).join(joint)}`,
  ];
}

/** `filter[color]=red`; also lists and objects further in. */
function deep(value: Json, path: string, argument: string): (readonly [string, string])[] {
  if (value === null) return [];
  if (typeof value !== "object") return [[path, String(value)]];
  if (/[[\]]/.test(Object.keys(value).join("")))
    throw fault(argument, "holds brackets in a key", "leave them out");
  return Object.entries(value).flatMap(([key, one]: [string, Json]) =>
    deep(one, Array.isArray(value) ? `${path}[]` : `${path}[${key}]`, argument),
  );
}

export function headerValue({ argument, explode, json }: Parameter, value: Json): string {
  const parts = json ? [[null, JSON.stringify(value)] as const] : partsOf(value, argument);
  const text = parts
    .map(([own, one]) => (own === null ? one : `${own}${explode ? "=" : ","}${one}`))
    .join(",");
  if (!/^[\x20-\x7e]*$/.test(text))
    throw fault(
      argument,
      "holds characters that no header may hold",
      "send visible ASCII on one line",
    );
  return text.trim();
}

/** One value, the entries of a list, or the fields of an object; what is null is absent. */
function partsOf(value: Json, argument: string): (readonly [key: string | null, value: string])[] {
  if (value === null) return [];
  if (typeof value !== "object") return [[null, String(value)]];
  return Object.entries(value)
    .filter(([, one]: [string, Json]) => one !== null)
    .map(
      ([key, one]: [string, Json]) =>
        [Array.isArray(value) ? null : key, plain(one, argument)] as const,
    );
}

function plain(value: Json, argument: string): string {
  if (typeof value === "object")
    throw fault(
      argument,
      "holds lists or objects further in, which this parameter cannot carry",
      "send texts and numbers",
    );
  return String(value);
}

function encoded(text: string, argument: string): string {
  if (!text.isWellFormed())
    throw fault(argument, "holds half of a character", "send valid Unicode");
  return encodeURIComponent(text);
}

export function fault(argument: string, message: string, suggestion: string): AppError {
  return new AppError("BAD_REQUEST", "invalid_arguments", `${argument} ${message}`, {
    remedy: suggestion,
    errors: [{ path: `/${argument}`, message, suggestion }],
  });
}
