import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root.tsx";
import { oneOf, textOf } from "../../ui/search-params.ts";

export const TABS = ["list", "check", "lookup", "graph", "schema"] as const;
export type TabId = (typeof TABS)[number];

/** Filters of the list and the graph; the question of check and lookup. */
export interface RelationshipsSearch {
  readonly tab?: TabId;
  readonly resource?: string;
  readonly relation?: string;
  readonly subject?: string;
  readonly who?: string;
  readonly permission?: string;
  readonly on?: string;
  readonly lookup?: "resources" | "subjects";
  readonly type?: string;
}

const validateSearch = (raw: Record<string, unknown>): RelationshipsSearch => ({
  ...oneOf(raw, "tab", TABS),
  ...textOf(raw, "resource"),
  ...textOf(raw, "relation"),
  ...textOf(raw, "subject"),
  ...textOf(raw, "who"),
  ...textOf(raw, "permission"),
  ...textOf(raw, "on"),
  ...oneOf(raw, "lookup", ["resources", "subjects"]),
  ...textOf(raw, "type"),
});

export const relationshipsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "relationships",
  validateSearch,
  component: lazyRouteComponent(() => import("./page.tsx"), "RelationshipsPage"),
});

export const relationshipRoutes = [relationshipsRoute] as const;
