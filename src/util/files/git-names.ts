// What makes git take a folder for a repository: its names, in every spelling that some file system takes for them.

/** Parts that make any folder a repository, whatever its name: see `makesRepository`. */
export const REPOSITORY_PARTS = ["HEAD", "objects", "refs", "commondir"] as const;
export type RepositoryPart = (typeof REPOSITORY_PARTS)[number];

/**
 * A name that a file system may take for `.git`: in another case, with characters that it ignores, with trailing dots
 * and spaces, as a short name or with a stream. They are refused everywhere, since a workspace may lie on any of them.
 */
export function isGitName(name: string): boolean {
  if (!/g/i.test(name)) return false;
  return name.split("\\").some((part) => {
    const [plain = ""] = part
      .replace(/\p{Default_Ignorable_Code_Point}/gu, "")
      .normalize("NFC")
      .toLowerCase()
      .split(":");
    return /^(?:\.git|git~\d+)[. ]*$/.test(plain);
  });
}

/** The part that an entry of this name would be, on a file system that ignores case too. */
export function repositoryPart(name: string): RepositoryPart | null {
  const plain = name.normalize("NFC").toLowerCase();
  return REPOSITORY_PARTS.find((part) => part.toLowerCase() === plain) ?? null;
}

/** By names alone: what HEAD says can be changed later. With `commondir` the other parts may lie anywhere. */
export function makesRepository(has: (part: RepositoryPart) => boolean): boolean {
  return has("HEAD") && ((has("objects") && has("refs")) || has("commondir"));
}

/** Whether git takes a folder for a repository, or would once it has an entry called `added`. */
export async function isRepository(
  has: (part: RepositoryPart) => Promise<boolean>,
  added?: string,
): Promise<boolean> {
  const part = added === undefined ? null : repositoryPart(added);
  const there = async (name: RepositoryPart): Promise<boolean> => name === part || has(name);
  if (!(await there("HEAD"))) return false; // hardly any folder has one
  const found = await Promise.all(REPOSITORY_PARTS.map(there));
  return makesRepository((name) => found[REPOSITORY_PARTS.indexOf(name)] === true);
}
