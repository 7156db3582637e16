// Callers as they are today: of a console session, and of a mandate that something was left with.
import { mandateOf, narrowed, type Caller, type Mandate } from "../../contract/call.ts";
import type { SignInRow } from "../../storage/store/store.ts";
import { anonymous, callerOf } from "./caller-of.ts";
import type { CallerStatus } from "./caller-watch.ts";
import { isAlive, noCredentials } from "./credential-faults.ts";
import type { IdentityPowers } from "./index.ts";
import { answered } from "./store-answer.ts";

export interface CurrentCallers {
  /** Of the session that this `Cookie` header names. Throws UNAUTHORIZED when it has ended. */
  fromSession(cookie: string): Promise<Caller>;
  /** With `isThere` a sign-in that ran out counts as ended; else only one that a person ended does. */
  statusOf(mandate: Mandate, isThere: boolean): Promise<CallerStatus | null>;
}

export function createCurrentCallers(p: IdentityPowers): CurrentCallers {
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

  return {
    async fromSession(cookie) {
      const signIn = await answered(p.sessions.ofCookie(cookie));
      const caller = signIn && (await signedIn(signIn));
      if (!caller) throw noCredentials("the console session has ended");
      return caller;
    },
    async statusOf(mandate, isThere) {
      const status = await today(mandate, isThere);
      if (status?.caller.tenantId !== mandate.tenantId) return null;
      return { ...status, caller: narrowed(status.caller, mandate) };
    },
  };
}
