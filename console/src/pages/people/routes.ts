import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root.tsx";

const peopleRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "people",
  component: lazyRouteComponent(() => import("./page.tsx"), "PeoplePage"),
});

export const peopleRoutes = [peopleRoute] as const;
