// Who is calling: a credential becomes a Caller, or the request goes no further.
import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import {
  mandateOf,
  narrowed,
  type Caller,
  type Level,
  type Mandate,
  type Plan,
} from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { KeyRow, SignInRow, Store, UserRow } from "../../storage/store/store.ts";
import { createCoalescer } from "../../util/async/coalesce.ts";
import { isWellFormed, matches, prefixOf } from "./keys.ts";
import type { NewSession, Sessions } from "./sessions.ts";
import type { CallerStatus } from "./caller-watch.ts";

export interface Credentials {
  /** `Authorization` header as sent. */
  readonly authorization: string | undefined;
  /** `Cookie` header as sent; only the console's own cookie counts. */
  readonly cookie: string | undefined;
}

export interface Identity {
  /** A one-time link for a person to the console; FORBIDDEN / scope_missing for an agent's key. */
  createLoginToken(caller: Caller): Promise<{ token: string; expiresAt: number }>;
  /** Exchanges a link's token for a session; null when it was used, ran out, or whatever made it is gone. */
  redeemLoginToken(token: string): Promise<NewSession | null>;
  /** Ended everywhere when it resolves. */
  signOut(cookieHeader: string | undefined): Promise<void>;
  /** Open sign-ins: one's own, or (administrators) those of the tenant. */
  listSignIns(caller: Caller, filter: { userId?: string; limit: number }): Promise<SignInView[]>;
  /** Ends one everywhere; NOT_FOUND for others'. */
  endSignIn(caller: Caller, id: string): Promise<SignInView>;
  /**
   * The caller a credential stands for; `connection` saves looking the same key up again. Throws UNAUTHORIZED; a
   * store that cannot answer is UNAVAILABLE, never anonymous.
   */
  identify(credentials: Credentials, connection?: object): Caller | Promise<Caller>;
  /**
   * Whoever left something behind, with what they had then and have today; null when user or key is gone, or their
   * sign-in was ended by somebody.
   */
  again(mandate: Mandate): Promise<Caller | null>;
  /** The same for who is still there: a sign-in that ran out stands no more either. */
  standOf(mandate: Mandate): Promise<CallerStatus | null>;
  /** Forgets what was learnt about keys, users and capsules: called by every change before it is acknowledged. */
  forget(): void;
  /** Writes the last-used times that gathered. */
  flush(): Promise<void>;
}

export interface IdentityPowers {
  readonly store: Pick<Store, "keys" | "users" | "tenants" | "capsules" | "signIns" | "shared">;
  readonly serverSecret: string;
  readonly sessions: Sessions;
  readonly now: () => number;
  /** Told of every sign-in before the session is handed out. */
  readonly onSignIn: (signIn: SignInRow) => Promise<void>;
  /** Told after a sign-in has ended; resolves when that holds everywhere. */
  readonly onSignInEnded: (signIn: SignInRow, by: string) => Promise<void>;
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
/** How long another instance's revocation may go unseen when the store is shared: under a second. */
const SHARED_LEASE_MS = 800;

export function createIdentity(p: IdentityPowers): Identity {
  const known = new LRUCache<string, Known>({ max: MAX_KNOWN });
  // The last key of a connection, compared as text: hashing it anew for every request of a busy agent is waste.
  const lastOf = new WeakMap<object, { authorization: string; known: Known }>();
  const uses = new Map<string, number>();
  const once = createCoalescer();
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
    if (!hit || !isFresh(hit, now)) return once.run(digest, () => learn(secret, digest, now));
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
    const signIn = await answered(p.sessions.ofCookie(cookie));
    const caller = signIn && (await signedIn(signIn));
    if (!caller) throw noCredentials("the console session has ended");
    return caller;
  };

  /** A person in the console, with no more than the key that made the link. */
  const signedIn = async (signIn: SignInRow): Promise<Caller | null> => {
    const { id, userId, tenantId, keyId } = signIn;
    const caller = await callerOf(p.store, userId, null);
    if (caller?.tenantId !== tenantId) return null;
    const at = await answered(p.sessions.provenAt(signIn));
    const person: Caller = { ...caller, signIn: { id, keyId, at } };
    if (keyId === null) return person;
    const key = await answered(p.store.keys.get(keyId));
    const maker = key?.userId === userId ? await callerOf(p.store, userId, key) : null;
    if (!key || !maker) return null;
    const capsuleId = key.capsuleId ?? person.capsuleId;
    return narrowed(person, { ...mandateOf(maker), capsuleId });
  };

