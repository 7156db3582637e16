// What every Hono handler needs first: the request id, the caller, and the body within its limits.
import type { Context } from "hono";
import type { Caller, Json } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import { JsonFault, parseStrict } from "../../util/json/json.ts";
import { LARGE } from "../../util/async/time-slices.ts";
import type { Credentials } from "../../core/identity/index.ts";
import type { Doors } from "../doors.ts";
import { isOwnOrigin, sessionCookie } from "./origin.ts";
import { problemResponse } from "./problem.ts";
import type { BodyReservation } from "./capacity.ts";

/** `requestId` is set by the listener or, failing that, by the first door that asks. */
export interface WebEnv {
  Variables: {
    requestId?: string;
    /** Path to go to after signing in. */
    next?: string;
  };
}

export function requestIdOf(c: Context<WebEnv>, doors: Doors): string {
  const known = c.get("requestId");
  if (known !== undefined) return known;
  const made = doors.ids.next("req", doors.now());
  c.set("requestId", made);
  c.header("Request-Id", made);
  return made;
}

/** The fault as problem+json; internal errors go to the log under the request id. */
export function refuse(c: Context<WebEnv>, doors: Doors, cause: unknown): Response {
  const requestId = requestIdOf(c, doors);
  logUnexpected(doors, cause, requestId);
  const { baseUrl } = doors.settings;
  const response = problemResponse(cause, { requestId, baseUrl, path: c.req.path });
  response.headers.set("Request-Id", requestId);
  return response;
}

export function logUnexpected(doors: Doors, cause: unknown, requestId: string): void {
  if (cause instanceof AppError && cause.code !== "INTERNAL_SERVER_ERROR") return;
  doors.log.error({ err: cause, requestId }, "request failed");
}

/** The caller. Browsers send the console cookie with requests of other pages too, so a change needs our own origin. */
export async function admit(
  doors: Doors,
  c: Context<WebEnv>,
  method = c.req.method,
): Promise<Caller> {
  const credentials = {
    authorization: c.req.header("authorization"),
    cookie: sessionCookie(doors.settings, c.req.header("cookie")),
  };
  const caller = await identifyCaller(doors, credentials, ipOf(c));
  const { socket } = envOf(c);
  if (socket) doors.connections.identified(socket, caller);
  if (caller.via !== "key" && method !== "GET" && method !== "HEAD") {
    // Only programs send neither header, and they have no cookie that another page could use.
    assertOwnPage(doors, c, caller.via === "anonymous");
  }
  return caller;
}

/** The address of the client, as the listener or a trusted proxy saw it. */
export const ipOf = (c: Context<WebEnv>): string | undefined => envOf(c).ip;

/** Set by the listener; absent in tests that call the app directly. */
export interface ListenerEnv {
  readonly ip?: string | undefined;
  readonly socket?: object;
  /** Calls back once the response is sent or the client has disconnected. */
  readonly onClose?: (callback: () => void) => void;
}

const envOf = (c: Context<WebEnv>): ListenerEnv => (c.env as ListenerEnv | undefined) ?? {};

/** The caller that the credentials identify; refused ones count against the address. */
export async function identifyCaller(
  doors: Doors,
  credentials: Credentials,
  ip: string | undefined,
): Promise<Caller> {
  try {
    return await doors.identity.identify(credentials);
  } catch (cause) {
    throw doors.addressThrottle.afterRefusal(cause, ip);
  }
}

/**
 * A change from a browser must come from our own page. `mayBeSilent`: requests without Origin and Sec-Fetch-Site
 * pass.
 */
export function assertOwnPage(doors: Doors, c: Context<WebEnv>, mayBeSilent = false): void {
  const origin = c.req.header("origin");
  const site = c.req.header("sec-fetch-site");
  const host = c.req.header("host");
  const originOk = origin === undefined || isOwnOrigin(doors.settings, origin, host);
  const siteOk = site === undefined || site === "same-origin";
  const isDeclared = origin !== undefined || site !== undefined || mayBeSilent;
  if (originOk && siteOk && isDeclared) return;
  throw new AppError("FORBIDDEN", "bad_origin", "This change did not come from our own page", {
    remedy: "use an API key in the Authorization header",
  });
}

/** The fields of a form on one of our pages. */
export async function readForm(c: Context<WebEnv>, maxBytes: number): Promise<URLSearchParams> {
  const length = Number(c.req.header("content-length") ?? Number.NaN);
  // Browsers always declare the length of a form.
  if (!(length <= maxBytes)) throw tooLarge(maxBytes);
  const type = (c.req.header("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (type !== "application/x-www-form-urlencoded") {
    const message = `Content type '${type}' is not understood`;
    throw new AppError("UNSUPPORTED_MEDIA_TYPE", "content_type", message, {
      remedy: "use the form of the page",
    });
  }
  return new URLSearchParams(await c.req.text());
}

/** The body as JSON: content type first, then size, then syntax. An empty body is `undefined`. */
export async function readJson(
  doors: Doors,
  c: Context<WebEnv>,
  caller: Caller,
): Promise<Json | undefined> {
  const request = c.req.raw;
  const reservation = doors.capacity.reserveBody(caller);
  envOf(c).onClose?.(reservation.release);
  const limit = doors.settings.maxBodyBytes;
  const declared = Number(request.headers.get("content-length") ?? Number.NaN);
  if (declared > limit) throw tooLarge(limit);
  const type = (request.headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase();
  if (declared === 0 || (Number.isNaN(declared) && type === "")) {
    const none = await readBytes(request, limit, reservation);
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
  const bytes = await readBytes(request, limit, reservation);
  if (bytes.byteLength >= LARGE) await doors.turns.next();
  return bytes.byteLength === 0 ? undefined : parseBody(bytes);
}

export function parseBody(bytes: Uint8Array): Json {
  try {
    return parseStrict(bytes);
  } catch (cause) {
    if (!(cause instanceof JsonFault)) throw cause;
    if (cause.kind === "size")
      throw new AppError("PAYLOAD_TOO_LARGE", "body_too_large", `The body holds ${cause.message}`, {
        remedy: "send less at once, or many values as one text",
      });
    throw new AppError(
      "BAD_REQUEST",
      "invalid_json",
      `The body is not valid JSON: ${cause.message}`,
      { remedy: "send one JSON object, in UTF-8, without repeated keys" },
    );
  }
}

/** A body of unknown length is cut off as soon as it exceeds the limit. */
async function readBytes(
  request: Request,
  limit: number,
  reservation: BodyReservation,
): Promise<Uint8Array> {
  const declared = request.headers.get("content-length");
  if (declared !== null) {
    reservation.take(Number(declared));
    return new Uint8Array(await request.arrayBuffer());
  }
  if (!request.body) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body as unknown as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > limit) throw tooLarge(limit);
    reservation.take(chunk.byteLength);
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

export const notFoundAt = (path: string): AppError =>
  new AppError("NOT_FOUND", "unknown", `There is nothing at ${path}`, {
    remedy: "see /docs for what is offered",
  });

export function methodNotAllowed(method: string, allowed: readonly string[]): AppError {
  return new AppError("METHOD_NOT_ALLOWED", "method_not_allowed", `${method} is not offered here`, {
    remedy: `use ${allowed.join(" or ")}`,
  });
}
