// Single endpoints, written by hand: an address with placeholders, and optional details.
import type { Json, JsonObject } from "../../contract/call.ts";
import type { ForeignDefinition } from "../../storage/store/store.ts";
import { refused, type ConversionNote } from "./document.ts";
import { OperationFault } from "./inputs.ts";
import { toolNames } from "./names.ts";
import { definitionOf, pathFault, type Shape } from "./openapi.ts";
import { METHODS, PLACEHOLDER, type Method } from "./operation.ts";
import { baseOf } from "./request.ts";

export interface ApiEndpoint extends Shape {
  readonly name: string;
  readonly description: string;
  readonly method: string;
  /** `https://host/things/{id}?lang=en&page={page}`, or the part of it behind the server's address. */
  readonly url: string;
  /** Placeholders that are not listed are texts and required. */
  readonly parameters?: readonly EndpointParameter[] | undefined;
  readonly body?: EndpointBody | undefined;
}

interface EndpointParameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly description?: string | undefined;
  readonly required?: boolean | undefined;
  readonly schema?: JsonObject | undefined;
}

interface EndpointBody {
  readonly mediaType?: string | undefined;
  readonly required?: boolean | undefined;
  readonly schema?: JsonObject | undefined;
}

const NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
const MAX_ENDPOINTS = 1_000;

/** Definitions of endpoints that live at `base`. */
export function definitionsOf(
  endpoints: readonly ApiEndpoint[],
  base: string,
): { readonly operations: ForeignDefinition[]; readonly notes: ConversionNote[] } {
  if (endpoints.length === 0 || endpoints.length > MAX_ENDPOINTS)
    throw refused(
      "/endpoints",
      `expected 1 to ${MAX_ENDPOINTS} endpoints, got ${endpoints.length}`,
      "describe at least one",
    );
  const names = toolNames();
  const notes: ConversionNote[] = [];
  const operations = endpoints.map((endpoint, index) => {
    const at = `/endpoints/${index}`;
    if (!NAME.test(endpoint.name))
      throw refused(
        `${at}/name`,
        `expected a letter, then letters, digits, _ and -, got ${JSON.stringify(endpoint.name.slice(0, 80))}`,
        "choose another name",
      );
    if (names.take(endpoint.name) !== endpoint.name)
      throw refused(
        `${at}/name`,
        `another endpoint is called ${endpoint.name}, or nearly so`,
        "choose another name",
      );
    try {
      return definition(endpoint, base, at, notes);
    } catch (cause) {
      if (cause instanceof OperationFault)
        throw refused(cause.note.path, cause.note.message, "mend the endpoint");
      throw cause;
    }
  });
  return { operations, notes };
}

function definition(
  endpoint: ApiEndpoint,
  base: string,
  at: string,
  notes: ConversionNote[],
): ForeignDefinition {
  const method = endpoint.method.toUpperCase() as Method;
  if (!METHODS.includes(method))
    throw refused(
      `${at}/method`,
      `expected one of ${METHODS.join(", ")}, got ${JSON.stringify(endpoint.method)}`,
      "use one of them",
    );
  const { path, pairs } = placeOf(endpoint.url, base, at);
  const listed = [...(endpoint.parameters ?? [])];
  const isListed = (name: string, place: string): boolean =>
    listed.some((one) => one.name === name && one.in === place);
  for (const [, name = ""] of path.matchAll(PLACEHOLDER))
    if (!isListed(name, "path")) listed.push({ name, in: "path" });
  const fixed: [string, string][] = [];
  for (const [name, value] of pairs) {
    const filled = /^\{([^{}]+)\}$/.exec(value);
    if (!filled) fixed.push([name, value]);
    else if (filled[1] !== name)
      throw refused(
        `${at}/url`,
        `the query says ${name}={${filled[1]}}; the placeholder is called as the parameter`,
        `write ${name}={${name}}`,
      );
    else if (!isListed(name, "query")) listed.push({ name, in: "query", required: true });
  }
  const value: Record<string, Json> = {
    summary: "",
    description: endpoint.description,
    parameters: listed.map(parameterOf),
  };
  if (endpoint.body) value["requestBody"] = bodyOf(endpoint.body);
  const document = { root: {}, version: "3.1" as const };
  const found = {
    id: endpoint.name,
    name: endpoint.name,
    tags: [],
    method,
    path,
    at,
    value,
    item: { value: {}, at },
  };
  const { definition: made } = definitionOf(
    document,
    found,
    new Map(),
    { shape: { [endpoint.name]: endpoint } },
    notes,
  );
  return fixed.length === 0 ? made : { ...made, operation: { ...made.operation, query: fixed } };
}

const parameterOf = ({
  name,
  in: place,
  description,
  required,
  schema,
}: EndpointParameter): JsonObject => ({
  name,
  in: place,
  required: place === "path" || required === true,
  schema: schema ?? { type: "string" },
  ...(description === undefined ? {} : { description }),
});

const bodyOf = ({
  mediaType = "application/json",
  required,
  schema,
}: EndpointBody): JsonObject => ({
  required: required !== false,
  content: { [mediaType]: { schema: schema ?? {} } },
});

/** What stands behind the server's address, placeholders as they are. */
function placeOf(
  given: string,
  base: string,
  at: string,
): { path: string; pairs: [string, string][] } {
  const server = baseOf(base);
  const home = `${server.origin}${server.path}`;
  const elsewhere = /^[a-z][a-z0-9+.-]*:/i.test(given) && !isBelow(given, home);
  if (elsewhere || given.includes("#"))
    throw refused(
      `${at}/url`,
      `expected an address that begins with ${home}, got ${JSON.stringify(given.slice(0, 200))}`,
      "give every host a server of its own",
    );
  const rest = given.startsWith("/") ? given : given.slice(home.length);
  const cut = rest.indexOf("?");
  const path = (cut < 0 ? rest : rest.slice(0, cut)) || "/";
  const fault = pathFault(path);
  if (fault !== null) throw refused(`${at}/url`, fault, "write it as https://host/things/{id}");
  return { path, pairs: cut < 0 ? [] : [...new URLSearchParams(rest.slice(cut + 1))] };
}

const isBelow = (given: string, home: string): boolean =>
  given === home || given.startsWith(`${home}/`) || given.startsWith(`${home}?`);
