// From a given path to an opened file or folder that the rules were checked against.
import type { BigIntStats } from "node:fs";
import { lstat, mkdir, open, readlink, realpath, type FileHandle } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { AppError } from "../../../../contract/errors.ts";
import type {
  Access,
  FileRules,
  Located,
  PathRules,
} from "../../../../governance/rules/governance.ts";
import { descriptorPath, FOLDER_FLAGS, hasDescriptorPaths, pathOf } from "./descriptor.ts";
import { changed, failed, forbidden, translate } from "./fault.ts";
import { giveToOwner } from "./owner.ts";
import { isRepositoryAt } from "./repository.ts";

/** One call's view of its files. */
export interface FileContext {
  readonly rules: FileRules;
  readonly paths: PathRules;
  readonly signal: AbortSignal;
  /** One at a time, in this process: what is checked cannot be moved before it is done. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
  /** Of a file with several names: throws when another one of them lies under a forbidden path. */
  readonly requireUnguarded: (given: string, stat: BigIntStats) => Promise<void>;
}

/** The gate has checked the path before; here what was opened is checked. */
export async function locate(
  { paths, rules }: FileContext,
  given: string,
  access: Access,
  options: { itself?: true } = {},
): Promise<Located> {
  const found = await paths.locate(given, access, options);
  if (!found.ok) {
    const { reason, message, remedy } = found;
    const code = reason === "path_not_found" ? "EXECUTION_FAILED" : "FORBIDDEN";
    throw new AppError(code, reason, message, { remedy });
  }
  for (const folder of rules.own) {
    // The server's own folders are created with their first use.
    if (found.path === folder || found.path.startsWith(`${folder}/`))
      await mkdir(folder, { recursive: true, mode: 0o700 });
  }
  return found;
}

/** Opens without following a final link, and makes sure that it is what the rules allowed. */
export async function withOpened<T>(
  { paths }: FileContext,
  given: string,
  located: Located,
  flags: number,
  use: (handle: FileHandle, stat: BigIntStats) => Promise<T>,
): Promise<T> {
  let handle: FileHandle | null = null;
  try {
    const before = await lstat(located.path, { bigint: true });
    requireKind(given, before, flags);
    handle = await open(located.path, flags);
    const stat = await handle.stat({ bigint: true });
    requireKind(given, stat, flags);
    const same = stat.dev === before.dev && stat.ino === before.ino;
    if (!same || !(await stillThere(paths, located, handle, stat))) throw changed(given);
    return await use(handle, stat);
  } catch (cause) {
    throw translate(given, cause);
  } finally {
    await handle?.close();
  }
}

/**
 * A folder above may have been swapped for a link between check and opening. Where the system has the path of a
 * descriptor, that path is checked; elsewhere the links are resolved once more.
 */
async function stillThere(
  paths: PathRules,
  located: Located,
  handle: FileHandle,
  stat: BigIntStats,
): Promise<boolean> {
  if (hasDescriptorPaths()) return paths.allows(await readlink(descriptorPath(handle)), "read");
  if ((await realpath(located.path)) !== located.path) return false;
  const again = await lstat(located.path, { bigint: true });
  return again.dev === stat.dev && again.ino === stat.ino;
}

/** An entry of an opened folder: the folder cannot be swapped under it any more. */
export interface FolderEntry {
  readonly name: string;
  /** The path that the rules check. */
  readonly real: string;
  /** The path to use for it. */
  readonly reach: string;
  readonly folder: BigIntStats;
  /** The path of a sibling, e.g. a temporary file. */
  beside(name: string): string;
  /** Null when nothing is there. Does not follow a link. */
  look(): Promise<BigIntStats | null>;
  /**
   * Throws when the folder has been moved to where the entry would be refused, or when the entry would make it a
   * repository. Called one at a time, so that two entries cannot complete each other.
   */
  requireStillAllowed(): Promise<void>;
}

