// The console's sign-in: a one-time link (15 minutes, dies on use) becomes a session cookie. A session hangs on what
// made its link: it ends with that key, and with that sign-in when a person ends it.
import { hash, randomBytes } from "node:crypto";
import type { SignedIn } from "../../contract/call.ts";
import type { SignInRow, Store } from "../../storage/store/store.ts";

/** Who asks for a link, and through what. */
export interface LinkMaker {
  readonly tenantId: string;
  readonly userId: string;
  readonly keyId: string | null;
  readonly signIn?: Pick<SignedIn, "id" | "keyId">;
}

export interface NewSession {
  readonly cookie: string;
  readonly signIn: SignInRow;
  readonly maxAgeSeconds: number;
}

export interface Sessions {
  /** A one-time link token for the console. */
  createLoginToken(maker: LinkMaker): Promise<{ token: string; expiresAt: number }>;
  /** Exchanges the token for the value of the session cookie; null when it was used, ran out, or its maker is gone. */
  redeemLoginToken(token: string): Promise<NewSession | null>;
  /** The sign-in that ended, if there was one. */
  signOut(cookieHeader: string | undefined): Promise<SignInRow | null>;
  /** Does this `Cookie` header carry our cookie at all? */
  isOurs(cookieHeader: string): boolean;
  /** The sign-in of this cookie while it stands; noted as seen. */
  ofCookie(cookieHeader: string): Promise<SignInRow | null>;
  /** Epoch ms when it runs out unless it is used; null: it stands no more. */
  standsUntil(row: SignInRow): Promise<number | null>;
  /** False once a person ended it, or one it depends on. One that ran out, or was signed out of, counts as true. */
  isGood(row: SignInRow): Promise<boolean>;
  /** When its person proved themselves: a link made within a session adds no proof to that of the session. */
  provenAt(row: SignInRow): Promise<number>;
  open(filter: { tenantId: string; userId?: string }, limit: number): Promise<SignInRow[]>;
}

const LINK_LIFE_MS = 15 * 60_000;
const ABSOLUTE_LIFE_MS = 12 * 3_600_000;
const IDLE_LIFE_MS = 2 * 3_600_000;
/** How often an ongoing session is written back; keeps reads from becoming writes. */
const TOUCH_EVERY_MS = 5 * 60_000;
/** Links made within sessions that links made: nobody needs more. */
const MAX_CHAIN = 10;

interface LinkFact {
  tenantId: string;
  userId: string;
  keyId: string | null;
  parentId: string | null;
  expiresAt: number;
}

export interface SessionPowers {
  readonly store: Pick<Store, "facts" | "signIns" | "keys">;
  readonly now: () => number;
  readonly newId: () => string;
}

export function createSessions({ store, now, newId }: SessionPowers): Sessions {
  const linkName = (token: string): string => `login.${hash("sha256", token)}`;

  const isKeyAlive = async (keyId: string | null): Promise<boolean> => {
    if (keyId === null) return true;
    const key = await store.keys.get(keyId);
    return key?.revokedAt === null && (key.expiresAt === null || key.expiresAt > now());
  };

  /** Was it, or one it depends on, ended in another way than its own user signing out? */
  const isGood = async (row: SignInRow): Promise<boolean> => {
    let at: SignInRow | null = row;
    for (let depth = 0; at !== null && depth < MAX_CHAIN; depth++) {
      if (at.endedAt !== null && at.endedBy !== SIGNED_OUT) return false;
      if (!(await isKeyAlive(at.keyId))) return false;
      if (at.parentId === null) return true;
      at = await store.signIns.get(at.parentId);
    }
    return false;
  };

  const endOf = (row: SignInRow): number =>
    Math.min(row.createdAt + ABSOLUTE_LIFE_MS, row.seenAt + IDLE_LIFE_MS);

  const standsUntil = async (row: SignInRow): Promise<number | null> => {
    const until = endOf(row);
    return row.endedAt === null && until > now() && (await isGood(row)) ? until : null;
  };

  return {
    async createLoginToken({ tenantId, userId, keyId, signIn }) {
      const token = randomBytes(32).toString("base64url");
      const expiresAt = now() + LINK_LIFE_MS;
      const link: LinkFact = {
        tenantId,
        userId,
        keyId: keyId ?? signIn?.keyId ?? null,
        parentId: signIn?.id ?? null,
        expiresAt,
      };
      await store.facts.set(linkName(token), JSON.stringify(link));
      return { token, expiresAt };
    },
    async redeemLoginToken(token) {
      const fact = await store.facts.take(linkName(token));
      if (fact === null) return null;
      const link = JSON.parse(fact) as LinkFact;
      // A link of an earlier release does not say what made it.
      if (link.expiresAt <= now() || typeof link.tenantId !== "string") return null;
      const secret = randomBytes(32).toString("base64url");
      const { tenantId, userId, keyId, parentId } = link;
      const at = now();
      const signIn: SignInRow = {
        id: newId(),
        tenantId,
        userId,
        keyId,
        parentId,
        secretHash: hash("sha256", secret),
        createdAt: at,
        seenAt: at,
        endedAt: null,
        endedBy: null,
      };
      if (!(await isGood(signIn))) return null;
      await store.signIns.create(signIn);
      return { cookie: secret, signIn, maxAgeSeconds: ABSOLUTE_LIFE_MS / 1000 };
    },
    async signOut(cookieHeader) {
      const secret = cookieHeader === undefined ? null : secretIn(cookieHeader);
      const row = secret === null ? null : await store.signIns.bySecret(hash("sha256", secret));
      return row && (await store.signIns.end(row.id, SIGNED_OUT, now())) ? row : null;
    },
    isOurs: (cookieHeader) => secretIn(cookieHeader) !== null,
    async ofCookie(cookieHeader) {
      const secret = secretIn(cookieHeader);
      const row = secret === null ? null : await store.signIns.bySecret(hash("sha256", secret));
      if (row === null || (await standsUntil(row)) === null) return null;
      const at = now();
      if (at - row.seenAt > TOUCH_EVERY_MS) await store.signIns.touch(row.id, at);
      return row;
    },
    standsUntil,
    isGood,
    async provenAt(row) {
      let at = row;
      for (let depth = 0; at.parentId !== null; depth++) {
        const parent = depth < MAX_CHAIN ? await store.signIns.get(at.parentId) : null;
        if (parent === null) return 0;
        at = parent;
      }
      return at.createdAt;
    },
    open: (filter, limit) =>
      store.signIns.open(
        { ...filter, createdAfter: now() - ABSOLUTE_LIFE_MS, seenAfter: now() - IDLE_LIFE_MS },
        limit,
      ),
  };
}

/** In place of a user's id: the holder of the cookie signed out. */
const SIGNED_OUT = "sign-out";

function secretIn(cookieHeader: string): string | null {
  const match = /(?:^|;\s*)(?:__Host-)?ostiary_session=([A-Za-z0-9_-]{43})(?:;|$)/.exec(
    cookieHeader,
  );
  return match?.[1] ?? null;
}
