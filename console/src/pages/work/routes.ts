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
    // Of the schedule or the question that is open.
    ...textOf(raw, "id"),
  }),
  component: lazyRouteComponent(() => import("./page.tsx"), "WorkPage"),
});

/** Besides its steps, which need no word in the address. */
export const RUN_VIEWS = ["graph", "timeline", "history"] as const;

const workflowRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "work/$workflowId",
  validateSearch: (raw: Record<string, unknown>) => ({
    ...textOf(raw, "run"),
    ...oneOf(raw, "view", RUN_VIEWS),
    ...oneOf(raw, "of", ["everyone"]),
  }),
  component: lazyRouteComponent(() => import("./workflow.tsx"), "WorkflowPage"),
});

/** A run by its id alone. */
const runRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "work/runs/$runId",
  component: lazyRouteComponent(() => import("./runs/run-by-id.tsx"), "RunById"),
});

export const workRoutes = [workListRoute, workflowRoute, runRoute] as const;
