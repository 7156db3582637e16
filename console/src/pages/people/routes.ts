import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root.tsx";
import { oneOf, textOf } from "../../ui/search-params.ts";

export const PEOPLE_TABS = [
  "users",
  "keys",
  "capsules",
  "personas",
  "models",
  "plans",
  "sign-ins",
  "files",
] as const;
export type PeopleTab = (typeof PEOPLE_TABS)[number];

const peopleRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "people",
  validateSearch: (raw: Record<string, unknown>) => ({
    ...oneOf(raw, "tab", PEOPLE_TABS),
    ...textOf(raw, "id"),
    ...textOf(raw, "q"),
    // Of the detail that is open.
    ...oneOf(raw, "view", ["tools", "agent", "versions"]),
    // The form for a new one, and for whom.
    ...(raw["new"] === true ? { new: true } : {}),
    ...textOf(raw, "user"),
  }),
  component: lazyRouteComponent(() => import("./page.tsx"), "PeoplePage"),
});

export const peopleRoutes = [peopleRoute] as const;
