import { lstat, readlink } from "node:fs/promises";
import { isAbsolute } from "node:path";
import type { BigIntStats } from "node:fs";
import { AppError } from "../../../../contract/errors.ts";
import type { FileDetails, FilesPower, FileStat } from "../../../../contract/powers/files.ts";
import type { PathRules } from "../../../../governance/rules/governance.ts";
import { FOLDER_FLAGS } from "./descriptor.ts";
import { locate, withEntry, withOpened, type FileContext } from "./place.ts";

export const typeOf = (
  stat: Pick<BigIntStats, "isFile" | "isDirectory" | "isSymbolicLink">,
): FileStat["type"] =>
  stat.isFile() ? "file" : stat.isDirectory() ? "dir" : stat.isSymbolicLink() ? "link" : "other";

/** The target of a link, as far as the caller may know it. */
export async function targetOf(paths: PathRules, reach: string): Promise<string> {
  const target = await readlink(reach);
  return isAbsolute(target) ? paths.show(target) : target;
}

export const statWith =
  (context: FileContext): FilesPower["stat"] =>
  async (path) => {
    const located = await locate(context, path, "read", { itself: true });
    const details = (stat: BigIntStats): FileDetails => ({
      path: located.shown,
      type: typeOf(stat),
      sizeBytes: Number(stat.size),
      modifiedMs: Number(stat.mtimeNs / 1_000_000n),
      createdMs: Number(stat.birthtimeNs / 1_000_000n),
      mode: Number(stat.mode & 0o7777n),
    });
    try {
      // The folder above an allowed one is not allowed.
      if (context.paths.isRoot(located.path))
        return await withOpened(context, path, located, FOLDER_FLAGS, async (_, stat) =>
          details(stat),
        );
      return await withEntry(context, path, located, { access: "read" }, async (entry) => {
        const stat = await lstat(entry.reach, { bigint: true });
        if (!stat.isSymbolicLink()) return details(stat);
        return { ...details(stat), target: await targetOf(context.paths, entry.reach) };
      });
    } catch (cause) {
      if (cause instanceof AppError && cause.fault.reason === "path_not_found") return null;
      throw cause;
    }
  };
