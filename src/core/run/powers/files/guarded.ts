// Files with several names: one of them may be under a forbidden path.
import type { BigIntStats } from "node:fs";
import { lstat, opendir } from "node:fs/promises";
import { join } from "node:path";
import type { PathRules } from "../../../../governance/rules/governance.ts";
import { foreignLink } from "./owner.ts";

const MAX_DEPTH = 2;
const MAX_ENTRIES = 5_000;

/** Refuses a file that is also one of the files under a forbidden path. They are looked up once per call and device. */
export function guardOf(paths: PathRules): (given: string, stat: BigIntStats) => Promise<void> {
  const known = new Map<bigint, Promise<ReadonlySet<bigint>>>();
  return async (given, stat) => {
    let inodes = known.get(stat.dev);
    if (!inodes) known.set(stat.dev, (inodes = inodesOn(stat.dev, paths)));
    if ((await inodes).has(stat.ino)) throw foreignLink(given);
  };
}

async function inodesOn(device: bigint, paths: PathRules): Promise<ReadonlySet<bigint>> {
  const found = new Set<bigint>();
  let left = MAX_ENTRIES;
  const visit = async (path: string, depth: number): Promise<void> => {
    const stat = await lstat(path, { bigint: true }).catch(() => null);
    if (stat?.dev !== device || left-- <= 0 || paths.allows(path, "read")) return;
    if (stat.isFile() && stat.nlink > 1n) found.add(stat.ino);
    if (!stat.isDirectory() || depth === 0) return;
    const folder = await opendir(path).catch(() => null);
    if (folder) for await (const { name } of folder) await visit(join(path, name), depth - 1);
  };
  for (const path of paths.guarded) await visit(path, MAX_DEPTH);
  return found;
}
