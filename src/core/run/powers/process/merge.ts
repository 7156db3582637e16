// Takes over what a job changed in its copy of the workspace: only what it changed itself, only regular files, only
// where the rules let it write. Everything else is refused and listed.
import { lstat, open } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "../../../../contract/errors.ts";
import type { FilesPower } from "../../../../contract/powers/files.ts";
import type { Copied } from "./copy.ts";
import { FILE_FLAGS, stateOf, treeOf, type EntryState } from "./tree.ts";

export interface MergedChanges {
  readonly written: { path: string; bytes: number }[];
  readonly removed: string[];
  readonly refused: { path: string; reason: string }[];
}

export interface MergeOptions {
  readonly workspace: string;
  readonly copy: string;
  readonly before: ReadonlyMap<string, Copied>;
  readonly files: Pick<FilesPower, "write" | "remove" | "makeFolder">;
  readonly maxEntries: number;
  readonly maxFileBytes: number;
  readonly signal: AbortSignal;
}

/** Patterns are written by people: more than this is a mistake. */
const MAX_CHANGES = 10_000;

export async function merge(o: MergeOptions): Promise<MergedChanges> {
  const changes: MergedChanges = { written: [], removed: [], refused: [] };
  const { entries: after, complete } = await treeOf(o.copy, o);
  if (!complete) {
    changes.refused.push({ path: ".", reason: "too_many_files" });
    return changes;
  }
  const changed = [...after].filter(([within, seen]) => !isSame(seen, o.before.get(within)?.copy));
  const gone = [...o.before.keys()].filter((within) => !after.has(within)).reverse();
  if (changed.length + gone.length > MAX_CHANGES) {
    changes.refused.push({ path: ".", reason: "too_many_files" });
    return changes;
  }
  for (const within of gone) await attempt(within, changes, () => takeAway(within, o, changes));
  const isInside = linkedWithin(after);
  for (const [within, seen] of changed)
    await attempt(within, changes, () => takeOver(within, seen, isInside(seen), o, changes));
  return changes;
}

/** A file with several names is the job's own when all of them are here (`git clone` links its objects so). */
function linkedWithin(after: ReadonlyMap<string, EntryState>): (seen: EntryState) => boolean {
  const names = new Map<bigint, bigint>();
  for (const { ino, type } of after.values())
    if (type === "file") names.set(ino, (names.get(ino) ?? 0n) + 1n);
  return ({ ino, links }) => names.get(ino) === links;
}

async function attempt(
  within: string,
  { refused }: MergedChanges,
  act: () => Promise<void>,
): Promise<void> {
  try {
    await act();
  } catch (cause) {
    if (!(cause instanceof AppError)) throw cause;
    refused.push({ path: within, reason: cause.fault.reason });
  }
}

async function takeOver(
  within: string,
  seen: EntryState,
  isInside: boolean,
  o: MergeOptions,
  changes: MergedChanges,
): Promise<void> {
  const known = o.before.get(within);
  const now = await look(join(o.workspace, within));
  if (seen.type === "dir") {
    // The times of a folder change with every entry: only a new one counts.
    if (known?.original.type === "dir" || now?.type === "dir") return;
    if (now) throw conflict(within);
    await o.files.makeFolder(`./${within}`, { recursive: true });
    return;
  }
  if (seen.type !== "file") throw refusal("not_a_file", within);
  if (!isInside) throw refusal("hard_link", within);
  if (seen.size > BigInt(o.maxFileBytes)) throw refusal("size_exceeded", within);
  if (!isUntouched(now, known?.original)) throw conflict(within);
  const bytes = await readRegular(join(o.copy, within), o.maxFileBytes, within);
  if (now?.type === "file" && (await holds(join(o.workspace, within), bytes))) return; // only touched
  // `./` keeps a name like ~ from meaning a home folder.
  await o.files.write(`./${within}`, bytes, { mode: "overwrite", createDirectories: true });
  changes.written.push({ path: within, bytes: bytes.length });
}

async function takeAway(within: string, o: MergeOptions, changes: MergedChanges): Promise<void> {
  const known = o.before.get(within)?.original;
  const now = await look(join(o.workspace, within));
  if (!now || !known) return;
  const untouched = known.type === "dir" ? now.type === "dir" : isUntouched(now, known);
  if (!untouched) throw conflict(within);
  await o.files.remove(`./${within}`, { recursive: false });
  changes.removed.push(within);
}

/** In the workspace as it was when the job began: it was not written by others since. */
function isUntouched(now: EntryState | null, then: EntryState | undefined): boolean {
  return then ? now !== null && isSame(now, then) : now === null;
}

function isSame(a: EntryState, b: EntryState | undefined): boolean {
  return b !== undefined && a.ino === b.ino && a.ctimeNs === b.ctimeNs && a.type === b.type;
}

const look = (path: string): Promise<EntryState | null> =>
  lstat(path, { bigint: true }).then(stateOf, () => null);

async function readRegular(path: string, maxBytes: number, within: string): Promise<Uint8Array> {
  const handle = await open(path, FILE_FLAGS);
  try {
    const stat = await handle.stat();
    if (!stat.isFile()) throw refusal("not_a_file", within);
    const bytes = await handle.readFile();
    if (bytes.length > maxBytes) throw refusal("size_exceeded", within);
    return bytes;
  } finally {
    await handle.close();
  }
}

async function holds(path: string, bytes: Uint8Array): Promise<boolean> {
  const handle = await open(path, FILE_FLAGS).catch(() => null);
  if (!handle) return false;
  try {
    const stat = await handle.stat();
    return (
      stat.isFile() &&
      stat.size === bytes.length &&
      Buffer.from(bytes).equals(await handle.readFile())
    );
  } finally {
    await handle.close();
  }
}

const refusal = (reason: string, within: string): AppError =>
  new AppError("EXECUTION_FAILED", reason, `${within} is not taken over`, { remedy: "" });
const conflict = (within: string): AppError =>
  new AppError("EXECUTION_FAILED", "changed_meanwhile", `${within} was changed meanwhile`, {
    remedy: "run it again",
  });
