// Whom a user or a key stands for, so that an answer can be explained as that caller would get it.
import { mandateOf, narrowed, type Caller } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { KeyRow } from "../../storage/store/store.ts";
import { ours } from "./directory-faults.ts";
import type { Directory, DirectoryPowers } from "./directory.ts";
import { callerOf, isAlive } from "./index.ts";

export type CallerLookup = Pick<
  Directory,
  "callerFor" | "callerThrough" | "callerWithKey" | "namesOf"
>;
export type CallerLookupPowers = Pick<DirectoryPowers, "store" | "now" | "noteUses">;

const KEYS_AT_ONCE = 100;

export function createCallerLookup(p: CallerLookupPowers): CallerLookup {
  return {
    async callerFor(actor, userOrKey) {
      const named = await p.store.keys.get(userOrKey);
      const key = named?.tenantId === actor.tenantId ? named : null;
      if (key && !isAlive(key, p.now()))
        throw new AppError("CONFLICT", "stale", `the key ${key.prefix}… is not active any more`, {
          remedy: "its calls are refused with 401; name another key: ostiary keys list",
        });
      const userId = key?.userId ?? userOrKey;
      ours(actor, await p.store.users.get(userId), "user", userId);
      const caller = await callerOf(p.store, userId, key ?? (await keyInUse(p, actor, userId)));
      if (!caller) throw new AppError("NOT_FOUND", "unknown", `user '${userId}' not found`);
      return caller;
    },
    async namesOf({ userId, tenantId }) {
      const [user, tenant] = await Promise.all([
        p.store.users.get(userId),
        p.store.tenants.get(tenantId),
      ]);
      return {
        name: user?.tenantId === tenantId ? user.name : null,
        tenantName: tenant?.name ?? null,
      };
    },
    async callerThrough(actor, caller, capsuleId) {
      ours(actor, await p.store.capsules.get(capsuleId), "capsule", capsuleId);
      if (actor.role === "admin") return { ...caller, capsuleId };
      return narrowed(caller, { ...mandateOf(caller), capsuleId });
    },
    async callerWithKey(actor, keyId) {
      const row = await p.store.keys.get(keyId);
      const isTheirs = actor.role === "admin" || row?.userId === actor.userId;
      const key = ours(actor, isTheirs ? row : null, "key", keyId);
      const caller = await callerOf(p.store, key.userId, key);
      if (!caller) throw new AppError("NOT_FOUND", "unknown", `user '${key.userId}' not found`);
      const isActive =
        key.revokedAt === null && (key.expiresAt === null || key.expiresAt > p.now());
      return { caller, isActive };
    },
  };
}

/** The one a user called with last; of those that were never used the newest. */
async function keyInUse(
  p: CallerLookupPowers,
  { tenantId }: Caller,
  userId: string,
): Promise<KeyRow | null> {
  await p.noteUses();
  let found: KeyRow | null = null;
  for (let after = "", more = true; more;) {
    const page = await p.store.keys.list(tenantId, { limit: KEYS_AT_ONCE, after, userId });
    for (const key of page) if (isAlive(key, p.now()) && usedAfter(key, found)) found = key;
    more = page.length === KEYS_AT_ONCE;
    after = page.at(-1)?.id ?? "";
  }
  return found;
}

function usedAfter(key: KeyRow, other: KeyRow | null): boolean {
  if (other === null) return true;
  const [one, two] = [key.lastUsedAt ?? 0, other.lastUsedAt ?? 0];
  return one === two ? key.createdAt >= other.createdAt : one > two;
}
