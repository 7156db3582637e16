// Everything that is not MCP, health or metrics: REST, tRPC, and what people open in a browser.
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import type { Doors } from "./doors.ts";
import type { WebHandler } from "./http.ts";
import { refuse, type WebEnv } from "./request.ts";
import { createRest } from "./rest.ts";
import { createTrpc } from "./trpc.ts";

export function createWeb(doors: Doors): WebHandler {
  const app = new Hono<WebEnv>();
  app.use(async (c, next) => {
    // Made by the listener, so that every answer has one, also those that never get here.
    c.set("requestId", (c.env as { requestId: string }).requestId);
    await next();
  });
  app.onError((cause, c) => refuse(c, doors, cause));
  app.route("/api/v1", createRest(doors));
  app.route("/trpc", createTrpc(doors));
  return async (req, res) => {
    const requestId = String(res.getHeader("Request-Id") ?? "");
    const listener = getRequestListener((request) => app.fetch(request, { requestId }), {
      overrideGlobalObjects: false,
    });
    await listener(req, res);
  };
}
