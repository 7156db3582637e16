// The caller that a user is, through a key or the console.
import type { Caller, Level, Plan } from "../../contract/call.ts";
import type { KeyRow, Store, UserRow } from "../../storage/store/store.ts";
import { noCredentials } from "./credential-faults.ts";
import { answered } from "./store-answer.ts";

type Rows = Pick<Store, "users" | "tenants" | "capsules">;

/** The caller a user is, through one of their keys or (null) the console. */
export async function callerOf(
  store: Rows,
  userId: string,
  key: KeyRow | null,
): Promise<Caller | null> {
  const user = await answered(store.users.get(userId));
  if (!user) return null;
  const [tenant, fallback] = await answered(
    Promise.all([store.tenants.get(user.tenantId), store.capsules.defaultOf(user.tenantId)]),
  );
  const scopes = key ? key.scopes : ["*"];
  const plan = user.plan ?? tenant?.plan ?? null;
  return Object.freeze({
    tenantId: user.tenantId,
    userId: user.id,
    // A key that was given only some scopes does not administer, even if its owner does.
    role:
      user.role === "admin" && (scopes.includes("*") || scopes.includes("admin"))
        ? "admin"
        : "user",
    roles: user.roles,
    plan,
    plans: { tenant: tenant?.plan ?? null, user: user.plan, key: key?.limits?.plan ?? null },
    level: key?.level ?? levelOf(user, plan),
    scopes,
    capsuleId: key?.capsuleId ?? (user.role === "admin" && !key ? "all" : (fallback?.id ?? null)),
    keyId: key?.id ?? null,
    limits: key?.limits ?? null,
    via: key ? "key" : "console",
  } satisfies Caller);
}

const LEVEL_OF_PLAN: Record<Plan, Level> = {
  free: "execute_basic",
  starter: "execute_basic",
  team: "execute_advanced",
  enterprise: "execute_advanced",
};

/** Of a user's sign-ins, and of their keys that name no level. */
export function levelOf(user: UserRow, plan: Plan | null): Level {
  if (user.role === "admin") return "admin";
  return plan === null ? "view_only" : LEVEL_OF_PLAN[plan];
}

/** Who a request without credential is, where authentication is switched off. */
export async function anonymous(store: Rows, userId: string): Promise<Caller> {
  const caller = await callerOf(store, userId, null);
  if (!caller) throw noCredentials("this needs a credential");
  return { ...caller, via: "anonymous" };
}
