// A copy of the workspace for one job, and what the job changed in it. The original is never reached from inside.
import { constants } from "node:fs";
import { chmod, copyFile, lchown, lstat, mkdir, open, readlink, symlink } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "../../../../contract/errors.ts";
import {
  FILE_FLAGS,
  stateOf,
  treeOf,
  unlessGone,
  type EntryState,
  type TreeOptions,
} from "./tree.ts";

export interface User {
  readonly uid: number;
  readonly gid: number;
}

export interface CopyLimits {
  readonly files: number;
  readonly bytes: number;
}

/** One entry as it was when the job began: in the workspace, and in the copy. */
export interface Copied {
  readonly original: EntryState;
  readonly copy: EntryState;
}

export interface CopyOptions {
  /** Who owns the copy; null: the server itself. */
  readonly user: User | null;
  /** All users may read the copy. */
  readonly shared?: true;
  readonly limits: CopyLimits;
  readonly mayRead: (within: string) => boolean;
  readonly signal: AbortSignal;
}

/** Copies files, folders and links; devices, sockets and pipes are left out, as is what the rules hide. */
export async function copyTree(
  from: string,
  to: string,
  o: CopyOptions,
): Promise<Map<string, Copied>> {
  const copied = new Map<string, Copied>();
  let bytes = 0n;
  const whole = { maxEntries: o.limits.files, signal: o.signal, accept: o.mayRead };
  if (!(await fits(from, whole, o.limits))) throw tooLarge(o.limits);
  await own(to, o.user);
  const { complete } = await treeOf(from, {
    ...whole,
    async visit(within, original, reach) {
      bytes += original.type === "file" ? original.size : 0n;
      if (bytes > BigInt(o.limits.bytes)) throw tooLarge(o.limits);
      const copy = await copyOne(reach, join(to, within), original, o);
      if (copy) copied.set(within, { original, copy });
    },
  });
  if (!complete) throw tooLarge(o.limits);
  // Making entries has changed the folders since.
  for (const [within, { original, copy }] of copied)
    if (copy.type === "dir")
      copied.set(within, {
        original,
        copy: stateOf(await lstat(join(to, within), { bigint: true })),
      });
  return copied;
}

/** Checked before anything is copied, so that a refusal is quick. */
async function fits(from: string, options: TreeOptions, limits: CopyLimits): Promise<boolean> {
  const { entries, complete } = await treeOf(from, options);
  const bytes = [...entries.values()].reduce(
    (sum, { type, size }) => sum + (type === "file" ? size : 0n),
    0n,
  );
  return complete && bytes <= BigInt(limits.bytes);
}

async function copyOne(
  reach: string,
  to: string,
  { type, mode }: EntryState,
  { user, shared }: CopyOptions,
): Promise<EntryState | null> {
  if (type === "other") return null;
  if (type === "link") {
    const target = await readlink(reach).catch(unlessGone);
    if (target === null) return null;
    await symlink(target, to);
  } else if (type === "dir") {
    await mkdir(to);
    await chmod(to, (mode & 0o777) | (shared ? 0o755 : 0o700));
  } else if (!(await copyContent(reach, to, (mode & 0o777) | (shared ? 0o644 : 0o600))))
    return null;
  await own(to, user);
  return stateOf(await lstat(to, { bigint: true }));
}

/** Through an opened file: it does not matter if the name leads elsewhere a moment later. */
async function copyContent(reach: string, to: string, mode: number): Promise<boolean> {
  const handle = await open(reach, FILE_FLAGS).catch(unlessGone);
  if (!handle) return false;
  try {
    if (!(await handle.stat()).isFile()) return false;
    const source = process.platform === "linux" ? `/proc/self/fd/${handle.fd}` : reach;
    await copyFile(source, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    await chmod(to, mode);
    return true;
  } finally {
    await handle.close();
  }
}

async function own(path: string, user: User | null): Promise<void> {
  if (user) await lchown(path, user.uid, user.gid);
}

function tooLarge({ files, bytes }: CopyLimits): AppError {
  const message = `the workspace has more than ${files} entries or ${bytes} bytes: too much to copy for one program`;
  const remedy = "start the server on a smaller folder: OSTIARY_WORKSPACE=<folder> ostiary serve";
  return new AppError("EXECUTION_FAILED", "workspace_too_large", message, { remedy });
}
