// The workspace as a job sees it at /workspace: the folder itself where the job's user may have it, else a copy of it.
import { chmod, mkdir, mkdtemp, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AppError } from "../../../../contract/errors.ts";
import type { FileRules } from "../../../../governance/rules/governance.ts";
import type { SandboxMount } from "../../../../reach/sandbox/sandbox.ts";
import type { FilesPower } from "../../../../contract/powers/files.ts";
import type { ProcessJob } from "../../../../contract/powers/process.ts";
import { copyTree, type CopyLimits, type User } from "./copy.ts";
import { collect, isOpenTo, isPassable, removeAll, scanWorkspace } from "./direct.ts";
import { merge, type MergedChanges } from "./merge.ts";
import { namedBelow } from "./named.ts";
import { disarmNew } from "./repositories.ts";

export const INSIDE = "/workspace";

/** Where the server keeps what belongs to single runs. */
export interface Staging {
  /** A new folder for one run. */
  folder(): Promise<string>;
  /** Begins to remove it; without waiting for it. */
  drop(folder: string): void;
  /** A user for one run, where the server can choose; null: the server's own. */
  user(): User | null;
  close(): Promise<void>;
}

export interface Placed {
  readonly mounts: readonly SandboxMount[];
  readonly owner: User | null;
  readonly isCopy: boolean;
  /** Of a job that may write: what it changed, once it has ended. A job that was stopped changes nothing. */
  collect(end: { readonly stopped: boolean }): Promise<MergedChanges>;
  discard(): void;
}

export interface Placing {
  readonly access: ProcessJob["workspace"];
  readonly rules: FileRules;
  readonly files: FilesPower;
  readonly staging: Staging;
  readonly limits: WorkspaceLimits;
  readonly signal: AbortSignal;
}

export interface WorkspaceLimits extends CopyLimits {
  /**
   * Entries of a folder that a program works in itself: each is checked before, since the rules may protect or hide it.
   */
  readonly inPlace: number;
}

/** What is known about the workspace of a run under way, for a server that finds it after a crash. */
export const JOURNAL = "repositories.json";
const NEVER = new AbortController().signal;
const NOTHING: MergedChanges = { written: [], removed: [], refused: [] };

export async function placeWorkspace(p: Placing): Promise<Placed> {
  if (p.access === "none")
    return {
      mounts: [],
      owner: null,
      isCopy: false,
      collect: () => Promise.resolve(NOTHING),
      discard: () => undefined,
    };
  const root = await rootOf(p.rules);
  const user = await userFor(root, p.access);
  return user === "copy" ? copied(root, p) : direct(root, user, p);
}

/** The real folder that relative paths of this caller start from. */
export async function rootOf({ pathRules }: FileRules): Promise<string> {
  const found = await pathRules.locate(".", "read");
  if (!found.ok)
    throw new AppError("FORBIDDEN", found.reason, found.message, { remedy: found.remedy });
  return found.path;
}

/**
 * Which user can work in the folder itself. Root's own folders are closed to others, so a program gets a copy of them.
 */
async function userFor(
  root: string,
  access: ProcessJob["workspace"],
): Promise<User | null | "copy"> {
  if (access === "copy") return "copy";
  if (process.getuid?.() !== 0) return null;
  const { uid, gid } = await stat(root);
  const wanted = access === "rw" ? "write" : "read";
  if (uid !== 0) return (await isOpenTo(root, { uid, gid }, wanted)) ? { uid, gid } : "copy";
  return access === "ro" && (await isOpenTo(root, null, "read")) ? null : "copy";
}

async function copied(root: string, p: Placing): Promise<Placed> {
  const folder = await p.staging.folder();
  const discard = (): void => p.staging.drop(folder);
  try {
    const owner = p.staging.user();
    const copy = join(folder, "workspace");
    await mkdir(copy, { mode: 0o700 });
    const { pathRules, maxWriteBytes } = p.rules;
    const { signal, limits } = p;
    const mayRead = (within: string): boolean => pathRules.allows(join(root, within), "read");
    const before = await copyTree(root, copy, { user: owner, limits, mayRead, signal });
    const mounts = [{ host: copy, at: INSIDE, access: p.access === "ro" ? "ro" : "rw" }] as const;
    const mergeBack = (): Promise<MergedChanges> =>
      merge({
        workspace: root,
        copy,
        before,
        files: p.files,
        maxEntries: 2 * limits.files,
        maxFileBytes: maxWriteBytes,
        signal,
      });
    return {
      mounts,
      owner,
      isCopy: true,
      collect: ({ stopped }) =>
        p.access === "rw" && !stopped ? mergeBack() : Promise.resolve(NOTHING),
      discard,
    };
  } catch (cause) {
    discard();
    throw cause;
  }
}

