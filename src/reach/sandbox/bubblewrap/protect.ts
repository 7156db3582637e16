// Paths inside a writable mount that stay as they are, existing or not. A read-only bind on the path alone is not
// enough: renaming its parent makes room for a new one. So every folder on the way becomes a mount point too (a rename
// of one is refused), and a path that does not exist is held by an empty file for the time of the run. A `.git` is held
// by an empty folder, which git on the host takes for nothing; an empty file in its place would be an error to it.
import { closeSync, lstatSync, mkdirSync, openSync, rmdirSync, unlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { AppError } from "../../../contract/errors.ts";
import type { SandboxMount } from "../sandbox.ts";
import type { BoxMount } from "./arguments.ts";

/** Placeholders on the host, shared by the boxes that need them: removing one would unprotect the others. */
export interface Ghosts {
  /** True when a placeholder of ours is there now; false: something else is, or nothing can be made there. */
  hold(path: string): boolean;
  drop(path: string): void;
}

export function createGhosts(): Ghosts {
  const held = new Map<string, { users: number; readonly inode: number }>();
  return {
    hold(path) {
      const known = held.get(path);
      if (known !== undefined) {
        known.users += 1;
        return true;
      }
      try {
        if (basename(path) === ".git") mkdirSync(path, 0o555);
        else closeSync(openSync(path, "wx", 0o444));
        held.set(path, { users: 1, inode: lstatSync(path).ino });
        return true;
      } catch {
        return false;
      }
    },
    drop(path) {
      const known = held.get(path);
      if (known === undefined || (known.users -= 1) > 0) return;
      held.delete(path);
      const now = lstatSync(path, { throwIfNoEntry: false });
      if (now?.ino !== known.inode) return;
      if (now.isDirectory()) removeEmpty(path);
      else if (now.isFile() && now.size === 0) unlinkSync(path);
    },
  };
}

/** A folder that is no longer empty is in use. */
function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code !== "ENOTEMPTY" && code !== "EEXIST" && code !== "ENOENT") throw cause;
  }
}

export interface Protection {
  readonly mounts: readonly BoxMount[];
  release(): void;
}

export function protectMounts(mounts: readonly SandboxMount[], ghosts: Ghosts): Protection {
  const held: string[] = [];
  const release = (): void => held.splice(0).forEach((path) => ghosts.drop(path));
  try {
    const all = mounts.flatMap((mount) => [
      { host: mount.host, at: mount.at, access: mount.access },
      ...guardsOf(mount, ghosts, held),
    ]);
    return { mounts: all, release };
  } catch (cause) {
    release();
    throw cause;
  }
}

function guardsOf(mount: SandboxMount, ghosts: Ghosts, held: string[]): BoxMount[] {
  const guards = new Map<string, BoxMount>();
  if (mount.access === "ro") return [];
  for (const path of mount.protect ?? []) {
    const parts = path.split("/");
    for (let depth = 1; depth <= parts.length; depth += 1) {
      const name = parts.slice(0, depth).join("/");
      const host = join(mount.host, name);
      const at = join(mount.at, name);
      if (guards.get(at)?.access === "ro") break;
      const kind = kindOf(host, ghosts, held);
      if (kind === "nothing") break;
      if (kind === "link") throw linked(name);
      const last = depth === parts.length || kind === "file" || kind === "held";
      guards.set(at, { host, at, access: last ? "ro" : "rw" });
      if (last) break;
    }
  }
  // Parents before what is below them: a later mount hides an earlier one.
  return [...guards.values()].sort((a, b) => a.at.split("/").length - b.at.split("/").length);
}

function kindOf(
  path: string,
  ghosts: Ghosts,
  held: string[],
): "held" | "folder" | "file" | "link" | "nothing" {
  if (ghosts.hold(path)) {
    held.push(path);
    return "held";
  }
  const found = lstatSync(path, { throwIfNoEntry: false });
  // It does not exist and the server cannot create it; the sandbox has no more rights than the server.
  if (found === undefined) return "nothing";
  if (found.isSymbolicLink()) return "link";
  return found.isDirectory() ? "folder" : "file";
}

function linked(name: string): AppError {
  return new AppError(
    "FORBIDDEN",
    "path_forbidden",
    `${name} is protected but is a symbolic link, which a program could replace.`,
    { remedy: `put a file or folder in the place of the link ${name}, or work on a copy` },
  );
}
