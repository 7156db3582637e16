// The path rules of one session, over compiled patterns.
import { join, resolve } from "node:path";
import type { Located, PathRules, Refused } from "../governance.ts";
import { componentsBelow, componentsOf } from "../patterns.ts";
import { createPathFollower } from "./follow.ts";
import { createPathMatcher, type CompiledRules } from "./forbidden.ts";
import type { FolderNames } from "./links.ts";
import { CONTROL, forbiddenPath } from "./refusals.ts";

export function pathRulesOf(s: CompiledRules): PathRules {
  const show = pathShower(s);
  const matcher = createPathMatcher(s);
  const { follow, entry, repositoryAt } = createPathFollower(s, matcher, show);

  return {
    workspace: s.workspace.real,
    scratch: s.scratch?.real ?? null,
    guarded: s.forbidden.flatMap(({ value }) => value.plainPaths),
    guardedForWriting: s.unwritable.flatMap(({ value }) => value.plainPaths),
    isRoot: (real) =>
      s.roots.some(
        (root) =>
          componentsBelow(componentsOf(real).map(s.fold), componentsOf(root.real), s.fold) !== null,
      ),
    foldersOnly(real) {
      const names = componentsOf(real);
      return (
        [...s.forbidden, ...s.unwritable].find((region) => region.value.leadsTo(names))?.rule ??
        null
      );
    },
    async locate(given, access, { itself } = {}): Promise<Located | Refused> {
      if (/[\p{Cc}\p{Cs}]/u.test(given))
        return forbiddenPath(given, { value: CONTROL.text, rule: CONTROL }, access, s.unwritable);
      const path = resolve(
        s.workspace.named,
        expandStart(given, s.places.home, s.scratch?.named ?? null),
      );
      const real = await (itself ? entry : follow)(path, given, access);
      if (typeof real !== "string") return real;
      const refused = access === "write" ? await repositoryAt(real, given) : null;
      return refused ?? { ok: true, path: real, shown: show(real) };
    },
    allows(real, access) {
      const names = componentsOf(real);
      return matcher.forbiddenBy(real, access) === null && matcher.isAllowed(names);
    },
    show,
    unattended(real) {
      const names = componentsOf(real);
      return s.unattended.find((region) => region.value.covers(names))?.rule ?? null;
    },
  };
}

/** Paths as answers show them: short inside the workspace and the scratch folder, absolute elsewhere. */
function pathShower({ workspace, scratch, fold }: CompiledRules): (path: string) => string {
  /** The way down from a folder, by either of its names; null when the path is not below it. */
  const below = (folder: FolderNames, path: string): readonly string[] | null => {
    const names = componentsOf(path);
    return (
      componentsBelow(componentsOf(folder.real).map(fold), names, fold) ??
      componentsBelow(componentsOf(folder.named).map(fold), names, fold)
    );
  };
  return (path) => {
    const inWorkspace = below(workspace, path);
    if (inWorkspace) return inWorkspace.join("/") || ".";
    const inScratch = scratch && below(scratch, path);
    return inScratch ? ["$SCRATCH", ...inScratch].join("/") : path;
  };
}

/** Only at the start, and only as a whole component: `~user` and `$HOMER` are plain names. */
function expandStart(path: string, home: string, scratch: string | null): string {
  const [start] = /^(?:~|\$HOME|\$\{HOME\}|\$SCRATCH|\$\{SCRATCH\})(?=$|[/\\])/.exec(path) ?? [""];
  const folder = start.includes("SCRATCH") ? scratch : home;
  return start === "" || folder === null ? path : join(folder, path.slice(start.length));
}
