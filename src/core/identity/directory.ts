// Users, keys and capsules of the actor's tenant. Every change is audited and effective before it is acknowledged.
import type { Caller, JsonObject, KeyLimits, Level, Plan } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { Action, KeyRow, Store, TenantRow, UserRow } from "../../storage/store/store.ts";
import type { Ids } from "../../util/ids.ts";
import { createCallerLookup } from "./caller-lookup.ts";
import { createCapsuleAdmin, type CapsuleAdmin } from "./capsule-admin.ts";
import type { ListPage } from "./directory-faults.ts";
import { createKeyAdmin } from "./key-admin.ts";
import { createPersonaAdmin, type PersonaAdmin } from "./persona-admin.ts";
import { createUserAdmin } from "./user-admin.ts";

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
  /** Switches a tool on or off for all callers; effective with the next call. */
  switchTool(actor: Caller, name: string, enabled: boolean): Promise<void>;
  /**
   * The caller for a key by its id, or for a user by theirs, with the key they used last or without one (the console).
   * For `explain --as`, which must say what that caller would hear.
   */
  callerFor(actor: Caller, userOrKey: string): Promise<Caller>;
  /** What people call the caller and their tenant; null where the row is gone. */
  namesOf(caller: Caller): Promise<{ name: string | null; tenantName: string | null }>;
  /**
   * A caller as if their key belonged to this capsule. For others than administrators it only narrows: what both
   * capsules hold.
   */
  callerThrough(actor: Caller, caller: Caller, capsuleId: string): Promise<Caller>;
  /** The caller that this key stands for. Other people's keys are for administrators. */
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
  /**
   * Drops caches; called after the store has the change and before it is acknowledged. `everywhere`: of all instances.
   */
  readonly changed: (everywhere: boolean) => Promise<void>;
  /** Writes a user's relation to their tenant to the relation engine. */
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

  return {
    ...createUserAdmin({ ...p, commit }),
    ...createKeyAdmin({ ...p, commit }),
    ...createCapsuleAdmin({ ...p, commit }),
    ...createPersonaAdmin({ ...p, commit }),
    ...createCallerLookup(p),
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
  };
}
