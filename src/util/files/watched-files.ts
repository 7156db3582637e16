// Files that must stay in place while they are open. A file that is unlinked still accepts writes, but nobody can read
// them afterwards: code that acknowledges writes checks here first.
import { statSync } from "node:fs";
import { basename } from "node:path";

/** The message names the file only; the whole path is for the server's own log. */
export class FilesLost extends Error {
  readonly path: string;
  constructor(path: string) {
    super(
      `${basename(path)} of the data directory was removed, moved or replaced while the server runs`,
    );
    this.path = path;
  }
}

export const FILES_LOST_REMEDY =
  "put the data directory back where it was, or stop the server, restore a backup and start it again";

export interface WatchedFiles {
  /** From now on this path must lead to the same file. */
  add(path: string): void;
  /** The file may be removed from now on. */
  remove(path: string): void;
  /** The first file that is lost. Checks the disk at most every 250 ms, so that it costs nothing per write. */
  lost(): FilesLost | null;
  /** The same, checked now. */
  check(): FilesLost | null;
}

const CHECK_EVERY_MS = 250;

export function createWatchedFiles(): WatchedFiles {
  const known = new Map<string, string>();
  let checkedAt = -Infinity;
  let last: FilesLost | null = null;

  function check(): FilesLost | null {
    checkedAt = performance.now();
    for (const [path, identity] of known)
      if (identityOf(path) !== identity) return (last = new FilesLost(path));
    return (last = null);
  }

  return {
    add(path) {
      const identity = identityOf(path);
      if (identity === null) throw new FilesLost(path);
      known.set(path, identity);
    },
    remove: (path) => void known.delete(path),
    lost: () => (performance.now() - checkedAt < CHECK_EVERY_MS ? last : check()),
    check,
  };
}

/** Device and inode: an open file keeps its inode. Null when the path leads to no file. */
function identityOf(path: string): string | null {
  try {
    const { dev, ino, nlink } = statSync(path, { bigint: true });
    return nlink === 0n ? null : `${dev}:${ino}`;
  } catch {
    return null;
  }
}
