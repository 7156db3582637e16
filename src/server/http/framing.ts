// Refuses requests that two programs could read differently (request smuggling), before any other check: 400, and the
// connection is closed.
import type { IncomingMessage } from "node:http";
import { AppError } from "../../contract/errors.ts";

/** Allowed once at most. Of repeated headers Node keeps the first or joins them; a proxy in front may do otherwise. */
const ONCE = new Set([
  "host",
  "content-length",
  "content-type",
  "content-encoding",
  "transfer-encoding",
  "authorization",
  "cookie",
  "origin",
  "referer",
  "user-agent",
  "expect",
  "upgrade",
  "accept",
  "last-event-id",
  "idempotency-key",
  "sec-fetch-site",
  "sec-fetch-mode",
  "sec-fetch-dest",
  "traceparent",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "forwarded",
  "x-request-id",
]);
const ORIGIN = /^https?:\/\/([^/?#]*)/i;
const SESSION_COOKIE = /(?:^|;)\s*(?:__Host-)?ostiary_session\s*=/g;

type Framed = Pick<IncomingMessage, "httpVersion" | "url" | "rawHeaders" | "headers">;

/**
 * Throws BAD_REQUEST / ambiguous_request. Reduces an absolute-form target to its path. A trusted proxy may send
 * X-Forwarded-For once for each hop.
 */
export function assertFraming(req: Framed, fromProxy = false): void {
  if (req.httpVersion !== "1.1" && req.httpVersion !== "1.0")
    throw ambiguous(`HTTP/${req.httpVersion} is not spoken here`, "use HTTP/1.1");
  assertOnce(req.rawHeaders, fromProxy ? "x-forwarded-for" : null);
  assertTarget(req.url ?? "", req.headers.host);
  assertOneSession(req.headers.cookie);
  if (req.url?.startsWith("/") === false) req.url = req.url.replace(ORIGIN, "") || "/";
}

function assertOnce(rawHeaders: readonly string[], except: string | null): void {
  const seen = new Set<string>();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? "").toLowerCase();
    if (!ONCE.has(name) && !name.startsWith("mcp-")) continue;
    if (seen.has(name) && name !== except)
      throw ambiguous(`the header ${name} is there more than once`, "send it once");
    seen.add(name);
  }
}

/** A path, or (as proxies send it) an absolute URL whose host equals Host. */
function assertTarget(target: string, host: string | undefined): void {
  if (target.startsWith("/")) {
    if (!target.includes("#")) return;
    throw ambiguous("the target has a fragment", "leave out what follows #");
  }
  const named = ORIGIN.exec(target)?.[1];
  if (named === undefined) throw ambiguous("the target is no path", "begin it with /");
  if (named.toLowerCase() !== host?.toLowerCase())
    throw ambiguous("the target names another host than Host does", "send the path alone");
}

/**
 * With two session cookies it would depend on the parser who is signed in; a sibling domain may have set one of them.
 */
function assertOneSession(cookie: string | undefined): void {
  if (cookie === undefined || [...cookie.matchAll(SESSION_COOKIE)].length < 2) return;
  throw ambiguous(
    "there is more than one session cookie",
    "remove the cookies of this site, then sign in again",
  );
}

const ambiguous = (message: string, remedy: string): AppError =>
  new AppError("BAD_REQUEST", "ambiguous_request", message, { remedy });

export const isAmbiguous = (cause: unknown): boolean =>
  cause instanceof AppError && cause.fault.reason === "ambiguous_request";
