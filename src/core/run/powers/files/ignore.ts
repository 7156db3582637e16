// The .gitignore files that count for a walk: those above its start, and those in the folders it comes through.
import { open } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { ignoreRules } from "./gitignore-rules.ts";
import { FOLDER_FLAGS, pathOf, READ_FLAGS } from "./descriptor.ts";
import { withOpened, type FileContext } from "./place.ts";

const MAX_BYTES = 262_144;

/** What one file decides about a path within the walk. */
export type IgnoreLayer = (within: string, isFolder: boolean) => boolean | null;

/** Null when the folder has none that can be read. */
export async function ignoreIn(reach: string, folder: string): Promise<IgnoreLayer | null> {
  const text = await readText(join(reach, ".gitignore"));
  if (text === null) return null;
  const rules = ignoreRules(text);
  const skip = folder === "" ? 0 : folder.length + 1;
  return (within, isFolder) => rules(within.slice(skip), isFolder);
}

/** From the workspace down to, and without, the folder itself. */
export async function ignoreAbove(context: FileContext, folder: string): Promise<IgnoreLayer[]> {
  const start = context.paths.workspace;
  const below = relative(start, folder);
  if (below === "" || below === ".." || below.startsWith(`..${sep}`)) return [];
  const layers: IgnoreLayer[] = [];
  const names = below.split(sep);
  for (let depth = 0; depth < names.length; depth++) {
    const path = join(start, ...names.slice(0, depth));
    const prefix = names.slice(depth).join("/");
    const located = { ok: true, path, shown: "" } as const;
    const text = await withOpened(context, path, located, FOLDER_FLAGS, (handle) =>
      readText(join(pathOf(handle, path), ".gitignore")),
    ).catch(() => null);
    if (text === null) continue;
    const rules = ignoreRules(text);
    layers.push((within, isFolder) => rules(`${prefix}/${within}`, isFolder));
  }
  return layers;
}

async function readText(path: string): Promise<string | null> {
  const handle = await open(path, READ_FLAGS).catch(() => null);
  if (!handle) return null;
  try {
    const stat = await handle.stat();
    if (!stat.isFile() || stat.size > MAX_BYTES) return null;
    return await handle.readFile("utf8");
  } catch {
    return null;
  } finally {
    await handle.close();
  }
}
