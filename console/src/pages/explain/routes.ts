import { createRoute, lazyRouteComponent, redirect } from "@tanstack/react-router";
import { rootRoute } from "../../app/root.tsx";
import { explainSearch } from "./search.ts";

const explainRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "explain",
  validateSearch: explainSearch,
  component: lazyRouteComponent(() => import("./page.tsx"), "ExplainPage"),
});

/** The short link that refusals carry. */
const shortRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "x/$id",
  beforeLoad: ({ params }) => {
    // eslint-disable-next-line @typescript-eslint/only-throw-error
    throw redirect({ to: "/explain", search: { execution: params.id }, replace: true });
  },
});

export const explainRoutes = [explainRoute, shortRoute] as const;
