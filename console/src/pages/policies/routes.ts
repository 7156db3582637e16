import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "../../app/root.tsx";
import { type Kind, KINDS } from "./kinds.ts";

export const PANELS = ["try", "tests", "replay", "changes", "versions", "trial"] as const;
export type Panel = (typeof PANELS)[number];

export interface PoliciesSearch {
  readonly kind?: Kind;
  /** What is being edited began as this version; absent: the one in force. */
  readonly version?: number;
  readonly file?: string;
  readonly panel?: Panel;
  /** A recorded call whose input is tried. */
  readonly call?: string;
  /** The version that changes are shown against; absent: the one in force. */
  readonly against?: number;
}

const oneOf = <T extends string>(all: readonly T[], value: unknown): T | undefined =>
  all.find((one) => one === value);
const number = (value: unknown): number | undefined =>
  Number.isSafeInteger(value) && Number(value) > 0 ? Number(value) : undefined;
const text = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

function validateSearch(given: Record<string, unknown>): PoliciesSearch {
  const search = {
    kind: oneOf(KINDS, given["kind"]),
    version: number(given["version"]),
    file: text(given["file"]),
    panel: oneOf(PANELS, given["panel"]),
    call: text(given["call"]),
    against: number(given["against"]),
  };
  return Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined));
}

export const policiesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "policies",
  validateSearch,
  component: lazyRouteComponent(() => import("./page.tsx"), "PoliciesPage"),
});

export const policyRoutes = [policiesRoute] as const;
