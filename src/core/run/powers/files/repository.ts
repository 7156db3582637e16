import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { isRepository } from "../../../../util/files/git-names.ts";

/** Whether git takes this folder for a repository, or would once it has an entry called `added`. */
export const isRepositoryAt = (folder: string, added?: string): Promise<boolean> =>
  isRepository(
    (part) =>
      lstat(join(folder, part)).then(
        () => true,
        () => false,
      ),
    added,
  );
