// Everything that is not MCP, health or metrics: REST, tRPC, and what people open in a browser.
import type { IncomingMessage, ServerResponse } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import { AppError } from "../../contract/errors.ts";
import { createConsole } from "../pages/console.ts";
import { createDocs } from "../pages/docs.ts";
import type { Doors } from "../doors.ts";
import type { WebHandler } from "./listener.ts";
import { createLoginPages } from "../pages/login.ts";
import { admit, methodNotAllowed, notFoundAt, refuse, type WebEnv } from "./request.ts";
import { createChatDoor } from "../chat.ts";
import { createRest } from "../rest.ts";
import { createTrpc } from "../trpc.ts";

/** No name contains one, and no database accepts NUL. Unescaped ones are refused by the HTTP parser. */
const CONTROL = /\p{Cc}|%(?:[01][0-9a-f]|7f)/iu;

export function createWebHandler(doors: Doors): WebHandler {
  const app = createWebApp(doors);
  const listener = getRequestListener(
    (request, env) => {
      const { incoming, outgoing } = env as { incoming: IncomingMessage; outgoing: ServerResponse };
      // The listener has given the request its id already.
      return app.fetch(request, {
        requestId: String(outgoing.getHeader("Request-Id") ?? ""),
        ip: doors.clients.addressOf(incoming),
        socket: incoming.socket,
        onClose: (callback: () => void) => void outgoing.once("close", callback),
      });
    },
    { overrideGlobalObjects: false },
  );
  return async (req, res) => {
    await listener(req, res);
  };
}

export function createWebApp(doors: Doors): Hono<WebEnv> {
  const app = new Hono<WebEnv>();
  app.use(async (c, next) => {
    const known = (c.env as { requestId?: string } | undefined)?.requestId;
    if (known) c.set("requestId", known);
    if (CONTROL.test(c.req.path))
      throw new AppError("BAD_REQUEST", "invalid_input", "The path holds a control character", {
        remedy: "leave it out",
      });
    await next();
    c.res.headers.set("X-Content-Type-Options", "nosniff");
  });
  app.onError((cause, c) => refuse(c, doors, cause));
  app.route("/api/v1", createRest(doors));
  app.route("/trpc", createTrpc(doors));
  app.route("/", createChatDoor(doors));
  app.route("/", createConsole(doors));
  app.route("/", createLoginPages(doors));
  app.route("/", createDocs(doors));
  // A credential is needed even to learn that a path does not exist.
  app.all("*", async (c) => {
    await admit(doors, c);
    const allowed = methodsAt(app, c.req.path);
    if (allowed.length === 0) return refuse(c, doors, notFoundAt(c.req.path));
    const response = refuse(c, doors, methodNotAllowed(c.req.method, allowed));
    response.headers.set("Allow", allowed.join(", "));
    return response;
  });
  return app;
}

/** Methods of the pages at this path; the API answers for its own paths. */
function methodsAt(app: Hono<WebEnv>, path: string): string[] {
  const methods = app.routes
    .filter((route) => route.method !== "ALL" && matches(route.path, path))
    .map((route) => route.method);
  return [...new Set(methods)];
}

function matches(route: string, path: string): boolean {
  const parts = route.split("/");
  const given = path.split("/");
  return (
    parts.length === given.length &&
    parts.every((part, i) => (part.startsWith(":") ? given[i] !== "" : part === given[i]))
  );
}
