// Files that must stay the ones that were opened. A file that is unlinked while it is open still takes writes, which
// nobody can read afterwards: whoever acknowledges writes asks here first.
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

export interface KeptFiles {
  /** From now on this file must stay the one it is. */
  add(path: string): void;
  /** It may go now. */
  remove(path: string): void;
  /** The first file that is lost. Looks at most every 250 ms, so that it costs nothing per write. */
  lost(): FilesLost | null;
  /** The same, looked up now. */
  look(): FilesLost | null;
}

const LOOK_EVERY_MS = 250;

export function keptFiles(): KeptFiles {
  const known = new Map<string, string>();
  let lookedAt = -Infinity;
  let last: FilesLost | null = null;

  function look(): FilesLost | null {
    lookedAt = performance.now();
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
    lost: () => (performance.now() - lookedAt < LOOK_EVERY_MS ? last : look()),
    look,
  };
}

/** Device and inode: the inode of an open file is not given to another. Null when no name leads to it any more. */
function identityOf(path: string): string | null {
  try {
    const { dev, ino, nlink } = statSync(path, { bigint: true });
    return nlink === 0n ? null : `${dev}:${ino}`;
  } catch {
    return null;
  }
}
