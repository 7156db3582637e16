// Why a credential is refused.
import { AppError } from "../../contract/errors.ts";
import type { KeyRow } from "../../storage/store/store.ts";

export const isAlive = (key: KeyRow, now: number): boolean =>
  key.revokedAt === null && (key.expiresAt === null || key.expiresAt > now);

export function assertAlive(key: KeyRow, now: number): void {
  if (isAlive(key, now)) return;
  const why = key.revokedAt === null ? "has expired" : "was revoked";
  throw new AppError("UNAUTHORIZED", "key_inactive", `the key ${key.prefix}… ${why}`, {
    remedy: "ask an administrator for a new key (ostiary keys create)",
  });
}

export const badCredentials = (): AppError =>
  new AppError("UNAUTHORIZED", "bad_credentials", "this key is not known here", {
    remedy: "check the key, or ask an administrator for a new one",
  });

export const noCredentials = (message: string): AppError =>
  new AppError("UNAUTHORIZED", "no_credentials", message, {
    remedy:
      "send `Authorization: Bearer <key>`; the first key is in admin.key of the data directory",
  });
