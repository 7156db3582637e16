// An OpenAPI document as text: bounded, read as JSON or YAML, with references that lead nowhere but into itself.
import type { Json, JsonObject } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";

export const MAX_DOCUMENT_BYTES = 5_242_880;
const MAX_DEPTH = 100;
const MAX_ALIASES = 1_000;
const MAX_HOPS = 32;

/** Something in a document that could not be taken as it stands, and where. */
export interface ConversionNote {
  /** JSON pointer. */
  readonly path: string;
  readonly message: string;
}

export interface ApiDocument {
  readonly root: JsonObject;
  /** 3.0 has a schema language of its own; later ones speak JSON Schema 2020-12. */
  readonly version: "3.0" | "3.1";
}

export async function readDocument(text: string): Promise<ApiDocument> {
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_DOCUMENT_BYTES)
    throw refused(
      "",
      `expected at most ${MAX_DOCUMENT_BYTES} bytes, got ${bytes}`,
      "split the document, or leave out what is not needed",
    );
  const root = /^\s*\{/.test(text) ? jsonIn(text) : await yamlIn(text);
  if (!isObject(root))
    throw refused(
      "",
      "expected an OpenAPI document, got no object",
      "send the document itself, as JSON or YAML",
    );
  if (isDeeper(root, MAX_DEPTH))
    throw refused("", `it is nested deeper than ${MAX_DEPTH} levels`, "simplify the document");
  const { openapi, swagger } = root;
  if (swagger !== undefined)
    throw refused(
      "/swagger",
      "this is Swagger 2.0; expected OpenAPI 3.0 or 3.1",
      "convert it to OpenAPI 3 first",
    );
  const version = typeof openapi === "string" ? /^3\.([0-9]+)(\.|$)/.exec(openapi)?.[1] : undefined;
  if (version === undefined)
    throw refused(
      "/openapi",
      `expected a version 3.0 or 3.1, got ${shown(openapi)}`,
      "send an OpenAPI 3 document",
    );
  return { root, version: version === "0" ? "3.0" : "3.1" };
}

function jsonIn(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch (cause) {
    throw refused(
      "",
      `it is not valid JSON: ${cause instanceof Error ? cause.message : ""}`,
      "mend the document",
    );
  }
}

async function yamlIn(text: string): Promise<Json> {
  // Loaded with the first import of this kind.
  const { parseDocument } = await import("./yaml.ts");
  try {
    const parsed = parseDocument(text, { prettyErrors: true, logLevel: "error" });
    const [error] = parsed.errors;
    if (error) throw refused("", `it is not valid YAML: ${error.message}`, "mend the document");
    // Through JSON, so that nothing is left but JSON, and no two places share an object.
    const value: unknown = parsed.toJS({ maxAliasCount: MAX_ALIASES });
    return JSON.parse(JSON.stringify(value ?? null)) as Json;
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw refused(
      "",
      `it is not usable YAML: ${cause instanceof Error ? cause.message : ""}`,
      "mend the document",
    );
  }
}

/** What a value stands for: references are followed, each hop within the document. */
export function resolved(
  document: ApiDocument,
  given: Json | undefined,
  at: string,
): { readonly value: JsonObject; readonly at: string } | ConversionNote {
  let value = given;
  let place = at;
  for (let hops = 0; hops < MAX_HOPS; hops++) {
    if (!isObject(value))
      return { path: place, message: `expected an object, got ${shown(value)}` };
    const { $ref: reference } = value;
    if (reference === undefined) return { value, at: place };
    const target = targetOf(reference);
    if (target === null)
      return {
        path: `${place}/$ref`,
        message: `refers to ${shown(reference)}; only references within the document are followed`,
      };
    const next = valueIn(document.root, target);
    if (next === undefined)
      return {
        path: `${place}/$ref`,
        message: `refers to ${shown(reference)}, which is not there`,
      };
    value = next;
    place = target;
  }
  return { path: place, message: "refers to itself" };
}

/** The JSON pointer behind `#/…`; null for anything else. */
export function targetOf(reference: Json): string | null {
  if (typeof reference !== "string" || !/^#(\/|$)/.test(reference)) return null;
  try {
    return decodeURIComponent(reference.slice(1));
  } catch {
    return null;
  }
}

export function valueIn(root: JsonObject, pointer: string): Json | undefined {
  let value: Json | undefined = root;
  for (const step of pointer.split("/").slice(1)) {
    const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string, Json>)[key];
  }
  return value;
}

export const pointer = (...steps: readonly string[]): string =>
  steps.map((step) => `/${step.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function shown(value: Json | undefined): string {
  if (value === undefined) return "nothing";
  const text = JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 79)}…` : text;
}

export function refused(path: string, message: string, remedy: string): AppError {
  return new AppError(
    "BAD_REQUEST",
    "invalid_input",
    `the API cannot be imported: ${path === "" ? "" : `${path}: `}${message}`,
    { remedy, errors: [{ path, message }] },
  );
}

function isDeeper(value: Json, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels <= 0) return true;
  return Object.values(value).some((inner: Json) => isDeeper(inner, levels - 1));
}
