// A copy of those files that a call would touch, at the same places below another folder. The rules are asked about the
// real places, and the same functions that would work there work here.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Access, FileRules, PathRules } from "../../../../governance/rules/governance.ts";
import { NoPreview } from "../preview/no-preview.ts";
import { Bringing, type Brought } from "./bringing.ts";
import { guardOf } from "./guarded.ts";
import { locate, type FileContext } from "./place.ts";

export interface Shadow {
  readonly context: FileContext;
  /** Copies a folder with all that is in it; anything else as an entry. */
  bringTree(given: string, access: Access, options?: { itself?: true }): Promise<void>;
  /** So much of a folder that it counts as not empty. */
  bringSome(given: string, access: Access, options?: { itself?: true }): Promise<void>;
  /** Throws where the content of this file would count and was not copied. */
  requireContent(given: string, access: Access, options?: { itself?: true }): Promise<void>;
  /** By real path. */
  readonly before: ReadonlyMap<string, Brought>;
  /** The folder that stands for `/`. */
  readonly top: string;
  show(real: string): string;
}

/** `folder` is empty, real and private; the caller of this function removes it. */
export async function openShadow(
  rules: FileRules,
  folder: string,
  signal: AbortSignal,
): Promise<Shadow> {
  const real = rules.pathRules;
  const top = join(folder, "tree");
  await mkdir(top);
  const toCopy = (path: string): string => join(top, path);
  const toReal = (path: string): string => {
    if (path === top) return "/";
    return path.startsWith(`${top}/`) ? path.slice(top.length) : path;
  };
  const inTurn: FileContext["inTurn"] = (work) => work();
  const there: FileContext = {
    rules,
    paths: real,
    signal,
    inTurn,
    requireUnguarded: guardOf(real),
  };
  const bringing = new Bringing(there, folder, toCopy);
  const paths: PathRules = {
    ...real,
    async locate(given, access, options) {
      const found = await real.locate(toReal(given), access, options);
      if (!found.ok) return found;
      await bringing.entry(given, found.path);
      if (access === "write") await bringing.requireWritable(given, found.path);
      return { ...found, path: toCopy(found.path) };
    },
    allows: (path, access) => real.allows(toReal(path), access),
    show: (path) => real.show(toReal(path)),
    isRoot: (path) => real.isRoot(toReal(path)),
    foldersOnly: (path) => real.foldersOnly(toReal(path)),
    unattended: (path) => real.unattended(toReal(path)),
  };
  const context: FileContext = {
    // What the server makes by itself at the real place is made in the copy below.
    rules: { ...rules, pathRules: paths, own: [] },
    paths,
    signal,
    inTurn,
    requireUnguarded: (given, stat) => bringing.requireOwn(given, stat),
  };
  const located = async (given: string, access: Access, options?: { itself?: true }) =>
    toReal((await locate(context, given, access, options)).path);
  return {
    context,
    before: bringing.before,
    top,
    show: (path) => real.show(path),
    async bringTree(given, access, options) {
      await bringing.tree(given, await located(given, access, options));
    },
    async bringSome(given, access, options) {
      await bringing.some(given, await located(given, access, options));
    },
    async requireContent(given, access, options) {
      const found = bringing.before.get(await located(given, access, options));
      if (found?.type === "file" && found.kept === null)
        throw new NoPreview(`${real.show(toReal(given))}: ${found.why ?? "it was not copied"}`);
    },
  };
}
