// What the host offers: the programs that build a box, and the layout of its root folder.
import {
  accessSync,
  chmodSync,
  constants,
  copyFileSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
} from "node:fs";
import { randomInt } from "node:crypto";
import { tmpdir } from "node:os";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import type { SystemEntry } from "./arguments.ts";

export function findProgram(name: string, path: string): string | null {
  for (const folder of path.split(delimiter).filter(isAbsolute)) {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return join(folder, name);
    } catch {
      // Not there; the next folder may have it.
    }
  }
  return null;
}

/** /bin, /lib and so on: links where the distribution has merged them into /usr, folders where not. */
export function systemEntries(): SystemEntry[] {
  return ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"].flatMap((at): SystemEntry[] => {
    const found = lstatSync(at, { throwIfNoEntry: false });
    if (found?.isSymbolicLink()) {
      const link = readlinkSync(at).replace(/^\//, "");
      return link.startsWith("usr/") ? [{ at, link }] : [];
    }
    return found?.isDirectory() ? [{ at, folder: true }] : [];
  });
}

/** The two-line files for name lookups; nothing in them is of the host. */
export const NAMES: Readonly<Record<string, string>> = {
  "/etc/passwd": "job:x:1000:1000:job:/job:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
  "/etc/group": "job:x:1000:\nnogroup:x:65534:\n",
  "/etc/hosts": "127.0.0.1 localhost job\n::1 localhost\n",
  "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
};

/** Far from every range that distributions and containers assign. */
const FIRST_UID = 0x70000000;
const SLOTS = 1024;
/** Servers of one machine each take their own part of the range, at random. */
const PARTS = 100_000;

export interface Identities {
  /** Null where the server is an ordinary user: the box then runs as it. */
  take(): { readonly uid: number; readonly gid: number } | null;
  give(uid: number): void;
  readonly full: boolean;
}

/** One uid per running box, so that no two share a limit that the kernel counts by user. */
export function identities(isRoot: boolean): Identities {
  const first = isRoot ? firstUid(readFileSync("/proc/self/uid_map", "utf8"), randomInt(PARTS)) : 0;
  const taken = new Set<number>();
  return {
    get full() {
      return taken.size >= SLOTS;
    },
    take() {
      if (!isRoot) return null;
      let uid = first;
      while (taken.has(uid)) uid += 1;
      taken.add(uid);
      return { uid, gid: uid };
    },
    give: (uid) => void taken.delete(uid),
  };
}

/** Within a container not all numbers exist: then the upper end of those that do, below the reserved ones. */
export function firstUid(map: string, part: number): number {
  const ranges = map
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number))
    .map(([inside = 0, , count = 0]) => ({ from: inside, to: inside + count }));
  if (ranges.some(({ from, to }) => from <= FIRST_UID && to >= FIRST_UID + PARTS * SLOTS))
    return FIRST_UID + part * SLOTS;
  const widest = ranges.sort((a, b) => b.to - b.from - (a.to - a.from))[0] ?? { from: 0, to: 0 };
  return Math.max(1, Math.min(widest.to, 60_000) - SLOTS);
}

/** The Node that runs the server, for scripts of ours inside. Copied once where the boxes' users cannot reach it. */
export function nodeFor(isRoot: boolean): { path(): string; close(): void } {
  let copied: string | null = null;
  const real = realpathSync(process.execPath);
  return {
    path() {
      if (!isRoot || isOpenToAll(real)) return real;
      if (copied !== null) return copied;
      const folder = mkdtempSync(join(tmpdir(), "ostiary-node-"));
      chmodSync(folder, 0o711);
      copied = join(folder, "node");
      copyFileSync(real, copied, constants.COPYFILE_FICLONE);
      chmodSync(copied, 0o555);
      return copied;
    },
    close() {
      if (copied !== null) rmSync(dirname(copied), { recursive: true, force: true });
    },
  };
}

/** All users may enter every folder on the way and execute the file. */
function isOpenToAll(path: string): boolean {
  const OTHERS = 0o001;
  for (let at = path; ; at = dirname(at)) {
    if ((statSync(at).mode & OTHERS) === 0) return false;
    if (at === dirname(at)) return true;
  }
}
