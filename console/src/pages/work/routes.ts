import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root.tsx";

const workRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "work",
  component: lazyRouteComponent(() => import("./page.tsx"), "WorkPage"),
});

export const workRoutes = [workRoute] as const;
