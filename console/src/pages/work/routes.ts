import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root.tsx";
import { oneOf, textOf } from "../../ui/search-params.ts";

export const WORK_TABS = ["workflows", "schedules", "questions"] as const;
export type WorkTab = (typeof WORK_TABS)[number];

const workListRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "work",
  validateSearch: (raw: Record<string, unknown>) => ({
    ...oneOf(raw, "tab", WORK_TABS),
    ...textOf(raw, "q"),
    ...oneOf(raw, "of", ["everyone"]),
    ...textOf(raw, "id"),
  }),
  component: lazyRouteComponent(() => import("./page.tsx"), "WorkPage"),
});

const workflowRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "work/$workflowId",
  validateSearch: (raw: Record<string, unknown>) => ({
    ...textOf(raw, "run"),
    ...oneOf(raw, "view", ["graph", "timeline"]),
    ...oneOf(raw, "of", ["everyone"]),
  }),
  component: lazyRouteComponent(() => import("./workflow.tsx"), "WorkflowPage"),
});

export const workRoutes = [workListRoute, workflowRoute] as const;
