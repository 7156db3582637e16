// The owner of files that the server creates.
import type { BigIntStats } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { AppError } from "../../../../contract/errors.ts";
import { quote } from "../../../../util/text/quote.ts";

/** What a server running as root creates in a user's folder belongs to that user. */
export async function giveToOwner(handle: FileHandle, like: BigIntStats): Promise<void> {
  if (process.geteuid?.() !== 0 || (like.uid === 0n && like.gid === 0n)) return;
  await handle.chown(Number(like.uid), Number(like.gid));
}

/**
 * A second name of a file may stand for one that lies under a forbidden path. Files of the folder's own owner are fine,
 * and those of an unprivileged server; a file of another user with several names is refused.
 */
export function requireOwnLinks(given: string, stat: BigIntStats, folder: BigIntStats): void {
  if (stat.nlink <= 1n || stat.uid === folder.uid) return;
  const self = process.geteuid?.();
  if (self !== undefined && self !== 0 && stat.uid === BigInt(self)) return;
  throw foreignLink(given);
}

export function foreignLink(given: string): AppError {
  return new AppError(
    "FORBIDDEN",
    "path_forbidden",
    `path ${quote(given)}: is another name of a file that lies elsewhere`,
    { remedy: "use a file that has one name only" },
  );
}
