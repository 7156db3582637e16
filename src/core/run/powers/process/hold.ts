// A folder of the host that a long-lived program writes in: existing repositories stay as they are, and those that it
// creates are renamed once it has ended, or at the next start after a crash.
import { lstat, realpath, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { AppError } from "../../../../contract/errors.ts";
import { isGitName, isRepository } from "../../../../util/files/git-names.ts";
import { disarmNew, repositoriesIn, submodulesOf } from "./repositories.ts";
import { JOURNAL, type Staging } from "./workspace.ts";

export interface HeldFolder {
  /** Paths within that cannot be changed, renamed or made. */
  readonly protect: readonly string[];
  /** Once the program has ended; returns the full paths of the repositories that it had created. */
  release(): Promise<readonly string[]>;
}

export async function holdFolder(path: string, staging: Staging): Promise<HeldFolder> {
  const root = await realpath(path);
  await requireNoRepository(root);
  const there = await repositoriesIn(root, () => true);
  const wanted = [".git", ".gitmodules", ...(await submodulesOf(root)).map((one) => `${one}/.git`)];
  const held: string[] = [];
  for (const within of wanted) {
    const parent = await lstat(join(root, dirname(within))).catch(() => null);
    if (!there.has(within) && parent?.isDirectory()) held.push(within);
  }
  const known = new Set([...there, ...held]);
  const aside = await staging.folder();
  const note = JSON.stringify({ root, repositories: [...known] });
  await writeFile(join(aside, JOURNAL), note, { mode: 0o600 });
  return {
    protect: [...known],
    async release() {
      const found = await disarmNew(root, known);
      staging.drop(aside);
      return found.map((within) => join(root, within));
    },
  };
}

/** A folder that is, or lies in, a repository's own: what is written there decides which programs git runs. */
async function requireNoRepository(root: string): Promise<void> {
  for (let at = root; at !== dirname(at); at = dirname(at)) {
    const has = (part: string): Promise<boolean> =>
      lstat(join(at, part)).then(
        () => true,
        () => false,
      );
    if (!isGitName(at.slice(at.lastIndexOf("/") + 1)) && !(await isRepository(has))) continue;
    throw new AppError(
      "FORBIDDEN",
      "path_forbidden",
      `folder ${root} belongs to the repository ${at}: what is written there decides what git runs on this machine`,
      { remedy: "give the server a folder outside of it, or this one read-only" },
    );
  }
}
