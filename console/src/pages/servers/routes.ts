import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root.tsx";
import { oneOf, textOf } from "../../ui/search-params.ts";

export const WAYS_TO_ADD = ["server", "file", "api"] as const;
export type WayToAdd = (typeof WAYS_TO_ADD)[number];

export const SERVER_TABS = ["tools", "connection", "credentials", "logs"] as const;
export type ServerTab = (typeof SERVER_TABS)[number];

const serverListRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "servers",
  validateSearch: (raw: Record<string, unknown>) => ({
    ...textOf(raw, "q"),
    ...oneOf(raw, "status", ["up", "attention", "off"]),
    ...oneOf(raw, "add", WAYS_TO_ADD),
  }),
  component: lazyRouteComponent(() => import("./page.tsx"), "ServersPage"),
});

const serverRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "servers/$name",
  validateSearch: (raw: Record<string, unknown>) => ({
    ...oneOf(raw, "tab", SERVER_TABS),
    ...textOf(raw, "tool"),
    ...oneOf(raw, "state", ["pending", "approved", "changed", "removed", "rejected", "refused"]),
  }),
  component: lazyRouteComponent(() => import("./server.tsx"), "ServerPage"),
});

export const serverRoutes = [serverListRoute, serverRoute] as const;
