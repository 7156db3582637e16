// Callers by key: what was read from the store is remembered until something is revoked or changed.
import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Caller } from "../../contract/call.ts";
import type { KeyRow } from "../../storage/store/store.ts";
import { createCoalescer } from "../../util/async/coalesce.ts";
import { callerOf } from "./caller-of.ts";
import { assertAlive, badCredentials } from "./credential-faults.ts";
import type { IdentityPowers } from "./index.ts";
import { isWellFormed, matches, prefixOf } from "./keys.ts";
import { answered } from "./store-answer.ts";

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

export interface KeyCallers {
  /** `authorization` is a bearer header as it was sent. */
  fromKey(authorization: string, connection: object | undefined): Caller | Promise<Caller>;
  forget(): void;
  /** Writes the last-used times that gathered. */
  flush(): Promise<void>;
}

export function createKeyCallers(
  p: Pick<IdentityPowers, "store" | "serverSecret" | "now">,
): KeyCallers {
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

  return {
    fromKey,
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
