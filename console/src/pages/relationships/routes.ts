import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root.tsx";

const relationshipRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "relationships",
  component: lazyRouteComponent(() => import("./page.tsx"), "RelationshipsPage"),
});

export const relationshipRoutes = [relationshipRoute] as const;
