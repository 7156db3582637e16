import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root.tsx";
import { oneOf, textOf } from "../../ui/search-params.ts";

export const FILTERS = [
  "text",
  "action",
  "actor",
  "tool",
  "execution",
  "trace",
  "since",
  "until",
] as const;
export type Filter = (typeof FILTERS)[number];

export interface AuditSearch extends Partial<Record<Filter, string>> {
  readonly order?: "newest" | "oldest";
  /** The event that is open. */
  readonly seq?: number;
  /** Another that it is compared with. */
  readonly with?: number;
}

const numberOf = (raw: Record<string, unknown>, key: "seq" | "with") => {
  const value = Number(raw[key]);
  return Number.isSafeInteger(value) && value > 0 ? { [key]: value } : {};
};

const validateSearch = (raw: Record<string, unknown>): AuditSearch => ({
  ...FILTERS.reduce<AuditSearch>((found, name) => ({ ...found, ...textOf(raw, name) }), {}),
  ...oneOf(raw, "order", ["newest", "oldest"]),
  ...numberOf(raw, "seq"),
  ...numberOf(raw, "with"),
});

export const auditRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "audit",
  validateSearch,
  component: lazyRouteComponent(() => import("./page.tsx"), "AuditPage"),
});

export const auditRoutes = [auditRoute] as const;
