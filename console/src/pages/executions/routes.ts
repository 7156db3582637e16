import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root.tsx";

const executionRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "executions",
  component: lazyRouteComponent(() => import("./page.tsx"), "ExecutionsPage"),
});

export const executionRoutes = [executionRoute] as const;
