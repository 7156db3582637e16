// Who is calling: a credential becomes a Caller, or the request goes no further.
import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Caller, Level, Plan } from "../call.ts";
import { AppError } from "../errors.ts";
import type { KeyRow, Store, UserRow } from "../store/store.ts";
import { createOnce } from "../util/once.ts";
import { isWellFormed, matches, prefixOf } from "./keys.ts";
import type { Sessions } from "./sessions.ts";

export interface Credentials {
  /** `Authorization` header as sent. */
  readonly authorization: string | undefined;
  /** `Cookie` header as sent; only the console's own cookie counts. */
  readonly cookie: string | undefined;
}

export interface Identity extends Pick<
  Sessions,
  "createLoginToken" | "redeemLoginToken" | "signOut"
> {
  /** The caller a credential stands for; `connection` saves looking the same key up again. Throws UNAUTHORIZED; a store that cannot answer is UNAVAILABLE, never anonymous. */
  identify(credentials: Credentials, connection?: object): Caller | Promise<Caller>;
  /** A caller as they are today, through the same key or (null) the console; null when user or key is gone. */
  again(userId: string, keyId: string | null): Promise<Caller | null>;
  /** Forgets what was learnt about keys, users and capsules: called by every change before it is acknowledged. */
  forget(): void;
  /** Writes the last-used times that gathered. */
  flush(): Promise<void>;
}

export interface IdentityPowers {
  readonly store: Pick<Store, "keys" | "users" | "tenants" | "capsules" | "shared">;
  readonly serverSecret: string;
  readonly sessions: Sessions;
  readonly now: () => number;
  /** Told of every sign-in before the session is handed out. */
  readonly onSignIn: (userId: string) => Promise<void>;
  /** Set only on loopback with authentication switched off: who a request without credential is. */
  readonly anonymousUserId: string | null;
}

interface Known {
  readonly key: KeyRow;
  readonly caller: Caller;
  readonly learntAt: number;
  /** Nothing has been revoked or changed since. */
  readonly epoch: number;
}

const MAX_KNOWN = 10_000;
/** How long another instance's revocation may go unseen when the store is shared (design §8: under a second). */
const SHARED_LEASE_MS = 800;

