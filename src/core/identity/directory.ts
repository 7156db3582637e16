// Users, keys and capsules of the actor's tenant. Every change is audited and effective before it is acknowledged.
import type { Caller, JsonObject, KeyLimits, Level, Plan } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import {
  MAX_PREFERENCES_BYTES,
  type Action,
  type KeyRow,
  type Store,
  type TenantRow,
  type UserRow,
} from "../../storage/store/store.ts";
import type { Ids } from "../../util/ids.ts";
import { createCapsuleAdmin, type CapsuleAdmin } from "./capsule-admin.ts";
import { created, invalid, ours, type ListPage } from "./directory-faults.ts";
import { callerOf, isAlive, levelOf } from "./index.ts";
import { mintKey } from "./keys.ts";
import { createPersonaAdmin, type PersonaAdmin } from "./persona-admin.ts";
import { scopesFor } from "./scopes.ts";

export interface NewUser {
  readonly id?: string;
  readonly name: string;
  readonly role?: "admin" | "user";
  readonly roles?: readonly string[];
  readonly plan?: Plan | null;
}

export interface NewKey {
  readonly userId: string;
  readonly name: string;
  /** Absent: those that fit the level. */
  readonly scopes?: readonly string[];
  readonly capsuleId?: string;
  /** Absent: the user's own. */
  readonly level?: Level;
  readonly expiresAt?: number;
  /** Calls of this key per window. */
  readonly limits?: KeyLimits | null;
}

export type UserChange = Partial<Pick<UserRow, "name" | "role" | "roles" | "plan">>;
/** A key as people may see it: never its hash or salt. */
export type KeyView = Omit<KeyRow, "salt" | "hash">;

/**
 * Faults: CONFLICT / already_exists for a taken id, NOT_FOUND / unknown, BAD_REQUEST / invalid_input naming the
 * field.
 */
export interface Directory extends CapsuleAdmin, PersonaAdmin {
  getTenant(actor: Caller): Promise<TenantRow>;
  updateTenant(actor: Caller, change: Pick<TenantRow, "plan">): Promise<TenantRow>;
  createUser(actor: Caller, user: NewUser): Promise<UserRow>;
  getUser(actor: Caller, id: string): Promise<UserRow>;
  listUsers(actor: Caller, page: ListPage): Promise<UserRow[]>;
  /** The level that users of the tenant have where a key names none. */
  levels(actor: Caller): Promise<(user: UserRow) => Level>;
  updateUser(actor: Caller, id: string, change: UserChange): Promise<UserRow>;
  /** The caller's own. */
  getPreferences(actor: Caller): Promise<JsonObject>;
  /** Fields that are named are replaced, null takes one away. */
  updatePreferences(actor: Caller, change: JsonObject): Promise<JsonObject>;
  createKey(actor: Caller, key: NewKey): Promise<{ key: KeyView; secret: string }>;
  getKey(actor: Caller, id: string): Promise<KeyView>;
  listKeys(actor: Caller, page: ListPage & { readonly userId?: string }): Promise<KeyView[]>;
  updateKey(actor: Caller, id: string, limits: KeyLimits | null): Promise<KeyView>;
  revokeKey(actor: Caller, id: string): Promise<KeyView>;
  /** A new key with the same rights; the old one lives on for `overlapSeconds`. */
  rotateKey(
    actor: Caller,
    id: string,
    overlapSeconds: number,
  ): Promise<{ key: KeyView; secret: string }>;
  /** Switches a tool on or off for everybody; effective with the next call. */
  switchTool(actor: Caller, name: string, enabled: boolean): Promise<void>;
  /**
   * Whoever would call: a key by its id, a user by theirs with the key they used last, or without one in the console. For
   * `explain --as`, which must say what that caller would hear.
   */
  callerFor(actor: Caller, userOrKey: string): Promise<Caller>;
  /** The caller that somebody with this key is. Other people's keys are for administrators. */
  callerWithKey(actor: Caller, keyId: string): Promise<KeyCaller>;
}

export interface KeyCaller {
  readonly caller: Caller;
  /** False: the key was revoked or has expired, and lets nobody in. */
  readonly isActive: boolean;
}