/** Opens the folder that holds what was located; `make` creates missing ones on the way. */
export async function withEntry<T>(
  context: FileContext,
  given: string,
  located: Located,
  { access, make = false }: { access: Access; make?: boolean },
  use: (entry: FolderEntry) => Promise<T>,
): Promise<T> {
  const { paths } = context;
  if (access === "write" && paths.isRoot(located.path))
    throw forbidden(given, "is an allowed folder itself", "name something inside it");
  let handle: FileHandle | null = null;
  try {
    const parent = dirname(located.path);
    const name = basename(located.path);
    handle = make ? await makeFolders(context, given, parent) : await open(parent, FOLDER_FLAGS);
    const opened = handle;
    const realOf = async (): Promise<string> => {
      const real = hasDescriptorPaths()
        ? await readlink(descriptorPath(opened))
        : await realpath(parent);
      if (!hasDescriptorPaths() && real !== parent) throw changed(given);
      if (!paths.allows(join(real, name), access)) throw changed(given);
      return real;
    };
    const real = await realOf();
    const reach = pathOf(opened, real);
    return await use({
      name,
      real: join(real, name),
      reach: join(reach, name),
      folder: await opened.stat({ bigint: true }),
      beside: (other) => join(reach, other),
      look: () => statIfThere(join(reach, name)),
      async requireStillAllowed() {
        await realOf();
        if (access === "write") await requireNoRepository(given, reach, name);
      },
    });
  } catch (cause) {
    throw translate(given, cause);
  } finally {
    await handle?.close();
  }
}

/** The rules were checked before, but the other parts may have been created meanwhile. */
async function requireNoRepository(given: string, folder: string, name: string): Promise<void> {
  if (!(await isRepositoryAt(folder, name))) return;
  throw forbidden(
    given,
    "its folder would become a git repository",
    "use another name; this rule has no exception",
  );
}

export const statIfThere = (path: string): Promise<BigIntStats | null> =>
  lstat(path, { bigint: true }).catch((cause: unknown) => {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw cause;
  });

/** Opens a folder, making what is missing beneath the deepest one that is there. */
async function makeFolders(context: FileContext, given: string, path: string): Promise<FileHandle> {
  const there = await open(path, FOLDER_FLAGS).catch((cause: unknown) => {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT") return null;
    if (code === "ENOTDIR")
      throw failed(
        "not_a_directory",
        given,
        "one of the folders above is a file",
        "use another path",
      );
    throw cause;
  });
  if (there) return there;
  if (!context.paths.allows(path, "write")) throw changed(given);
  const parent = await makeFolders(context, given, dirname(path));
  try {
    const real = hasDescriptorPaths() ? await readlink(descriptorPath(parent)) : dirname(path);
    const name = basename(path);
    if (!context.paths.allows(join(real, name), "write")) throw changed(given);
    const reach = join(pathOf(parent, dirname(path)), name);
    const made = await context.inTurn(async () => {
      await requireNoRepository(given, pathOf(parent, dirname(path)), name);
      return makeFolder(reach);
    });
    const handle = await open(reach, FOLDER_FLAGS);
    if (made) await giveToOwner(handle, await parent.stat({ bigint: true }));
    return handle;
  } finally {
    await parent.close();
  }
}

/** False: it was created meanwhile. */
export async function makeFolder(reach: string): Promise<boolean> {
  try {
    await mkdir(reach, { mode: 0o755 });
    return true;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "EEXIST") throw cause;
    return false;
  }
}

export function requireKind(given: string, stat: BigIntStats, flags: number): void {
  if (stat.isSymbolicLink()) throw changed(given);
  if (flags === FOLDER_FLAGS) {
    if (!stat.isDirectory())
      throw failed(
        "not_a_directory",
        given,
        "is not a directory",
        "name a directory, or use file/read",
      );
  } else if (stat.isDirectory()) {
    throw failed("not_a_file", given, "is a directory", "name a file, or use file/list");
  } else if (!stat.isFile()) {
    throw failed("not_a_file", given, "is a device, socket or pipe", "name a regular file");
  }
}
