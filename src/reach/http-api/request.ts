// A call as a request: the server's address and headers, the operation's path, the caller's values, each in its own
// place.
import type { Json, JsonObject } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import { fault, fillPath, headerValue, queryPairs } from "./encode.ts";
import { headerFault } from "./headers.ts";
import { isForm, isJson } from "./inputs.ts";
import type { Operation } from "./operation.ts";

export interface ApiRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** For this server alone. */
  readonly credentials: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

const MAX_BODY_BYTES = 1_048_576;
const MAX_URL_CHARS = 16_384;
const IN_QUERY = /^query:(.+)$/s;
const AGENT = "ostiary";
const ACCEPT = "application/json, text/*;q=0.8, */*;q=0.5";

/** `given`: the server's headers with their secrets in place. */
export function buildRequest(
  base: string,
  given: Readonly<Record<string, string>>,
  operation: Operation,
  args: JsonObject,
): ApiRequest {
  const { own, query } = splitHeaders(given);
  const headers = argumentHeaders(operation, args, own);
  const body = bodyOf(operation, args);
  if (operation.body && body !== undefined) headers["content-type"] = operation.body.mediaType;
  return {
    url: addressOf(base, operation, args, query),
    method: operation.method,
    headers: { "user-agent": AGENT, accept: ACCEPT, ...headers },
    credentials: own,
    body,
  };
}

/** Scheme, host and path of a server, without a slash at the end. */
export function baseOf(address: string): { readonly origin: string; readonly path: string } {
  const url = URL.parse(address);
  const odd =
    !url ||
    !/^https?:$/.test(url.protocol) ||
    url.username !== "" ||
    url.password !== "" ||
    url.search !== "" ||
    url.hash !== "";
  if (odd)
    throw new AppError(
      "BAD_REQUEST",
      "invalid_input",
      `the address ${JSON.stringify(address.slice(0, 200))} is none that an API can have`,
      {
        remedy: "write it as https://host/path, without user, query and fragment",
        errors: [{ path: "/url", message: "expected https://host/path" }],
      },
    );
  return { origin: url.origin, path: url.pathname.replace(/\/+$/, "") };
}

function addressOf(
  base: string,
  operation: Operation,
  args: JsonObject,
  secret: readonly (readonly [string, string])[],
): string {
  const { origin, path } = baseOf(base);
  const { parameters } = operation;
  const full = `${path}${fillPath(operation.path, parameters, args)}`;
  const inQuery = parameters.filter((one) => one.in === "query");
  const taken = new Set([
    ...inQuery.map(({ name }) => name),
    ...operation.query.map(([name]) => name),
    ...secret.map(([name]) => name),
  ]);
  const pairs = [
    ...operation.query.map(pair),
    ...inQuery.flatMap((one) => {
      const value = args[one.argument];
      if (value === undefined || value === null) return [];
      if (secret.some(([name]) => name === one.name))
        throw fault(one.argument, "is filled in by the server's own credential", "leave it out");
      return queryPairs(one, value, taken);
    }),
    ...secret.map(pair),
  ];
  const url = `${origin}${full}${pairs.length > 0 ? `?${pairs.join("&")}` : ""}`;
  if (url.length > MAX_URL_CHARS)
    throw new AppError(
      "BAD_REQUEST",
      "invalid_arguments",
      `the address would have ${url.length} characters; at most ${MAX_URL_CHARS} are sent`,
      { remedy: "send less" },
    );
  // Whatever was put in, it is still this host and this path.
  const parsed = URL.parse(url);
  if (
    parsed?.origin !== origin ||
    parsed.pathname !== full ||
    parsed.hash !== "" ||
    parsed.username !== ""
  )
    throw new AppError(
      "BAD_REQUEST",
      "invalid_arguments",
      "the arguments lead to another address",
      { remedy: "send plain values" },
    );
  return url;
}

const pair = ([name, value]: readonly [string, string]): string =>
  `${encodeURIComponent(name)}=${encodeURIComponent(value)}`;

function splitHeaders(given: Readonly<Record<string, string>>) {
  const own: Record<string, string> = {};
  const query: [string, string][] = [];
  for (const [name, value] of Object.entries(given)) {
    const inQuery = IN_QUERY.exec(name)?.[1];
    if (inQuery === undefined) own[name] = value;
    else query.push([inQuery, value]);
  }
  return { own, query };
}

function argumentHeaders(
  { parameters }: Operation,
  args: JsonObject,
  own: Readonly<Record<string, string>>,
): Record<string, string> {
  const held = new Set(Object.keys(own).map((name) => name.toLowerCase()));
  const headers: Record<string, string> = {};
  for (const parameter of parameters) {
    const value = args[parameter.argument];
    if (parameter.in !== "header" || value === undefined || value === null) continue;
    const why = held.has(parameter.name.toLowerCase())
      ? "is set by the server itself"
      : headerFault(parameter.name);
    if (why !== null)
      throw new AppError("FORBIDDEN", "header_forbidden", `the header ${parameter.name} ${why}`, {
        remedy: `leave ${parameter.argument} out`,
      });
    headers[parameter.name.toLowerCase()] = headerValue(parameter, value);
  }
  return headers;
}

function bodyOf({ body }: Operation, args: JsonObject): string | undefined {
  const value = body ? args[body.argument] : undefined;
  if (!body || value === undefined) return undefined;
  const text = isJson(body.mediaType)
    ? JSON.stringify(value)
    : isForm(body.mediaType)
      ? formOf(body.argument, value)
      : value;
  if (typeof text !== "string") throw fault(body.argument, "is sent as text", "send a text");
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_BODY_BYTES)
    throw new AppError(
      "FORBIDDEN",
      "size_exceeded",
      `the body has ${bytes} bytes; at most ${MAX_BODY_BYTES} are sent`,
      { remedy: "send less, or in parts" },
    );
  return text;
}

function formOf(argument: string, value: Json): string {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw fault(argument, "is sent as a form", "send an object");
  const pairs = Object.entries(value as JsonObject).flatMap(([name, one]) =>
    (Array.isArray(one) ? (one as readonly Json[]) : [one])
      .filter((item) => item !== null)
      .map((item) => [name, typeof item === "object" ? JSON.stringify(item) : String(item)]),
  );
  return new URLSearchParams(pairs as [string, string][]).toString();
}
