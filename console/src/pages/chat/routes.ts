import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root.tsx";

const page = lazyRouteComponent(() => import("./page.tsx"), "ChatPage");
const chatRoute = createRoute({ getParentRoute: () => rootRoute, path: "chat", component: page });
const sessionRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "chat/$sessionId",
  component: page,
});

export const chatRoutes = [chatRoute, sessionRoute] as const;
