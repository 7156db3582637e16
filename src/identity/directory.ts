import type { Caller, Level, Plan } from "../call.ts";
import type { CapsuleRow, KeyRow, UserRow } from "../store/store.ts";

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
  readonly scopes: readonly string[];
  readonly capsuleId?: string;
  readonly level?: Level;
  readonly expiresAt?: number;
}

export interface NewCapsule {
  readonly id?: string;
  readonly name: string;
  readonly capabilities: readonly string[];
  readonly default?: boolean;
  readonly status?: "draft" | "active" | "archived";
}

/** A key as people may see it: never its hash or salt. */
export type KeyView = Omit<KeyRow, "salt" | "hash">;

interface ListPage {
  readonly limit: number;
  readonly after?: string;
}

/**
 * Users, keys and capsules of the actor's tenant. Every change is audited with the actor and effective before it answers.
 * Faults: CONFLICT / already_exists for a taken id, NOT_FOUND / unknown, BAD_REQUEST / invalid_input naming the field.
 */
export interface Directory {
  createUser(actor: Caller, user: NewUser): Promise<UserRow>;
  getUser(actor: Caller, id: string): Promise<UserRow>;
  listUsers(actor: Caller, page: ListPage): Promise<UserRow[]>;
  updateUser(actor: Caller, id: string, change: Partial<Pick<UserRow, "name" | "role" | "roles" | "plan">>): Promise<UserRow>;
  createKey(actor: Caller, key: NewKey): Promise<{ key: KeyView; secret: string }>;
  getKey(actor: Caller, id: string): Promise<KeyView>;
  listKeys(actor: Caller, page: ListPage & { readonly userId?: string }): Promise<KeyView[]>;
  revokeKey(actor: Caller, id: string): Promise<KeyView>;
  /** A new key with the same rights; the old one lives on for `overlapSeconds`. */
  rotateKey(actor: Caller, id: string, overlapSeconds: number): Promise<{ key: KeyView; secret: string }>;
  createCapsule(actor: Caller, capsule: NewCapsule): Promise<CapsuleRow>;
  getCapsule(actor: Caller, id: string): Promise<CapsuleRow>;
  listCapsules(actor: Caller, page: ListPage): Promise<CapsuleRow[]>;
  updateCapsule(actor: Caller, id: string, change: Partial<Pick<CapsuleRow, "name" | "status" | "isDefault" | "capabilities">>): Promise<CapsuleRow>;
  /** The caller that `userId` would be through the tenant's default capsule: for `explain --as`. */
  callerFor(actor: Caller, userId: string): Promise<Caller>;
} // prettier-ignore
