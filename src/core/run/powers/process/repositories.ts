// Repositories of git in a workspace that a program writes itself: which there are before it runs, and what happens to
// those it has created. Using git in a folder that it takes for a repository may run programs that the folder names.
import { randomBytes } from "node:crypto";
import { chmod, lstat, open, readdir, readFile, rename, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import {
  isGitName,
  makesRepository,
  REPOSITORY_PARTS,
  repositoryPart,
} from "../../../../util/files/git-names.ts";
import { FOLDER_FLAGS, pathOf } from "./tree.ts";

/** Each level keeps a folder open. Deeper folders are moved up after a run and checked there. */
const MAX_DEPTH = 150;

interface Found {
  /** Of the folder that holds the entries, within the workspace; "" is the workspace itself. */
  readonly folder: string;
  readonly kind: "named" | "bare" | "deep";
  /** Of `named` one of the spellings of `.git`, of `bare` the parts, of `deep` the folder that is too deep. */
  readonly names: readonly string[];
  /** The path to the folder during its check. */
  readonly reach: string;
}

interface WalkOptions {
  /** False: a folder that programs do not see. */
  readonly mayRead?: (within: string) => boolean;
  /** Folders whose permissions keep the server out are opened up first: a program may have closed them on purpose. */
  readonly force?: true;
  /** Not entered. */
  readonly known?: ReadonlySet<string>;
  /** Returns whether to go on: into the folder itself where it is bare, else into the entry of that name. */
  visit(found: Found): Promise<string | null>;
}

/** Goes through every folder, however many there are: beyond a limit something could be hidden. */
async function walk(root: string, start: string, o: WalkOptions): Promise<void> {
  const go = async (reach: string, within: string, depth: number): Promise<void> => {
    const handle = await openFolder(reach, o.force === true);
    if (!handle) return;
    try {
      const folder = pathOf(handle, reach);
      const entries = await readdir(folder, { withFileTypes: true });
      const parts = entries.map(({ name }) => name).filter((name) => repositoryPart(name) !== null);
      const found = { folder: within, reach: folder };
      const bare = makesRepository((part) => parts.some((name) => repositoryPart(name) === part));
      if (bare && (await o.visit({ ...found, kind: "bare", names: parts })) === null) return;
      for (const entry of entries) {
        const { name } = entry;
        if (o.known?.has(below(within, name))) continue;
        const kind = isGitName(name)
          ? "named"
          : entry.isDirectory() && depth >= MAX_DEPTH
            ? "deep"
            : null;
        const next = kind
          ? await o.visit({ ...found, kind, names: [name] })
          : entry.isDirectory()
            ? name
            : null;
        if (next !== null && o.mayRead?.(below(within, next)) !== false)
          await go(join(folder, next), below(within, next), depth + 1);
      }
    } finally {
      await handle.close();
    }
  };
  await go(join(root, start), start, start === "" ? 1 : 2);
}

const below = (folder: string, name: string): string =>
  folder === "" ? name : `${folder}/${name}`;

async function openFolder(reach: string, force: boolean): Promise<FileHandle | null> {
  const opened = await open(reach, FOLDER_FLAGS).catch(() => null);
  if (opened || !force) return opened;
  await openUp(reach);
  return open(reach, FOLDER_FLAGS).catch(() => null);
}

async function openUp(folder: string): Promise<void> {
  const stat = await lstat(folder).catch(() => null);
  if (stat?.isDirectory()) await chmod(folder, (stat.mode & 0o777) | 0o700).catch(() => undefined);
}

/** Paths within the workspace: every `.git`, and every folder that is a repository by what it holds. */
export async function repositoriesIn(
  root: string,
  mayRead: (within: string) => boolean,
): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  await walk(root, "", {
    mayRead,
    visit({ folder, kind, names }) {
      if (kind === "bare") found.add(folder);
      // A folder that is too deep to be searched is treated like a repository: changes in it could not be found
      // afterwards.
      else for (const name of names) found.add(below(folder, name));
      return Promise.resolve(null);
    },
  });
  return found;
}

/**
 * After a program has ended: what is a repository now and was none before gets other names, so that git takes it for an
 * ordinary folder. Nothing is removed: it may have been created by others meanwhile. Returns what was renamed.
 */
export async function disarmNew(root: string, known: ReadonlySet<string>): Promise<string[]> {
  const refused: string[] = [];
  const renamed: string[] = [];
  const starts = [""];
  const visit: WalkOptions["visit"] = async ({ folder, kind, names, reach }) => {
    if (kind === "bare" && known.has(folder)) return null;
    // Of a bare one, one part less is enough; HEAD is a small file that nothing else needs.
    const name =
      kind === "bare"
        ? REPOSITORY_PARTS.flatMap((part) => names.filter((one) => repositoryPart(one) === part))[0]
        : names[0];
    if (name === undefined) return null;
    const other = `refused-${randomBytes(4).toString("hex")}-${plainName(name)}`;
    const to = kind === "deep" ? root : reach;
    await rename(join(reach, name), join(to, other)).catch(async () => {
      await openUp(`${reach}/.`);
      await rename(join(reach, name), join(to, other));
    });
    const within = kind === "deep" ? "" : folder;
    const isReported = renamed.some((one) => folder === one || folder.startsWith(`${one}/`));
    renamed.push(below(within, other));
    if (!isReported)
      refused.push(kind === "deep" ? `${folder.slice(0, 80)}…/${name}` : below(folder, name));
    if (kind === "deep") starts.push(other);
    return kind === "deep" ? null : other;
  };
  for (const start of starts) await walk(root, start, { known, force: true, visit });
  return refused;
}

const plainName = (name: string): string => name.replace(/[^A-Za-z0-9]+/g, "").slice(0, 40);

const MAX_MODULES_BYTES = 1_048_576;

/** Where `.gitmodules` says that repositories belong: git reads them whenever it reads the outer one. */
export async function submodulesOf(root: string): Promise<string[]> {
  const handle = await open(join(root, ".gitmodules"), "r").catch(() => null);
  if (!handle) return [];
  try {
    if ((await handle.stat()).size > MAX_MODULES_BYTES) return [];
    const text = await readFile(handle, "utf8");
    const paths = [...text.matchAll(/^\s*path\s*=\s*"?([^"\n]+?)"?\s*$/gim)].map(
      ([, path = ""]) => path,
    );
    return paths.filter(
      (path) =>
        !path.startsWith("/") &&
        !path.split("/").some((name) => name === "" || name === "." || name === ".."),
    );
  } finally {
    await handle.close();
  }
}
