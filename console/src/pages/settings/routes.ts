import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root.tsx";
import { oneOf, textOf } from "../../ui/search-params.ts";

export const SETTINGS_TABS = [
  "you",
  "sign-ins",
  "server",
  "modes",
  "webhooks",
  "health",
  "about",
] as const;
export type SettingsTab = (typeof SETTINGS_TABS)[number];

const settingsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "settings",
  validateSearch: (raw: Record<string, unknown>) => ({
    ...oneOf(raw, "tab", SETTINGS_TABS),
    ...textOf(raw, "id"),
    ...textOf(raw, "q"),
    ...oneOf(raw, "from", ["default", "file", "environment", "flag"]),
    ...(raw["new"] === true ? { new: true } : {}),
  }),
  component: lazyRouteComponent(() => import("./page.tsx"), "SettingsPage"),
});

export const settingsRoutes = [settingsRoute] as const;
