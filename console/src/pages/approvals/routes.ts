import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root.tsx";

const approvalRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "approvals",
  component: lazyRouteComponent(() => import("./page.tsx"), "ApprovalsPage"),
});

export const approvalRoutes = [approvalRoute] as const;
