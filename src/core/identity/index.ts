// Who is calling: a credential becomes a Caller, or the request goes no further.
import type { Caller, Mandate } from "../../contract/call.ts";
import type { SignInRow, Store } from "../../storage/store/store.ts";
import { anonymous } from "./caller-of.ts";
import type { CallerStatus } from "./caller-watch.ts";
import { noCredentials } from "./credential-faults.ts";
import { createCurrentCallers } from "./current-callers.ts";
import { createKeyCallers } from "./key-callers.ts";
import type { NewSession, Sessions } from "./sessions.ts";
import { createSignIns, type SignInView } from "./sign-ins.ts";

export type { SignInView } from "./sign-ins.ts";

export interface Credentials {
  /** `Authorization` header as sent. */
  readonly authorization: string | undefined;
  /** `Cookie` header as sent; only the console's own cookie counts. */
  readonly cookie: string | undefined;
}

export interface Identity {
  /** A one-time link for a person to the console; FORBIDDEN / scope_missing for an agent's key. */
  createLoginToken(caller: Caller): Promise<{ token: string; expiresAt: number }>;
  /** Exchanges a link's token for a session; null when it was used, ran out, or what made it is gone. */
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
   * The caller who left something behind, with what they had then and still have today; null when user or key is gone,
   * or their sign-in was ended by a person.
   */
  again(mandate: Mandate): Promise<Caller | null>;
  /** The same for a caller who is still connected: a sign-in that ran out counts as ended, too. */
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
  /** Called for every sign-in before the session is handed out. */
  readonly onSignIn: (signIn: SignInRow) => Promise<void>;
  /** Called after a sign-in has ended; resolves when that holds everywhere. */
  readonly onSignInEnded: (signIn: SignInRow, by: string) => Promise<void>;
  /** Set only on loopback with authentication switched off: the user that a request without credential is. */
  readonly anonymousUserId: string | null;
}

export function createIdentity(p: IdentityPowers): Identity {
  const keys = createKeyCallers(p);
  const current = createCurrentCallers(p);

  return {
    ...createSignIns(p),
    identify({ authorization, cookie }, connection) {
      if (authorization !== undefined) {
        if (!/^bearer /i.test(authorization))
          throw noCredentials("only `Authorization: Bearer <key>` is understood");
        return keys.fromKey(authorization, connection);
      }
      if (cookie !== undefined && p.sessions.isOurs(cookie)) return current.fromSession(cookie);
      if (p.anonymousUserId !== null) return anonymous(p.store, p.anonymousUserId);
      throw noCredentials("this needs a credential");
    },
    again: async (mandate) => (await current.statusOf(mandate, false))?.caller ?? null,
    standOf: (mandate) => current.statusOf(mandate, true),
    forget: keys.forget,
    flush: keys.flush,
  };
}
