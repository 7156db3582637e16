// What the rules forbid by its very name (the configuration, the governance folder) within a workspace. It is looked up
// by that name, so that it is found in a workspace of any size.
import { lstat } from "node:fs/promises";
import { relative } from "node:path";
import type { PathRules } from "../../../../governance/rules/governance.ts";
import type { WorkspaceScan } from "./direct.ts";

export interface Named {
  /** Existing, and hidden from this caller. */
  readonly hidden: WorkspaceScan["hidden"];
  /** Existing, and not to be written. */
  readonly fixed: readonly string[];
}

export async function namedBelow(root: string, pathRules: PathRules): Promise<Named> {
  const hidden: { within: string; type: "dir" | "file" }[] = [];
  const fixed: string[] = [];
  for (const path of new Set(pathRules.guarded)) {
    const found = await below(root, path);
    if (found && !pathRules.allows(path, "read")) hidden.push(found);
  }
  for (const path of new Set(pathRules.guardedForWriting)) {
    const found = await below(root, path);
    if (found && !pathRules.allows(path, "write")) fixed.push(found.within);
  }
  return { hidden, fixed };
}

async function below(
  root: string,
  path: string,
): Promise<{ within: string; type: "dir" | "file" } | null> {
  const within = relative(root, path);
  if (within === "" || within === ".." || within.startsWith("../")) return null;
  const found = await lstat(path).catch(() => null);
  // A link leads elsewhere, and its target is checked by its own name.
  if (!found || found.isSymbolicLink()) return null;
  return { within, type: found.isDirectory() ? "dir" : "file" };
}
