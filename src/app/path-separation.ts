// Checks that protected paths lie outside of the folders tools work in. A program may rename parent folders, so a rule
// by name is not enough: paths are compared by their location on the device.
import { readFileSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { AppError } from "../contract/errors.ts";

/** A file or folder of the server itself. */
export interface ProtectedPath {
  /** For the error message. */
  readonly what: string;
  readonly path: string;
  /** How an operator moves it. */
  readonly remedy: string;
  /**
   * It may lie in a workspace: path rules name it, and every sandbox keeps it and its parent folders in place. That
   * works for a plain path only, not through a link, which could be replaced, nor a mount, which has another name.
   */
  readonly named?: true;
}

export function requireApart(workspace: string, paths: readonly ProtectedPath[]): void {
  for (const { what, path, remedy, named } of paths) {
    if (!isReachableFrom(workspace, path)) continue;
    if (named && hasPlainName(workspace, path)) continue;
    const why = named
      ? "by a link or a mount, which could be replaced"
      : "where programs could move or read it";
    throw new AppError(
      "FORBIDDEN",
      "path_forbidden",
      `${what} (${path}) lies in the workspace ${workspace}, ${why}; nothing was started`,
      { remedy: `${remedy}, or choose another workspace (OSTIARY_WORKSPACE)` },
    );
  }
}

function hasPlainName(workspace: string, path: string): boolean {
  const [folder, name] = [realOf(workspace), resolve(path)];
  const within = [resolve(workspace), folder].find((one) => isWithin(name, one));
  return within !== undefined && realOf(name) === join(folder, relative(within, name));
}

/** Where a path lies on its device, independent of links and mounts. */
interface Location {
  readonly device: string;
  readonly path: string;
}

interface Mount extends Location {
  readonly at: string;
}

/**
 * True when `path`, existing or not, can be reached from within `folder`: below it, or through something mounted
 * there.
 */
export function isReachableFrom(folder: string, path: string): boolean {
  const [outer, inner] = [realOf(folder), realOf(path)];
  if (isWithin(inner, outer) || hasAncestor(inner, identityOf(outer))) return true;
  const mounts = mountsOfSystem();
  const place = locate(inner, mounts);
  if (place === null) return false;
  const root = locate(outer, mounts);
  const mounted = mounts.filter(({ at }) => at !== outer && isWithin(at, outer));
  return (
    (root !== null && holds(root, place)) ||
    // Something mounted below may show all of it, or a part.
    mounted.some((shown) => holds(shown, place) || holds(place, shown))
  );
}

const isWithin = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder === "/" ? "/" : `${folder}/`);

const holds = (outer: Location, inner: Location): boolean =>
  outer.device === inner.device && isWithin(inner.path, outer.path);

/** Links resolved; what does not exist yet will lie below what does. */
function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return dirname(path) === path ? path : join(realOf(dirname(path)), basename(path));
  }
}

function identityOf(path: string): string | null {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? null : `${found.dev}:${found.ino}`;
}

function hasAncestor(path: string, identity: string | null): boolean {
  if (identity === null) return false;
  for (let at = path; ; at = dirname(at)) {
    if (identityOf(at) === identity) return true;
    if (at === dirname(at)) return false;
  }
}

function locate(path: string, mounts: readonly Mount[]): Location | null {
  // Of two mounts at the same path the later one hides the earlier.
  const holder = mounts
    .filter(({ at }) => isWithin(path, at))
    .reduce<Mount | null>(
      (best, one) => (one.at.length >= (best?.at.length ?? 0) ? one : best),
      null,
    );
  return holder && { device: holder.device, path: join(holder.path, relative(holder.at, path)) };
}

/** Empty where the system has no `/proc`. */
function mountsOfSystem(): Mount[] {
  let text: string;
  try {
    text = readFileSync("/proc/self/mountinfo", "utf8");
  } catch {
    return [];
  }
  return text.split("\n").flatMap((line) => {
    const [, , device, path, at] = line.split(" ");
    return device && path && at ? [{ device, path: unescaped(path), at: unescaped(at) }] : [];
  });
}

/** Spaces and the like are written as octal numbers. */
const unescaped = (text: string): string =>
  text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(parseInt(digits, 8)));
