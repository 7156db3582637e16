// Sign-ins to the console: a cookie in a browser, and what it depends on.

export interface SignInRow {
  readonly id: string;
  readonly tenantId: string;
  readonly userId: string;
  /** The key that made its link: it ends with it. Null: the link was printed by the server itself. */
  readonly keyId: string | null;
  /** The sign-in that made its link: when that one is ended, this one ends too. */
  readonly parentId: string | null;
  readonly secretHash: string;
  readonly createdAt: number;
  readonly seenAt: number;
  readonly endedAt: number | null;
  /** Who ended it: a user id; the user's own for a sign-out. Null: it runs, or has run out. */
  readonly endedBy: string | null;
}

export interface SignInStore {
  create(row: SignInRow): Promise<void>;
  get(id: string): Promise<SignInRow | null>;
  bySecret(secretHash: string): Promise<SignInRow | null>;
  /** Open ones, newest first. */
  open(
    filter: { tenantId: string; userId?: string; seenAfter: number; createdAfter: number },
    limit: number,
  ): Promise<SignInRow[]>;
  touch(id: string, at: number): Promise<void>;
  /** False when it had ended already. */
  end(id: string, by: string, at: number): Promise<boolean>;
}

export interface SignInsTable {
  id: string;
  tenant_id: string;
  user_id: string;
  key_id: string | null;
  parent_id: string | null;
  secret_hash: string;
  created_at: number;
  seen_at: number;
  ended_at: number | null;
  ended_by: string | null;
}
