import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root.tsx";

const explainRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "explain",
  component: lazyRouteComponent(() => import("./page.tsx"), "ExplainPage"),
});

export const explainRoutes = [explainRoute] as const;
