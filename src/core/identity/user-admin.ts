// The actor's tenant, its users, and the actor's own preferences.
import type { Caller } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import {
  MAX_PREFERENCES_BYTES,
  type Action,
  type TenantRow,
  type UserRow,
} from "../../storage/store/store.ts";
import { created, invalid, ours } from "./directory-faults.ts";
import type { Directory, DirectoryPowers } from "./directory.ts";
import { levelOf } from "./caller-of.ts";

export type UserAdmin = Pick<
  Directory,
  | "getTenant"
  | "updateTenant"
  | "createUser"
  | "getUser"
  | "listUsers"
  | "levels"
  | "updateUser"
  | "getPreferences"
  | "updatePreferences"
>;

export interface UserAdminPowers extends Pick<
  DirectoryPowers,
  "store" | "ids" | "now" | "relate" | "note"
> {
  readonly commit: (actor: Caller, action: Action, body: Record<string, unknown>) => Promise<void>;
}

export function createUserAdmin(p: UserAdminPowers): UserAdmin {
  return {
    getTenant: async (actor) => tenantOf(actor, await p.store.tenants.get(actor.tenantId)),
    async updateTenant(actor, change) {
      const row = tenantOf(actor, await p.store.tenants.update(actor.tenantId, change));
      await p.commit(actor, "tenant.changed", { tenantId: row.id, change });
      return row;
    },
    async createUser(actor, user) {
      const now = p.now();
      const row: UserRow = {
        id: user.id ?? p.ids.next("usr", now),
        tenantId: actor.tenantId,
        name: user.name,
        role: user.role ?? "user",
        roles: user.roles ?? ["tool_user"],
        plan: user.plan ?? null,
        preferences: {},
        createdAt: now,
      };
      await created(p.store.users.create(row), "user", row.id);
      await p.relate(row);
      await p.commit(actor, "user.created", { userId: row.id, role: row.role, plan: row.plan });
      return row;
    },
    getUser: async (actor, id) => ours(actor, await p.store.users.get(id), "user", id),
    listUsers: (actor, page) => p.store.users.list(actor.tenantId, page),
    async levels(actor) {
      const tenant = await p.store.tenants.get(actor.tenantId);
      return (user) => levelOf(user, user.plan ?? tenant?.plan ?? null);
    },
    async updateUser(actor, id, change) {
      ours(actor, await p.store.users.get(id), "user", id);
      const row = ours(actor, await p.store.users.update(id, change), "user", id);
      await p.relate(row);
      await p.commit(actor, "user.changed", { userId: id, change });
      return row;
    },
    getPreferences: async (actor) =>
      ours(actor, await p.store.users.get(actor.userId), "user", actor.userId).preferences,
    async updatePreferences(actor, change) {
      const { userId } = actor;
      const now = ours(actor, await p.store.users.get(userId), "user", userId).preferences;
      const preferences = Object.fromEntries(
        Object.entries({ ...now, ...change }).filter(([, value]) => value !== null),
      );
      const bytes = Buffer.byteLength(JSON.stringify(preferences));
      if (bytes > MAX_PREFERENCES_BYTES)
        throw invalid(
          "/preferences",
          `all preferences together have ${bytes} bytes; at most ${MAX_PREFERENCES_BYTES} are kept`,
          "take one away with null",
        );
      await p.store.users.update(userId, { preferences });
      await p.note("user.changed", actor, { userId, preferences: Object.keys(change) });
      return preferences;
    },
  };
}

function tenantOf(actor: Caller, row: TenantRow | null): TenantRow {
  if (row) return row;
  throw new AppError("NOT_FOUND", "unknown", `tenant '${actor.tenantId}' not found`);
}
