import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root.tsx";

const auditRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "audit",
  component: lazyRouteComponent(() => import("./page.tsx"), "AuditPage"),
});

export const auditRoutes = [auditRoute] as const;
