import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root.tsx";
import { oneOf, textOf } from "../../ui/search-params.ts";

export const PERIODS = ["1h", "6h", "24h", "7d", "30d", "90d", "1y"] as const;
export type Period = (typeof PERIODS)[number];

export interface FiguresSearch {
  readonly period?: Period;
  /** Instead of a period: ISO 8601. */
  readonly from?: string;
  readonly to?: string;
  readonly tool?: string;
  readonly category?: string;
  /** For administrators; absent: everybody's. */
  readonly user?: string;
  readonly show?: "charts" | "tables";
}

const validateSearch = (raw: Record<string, unknown>): FiguresSearch => ({
  ...oneOf(raw, "period", PERIODS),
  ...momentOf(raw, "from"),
  ...momentOf(raw, "to"),
  ...textOf(raw, "tool"),
  ...textOf(raw, "category"),
  ...textOf(raw, "user"),
  ...oneOf(raw, "show", ["charts", "tables"]),
});

function momentOf<K extends "from" | "to">(raw: Record<string, unknown>, key: K) {
  const { [key]: text } = textOf(raw, key);
  return text === undefined || Number.isNaN(Date.parse(text)) ? {} : { [key]: text };
}

export const figuresRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "figures",
  validateSearch,
  component: lazyRouteComponent(() => import("./page.tsx"), "FiguresPage"),
});

export const figureRoutes = [figuresRoute] as const;
