import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root.tsx";

const figureRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "figures",
  component: lazyRouteComponent(() => import("./page.tsx"), "FiguresPage"),
});

export const figureRoutes = [figureRoute] as const;