export function createIdentity(p: IdentityPowers): Identity {
  const known = new LRUCache<string, Known>({ max: MAX_KNOWN });
  // The last key of a connection, compared as text: hashing it anew for every request of a busy agent is waste.
  const lastOf = new WeakMap<object, { authorization: string; known: Known }>();
  const uses = new Map<string, number>();
  const once = createOnce();
  let epoch = 0;

  const fromKey = (
    authorization: string,
    connection: object | undefined,
  ): Caller | Promise<Caller> => {
    const now = p.now();
    const last = connection && lastOf.get(connection);
    if (last?.authorization === authorization && isFresh(last.known, now))
      return use(last.known, now);
    const secret = authorization.slice(7).trim();
    // The cache holds digests, so that memory never lists keys in the clear.
    const digest = hash("sha256", secret, "base64");
    const hit = known.get(digest);
    if (!hit || !isFresh(hit, now)) return once.do(digest, () => learn(secret, digest, now));
    if (connection) lastOf.set(connection, { authorization, known: hit });
    return use(hit, now);
  };

  const isFresh = (hit: Known, now: number): boolean =>
    hit.epoch === epoch && (!p.store.shared || now - hit.learntAt < SHARED_LEASE_MS);

  const use = (hit: Known, now: number): Caller => {
    assertAlive(hit.key, now);
    uses.set(hit.key.id, now);
    return hit.caller;
  };

  const learn = async (secret: string, digest: string, now: number): Promise<Caller> => {
    if (!isWellFormed(secret)) throw badCredentials();
    const began = epoch;
    const rows = await answered(p.store.keys.byPrefix(prefixOf(secret)));
    const key = rows.find((row) => matches(secret, row, p.serverSecret));
    if (!key) throw badCredentials();
    assertAlive(key, now);
    const caller = await callerOf(p.store, key.userId, key);
    if (!caller) throw badCredentials();
    // What was read before a revocation must not be remembered after it.
    if (began === epoch) known.set(digest, { key, caller, learntAt: now, epoch });
    uses.set(key.id, now);
    return caller;
  };

  const fromSession = async (cookie: string): Promise<Caller> => {
    const userId = await answered(p.sessions.userOf(cookie));
    const caller = userId === null ? null : await callerOf(p.store, userId, null);
    if (!caller) throw noCredentials("the console session has ended");
    return caller;
  };

  return {
    createLoginToken: p.sessions.createLoginToken,
    async redeemLoginToken(token) {
      const session = await p.sessions.redeemLoginToken(token);
      if (session) await p.onSignIn(session.userId);
      return session;
    },
    signOut: p.sessions.signOut,
    identify({ authorization, cookie }, connection) {
      if (authorization !== undefined) {
        if (!/^bearer /i.test(authorization))
          throw noCredentials("only `Authorization: Bearer <key>` is understood");
        return fromKey(authorization, connection);
      }
      if (cookie !== undefined && p.sessions.isOurs(cookie)) return fromSession(cookie);
      if (p.anonymousUserId !== null) return anonymous(p.store, p.anonymousUserId);
      throw noCredentials("this needs a credential");
    },
    async again(userId, keyId) {
      const key = keyId === null ? null : await answered(p.store.keys.get(keyId));
      if (keyId !== null && (key?.userId !== userId || !isAlive(key, p.now()))) return null;
      return callerOf(p.store, userId, key);
    },
    forget() {
      epoch++;
      known.clear();
      once.forget();
    },
    async flush() {
      const batch = [...uses].map(([id, at]) => ({ id, at }));
      uses.clear();
      if (batch.length > 0) await p.store.keys.touch(batch);
    },
  };
}

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
    // A key that was given only some scopes does not administer, whoever owns it.
    role:
      user.role === "admin" && (scopes.includes("*") || scopes.includes("admin"))
        ? "admin"
        : "user",
    roles: user.roles,
    plan,
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

function levelOf(user: UserRow, plan: Plan | null): Level {
  if (user.role === "admin") return "admin";
  return plan === null ? "view_only" : LEVEL_OF_PLAN[plan];
}

async function anonymous(store: Rows, userId: string): Promise<Caller> {
  const caller = await callerOf(store, userId, null);
  if (!caller) throw noCredentials("this needs a credential");
  return { ...caller, via: "anonymous" };
}

const isAlive = (key: KeyRow, now: number): boolean =>
  key.revokedAt === null && (key.expiresAt === null || key.expiresAt > now);

function assertAlive(key: KeyRow, now: number): void {
  if (isAlive(key, now)) return;
  const why = key.revokedAt === null ? "has expired" : "was revoked";
  throw new AppError("UNAUTHORIZED", "key_inactive", `the key ${key.prefix}… ${why}`, {
    remedy: "ask an administrator for a new key (ostiary keys create)",
  });
}

/** Longest wait for the store before nobody can be identified (threats §6). */
const STORE_LIMIT_MS = 500;

async function answered<T>(query: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error("the store is too slow")), STORE_LIMIT_MS);
  });
  try {
    return await Promise.race([query, late]);
  } catch (cause) {
    throw new AppError(
      "UNAVAILABLE",
      "engine_unavailable",
      "the store does not answer, so nobody can be identified",
      {
        remedy: "try again; see /readyz",
        retryAfterSeconds: 5,
        cause,
      },
    );
  } finally {
    clearTimeout(timer);
  }
}

const badCredentials = (): AppError =>
  new AppError("UNAUTHORIZED", "bad_credentials", "this key is not known here", {
    remedy: "check the key, or ask an administrator for a new one",
  });

const noCredentials = (message: string): AppError =>
  new AppError("UNAUTHORIZED", "no_credentials", message, {
    remedy:
      "send `Authorization: Bearer <key>`; the first key is in admin.key of the data directory",
  });