  /** The caller as the mandate's credential makes them today, before it is narrowed to what it was. */
  const today = async (mandate: Mandate, isThere: boolean): Promise<CallerStatus | null> => {
    const { userId, keyId, via, signIn } = mandate;
    if (keyId !== null) {
      const key = await answered(p.store.keys.get(keyId));
      if (key?.userId !== userId || !isAlive(key, p.now())) return null;
      const caller = await callerOf(p.store, userId, key);
      return caller && { caller, until: key.expiresAt };
    }
    if (via === "anonymous") {
      if (p.anonymousUserId !== userId) return null;
      return { caller: await anonymous(p.store, userId), until: null };
    }
    // The server's own acts on behalf of a user have no sign-in.
    if (!signIn) {
      const caller = await callerOf(p.store, userId, null);
      return caller && { caller, until: null };
    }
    const row = await answered(p.store.signIns.get(signIn.id));
    if (row?.userId !== userId) return null;
    const until = isThere ? await answered(p.sessions.standsUntil(row)) : null;
    if (isThere ? until === null : !(await answered(p.sessions.isGood(row)))) return null;
    const caller = await signedIn(row);
    return caller && { caller, until };
  };

  const standOf = async (mandate: Mandate, isThere: boolean): Promise<CallerStatus | null> => {
    const stand = await today(mandate, isThere);
    if (stand?.caller.tenantId !== mandate.tenantId) return null;
    return { ...stand, caller: narrowed(stand.caller, mandate) };
  };

  return {
    async createLoginToken(caller) {
      assertPerson(caller);
      return p.sessions.createLoginToken(caller);
    },
    async redeemLoginToken(token) {
      const session = await p.sessions.redeemLoginToken(token);
      if (session) await p.onSignIn(session.signIn);
      return session;
    },
    async signOut(cookieHeader) {
      const ended = await p.sessions.signOut(cookieHeader);
      if (ended) await p.onSignInEnded(ended, ended.userId);
    },
    async listSignIns(caller, { userId, limit }) {
      const whose = caller.role === "admin" ? userId : caller.userId;
      if (caller.role !== "admin" && userId !== undefined && userId !== caller.userId) return [];
      const rows = await p.sessions.open(
        { tenantId: caller.tenantId, ...(whose === undefined ? {} : { userId: whose }) },
        limit,
      );
      const standing = await Promise.all(rows.map((row) => p.sessions.standsUntil(row)));
      return rows.flatMap((row, at) => (standing[at] ? [viewOf(row, standing[at], caller)] : []));
    },
    async endSignIn(caller, id) {
      const row = await p.store.signIns.get(id);
      const isTheirs = row?.userId === caller.userId || caller.role === "admin";
      if (row?.tenantId !== caller.tenantId || !isTheirs || row.endedAt !== null)
        throw noSignIn(id);
      if (!(await p.store.signIns.end(id, caller.userId, p.now()))) throw noSignIn(id);
      await p.onSignInEnded(row, caller.userId);
      return viewOf(row, p.now(), caller);
    },
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
    again: async (mandate) => (await standOf(mandate, false))?.caller ?? null,
    standOf: (mandate) => standOf(mandate, true),
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

const PERSONAL_SCOPES = ["*", "tool:approve"];

/** Whoever is signed in decides approvals, so a key that was made for an agent signs nobody in. */
function assertPerson({ via, role, scopes }: Caller): void {
  if (via !== "key" || role === "admin") return;
  if (scopes.some((scope) => PERSONAL_SCOPES.includes(scope))) return;
  throw new AppError(
    "FORBIDDEN",
    "scope_missing",
    "This key was made for an agent and signs nobody in",
    {
      remedy:
        "use a key with scope tool:approve (ostiary keys create <name> --user <id> --scope tool:approve)",
    },
  );
}

/** A sign-in as people see it. */
export interface SignInView {
  readonly id: string;
  readonly userId: string;
  readonly keyId: string | null;
  readonly createdAt: number;
  readonly seenAt: number;
  readonly endsAt: number;
  /** It is the one that asks. */
  readonly current: boolean;
}

function viewOf(row: SignInRow, endsAt: number, { signIn }: Caller): SignInView {
  const { id, userId, keyId, createdAt, seenAt } = row;
  return { id, userId, keyId, createdAt, seenAt, endsAt, current: signIn?.id === id };
}

const noSignIn = (id: string): AppError =>
  new AppError("NOT_FOUND", "unknown", `Sign-in '${id}' not found`, {
    remedy: "list those that are open: ostiary sign-ins list",
  });

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

async function anonymous(store: Rows, userId: string): Promise<Caller> {
  const caller = await callerOf(store, userId, null);
  if (!caller) throw noCredentials("this needs a credential");
  return { ...caller, via: "anonymous" };
}

export const isAlive = (key: KeyRow, now: number): boolean =>
  key.revokedAt === null && (key.expiresAt === null || key.expiresAt > now);

function assertAlive(key: KeyRow, now: number): void {
  if (isAlive(key, now)) return;
  const why = key.revokedAt === null ? "has expired" : "was revoked";
  throw new AppError("UNAUTHORIZED", "key_inactive", `the key ${key.prefix}… ${why}`, {
    remedy: "ask an administrator for a new key (ostiary keys create)",
  });
}

/** Longest wait for the store; after it a caller cannot be identified. */
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
