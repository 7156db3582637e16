import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root.tsx";
import { oneOf, textOf } from "../../ui/search-params.ts";
import { catalogueSearch } from "./search.ts";

const toolsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "tools",
  validateSearch: catalogueSearch,
  component: lazyRouteComponent(() => import("./page.tsx"), "ToolsPage"),
});

export const TABS = ["try", "about", "governance", "versions"] as const;
export type ToolTab = (typeof TABS)[number];

/** Without one: those that wait. */
export const DRAFT_FILTERS = ["linked", "retired", "rejected", "all"] as const;

interface DetailSearch {
  readonly tab?: ToolTab | undefined;
  /** What the form of the try-it tab begins with. */
  readonly arguments?: Record<string, unknown> | undefined;
}

function detailSearch({ tab, arguments: args }: Record<string, unknown>): DetailSearch {
  const isObject = typeof args === "object" && args !== null && !Array.isArray(args);
  return {
    tab: TABS.find((one) => one === tab),
    arguments: isObject ? (args as Record<string, unknown>) : undefined,
  };
}

const toolRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "tools/$category/$tool",
  validateSearch: detailSearch,
  component: lazyRouteComponent(() => import("./detail/page.tsx"), "ToolPage"),
});

/** One segment, so that no server can have a tool at this address. */
const draftsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "tools/drafts",
  validateSearch: (raw: Record<string, unknown>) => ({
    ...oneOf(raw, "state", DRAFT_FILTERS),
    // Of one version, which is open.
    ...textOf(raw, "draft"),
  }),
  component: lazyRouteComponent(() => import("./drafts/page.tsx"), "DraftsPage"),
});

export const toolRoutes = [toolsRoute, toolRoute, draftsRoute] as const;
