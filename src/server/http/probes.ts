// What monitoring asks for: /healthz, /readyz and /metrics.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Caller } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { Doors } from "../doors.ts";
import { identifyOrThrottle } from "./identify.ts";
import { sessionCookie } from "./origin.ts";
import { sendJson } from "./respond.ts";

const SCRAPE = "metrics:read";

export const isHealthPath = (path: string): boolean => path === "/healthz" || path === "/readyz";

export async function answerHealth(
  doors: Pick<Doors, "health">,
  path: string,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const body = path === "/healthz" ? { status: "ok" } : await doors.health.check();
  sendJson(req, res, "ready" in body && !body.ready ? 503 : 200, body);
}

export async function answerMetrics(
  doors: Doors,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const { authorization, cookie } = req.headers;
  const session = sessionCookie(doors.settings, cookie);
  const caller = await identifyOrThrottle(doors, req, { authorization, cookie: session });
  // Monitoring does not use up the caller's API requests; anonymous requests still count against their address.
  if (caller.via === "anonymous") {
    const refused = doors.addressThrottle.countAnonymous(doors.clients.addressOf(req));
    if (refused) throw refused;
  }
  assertMayScrape(caller);
  const text = await doors.metrics.text();
  res.writeHead(200, { "Content-Type": doors.metrics.contentType, "Cache-Control": "no-store" });
  res.end(text);
}

/** The page names the tools of all users. Scope `*` is not enough: a key needs the scope by name. */
function assertMayScrape({ role, scopes }: Caller): void {
  if (role === "admin" || scopes.includes(SCRAPE)) return;
  throw new AppError(
    "FORBIDDEN",
    "scope_missing",
    `/metrics is for administrators and for keys with scope ${SCRAPE}`,
    {
      remedy: `ask an administrator for a key: ostiary keys create prometheus --user <id> --scope ${SCRAPE}`,
    },
  );
}
