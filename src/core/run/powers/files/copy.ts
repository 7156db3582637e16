import type { BigIntStats } from "node:fs";
import { lstat, open, readlink, symlink } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { Located } from "../../../../governance/rules/governance.ts";
import type { FilesPower } from "../../../../contract/powers/files.ts";
import { FOLDER_FLAGS, pathOf, READ_FLAGS } from "./descriptor.ts";
import { changed, conflict, failed, forbidden } from "./fault.ts";
import { makeFolderWith } from "./folder.ts";
import { requireOwnLinks } from "./owner.ts";
import { locate, statIfThere, withEntry, withOpened, type FileContext } from "./place.ts";
import { piecesOf } from "./read.ts";
import { isRepositoryAt } from "./repository.ts";
import { requireOutside, walkTree, type TreeEntry } from "./tree.ts";
import { exists, put, requireFilePlace } from "./write.ts";

interface Wanted {
  readonly from: string;
  readonly to: string;
  readonly overwrite: boolean;
}

export const copyWith =
  (context: FileContext): FilesPower["copy"] =>
  async (from, to, { overwrite, recursive }) => {
    const source = await locate(context, from, "read");
    const target = await locate(context, to, "write");
    const wanted = { from, to, overwrite };
    const names = { from: source.shown, to: target.shown };
    const stat = await statIfThere(source.path).catch(() => null);
    if (!stat?.isDirectory())
      return { ...names, files: 1, bytes: await copyFile(context, wanted, source, to) };
    if (!recursive) throw failed("is_directory", from, "is a directory", "send recursive: true");
    return { ...names, ...(await copyFolder(context, wanted, source, target)) };
  };

/** A copy is a new file: it never gets an execute bit, and a second name of the source is not followed elsewhere. */
async function copyFile(
  context: FileContext,
  { from, overwrite }: Wanted,
  source: Located,
  to: string,
): Promise<number> {
  return withOpened(context, from, source, READ_FLAGS, async (handle, stat) => {
    await requireReadable(context, from, stat, dirname(source.path));
    const maxBytes = context.rules.maxWriteBytes;
    const pieces = piecesOf(handle, from, maxBytes, context.signal);
    const mode = overwrite ? "overwrite" : "create";
    return (
      await put(context, to, pieces, {
        mode,
        makeFolders: false,
        maxBytes,
        newMode: Number(stat.mode & 0o666n),
      })
    ).bytes;
  });
}

async function requireReadable(
  context: FileContext,
  given: string,
  stat: BigIntStats,
  folder: string,
): Promise<void> {
  if (stat.nlink <= 1n) return;
  requireOwnLinks(given, stat, await lstat(folder, { bigint: true }));
  await context.requireUnguarded(given, stat);
}

async function copyFolder(
  context: FileContext,
  wanted: Wanted,
  source: Located,
  target: Located,
): Promise<{ files: number; bytes: number }> {
  const { from, to, overwrite } = wanted;
  requireOutside(to, source.path, target.path);
  const there = await statIfThere(target.path).catch(() => null);
  if (there && !overwrite) throw exists(to);
  if (there && !there.isDirectory())
    throw conflict(
      "already_exists",
      to,
      "a file is there",
      "use another path, or remove the file first",
    );
  const counts = { files: 0, bytes: 0 };
  await withOpened(context, from, source, FOLDER_FLAGS, async (handle) => {
    // The opened folder itself: without the dot it would be a link to it.
    const reach = `${pathOf(handle, source.path)}/.`;
    await requireNoCopyOf(reach, from, "it");
    // Nothing is written unless all of it may be.
    await walkTree(context, from, reach, {
      before: (entry) => judge(context, wanted, source, target, entry),
    });
    await makeFolderWith(context)(to, { recursive: false });
    await walkTree(context, from, reach, {
      async before(entry) {
        await judge(context, wanted, source, target, entry);
        const path = join(target.path, entry.within);
        if (entry.stat.isDirectory()) await makeFolderWith(context)(path, { recursive: false });
        else if (entry.stat.isSymbolicLink()) await copyLink(context, wanted, entry, path);
        else counts.bytes += await copyBeneath(context, wanted, entry, path);
        if (!entry.stat.isDirectory()) counts.files++;
      },
    });
  });
  return counts;
}

async function judge(
  { paths }: FileContext,
  { from, to }: Wanted,
  source: Located,
  target: Located,
  { within, stat, reach }: TreeEntry,
): Promise<void> {
  const [here, there] = [join(source.path, within), join(target.path, within)];
  if (!paths.allows(here, "read"))
    throw forbidden(
      from,
      `holds ${within}, which may not be read`,
      "copy the other entries one by one",
    );
  const planted = !stat.isDirectory() && paths.foldersOnly(there);
  if (planted || !paths.allows(there, "write"))
    throw forbidden(
      to,
      `${within} may not be put there`,
      "use another path; this rule has no exception",
    );
  if (!stat.isDirectory() && !stat.isFile() && !stat.isSymbolicLink())
    throw failed(
      "not_a_file",
      from,
      `${within} is a device, socket or pipe`,
      "copy the other entries one by one",
    );
  if (stat.isDirectory()) await requireNoCopyOf(reach, from, within);
}

async function requireNoCopyOf(folder: string, from: string, within: string): Promise<void> {
  if (await isRepositoryAt(folder))
    throw forbidden(
      from,
      `${within} is a git repository, and its copy would be another`,
      "copy other folders; this rule has no exception",
    );
}

async function copyBeneath(
  context: FileContext,
  { from, overwrite }: Wanted,
  { reach, stat, within }: TreeEntry,
  path: string,
): Promise<number> {
  const handle = await open(reach, READ_FLAGS);
  try {
    const opened = await handle.stat({ bigint: true });
    if (!opened.isFile() || opened.dev !== stat.dev || opened.ino !== stat.ino) throw changed(from);
    await requireReadable(context, within, opened, dirname(reach));
    const maxBytes = context.rules.maxWriteBytes;
    const pieces = piecesOf(handle, within, maxBytes, context.signal);
    const mode = overwrite ? "overwrite" : "create";
    return (
      await put(context, path, pieces, {
        mode,
        makeFolders: false,
        maxBytes,
        newMode: Number(opened.mode & 0o666n),
      })
    ).bytes;
  } finally {
    await handle.close();
  }
}

/** A link is copied as one, as long as its target from the new place may be read. */
async function copyLink(
  context: FileContext,
  { from, to }: Wanted,
  { reach, within }: TreeEntry,
  path: string,
): Promise<void> {
  const target = await readlink(reach);
  if (!context.paths.allows(resolve(dirname(path), target), "read"))
    throw forbidden(
      from,
      `the link ${within} leads outside the workspace`,
      "copy the other entries one by one",
    );
  const located = await locate(context, path, "write", { itself: true });
  await withEntry(context, to, located, { access: "write" }, async (entry) => {
    requireFilePlace(context, to, entry);
    if (await entry.look()) throw exists(to);
    await context.inTurn(async () => {
      await entry.requireStillAllowed();
      await symlink(target, entry.reach);
    });
  });
}
