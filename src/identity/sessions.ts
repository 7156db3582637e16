// The console's sign-in: a one-time link (15 minutes, dies on use) becomes a session cookie.
import { hash, randomBytes } from "node:crypto";
import type { Store } from "../store/store.ts";

export interface Sessions {
  /** A one-time link token for the console. */
  createLoginToken(userId: string): Promise<{ token: string; expiresAt: number }>;
  /** Exchanges the token for the value of the session cookie; null when it was used or ran out. */
  redeemLoginToken(
    token: string,
  ): Promise<{ cookie: string; userId: string; maxAgeSeconds: number } | null>;
  signOut(cookie: string | undefined): Promise<void>;
  /** Does this `Cookie` header carry our cookie at all? */
  isOurs(cookieHeader: string): boolean;
  userOf(cookieHeader: string): Promise<string | null>;
}

export const SESSION_COOKIE = "ostiary_session";
const LINK_LIFE_MS = 15 * 60_000;
const ABSOLUTE_LIFE_MS = 12 * 3_600_000;
const IDLE_LIFE_MS = 2 * 3_600_000;
/** How often an ongoing session is written back; keeps reads from becoming writes. */
const TOUCH_EVERY_MS = 5 * 60_000;

interface SessionFact {
  userId: string;
  createdAt: number;
  seenAt: number;
}

export function createSessions(facts: Store["facts"], now: () => number): Sessions {
  const linkName = (token: string): string => `login.${hash("sha256", token)}`;
  const sessionName = (secret: string): string => `session.${hash("sha256", secret)}`;

  return {
    async createLoginToken(userId) {
      const token = randomBytes(32).toString("base64url");
      const expiresAt = now() + LINK_LIFE_MS;
      await facts.set(linkName(token), JSON.stringify({ userId, expiresAt }));
      return { token, expiresAt };
    },
    async redeemLoginToken(token) {
      const fact = await facts.take(linkName(token));
      if (fact === null) return null;
      const { userId, expiresAt } = JSON.parse(fact) as { userId: string; expiresAt: number };
      if (expiresAt <= now()) return null;
      const secret = randomBytes(32).toString("base64url");
      const session: SessionFact = { userId, createdAt: now(), seenAt: now() };
      await facts.set(sessionName(secret), JSON.stringify(session));
      return { cookie: secret, userId, maxAgeSeconds: ABSOLUTE_LIFE_MS / 1000 };
    },
    async signOut(cookieHeader) {
      const secret = cookieHeader === undefined ? null : secretIn(cookieHeader);
      if (secret !== null) await facts.take(sessionName(secret));
    },
    isOurs: (cookieHeader) => secretIn(cookieHeader) !== null,
    async userOf(cookieHeader) {
      const secret = secretIn(cookieHeader);
      const fact = secret === null ? null : await facts.get(sessionName(secret));
      if (secret === null || fact === null) return null;
      const session = JSON.parse(fact) as SessionFact;
      const at = now();
      if (at - session.createdAt > ABSOLUTE_LIFE_MS || at - session.seenAt > IDLE_LIFE_MS) {
        await facts.take(sessionName(secret));
        return null;
      }
      if (at - session.seenAt > TOUCH_EVERY_MS) {
        await facts.set(sessionName(secret), JSON.stringify({ ...session, seenAt: at }));
      }
      return session.userId;
    },
  };
}

function secretIn(cookieHeader: string): string | null {
  const match = /(?:^|;\s*)(?:__Host-)?ostiary_session=([A-Za-z0-9_-]{43})(?:;|$)/.exec(
    cookieHeader,
  );
  return match?.[1] ?? null;
}
