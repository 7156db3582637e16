import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root.tsx";
import { catalogueSearch } from "./search.ts";

const toolsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "tools",
  validateSearch: catalogueSearch,
  component: lazyRouteComponent(() => import("./page.tsx"), "ToolsPage"),
});

export const TABS = ["try", "about", "governance", "versions"] as const;
export type ToolTab = (typeof TABS)[number];

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

export const toolRoutes = [toolsRoute, toolRoute] as const;
