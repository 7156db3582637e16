// Whose limits apply to a caller, and on which counters: a limit and its counter belong to the same owner.
import type { Caller, Plan } from "../../contract/call.ts";
import type { Governance } from "../rules/governance.ts";
import type { Amounts } from "./amounts.ts";
import type { Metric } from "./budget.ts";

export const OWNERS = ["key", "user", "tenant"] as const;
export type OwnerKind = (typeof OWNERS)[number];

export interface BudgetOwner {
  readonly kind: OwnerKind;
  readonly id: string;
  readonly plan: Plan | null;
}

export type Owned = Pick<Caller, "tenantId" | "userId" | "keyId" | "plans">;

/** Narrowest first. The tenant always counts; user and key where they have a plan of their own. */
export function ownersOf({ tenantId, userId, keyId, plans }: Owned): BudgetOwner[] {
  const owners: BudgetOwner[] = [];
  if (plans.key !== null && keyId !== null)
    owners.push({ kind: "key", id: keyId, plan: plans.key });
  if (plans.user !== null) owners.push({ kind: "user", id: userId, plan: plans.user });
  owners.push({ kind: "tenant", id: tenantId, plan: plans.tenant });
  return owners;
}

/** The name of a counter in the store, below the tenant: `tool_calls`, `tool_calls@user:ada`. */
export const counterOf = (metric: Metric, { kind, id }: BudgetOwner): string =>
  kind === "tenant" ? metric : `${metric}@${kind}:${id}`;

/** The same amounts on the counters of every owner. */
export function onCounters(amounts: Amounts, caller: Owned): Readonly<Record<string, number>> {
  if (caller.plans.user === null && caller.plans.key === null) return amounts;
  const counted: Record<string, number> = {};
  const owners = ownersOf(caller);
  for (const metric in amounts)
    for (const owner of owners)
      counted[counterOf(metric as Metric, owner)] = amounts[metric as Metric] ?? 0;
  return counted;
}

type Limits = Pick<Governance["limits"], "ofPlan" | "explicitDefault">;

/**
 * Calls per minute of the user, on a counter of their own. Their own plan's, or the default where that plan names
 * none and the default is set. Without a plan of their own it is the default, unless their tenant's plan names a
 * window, which is counted on the tenant.
 */
export function perMinuteOf({ plans }: Pick<Caller, "plans">, limits: Limits): number | null {
  if (plans.user !== null) return limits.ofPlan(plans.user) ?? limits.explicitDefault;
  return tenantPerMinute(plans.tenant, limits) === null ? limits.ofPlan(null) : null;
}

/** Calls per minute of the whole tenant. */
export const tenantPerMinute = (plan: Plan | null, limits: Limits): number | null =>
  plan === null ? null : limits.ofPlan(plan);
