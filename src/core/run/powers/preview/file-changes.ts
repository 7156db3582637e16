// Which entries of a copy have changed since they were copied.
import { lstat, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { FileChange, FilesEffect } from "../../../../contract/effect.ts";
import type { Brought } from "../files/bringing.ts";
import type { Shadow } from "../files/shadow.ts";
import { typeOf } from "../files/stat.ts";

/** One change, by real path. */
export interface FoundChange extends Pick<FileChange, "change" | "type"> {
  readonly path: string;
  readonly from?: string;
  readonly replaces?: true;
  readonly was: Brought | null;
  readonly is: Present | null;
  /** Of a folder: what is in it. */
  readonly inside?: { readonly files: number; readonly bytes: number };
}

interface Present extends Pick<Brought, "type" | "sizeBytes" | "inode"> {
  /** Where it lies in the copy. */
  readonly at: string;
}

export interface FoundChanges {
  readonly changes: readonly FoundChange[];
  readonly totals: FilesEffect["totals"];
}

type Found = Map<string, Present>;
type Before = Shadow["before"];

export async function changesOf({ before, top }: Shadow): Promise<FoundChanges> {
  const { ino: inode } = await lstat(top, { bigint: true });
  const after: Found = new Map([["/", { type: "dir", sizeBytes: 0, inode, at: top }]]);
  await look(top, "/", after);
  const places = new Map([...before].map(([path, { inode }]) => [inode, path]));
  const changes: FoundChange[] = [];
  for (const [path, is] of after) {
    const was = before.get(path) ?? null;
    if (was?.inode === is.inode) continue;
    const from = places.get(is.inode);
    if (from === undefined)
      changes.push({ change: was ? "changed" : "created", type: is.type, path, was, is });
    else if (!movesWithFolder(path, from, before, after))
      changes.push({
        change: "moved",
        type: is.type,
        path,
        from,
        was: before.get(from) ?? null,
        is,
        ...(was ? { replaces: true as const } : {}),
        ...(is.type === "dir" ? { inside: insideOf(from, before) } : {}),
      });
  }
  const left = new Set([...after.values()].map(({ inode }) => inode));
  for (const [path, was] of before)
    // An entry that another one has replaced is reported with that one.
    if (!after.has(path) && !left.has(was.inode))
      changes.push({
        change: "removed",
        type: was.type,
        path,
        was,
        is: null,
        ...(was.type === "dir" ? { inside: insideOf(path, before) } : {}),
      });
  changes.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
  return { changes, totals: totalsOf(changes) };
}

async function look(folder: string, real: string, found: Found): Promise<void> {
  for (const name of await readdir(folder)) {
    const [at, path] = [join(folder, name), join(real, name)];
    const stat = await lstat(at, { bigint: true });
    const type = typeOf(stat);
    const sizeBytes = type === "file" ? Number(stat.size) : 0;
    found.set(path, { type, sizeBytes, inode: stat.ino, at });
    if (type === "dir") await look(at, path, found);
  }
}

/** The folder it lies in has been moved, and it with it. */
function movesWithFolder(path: string, from: string, before: Before, after: Found): boolean {
  const [here, there] = [dirname(path), dirname(from)];
  return here !== there && after.get(here)?.inode === before.get(there)?.inode;
}

function insideOf(folder: string, before: Before): { files: number; bytes: number } {
  const below = [...before].filter(
    ([path, { type }]) => type !== "dir" && path.startsWith(`${folder}/`),
  );
  return {
    files: below.length,
    bytes: below.reduce((sum, [, { sizeBytes }]) => sum + sizeBytes, 0),
  };
}

function totalsOf(changes: readonly FoundChange[]): FilesEffect["totals"] {
  const totals = { created: 0, changed: 0, moved: 0, removed: 0 };
  for (const { change } of changes) totals[change]++;
  return totals;
}
