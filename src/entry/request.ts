// What every HTTP door does before anything else: an id for the request, who is calling, a body read within limits.
import type { Context } from "hono";
import type { Caller, Json } from "../call.ts";
import { AppError } from "../errors.ts";
import { JsonFault, parseStrict } from "../util/json.ts";
import type { Credentials } from "../identity/index.ts";
import type { Doors } from "./doors.ts";
import { problemResponse } from "./problem.ts";

/** `requestId` is set by the listener or, failing that, by the first door that asks. */
export interface WebEnv {
  Variables: { requestId?: string };
}

export function requestIdOf(c: Context<WebEnv>, doors: Doors): string {
  const known = c.get("requestId");
  if (known !== undefined) return known;
  const made = doors.ids.next("req", doors.now());
  c.set("requestId", made);
  c.header("Request-Id", made);
  return made;
}

/** The fault as problem+json; what is not ours to show goes to the log under the request's id. */
export function refuse(c: Context<WebEnv>, doors: Doors, cause: unknown): Response {
  const requestId = requestIdOf(c, doors);
  noteUnexpected(doors, cause, requestId);
  const { baseUrl } = doors.settings;
  const response = problemResponse(cause, { requestId, baseUrl, path: c.req.path });
  response.headers.set("Request-Id", requestId);
  return response;
}

export function noteUnexpected(doors: Doors, cause: unknown, requestId: string): void {
  if (cause instanceof AppError && cause.code !== "INTERNAL_SERVER_ERROR") return;
  doors.log.error({ err: cause, requestId }, "request failed");
}

/** Who is calling. A console cookie travels with requests of other pages too, so a change needs our own origin. */
export async function admit(
  doors: Doors,
  c: Context<WebEnv>,
  method = c.req.method,
): Promise<Caller> {
  const header: HeaderOf = (name) => c.req.header(name);
  const credentials = { authorization: header("authorization"), cookie: header("cookie") };
  const caller = await known(doors, credentials, ipOf(c));
  if (caller.via !== "key" && method !== "GET" && method !== "HEAD") {
    assertOwnOrigin(doors, caller, header);
  }
  return caller;
}

type HeaderOf = (name: string) => string | undefined;

/** The address of the client as the listener saw it. */
export const ipOf = (c: Context<WebEnv>): string | undefined =>
  (c.env as { ip?: string } | undefined)?.ip;

/** The caller a credential stands for; who keeps guessing is told to wait. */
async function known(
  doors: Doors,
  credentials: Credentials,
  ip: string | undefined,
): Promise<Caller> {
  try {
    return await doors.identity.identify(credentials);
  } catch (cause) {
    throw doors.attempts.refused(cause, ip);
  }
}

function assertOwnOrigin(doors: Doors, caller: Caller, header: HeaderOf): void {
  const origin = header("origin");
  const site = header("sec-fetch-site");
  const { protocol } = new URL(doors.settings.baseUrl);
  const fromOwnPage = origin !== undefined && origin === `${protocol}//${header("host") ?? ""}`;
  const originOk = origin === undefined || fromOwnPage;
  const siteOk = site === undefined || site === "same-origin";
  // Only programs send neither; those carry no cookie that a page could borrow.
  const told = origin !== undefined || site !== undefined || caller.via === "anonymous";
  if (originOk && siteOk && told) return;
  throw new AppError("FORBIDDEN", "bad_origin", "This change did not come from our own page", {
    remedy: "use an API key in the Authorization header",
  });
}

/** The body as JSON: content type first, then size, then syntax. An empty body is `undefined`. */
export async function readJson(doors: Doors, request: Request): Promise<Json | undefined> {
  const limit = doors.settings.maxBodyBytes;
  const declared = Number(request.headers.get("content-length") ?? Number.NaN);
  if (declared > limit) throw tooLarge(limit);
  const type = (request.headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase();
  if (declared === 0 || (Number.isNaN(declared) && type === "")) {
    const none = await readBytes(request, limit);
    if (none.byteLength === 0) return undefined;
  }
  if (type !== "application/json") {
    throw new AppError(
      "UNSUPPORTED_MEDIA_TYPE",
      "content_type",
      `Content type '${type ?? ""}' is not understood`,
      { remedy: "send application/json" },
    );
  }
  const bytes = await readBytes(request, limit);
  return bytes.byteLength === 0 ? undefined : parseBody(bytes);
}

export function parseBody(bytes: Uint8Array): Json {
  try {
    return parseStrict(bytes);
  } catch (cause) {
    if (!(cause instanceof JsonFault)) throw cause;
    throw new AppError(
      "BAD_REQUEST",
      "invalid_json",
      `The body is not valid JSON: ${cause.message}`,
      { remedy: "send one JSON object, in UTF-8, without repeated keys" },
    );
  }
}

/** A body of unknown length is cut off as soon as it exceeds the limit. */
async function readBytes(request: Request, limit: number): Promise<Uint8Array> {
  if (request.headers.get("content-length") !== null) {
    return new Uint8Array(await request.arrayBuffer());
  }
  if (!request.body) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body as unknown as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > limit) throw tooLarge(limit);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function tooLarge(limit: number): AppError {
  return new AppError(
    "PAYLOAD_TOO_LARGE",
    "body_too_large",
    `The body is larger than ${limit} bytes`,
    { remedy: "send less, or raise the limit of the server" },
  );
}

export const nothingHere = (path: string): AppError =>
  new AppError("NOT_FOUND", "unknown", `There is nothing at ${path}`, {
    remedy: "see /docs for what is offered",
  });

export function methodNotAllowed(method: string, allowed: readonly string[]): AppError {
  return new AppError("METHOD_NOT_ALLOWED", "method_not_allowed", `${method} is not offered here`, {
    remedy: `use ${allowed.join(" or ")}`,
  });
}
