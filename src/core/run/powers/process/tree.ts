// What lies below a folder, read through opened folders, so that none can be swapped for a link on the way.
import { constants, existsSync, type BigIntStats } from "node:fs";
import { lstat, open, readdir, type FileHandle } from "node:fs/promises";
import { join } from "node:path";

export interface EntryState {
  readonly type: "file" | "dir" | "link" | "other";
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
  /** Only the system sets it: an entry with the same value was not changed. */
  readonly ctimeNs: bigint;
  readonly mode: number;
  readonly links: bigint;
}

export interface TreeOptions {
  readonly maxEntries: number;
  readonly signal: AbortSignal;
  /** False: neither counted nor entered. */
  readonly accept?: (within: string) => boolean;
  /** Called for each entry in the order of the walk; `reach` is a path that passes no folder again. */
  readonly visit?: (within: string, seen: EntryState, reach: string) => Promise<void>;
}

export const FOLDER_FLAGS =
  constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
export const FILE_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** How many entries of a folder are visited at a time. */
const AT_ONCE = 16;

/** Every entry below, by its path within. `complete` is false where `maxEntries` ended it. */
export async function treeOf(
  root: string,
  options: TreeOptions,
): Promise<{ entries: Map<string, EntryState>; complete: boolean }> {
  const entries = new Map<string, EntryState>();
  const walk = async (reach: string, within: string): Promise<boolean> => {
    const handle = await open(reach, FOLDER_FLAGS).catch(unlessGone);
    if (!handle) return true; // not readable, or gone meanwhile
    const visits: Promise<void>[] = [];
    try {
      const folder = pathOf(handle, reach);
      for (const name of (await readdir(folder)).sort()) {
        options.signal.throwIfAborted();
        const place = within === "" ? name : `${within}/${name}`;
        if (options.accept?.(place) === false) continue;
        const stat = await lstat(join(folder, name), { bigint: true }).catch(unlessGone);
        if (!stat) continue;
        if (entries.size >= options.maxEntries) return false;
        const seen = stateOf(stat);
        entries.set(place, seen);
        if (options.visit) visits.push(options.visit(place, seen, join(folder, name)));
        if (visits.length >= AT_ONCE || seen.type === "dir") await Promise.all(visits.splice(0));
        if (seen.type === "dir" && !(await walk(join(folder, name), place))) return false;
      }
      await Promise.all(visits.splice(0));
      return true;
    } finally {
      await Promise.allSettled(visits); // they reach their files through this folder
      await handle.close();
    }
  };
  return { complete: await walk(root, ""), entries };
}

export function stateOf(stat: BigIntStats): EntryState {
  const { ino, size, mtimeNs, ctimeNs, nlink: links } = stat;
  const type = stat.isFile()
    ? "file"
    : stat.isDirectory()
      ? "dir"
      : stat.isSymbolicLink()
        ? "link"
        : "other";
  return { type, ino, size, mtimeNs, ctimeNs, links, mode: Number(stat.mode & 0o7777n) };
}

/** The path to entries of an opened folder that does not pass its parents again, where the system has one. */
export function pathOf(handle: FileHandle, path: string): string {
  return hasDescriptorPaths() ? `/proc/self/fd/${handle.fd}` : path;
}

function hasDescriptorPaths(): boolean {
  return process.platform === "linux" && existsSync("/proc/self/fd");
}

/** What cannot be read, or is gone by now, is left out. */
export function unlessGone(cause: unknown): null {
  const code = cause instanceof Error && "code" in cause ? cause.code : null;
  if (
    code === "ENOENT" ||
    code === "EACCES" ||
    code === "EPERM" ||
    code === "ELOOP" ||
    code === "ENOTDIR"
  )
    return null;
  throw cause;
}
