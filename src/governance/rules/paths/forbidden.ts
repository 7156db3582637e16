// Which allowed folder a path belongs to, and which rule forbids it. Compares components of names; touches no file.
import { isGitName } from "../../../util/files/git-names.ts";
import type { Ruled } from "../files/yaml.ts";
import type { Access, RuleSource } from "../governance.ts";
import { componentsBelow, componentsOf, type Fold } from "../patterns.ts";
import type { FolderNames } from "./links.ts";
import { GIT } from "./refusals.ts";
import type { PathVariables, Root, RuledRegion } from "./regions.ts";

/** The rules of one session: patterns compiled, folders by both of their names. */
export interface CompiledRules {
  readonly forbidden: readonly RuledRegion[];
  readonly unwritable: readonly RuledRegion[];
  readonly unattended: readonly RuledRegion[];
  readonly roots: readonly Root[];
  readonly workspace: FolderNames;
  readonly scratch: FolderNames | null;
  readonly data: FolderNames;
  readonly fold: Fold;
  readonly places: PathVariables;
  readonly allowedRule: RuleSource;
}

export interface PathMatcher {
  /** The root a path belongs to, by either of its names, and the way down from it. */
  place(path: string): { root: Root; names: readonly string[] } | null;
  /** The rule that forbids this path, whether it exists or not. */
  forbiddenBy(path: string, access: Access): RuledRegion | Ruled<string> | null;
  /** A real path lies in an allowed folder. */
  isAllowed(names: readonly string[]): boolean;
}

export function createPathMatcher(s: CompiledRules): PathMatcher {
  const folders = s.roots.map((root) => ({
    root,
    bases: [root.real, root.named].map((base) => componentsOf(base).map(s.fold)),
  }));
  // Workspace and scratch folders may be kept in the data directory, but not the data directory in them.
  const excepted = folders.filter(
    ({ root }) => root.start === "$WORKSPACE" || root.start === "$SCRATCH",
  );
  const dataBases = [s.data.named, s.data.real].map((base) => componentsOf(base).map(s.fold));
  const isExcepted = (names: readonly string[]): boolean =>
    excepted.some(({ bases }) =>
      bases.some(
        (base) =>
          componentsBelow(base, names, s.fold) !== null &&
          !dataBases.some((data) => componentsBelow(base, data, s.fold) !== null),
      ),
    );

  function forbiddenBy(path: string, access: Access): RuledRegion | Ruled<string> | null {
    const names = componentsOf(path);
    for (const region of s.forbidden) {
      if (!region.value.covers(names)) continue;
      if (!region.isData || !isExcepted(names)) return region;
    }
    if (access === "read") return null;
    const named = s.unwritable.find((region) => region.value.covers(names));
    // The workspace itself may lie in such a folder (a worktree kept there), but nothing of it below the workspace.
    if (named || !names.some(isGitName)) return named ?? null;
    return (place(path)?.names ?? names).some(isGitName) ? GIT : null;
  }

  function place(path: string): { root: Root; names: readonly string[] } | null {
    const names = componentsOf(path);
    for (const { root, bases } of folders) {
      for (const base of bases) {
        const below = componentsBelow(base, names, s.fold);
        if (below && root.region.covers(names)) return { root, names: below };
      }
    }
    return null;
  }

  return {
    place,
    forbiddenBy,
    isAllowed: (names) =>
      folders.some(
        ({ root, bases: [base = []] }) =>
          componentsBelow(base, names, s.fold) !== null && root.region.covers(names),
      ),
  };
}
