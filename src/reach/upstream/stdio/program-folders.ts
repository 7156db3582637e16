// What of the host a program must see to start: as little as possible, and never a whole home.
import { readdir, realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join } from "node:path";

/** The box shows these anyway. */
const SYSTEM = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
const MODULES = "/node_modules/";

/**
 * For a program or script at an absolute path: the folders, or the file alone where its folder holds other things
 * too.
 */
export async function foldersFor(path: string): Promise<string[]> {
  const real = await realpath(path).catch(() => path);
  const found = await Promise.all([...new Set([path, real])].map(around));
  return outermost(found.flat().filter((one) => !isSystem(one)));
}

export const isSystem = (path: string): boolean => SYSTEM.some((one) => isWithin(path, one));

async function around(path: string): Promise<string[]> {
  const modules = path.indexOf(MODULES);
  if (modules !== -1) return [path.slice(0, modules + MODULES.length - 1)];
  const folder = dirname(path);
  if (basename(folder) === "bin" && (await isPython(dirname(folder)))) return [dirname(folder)];
  if (/\.[cm]?[jt]sx?$/.test(path)) return project(path);
  return [isBroad(folder) ? path : folder];
}

/** A folder with an interpreter and its library: neither works without the other. */
async function isPython(folder: string): Promise<boolean> {
  if (isBroad(folder)) return false;
  if (await exists(join(folder, "pyvenv.cfg"))) return true;
  const libraries = await readdir(join(folder, "lib")).catch(() => []);
  return libraries.some((name) => name.startsWith("python3"));
}

/** Up to its package.json, and the modules that it finds above. */
async function project(script: string): Promise<string[]> {
  const folders: string[] = [];
  let root: string | null = null;
  for (let at = dirname(script); at !== dirname(at); at = dirname(at)) {
    if (root === null && !isBroad(at) && (await exists(join(at, "package.json")))) root = at;
    if (await exists(join(at, "node_modules"))) folders.push(join(at, "node_modules"));
  }
  const own = dirname(script);
  return [root ?? (isBroad(own) ? script : own), ...folders];
}

/** Folders that hold much besides one program: homes, and what lies directly below the root. */
function isBroad(folder: string): boolean {
  const home = homedir();
  return (
    isWithin(home, folder) ||
    dirname(folder) === "/" ||
    dirname(folder) === dirname(home) ||
    dirname(folder) === "/home"
  );
}

function outermost(paths: readonly string[]): string[] {
  const each = [...new Set(paths)];
  return each.filter((path) => !each.some((other) => other !== path && isWithin(path, other)));
}

const isWithin = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder === "/" ? "/" : `${folder}/`);

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );
