// From a path as it was given to the real one, link by link, each checked before it is followed.
import { basename, dirname, join } from "node:path";
import { isRepository } from "../../../util/files/git-names.ts";
import type { Access, Refused } from "../governance.ts";
import type { CompiledRules, PathMatcher } from "./forbidden.ts";
import { exists, firstLink } from "./links.ts";
import { forbiddenPath, inRepository, linksInCircle, MAX_LINKS, outside } from "./refusals.ts";

/** The real path, or why it is refused. `path` is absolute and normalised; `given` is its text in the answer. */
export type Follow = (path: string, given: string, access: Access) => Promise<string | Refused>;

export interface PathFollower {
  readonly follow: Follow;
  /** The entry itself: links are followed up to the folder that holds it. */
  readonly entry: Follow;
  /**
   * Of a real path that is to be written: a folder on the way to it, or it itself, is a repository or would become
   * one.
   */
  repositoryAt(real: string, given: string): Promise<Refused | null>;
}

export function createPathFollower(
  s: Pick<CompiledRules, "allowedRule" | "unwritable">,
  { place, forbiddenBy }: PathMatcher,
  show: (path: string) => string,
): PathFollower {
  const follow: Follow = async (path, given, access) => {
    let wanted = path;
    for (let links = 0; links <= MAX_LINKS; links++) {
      const rule = forbiddenBy(wanted, access);
      if (rule) return forbiddenPath(given, rule, access, s.unwritable);
      const found = place(wanted);
      if (!found) return outside(given, s.allowedRule);
      const real = join(found.root.real, ...found.names);
      const ruleOnReal = forbiddenBy(real, access);
      if (ruleOnReal) return forbiddenPath(given, ruleOnReal, access, s.unwritable);
      const next = await firstLink(found.root.real, found.names);
      if (next === null) return real;
      wanted = next;
    }
    return linksInCircle(given);
  };

  return {
    follow,
    async entry(path, given, access) {
      const rule = forbiddenBy(path, access);
      if (rule) return forbiddenPath(given, rule, access, s.unwritable);
      const found = place(path);
      if (!found) return outside(given, s.allowedRule);
      if (found.names.length === 0) return follow(path, given, access);
      const folder = await follow(dirname(path), given, "read");
      if (typeof folder !== "string") return folder;
      const real = join(folder, basename(path));
      const ruleOnReal = forbiddenBy(real, access);
      if (ruleOnReal) return forbiddenPath(given, ruleOnReal, access, s.unwritable);
      return place(real) ? real : outside(given, s.allowedRule);
    },
    async repositoryAt(real, given) {
      const found = place(real);
      if (!found) return null;
      for (let depth = 0; depth <= found.names.length; depth++) {
        const folder = join(found.root.real, ...found.names.slice(0, depth));
        const has = (part: string): Promise<boolean> => exists(join(folder, part));
        if (await isRepository(has, found.names[depth])) return inRepository(given, show(folder));
      }
      return null;
    },
  };
}
