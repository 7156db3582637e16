// Scratch folders that were not used for a day are removed when the server starts.
import { lstat, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

const KEPT_MS = 24 * 60 * 60 * 1000;
const MAX_LOOKED_AT = 20_000;

/** `<folder>/<tenant>/<user>/<session>`. Links are removed, never followed. */
export async function sweepScratch(folder: string, now: number): Promise<number> {
  let removed = 0;
  for (const tenant of await foldersIn(folder))
    for (const user of await foldersIn(tenant))
      for (const session of await foldersIn(user)) {
        if (await usedSince(session, now - KEPT_MS)) continue;
        await rm(session, { recursive: true, force: true });
        removed++;
      }
  return removed;
}

async function foldersIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory()).map((entry) => join(folder, entry.name));
}

/** True also where there are too many entries to check: then it is kept. */
async function usedSince(folder: string, time: number): Promise<boolean> {
  const left = [folder];
  for (let looked = 0; left.length > 0; looked++) {
    if (looked >= MAX_LOOKED_AT) return true;
    const path = left.pop() ?? folder;
    const stat = await lstat(path).catch(() => null);
    if (!stat) continue;
    if (stat.mtimeMs > time) return true;
    if (stat.isDirectory())
      left.push(...(await readdir(path).catch(() => [])).map((name) => join(path, name)));
  }
  return false;
}
