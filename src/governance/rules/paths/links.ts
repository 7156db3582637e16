// What the file system says about paths: real names, links, whether case counts. Everything else here compares text.
import { lstat, readlink, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";

/** A folder by both of its names. */
export interface FolderNames {
  readonly named: string;
  /** With links resolved. */
  readonly real: string;
}

export const exists = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

/** The path that results from replacing the first link below the root, or null when there is none. */
export async function firstLink(root: string, names: readonly string[]): Promise<string | null> {
  let current = root;
  for (const [index, name] of names.entries()) {
    current = join(current, name);
    const stat = await lstat(current).catch(() => null);
    if (!stat) return null; // the rest does not exist, so it holds no links
    if (!stat.isSymbolicLink()) continue;
    const target = await readlink(current).catch(() => null);
    return target === null ? null : resolve(dirname(current), target, ...names.slice(index + 1));
  }
  return null;
}

export async function namesOf(folder: string): Promise<FolderNames> {
  const named = resolve(folder);
  // What does not exist yet will lie below what does.
  for (
    let there = named, rest: string[] = [];
    ;
    rest = [basename(there), ...rest], there = dirname(there)
  ) {
    const real = await realpath(there).catch(() => null);
    if (real !== null) return { named, real: join(real, ...rest) };
    if (there === dirname(there)) return { named, real: named };
  }
}

/** Asks the file system itself: is the same folder there under a name in the other case? */
export async function foldsCase(folder: string): Promise<boolean> {
  const real = await realpath(folder).catch(() => null);
  const other =
    real === null ? null : real === real.toUpperCase() ? real.toLowerCase() : real.toUpperCase();
  if (real === null || other === null || other === real) return process.platform !== "linux";
  const [one, two] = await Promise.all([real, other].map((path) => lstat(path).catch(() => null)));
  return one != null && two != null && one.dev === two.dev && one.ino === two.ino;
}
