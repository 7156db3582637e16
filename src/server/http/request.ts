// What every HTTP door does before anything else: an id for the request, who is calling, a body read within limits.
import type { Context } from "hono";
import type { Caller, Json } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import { JsonFault, parseStrict } from "../../util/json/json.ts";
import { LARGE } from "../../util/async/time-slices.ts";
import type { Credentials } from "../../core/identity/index.ts";
import type { Doors } from "../doors.ts";
import { isOwnOrigin, sessionCookie } from "./origin.ts";
import { problemResponse } from "./problem.ts";
import type { BodyRoom } from "./rooms.ts";

/** `requestId` is set by the listener or, failing that, by the first door that asks. */
export interface WebEnv {
  Variables: {
    requestId?: string;
    /** Where whoever signs in wants to go. */
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
  const credentials = {
    authorization: c.req.header("authorization"),
    cookie: sessionCookie(doors.settings, c.req.header("cookie")),
  };
  const caller = await known(doors, credentials, ipOf(c));
  const { socket } = envOf(c);
  if (socket) doors.connections.know(socket, caller);
  if (caller.via !== "key" && method !== "GET" && method !== "HEAD") {
    // Only programs send neither header; those carry no cookie that a page could borrow.
    assertOwnPage(doors, c, caller.via === "anonymous");
  }
  return caller;
}

/** The address of the client, as the listener or a trusted proxy saw it. */
export const ipOf = (c: Context<WebEnv>): string | undefined => envOf(c).ip;

/** What the listener hands on; a test that asks the app directly has none of it. */
export interface ListenerEnv {
  readonly ip?: string | undefined;
  readonly socket?: object;
  /** Called once the answer is out, or the client gone. */
  readonly whenOver?: (over: () => void) => void;
}

const envOf = (c: Context<WebEnv>): ListenerEnv => (c.env as ListenerEnv | undefined) ?? {};

/** The caller a credential stands for; who keeps guessing is told to wait. */
export async function known(
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

/** A change that a browser sends must come from our own page; `mayBeSilent`: or say nothing of where it comes from. */
export function assertOwnPage(doors: Doors, c: Context<WebEnv>, mayBeSilent = false): void {
  const origin = c.req.header("origin");
  const site = c.req.header("sec-fetch-site");
  const host = c.req.header("host");
  const originOk = origin === undefined || isOwnOrigin(doors.settings, origin, host);
  const siteOk = site === undefined || site === "same-origin";
  const told = origin !== undefined || site !== undefined || mayBeSilent;
  if (originOk && siteOk && told) return;
  throw new AppError("FORBIDDEN", "bad_origin", "This change did not come from our own page", {
    remedy: "use an API key in the Authorization header",
  });
}

/** The fields of a form of ours. */
export async function readForm(c: Context<WebEnv>, maxBytes: number): Promise<URLSearchParams> {
  const length = Number(c.req.header("content-length") ?? Number.NaN);
  // Browsers say how long a form is; anything else is no form of ours.
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
  const room = doors.rooms.body(caller);
  envOf(c).whenOver?.(room.release);
  const limit = doors.settings.maxBodyBytes;
  const declared = Number(request.headers.get("content-length") ?? Number.NaN);
  if (declared > limit) throw tooLarge(limit);
  const type = (request.headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase();
  if (declared === 0 || (Number.isNaN(declared) && type === "")) {
    const none = await readBytes(request, limit, room);
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
  const bytes = await readBytes(request, limit, room);
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
async function readBytes(request: Request, limit: number, room: BodyRoom): Promise<Uint8Array> {
  const declared = request.headers.get("content-length");
  if (declared !== null) {
    room.take(Number(declared));
    return new Uint8Array(await request.arrayBuffer());
  }
  if (!request.body) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body as unknown as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > limit) throw tooLarge(limit);
    room.take(chunk.byteLength);
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
