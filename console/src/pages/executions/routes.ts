import { createRoute, lazyRouteComponent, redirect } from "@tanstack/react-router";
import { rootRoute } from "../../app/root.tsx";
import { filtersOf } from "./filters.ts";

const executionsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "executions",
  validateSearch: filtersOf,
  component: lazyRouteComponent(() => import("./list/page.tsx"), "ExecutionsPage"),
});

export const TABS = ["input", "output", "logs", "ledger", "json"] as const;
export type DetailTab = (typeof TABS)[number];

const executionRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "executions/$id",
  validateSearch: ({ tab }: Record<string, unknown>): { tab?: DetailTab } => {
    const known = TABS.find((one) => one === tab);
    return known === undefined ? {} : { tab: known };
  },
  component: lazyRouteComponent(() => import("./detail/page.tsx"), "ExecutionPage"),
});

/** Printed by the command line. */
const shortRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "e/$id",
  beforeLoad: ({ params }) => {
    // A redirect is thrown to the router.
    // eslint-disable-next-line @typescript-eslint/only-throw-error
    throw redirect({ to: "/executions/$id", params, replace: true });
  },
});

export const executionRoutes = [executionsRoute, executionRoute, shortRoute] as const;
