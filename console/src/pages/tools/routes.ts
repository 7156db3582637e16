import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root.tsx";

const toolRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "tools",
  component: lazyRouteComponent(() => import("./page.tsx"), "ToolsPage"),
});

export const toolRoutes = [toolRoute] as const;
