// The workspace itself, mounted into the sandbox: what must be hidden or write-protected there, and what to undo after.
import { chmod, lstat, mkdtemp, open, readlink, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { PathRules } from "../../../../governance/rules/governance.ts";
import type { MergedChanges } from "./merge.ts";
import { disarmNew, repositoriesIn, submodulesOf } from "./repositories.ts";
import { FILE_FLAGS, FOLDER_FLAGS, treeOf, type EntryState } from "./tree.ts";

/** Cannot be created where they do not exist yet; the rules decide which of them are protected. */
const COMMON = [
  ".git",
  ".gitmodules",
  ".gitattributes",
  ".husky",
  ".env",
  ".env.local",
  ".npmrc",
  ".mcp.json",
  ".vscode",
  ".idea",
  ".cursor",
  ".claude",
] as const;

export interface WorkspaceScan {
  readonly entries: ReadonlyMap<string, EntryState>;
  /** Within the workspace: cannot be changed or made from inside. */
  readonly protect: readonly string[];
  /** Within the workspace: existing, but hidden from this caller. */
  readonly hidden: readonly { readonly within: string; readonly type: EntryState["type"] }[];
  readonly complete: boolean;
  /** Existing repositories, and paths where none can be created while the job runs: kept empty, or hidden. */
  readonly repositories: ReadonlySet<string>;
}

export async function scanWorkspace(
  root: string,
  pathRules: PathRules,
  options: { maxEntries: number; signal: AbortSignal },
): Promise<WorkspaceScan> {
  const hidden: { within: string; type: EntryState["type"] }[] = [];
  const readable = async (within: string): Promise<void> => {
    const found = await lstat(join(root, within)).catch(() => null);
    if (found) hidden.push({ within, type: found.isDirectory() ? "dir" : "file" });
  };
  const refused: string[] = [];
  const { entries, complete } = await treeOf(root, {
    ...options,
    accept(within) {
      if (pathRules.allows(join(root, within), "read")) return true;
      refused.push(within);
      return false;
    },
  });
  for (const within of refused) await readable(within);
  const there = await repositoriesIn(root, (within) =>
    pathRules.allows(join(root, within), "read"),
  );
  const unwritable = [...entries.keys()].filter(
    (within) => !pathRules.allows(join(root, within), "write"),
  );
  const existing = withOtherNames(
    [...new Set([...unwritable, ...there])].filter((within) => within !== ""),
    entries,
  );
  const common = [...COMMON, ...(await submodulesOf(root)).map((path) => `${path}/.git`)];
  const missing = common.filter(
    (within) =>
      !entries.has(within) &&
      !there.has(within) &&
      !pathRules.allows(join(root, within), "write") &&
      hasParent(within, entries),
  );
  const outermost = outermostOf(existing);
  const held = missing.filter((within) => basename(within) === ".git");
  return {
    entries,
    hidden,
    complete,
    protect: [...outermost, ...missing],
    repositories: new Set([...there, ...held, ...hidden.map(({ within }) => within)]),
  };
}

const outermostOf = (paths: readonly string[]): string[] => {
  const all = new Set(paths);
  const isBelowOne = (path: string): boolean => {
    for (let above = dirname(path); above !== "."; above = dirname(above))
      if (all.has(above)) return true;
    return false;
  };
  return [...all].filter((path) => !isBelowOne(path));
};

/** A file with several names is changed through any of them. */
function withOtherNames(
  paths: readonly string[],
  entries: ReadonlyMap<string, EntryState>,
): string[] {
  const outer = outermostOf(paths);
  const isCovered = (within: string): boolean =>
    outer.some((path) => within === path || within.startsWith(`${path}/`));
  const linked = [...entries].filter(([, { type, links }]) => type === "file" && links > 1n);
  const guarded = new Set(linked.filter(([within]) => isCovered(within)).map(([, { ino }]) => ino));
  return [...paths, ...linked.filter(([, { ino }]) => guarded.has(ino)).map(([within]) => within)];
}

const hasParent = (within: string, entries: ReadonlyMap<string, EntryState>): boolean =>
  dirname(within) === "." || entries.get(dirname(within))?.type === "dir";

/** After the job: lists what was written, removes what is not allowed, clears permission bits that no job may set. */
export async function collect(
  root: string,
  pathRules: PathRules,
  before: WorkspaceScan,
  options: { maxEntries: number; signal: AbortSignal; aside: string },
): Promise<MergedChanges> {
  const changes: MergedChanges = { written: [], removed: [], refused: [] };
  // First of all, and even if the rest fails.
  const disarmed = await disarmNew(root, before.repositories);
  for (const path of disarmed) changes.refused.push({ path, reason: "path_forbidden" });
  const { entries: after } = await treeOf(root, {
    ...options,
    accept: (within) => pathRules.allows(join(root, within), "read"),
  });
  const planted: string[] = [];
  for (const [within, seen] of after) {
    const known = before.entries.get(within);
    const same = known?.ino === seen.ino && known.ctimeNs === seen.ctimeNs;
    if (same || (seen.type === "dir" && known?.type === "dir")) continue;
    if (!known && !pathRules.allows(join(root, within), "write")) planted.push(within);
    else if (seen.type === "file") {
      if (await clearBits(join(root, within), seen, known))
        changes.refused.push({ path: within, reason: "execute_bit" });
      if (known?.size !== seen.size || known.mtimeNs !== seen.mtimeNs)
        changes.written.push({ path: within, bytes: Number(seen.size) });
    }
  }
  for (const within of before.entries.keys()) if (!after.has(within)) changes.removed.push(within);
  for (const within of planted.filter(
    (one) => !planted.some((other) => one.startsWith(`${other}/`)),
  )) {
    await takeAway(join(root, within), options.aside);
    changes.refused.push({ path: within, reason: "path_forbidden" });
  }
  return changes;
}

/** Bits that the file did not have: setuid, setgid and execute. */
async function clearBits(
  path: string,
  seen: EntryState,
  known: EntryState | undefined,
): Promise<boolean> {
  const extra = seen.mode & 0o6111 & ~(known?.mode ?? 0);
  if (extra === 0) return false;
  const handle = await open(path, FILE_FLAGS).catch(() => null);
  if (!handle) return false;
  try {
    const found = await handle.stat({ bigint: true });
    if (found.ino === seen.ino && (await isAt(handle.fd, path)))
      await handle.chmod(seen.mode & ~extra);
    return true;
  } finally {
    await handle.close();
  }
}

/** Moved where no job can reach it first, then removed: nothing inside can be swapped meanwhile. */
async function takeAway(path: string, aside: string): Promise<void> {
  const parent = await open(dirname(path), FOLDER_FLAGS).catch(() => null);
  if (!parent) return;
  try {
    if (!(await isAt(parent.fd, dirname(path)))) return;
    const reach =
      process.platform === "linux" ? `/proc/self/fd/${parent.fd}/${basename(path)}` : path;
    const place = await mkdtemp(join(aside, "taken-"));
    await rename(reach, join(place, "it")).catch(() => rm(reach, { recursive: true, force: true }));
    await rm(place, { recursive: true, force: true });
  } finally {
    await parent.close();
  }
}

async function isAt(fd: number, path: string): Promise<boolean> {
  return process.platform !== "linux" || (await readlink(`/proc/self/fd/${fd}`)) === path;
}

interface Person {
  readonly uid: number;
  readonly gid: number;
}

/** Whether a user (null: any) can use a folder: pass all folders above, and read or write it. */
export async function isOpenTo(
  path: string,
  user: Person | null,
  access: "read" | "write",
): Promise<boolean> {
  return (await may(path, access === "read" ? 5 : 7, user)) && isPassable(dirname(path), user);
}

/** Whether entries of a folder can be reached by a known name. */
export async function isPassable(path: string, user: Person | null = null): Promise<boolean> {
  for (let folder = path; ; folder = dirname(folder)) {
    if (!(await may(folder, 1, user))) return false;
    if (folder === dirname(folder)) return true;
  }
}

async function may(path: string, bits: number, user: Person | null): Promise<boolean> {
  const found = await stat(path).catch(() => null);
  if (!found) return false;
  const shift = found.uid === user?.uid ? 6 : found.gid === user?.gid ? 3 : 0;
  return ((found.mode >> shift) & bits) === bits;
}

/** So that an owner can always remove what a job left. */
export const removeAll = async (path: string): Promise<void> => {
  await rm(path, { recursive: true, force: true }).catch(async () => {
    await chmod(path, 0o700).catch(() => undefined);
    await rm(path, { recursive: true, force: true });
  });
};
