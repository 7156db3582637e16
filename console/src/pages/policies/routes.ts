import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root.tsx";

const policyRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "policies",
  component: lazyRouteComponent(() => import("./page.tsx"), "PoliciesPage"),
});

export const policyRoutes = [policyRoute] as const;