async function direct(root: string, owner: User | null, p: Placing): Promise<Placed> {
  const { pathRules } = p.rules;
  const survey = await scanWorkspace(root, pathRules, {
    maxEntries: p.limits.inPlace,
    signal: p.signal,
  });
  // What was not checked could be neither protected nor hidden.
  if (!survey.complete) throw tooMany(root, p.limits.inPlace);
  const named = await namedBelow(root, pathRules);
  const known = new Set(survey.hidden.map(({ within }) => within));
  const hidden = [...survey.hidden, ...named.hidden.filter(({ within }) => !known.has(within))];
  // Kept in place with all folders above: renaming one of those would show what is hidden under another name.
  const protect = [
    ...new Set([...survey.protect, ...named.fixed, ...hidden.map(({ within }) => within)]),
  ];
  const aside = await p.staging.folder();
  const covers = await coversIn(aside);
  // A workspace that is a repository's own folder is never writable.
  const isReadOnly = p.access === "ro" || survey.repositories.has("");
  if (!isReadOnly)
    await writeFile(
      join(aside, JOURNAL),
      JSON.stringify({ root, repositories: [...survey.repositories] }),
      { mode: 0o600 },
    );
  const mounts: SandboxMount[] = [
    isReadOnly
      ? { host: root, at: INSIDE, access: "ro" }
      : { host: root, at: INSIDE, access: "rw", protect },
    ...hidden.map(({ within, type }) => ({
      host: type === "dir" ? covers.folder : covers.file,
      at: `${INSIDE}/${within}`,
      access: "ro" as const,
    })),
  ];
  return {
    mounts,
    owner,
    isCopy: false,
    // What a stopped job wrote is in the workspace already, so it is checked all the same, to its end.
    collect: () =>
      isReadOnly
        ? Promise.resolve(NOTHING)
        : collect(root, pathRules, survey, { maxEntries: Infinity, signal: NEVER, aside }),
    discard: () => p.staging.drop(aside),
  };
}

function tooMany(root: string, entries: number): AppError {
  const message = `the workspace ${root} has more than ${entries} entries: too many to check each for what must be protected, so nothing was started`;
  const remedy = "start the server on a smaller folder: OSTIARY_WORKSPACE=<folder> ostiary serve";
  return new AppError("EXECUTION_FAILED", "workspace_too_large", message, { remedy });
}

/** What is seen in place of something hidden. */
async function coversIn(folder: string): Promise<{ folder: string; file: string }> {
  const covers = { folder: join(folder, "nothing"), file: join(folder, "empty") };
  await mkdir(covers.folder, { mode: 0o755 });
  await writeFile(covers.file, "", { mode: 0o444 });
  return covers;
}

/** User ids of runs, above those of people and below those that systems reserve. */
const FIRST_UID = 50_000;
const UIDS = 10_000;
const PREFIX = "ostiary-runs-";

/**
 * Under the data folder; where that is closed to the users of runs, as root's is, in a folder of its own among the
 * system's temporary ones, which cannot be listed.
 */
export function openStaging(dataDir: string): Staging {
  const asRoot = process.getuid?.() === 0;
  let root: Promise<string> | null = null;
  let runs = 0;
  const dropping = new Set<Promise<unknown>>();
  const open = async (): Promise<string> => {
    const own = join(dataDir, "runs");
    await mkdir(own, { recursive: true, mode: asRoot ? 0o711 : 0o700 });
    if (!asRoot || (await isPassable(own))) return own;
    // What a crash left behind is found again by this note.
    const note = join(own, "elsewhere");
    const left = await readFile(note, "utf8").catch(() => "");
    if (left.startsWith(join(tmpdir(), PREFIX))) await removeAll(left);
    const elsewhere = await mkdtemp(join(tmpdir(), PREFIX));
    await chmod(elsewhere, 0o711);
    await writeFile(note, elsewhere, { mode: 0o600 });
    return elsewhere;
  };
  return {
    async folder() {
      const folder = await mkdtemp(join(await (root ??= open()), "run-"));
      await chmod(folder, 0o711);
      return folder;
    },
    drop(folder) {
      // What is left when it fails goes with the rest at the end.
      const going: Promise<unknown> = removeAll(folder).then(
        () => dropping.delete(going),
        () => dropping.delete(going),
      );
      dropping.add(going);
    },
    user() {
      if (!asRoot) return null;
      const uid = FIRST_UID + (runs++ % UIDS);
      return { uid, gid: uid };
    },
    async close() {
      await Promise.all(dropping);
      const opened = await root;
      root = null;
      if (opened) await removeAll(opened);
    },
  };
}

/**
 * What a run wrote that a crash of the server ended was never checked: repositories among it are renamed now, before
 * the first call. Returns what was found.
 */
export async function recoverRuns(dataDir: string): Promise<string[]> {
  const own = join(dataDir, "runs");
  const elsewhere = await readFile(join(own, "elsewhere"), "utf8").catch(() => "");
  const found: string[] = [];
  for (const folder of [own, ...(elsewhere.startsWith(join(tmpdir(), PREFIX)) ? [elsewhere] : [])])
    for (const name of await readdir(folder).catch(() => [])) {
      const text = await readFile(join(folder, name, JOURNAL), "utf8").catch(() => null);
      if (text === null) continue;
      const journal = journalOf(text);
      if (journal)
        found.push(
          ...(await disarmNew(journal.root, new Set(journal.repositories))).map((within) =>
            join(journal.root, within),
          ),
        );
      await removeAll(join(folder, name));
    }
  return found;
}

/** Null for a note that was not written to its end: the program starts only after that, so it has written nothing. */
function journalOf(text: string): { root: string; repositories: string[] } | null {
  try {
    return JSON.parse(text) as { root: string; repositories: string[] };
  } catch {
    return null;
  }
}
