import type { Caller } from "../call.ts";

export interface Credentials {
  /** `Authorization` header as sent. */
  readonly authorization: string | undefined;
  /** `Cookie` header as sent; only the console's own cookie counts. */
  readonly cookie: string | undefined;
}

export interface Identity {
  /** The caller a credential stands for. Throws UNAUTHORIZED; a store that cannot answer is UNAVAILABLE, never anonymous. */
  identify(credentials: Credentials): Caller | Promise<Caller>;
  /** A one-time link token for the console (15 minutes). */
  createLoginToken(userId: string): Promise<string>;
  /** Exchanges the token for the value of the session cookie; null when it was used or ran out. */
  redeemLoginToken(
    token: string,
  ): Promise<{ cookie: string; userId: string; maxAgeSeconds: number } | null>;
  /** Ends a console session. */
  signOut(cookie: string | undefined): Promise<void>;
}
