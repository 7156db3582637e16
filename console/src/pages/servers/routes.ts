import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root.tsx";

const serverRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "servers",
  component: lazyRouteComponent(() => import("./page.tsx"), "ServersPage"),
});

export const serverRoutes = [serverRoute] as const;
