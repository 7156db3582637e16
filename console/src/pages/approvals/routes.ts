import { createRoute, lazyRouteComponent, redirect } from "@tanstack/react-router";
import { rootRoute } from "../../app/root.tsx";

export const TABS = ["waiting", "decided", "expired", "rules"] as const;
export type InboxTab = (typeof TABS)[number];

export interface InboxSearch {
  readonly tab?: InboxTab | undefined;
  /** Only what the reader asked for. */
  readonly mine?: true | undefined;
}

const approvalsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "approvals",
  validateSearch: ({ tab, mine }: Record<string, unknown>): InboxSearch => ({
    tab: TABS.find((one) => one === tab),
    mine: mine === true ? true : undefined,
  }),
  component: lazyRouteComponent(() => import("./list/page.tsx"), "ApprovalsPage"),
});

const approvalRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "approvals/$id",
  component: lazyRouteComponent(() => import("./detail/page.tsx"), "ApprovalPage"),
});

/** The short link that callers and messages carry. */
const shortRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "a/$id",
  beforeLoad: ({ params }) => {
    // A redirect is thrown to the router.
    // eslint-disable-next-line @typescript-eslint/only-throw-error
    throw redirect({ to: "/approvals/$id", params, replace: true });
  },
});

export const approvalRoutes = [approvalsRoute, approvalRoute, shortRoute] as const;