export interface DirectoryPowers {
  readonly store: Pick<Store, "users" | "keys" | "capsules" | "tenants" | "servers" | "personas">;
  readonly serverSecret: string;
  readonly ids: Ids;
  readonly now: () => number;
  readonly note: (action: Action, who: Caller, body: Record<string, unknown>) => Promise<void>;
  /** Drops caches; called after the store has the change and before anybody is told. `everywhere`: of all instances. */
  readonly changed: (everywhere: boolean) => Promise<void>;
  /** Tells the relation engine what a user is to their tenant. */
  readonly relate: (user: UserRow) => Promise<void>;
  /** May this caller configure the tool, by the relations? */
  readonly mayConfigure: (actor: Caller, toolName: string) => Promise<boolean>;
  readonly toolName: (name: string) => string | null;
  readonly setToolEnabled: (name: string, enabled: boolean) => Promise<boolean>;
  /** Models that a capsule of the tenant may name. */
  readonly modelNames: (tenantId: string) => Promise<readonly string[]>;
  /** Writes down when each key was used last. */
  readonly noteUses: () => Promise<void>;
}

/** Keys run out unless told otherwise. */
const KEY_LIFE_MS = 90 * 24 * 3_600_000;

export function createDirectory(p: DirectoryPowers): Directory {
  const commit = async (
    actor: Caller,
    action: Action,
    body: Record<string, unknown>,
  ): Promise<void> => {
    // A right that was taken must be gone everywhere before that is acknowledged; one that was given may take a moment.
    await p.changed(!action.endsWith(".created"));
    await p.note(action, actor, body);
  };

  const fittingScopes = async ({ userId, level }: NewKey): Promise<readonly string[]> =>
    scopesFor(level ?? (await callerOf(p.store, userId, null))?.level ?? "view_only");

  const newKey = async (
    actor: Caller,
    key: NewKey & { scopes: readonly string[]; expiresAt: number },
  ): Promise<{ key: KeyView; secret: string }> => {
    const { secret, prefix, salt, hash } = mintKey(p.serverSecret);
    const now = p.now();
    const row: KeyRow = {
      id: p.ids.next("key", now),
      tenantId: actor.tenantId,
      userId: key.userId,
      name: key.name,
      prefix,
      salt,
      hash,
      scopes: key.scopes,
      level: key.level ?? null,
      capsuleId: key.capsuleId ?? null,
      createdAt: now,
      expiresAt: key.expiresAt,
      revokedAt: null,
      lastUsedAt: null,
      limits: key.limits ?? null,
    };
    await p.store.keys.create(row);
    await commit(actor, "key.created", {
      keyId: row.id,
      userId: row.userId,
      prefix,
      scopes: key.scopes,
      level: row.level,
    });
    return { key: viewOf(row), secret };
  };

  /** The one a user called with last; of those that were never used the newest. */
  const keyInUse = async ({ tenantId }: Caller, userId: string): Promise<KeyRow | null> => {
    await p.noteUses();
    let found: KeyRow | null = null;
    for (let after = "", more = true; more;) {
      const page = await p.store.keys.list(tenantId, { limit: KEYS_AT_ONCE, after, userId });
      for (const key of page) if (isAlive(key, p.now()) && usedAfter(key, found)) found = key;
      more = page.length === KEYS_AT_ONCE;
      after = page.at(-1)?.id ?? "";
    }
    return found;
  };

  const tenantOf = (actor: Caller, row: TenantRow | null): TenantRow => {
    if (row) return row;
    throw new AppError("NOT_FOUND", "unknown", `tenant '${actor.tenantId}' not found`);
  };

  return {
    getTenant: async (actor) => tenantOf(actor, await p.store.tenants.get(actor.tenantId)),
    async updateTenant(actor, change) {
      const row = tenantOf(actor, await p.store.tenants.update(actor.tenantId, change));
      await commit(actor, "tenant.changed", { tenantId: row.id, change });
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
      await commit(actor, "user.created", { userId: row.id, role: row.role, plan: row.plan });
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
      await commit(actor, "user.changed", { userId: id, change });
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
    async createKey(actor, key) {
      const user = await p.store.users.get(key.userId);
      if (user?.tenantId !== actor.tenantId)
        throw invalid("/userId", `there is no user '${key.userId}'`, "create the user first");
      if (key.capsuleId !== undefined) {
        const capsule = await p.store.capsules.get(key.capsuleId);
        if (capsule?.tenantId !== actor.tenantId)
          throw invalid(
            "/capsuleId",
            `there is no capsule '${key.capsuleId}'`,
            "create the capsule first",
          );
      }
      const expiresAt = key.expiresAt ?? p.now() + KEY_LIFE_MS;
      if (expiresAt <= p.now())
        throw invalid("/expiresAt", "expected a time in the future", "leave it out for 90 days");
      const scopes = key.scopes ?? (await fittingScopes(key));
      return newKey(actor, { ...key, scopes, expiresAt });
    },
    getKey: async (actor, id) => viewOf(ours(actor, await p.store.keys.get(id), "key", id)),
    listKeys: async (actor, page) => (await p.store.keys.list(actor.tenantId, page)).map(viewOf),
    async updateKey(actor, id, limits) {
      ours(actor, await p.store.keys.get(id), "key", id);
      const row = ours(actor, await p.store.keys.update(id, { limits }), "key", id);
      await commit(actor, "key.changed", { keyId: id, userId: row.userId, change: { limits } });
      return viewOf(row);
    },
    async revokeKey(actor, id) {
      const row = ours(actor, await p.store.keys.get(id), "key", id);
      const at = p.now();
      const revoked = await p.store.keys.revoke(id, at);
      if (revoked) await commit(actor, "key.revoked", { keyId: id, userId: row.userId });
      return viewOf({ ...row, revokedAt: revoked ? at : row.revokedAt });
    },
    async rotateKey(actor, id, overlapSeconds) {
      const old = ours(actor, await p.store.keys.get(id), "key", id);
      if (old.revokedAt !== null)
        throw new AppError("CONFLICT", "stale", `the key ${old.prefix}… was revoked`, {
          remedy: "create a new key",
        });
      const now = p.now();
      const life =
        old.expiresAt === null ? KEY_LIFE_MS : Math.max(old.expiresAt - old.createdAt, 60_000);
      const { userId, name, scopes } = old;
      const next = await newKey(actor, {
        userId,
        name,
        scopes,
        ...(old.capsuleId === null ? {} : { capsuleId: old.capsuleId }),
        ...(old.level === null ? {} : { level: old.level }),
        limits: old.limits,
        expiresAt: now + life,
      });
      await p.store.keys.expire(
        id,
        Math.min(now + overlapSeconds * 1000, old.expiresAt ?? Infinity),
      );
      await commit(actor, "key.rotated", { keyId: id, replacedBy: next.key.id, overlapSeconds });
      return next;
    },
    ...createCapsuleAdmin({ ...p, commit }),
    ...createPersonaAdmin({ ...p, commit }),
    async switchTool(actor, name, enabled) {
      const known = p.toolName(name);
      if (known !== null && !(await p.mayConfigure(actor, known))) {
        throw new AppError(
          "FORBIDDEN",
          "permission_missing",
          `${actor.userId} may not configure ${known}`,
          {
            remedy: `grant it: ostiary relations write tool:${known}#tenant@tenant:${actor.tenantId}`,
          },
        );
      }
      if (!(await p.setToolEnabled(name, enabled))) {
        throw new AppError("NOT_FOUND", "unknown", `Tool '${name}' not found`, {
          remedy: "list the tools first",
        });
      }
      await commit(actor, "tool.changed", { tool: name, enabled });
    },
    async callerFor(actor, userOrKey) {
      const named = await p.store.keys.get(userOrKey);
      const key = named?.tenantId === actor.tenantId ? named : null;
      if (key && !isAlive(key, p.now()))
        throw new AppError("CONFLICT", "stale", `the key ${key.prefix}… is not active any more`, {
          remedy: "its calls are refused with 401; name another key: ostiary keys list",
        });
      const userId = key?.userId ?? userOrKey;
      ours(actor, await p.store.users.get(userId), "user", userId);
      const caller = await callerOf(p.store, userId, key ?? (await keyInUse(actor, userId)));
      if (!caller) throw new AppError("NOT_FOUND", "unknown", `user '${userId}' not found`);
      return caller;
    },
    async callerWithKey(actor, keyId) {
      const row = await p.store.keys.get(keyId);
      const isTheirs = actor.role === "admin" || row?.userId === actor.userId;
      const key = ours(actor, isTheirs ? row : null, "key", keyId);
      const caller = await callerOf(p.store, key.userId, key);
      if (!caller) throw new AppError("NOT_FOUND", "unknown", `user '${key.userId}' not found`);
      const isActive =
        key.revokedAt === null && (key.expiresAt === null || key.expiresAt > p.now());
      return { caller, isActive };
    },
  };
}

const KEYS_AT_ONCE = 100;

function usedAfter(key: KeyRow, other: KeyRow | null): boolean {
  if (other === null) return true;
  const [one, two] = [key.lastUsedAt ?? 0, other.lastUsedAt ?? 0];
  return one === two ? key.createdAt >= other.createdAt : one > two;
}

function viewOf(row: KeyRow): KeyView {
  const { salt: _salt, hash: _hash, ...view } = row;
  return view;
}
