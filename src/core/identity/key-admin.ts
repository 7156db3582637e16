// Keys of the actor's tenant: made, limited, revoked, and replaced by a new one.
import type { Caller } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import type { Action, KeyRow } from "../../storage/store/store.ts";
import { invalid, ours } from "./directory-faults.ts";
import type { Directory, DirectoryPowers, KeyView, NewKey } from "./directory.ts";
import { callerOf } from "./caller-of.ts";
import { mintKey } from "./keys.ts";
import { scopesFor } from "./scopes.ts";

export type KeyAdmin = Pick<
  Directory,
  "createKey" | "getKey" | "listKeys" | "updateKey" | "revokeKey" | "rotateKey"
>;

export interface KeyAdminPowers extends Pick<
  DirectoryPowers,
  "store" | "serverSecret" | "ids" | "now"
> {
  readonly commit: (actor: Caller, action: Action, body: Record<string, unknown>) => Promise<void>;
}

/** Keys expire after this time unless the request names another. */
const KEY_LIFE_MS = 90 * 24 * 3_600_000;

export function createKeyAdmin(p: KeyAdminPowers): KeyAdmin {
  return {
    async createKey(actor, key) {
      const user = await p.store.users.get(key.userId);
      if (user?.tenantId !== actor.tenantId)
        throw invalid("/userId", `there is no user '${key.userId}'`, "create the user first");
      if (key.capsuleId !== undefined) {
        const capsule = await p.store.capsules.get(key.capsuleId);
        if (capsule?.tenantId !== actor.tenantId)
          throw invalid(
            "/capsuleId",
            `there is no capsule '${key.capsuleId}'`,
            "create the capsule first",
          );
      }
      const expiresAt = key.expiresAt ?? p.now() + KEY_LIFE_MS;
      if (expiresAt <= p.now())
        throw invalid("/expiresAt", "expected a time in the future", "leave it out for 90 days");
      const scopes = key.scopes ?? (await fittingScopes(p.store, key));
      return newKey(p, actor, { ...key, scopes, expiresAt });
    },
    getKey: async (actor, id) => viewOf(ours(actor, await p.store.keys.get(id), "key", id)),
    listKeys: async (actor, page) => (await p.store.keys.list(actor.tenantId, page)).map(viewOf),
    async updateKey(actor, id, limits) {
      ours(actor, await p.store.keys.get(id), "key", id);
      const row = ours(actor, await p.store.keys.update(id, { limits }), "key", id);
      await p.commit(actor, "key.changed", { keyId: id, userId: row.userId, change: { limits } });
      return viewOf(row);
    },
    async revokeKey(actor, id) {
      const row = ours(actor, await p.store.keys.get(id), "key", id);
      const at = p.now();
      const revoked = await p.store.keys.revoke(id, at);
      if (revoked) await p.commit(actor, "key.revoked", { keyId: id, userId: row.userId });
      return viewOf({ ...row, revokedAt: revoked ? at : row.revokedAt });
    },
    async rotateKey(actor, id, overlapSeconds) {
      const old = ours(actor, await p.store.keys.get(id), "key", id);
      if (old.revokedAt !== null)
        throw new AppError("CONFLICT", "stale", `the key ${old.prefix}… was revoked`, {
          remedy: "create a new key",
        });
      const now = p.now();
      const life =
        old.expiresAt === null ? KEY_LIFE_MS : Math.max(old.expiresAt - old.createdAt, 60_000);
      const { userId, name, scopes } = old;
      const next = await newKey(p, actor, {
        userId,
        name,
        scopes,
        ...(old.capsuleId === null ? {} : { capsuleId: old.capsuleId }),
        ...(old.level === null ? {} : { level: old.level }),
        limits: old.limits,
        expiresAt: now + life,
      });
      await p.store.keys.expire(
        id,
        Math.min(now + overlapSeconds * 1000, old.expiresAt ?? Infinity),
      );
      await p.commit(actor, "key.rotated", { keyId: id, replacedBy: next.key.id, overlapSeconds });
      return next;
    },
  };
}

async function newKey(
  p: KeyAdminPowers,
  actor: Caller,
  key: NewKey & { scopes: readonly string[]; expiresAt: number },
): Promise<{ key: KeyView; secret: string }> {
  const { secret, prefix, salt, hash } = mintKey(p.serverSecret);
  const now = p.now();
  const row: KeyRow = {
    id: p.ids.next("key", now),
    tenantId: actor.tenantId,
    userId: key.userId,
    name: key.name,
    prefix,
    salt,
    hash,
    scopes: key.scopes,
    level: key.level ?? null,
    capsuleId: key.capsuleId ?? null,
    createdAt: now,
    expiresAt: key.expiresAt,
    revokedAt: null,
    lastUsedAt: null,
    limits: key.limits ?? null,
  };
  await p.store.keys.create(row);
  await p.commit(actor, "key.created", {
    keyId: row.id,
    userId: row.userId,
    prefix,
    scopes: key.scopes,
    level: row.level,
  });
  return { key: viewOf(row), secret };
}

const fittingScopes = async (
  store: KeyAdminPowers["store"],
  { userId, level }: NewKey,
): Promise<readonly string[]> =>
  scopesFor(level ?? (await callerOf(store, userId, null))?.level ?? "view_only");

function viewOf(row: KeyRow): KeyView {
  const { salt: _salt, hash: _hash, ...view } = row;
  return view;
}
