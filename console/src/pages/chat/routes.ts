import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root.tsx";

const chatRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "chat",
  component: lazyRouteComponent(() => import("./page.tsx"), "ChatPage"),
});

export const chatRoutes = [chatRoute] as const;
