// Copies what a call would touch to where it may be changed: through opened folders, and never what may not be read.
import { constants, type BigIntStats } from "node:fs";
import { access, link, lstat, mkdir, open, readlink, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { AppError } from "../../../../contract/errors.ts";
import { NoPreview } from "../preview/no-preview.ts";
import { CREATE_FLAGS, FOLDER_FLAGS, pathOf, READ_FLAGS } from "./descriptor.ts";
import { changed, translate } from "./fault.ts";
import { requireOwnLinks } from "./owner.ts";
import { withEntry, withOpened, type FileContext } from "./place.ts";
import { piecesOf } from "./read.ts";
import { typeOf } from "./stat.ts";
import { walkTree, type TreeEntry } from "./tree.ts";

const MAX_ENTRIES = 4_000;
/** Of larger ones only the size is copied. */
const MAX_FILE_BYTES = 16_777_216;
const MAX_BYTES = 33_554_432;

/** What was there before. */
export interface Brought {
  readonly type: "file" | "dir" | "link" | "other";
  readonly sizeBytes: number;
  /** Of the copy. */
  readonly inode: bigint;
  /** A second name of the copy, which keeps what was in it; null: its content was not copied. */
  readonly kept: string | null;
  /** Why its content was not copied, or is not shown. */
  readonly why?: string;
}

/** Copies entries, each once. A failure is remembered: who swallows it meets it again. */
export class Bringing {
  readonly before = new Map<string, Brought>();
  readonly #there: FileContext;
  readonly #folder: string;
  readonly #toCopy: (path: string) => string;
  readonly #known = new Map<string, Promise<void>>();
  /** By the inode of the copy: files with several names. */
  readonly #linked = new Map<bigint, { stat: BigIntStats; folder: BigIntStats }>();
  #bytesLeft = MAX_BYTES;
  #pins = 0;

  constructor(there: FileContext, folder: string, toCopy: (path: string) => string) {
    this.#there = there;
    this.#folder = folder;
    this.#toCopy = toCopy;
  }

  entry(given: string, real: string): Promise<void> {
    return this.#once(`entry ${real}`, () => this.#entry(given, real));
  }

  tree(given: string, real: string): Promise<void> {
    return this.#once(`tree ${real}`, () => this.#below(given, real, "all"));
  }

  some(given: string, real: string): Promise<void> {
    return this.#once(`some ${real}`, () => this.#below(given, real, "one"));
  }

  /** As for the real file: the copy's own names count for nothing. */
  async requireOwn(given: string, { ino }: BigIntStats): Promise<void> {
    const linked = this.#linked.get(ino);
    if (!linked) return;
    requireOwnLinks(given, linked.stat, linked.folder);
    await this.#there.requireUnguarded(given, linked.stat);
  }

  /** As far as the system reports it: the copy is always ours. */
  async requireWritable(given: string, real: string): Promise<void> {
    if (this.#there.paths.isRoot(real) || this.before.get(real)?.type === "dir") return;
    const folder = foldersTo(dirname(real)).findLast((path) => this.before.has(path));
    // Nothing can be written below a file; the call itself fails with that.
    if (folder === undefined || this.before.get(folder)?.type !== "dir") return;
    try {
      await access(folder, constants.W_OK | constants.X_OK);
    } catch (cause) {
      throw translate(given, cause);
    }
  }

  #once(key: string, work: () => Promise<void>): Promise<void> {
    let known = this.#known.get(key);
    if (!known) this.#known.set(key, (known = work()));
    return known;
  }

  async #entry(given: string, real: string): Promise<void> {
    const { paths, rules } = this.#there;
    const own = rules.own.find((folder) => real === folder || real.startsWith(`${folder}/`));
    // A folder that the server would make with its first use.
    if (own !== undefined && (await statOf(own)) === null) return this.#folders(own);
    if (!(await this.#above(given, real)) || paths.isRoot(real)) return;
    const located = { ok: true, path: real, shown: paths.show(real) } as const;
    await withEntry(this.#there, given, located, { access: "read" }, async (entry) => {
      const stat = await entry.look();
      if (stat) await this.#copy(given, real, entry.reach, stat, entry.folder);
    });
  }

  /** The folders above, as far as they are there. False: one is missing, so that nothing is below. */
  async #above(given: string, real: string): Promise<boolean> {
    const parent = dirname(real);
    const top = this.#there.paths.isRoot(real) ? real : parent;
    for (const folder of foldersTo(top)) {
      const known = this.before.get(folder);
      if (known?.type === "dir") continue;
      // Nothing lies below a file.
      if (known) return false;
      const stat = await statOf(folder);
      if (stat === null) return false;
      if (stat.isSymbolicLink()) throw changed(given);
      if (!stat.isDirectory()) {
        await this.#copy(given, folder, null, stat, stat);
        return false;
      }
      await this.#makeFolder(folder);
    }
    return true;
  }

  async #folders(path: string): Promise<void> {
    for (const folder of foldersTo(path))
      if (!this.before.has(folder)) await this.#makeFolder(folder);
  }

  async #makeFolder(real: string): Promise<void> {
    const copy = this.#toCopy(real);
    await mkdir(copy, { recursive: true, mode: 0o700 });
    const { ino } = await lstat(copy, { bigint: true });
    this.before.set(real, { type: "dir", sizeBytes: 0, inode: ino, kept: null });
  }

  async #below(given: string, real: string, how: "all" | "one"): Promise<void> {
    if (this.before.get(real)?.type !== "dir") return;
    const { paths } = this.#there;
    const located = { ok: true, path: real, shown: paths.show(real) } as const;
    const before = async ({ within, stat, reach }: TreeEntry): Promise<void> => {
      const path = join(real, within);
      if (this.before.has(path)) return;
      // What may not be read is known by its name alone, and refused by it.
      const from = paths.allows(path, "read") ? reach : null;
      const folder = stat.nlink > 1n ? await lstat(dirname(reach), { bigint: true }) : stat;
      await this.#copy(given, path, from, stat, folder);
      if (how === "one") throw ENOUGH;
    };
    await withOpened(this.#there, given, located, FOLDER_FLAGS, (handle) =>
      // The opened folder itself: without the dot it would be a link to it.
      walkTree(this.#there, given, `${pathOf(handle, real)}/.`, { before }),
    ).catch((cause: unknown) => {
      if (cause !== ENOUGH) throw cause;
    });
  }

  /** `from` null: only what it is, not what is in it. */
  async #copy(
    given: string,
    real: string,
    from: string | null,
    stat: BigIntStats,
    folder: BigIntStats,
  ): Promise<void> {
    this.#there.signal.throwIfAborted();
    if (this.before.has(real)) return;
    if (this.before.size >= MAX_ENTRIES)
      throw new NoPreview(`it would touch more than ${MAX_ENTRIES} entries`);
    const type = typeOf(stat);
    const copy = this.#toCopy(real);
    if (type === "dir") return this.#makeFolder(real);
    if (type === "other")
      throw new NoPreview(`${this.#there.paths.show(real)} is a device, socket or pipe`);
    if (type === "link") {
      await symlink(from === null ? "?" : await readlink(from), copy);
      const { ino } = await lstat(copy, { bigint: true });
      this.before.set(real, { type, sizeBytes: 0, inode: ino, kept: null });
      return;
    }
    const kept = join(this.#folder, `kept-${this.#pins++}`);
    const { why, inode } = await this.#content(given, kept, from, stat);
    // The second name keeps the content, and the inode from being used again.
    await link(kept, copy);
    if (stat.nlink > 1n) this.#linked.set(inode, { stat, folder });
    const hidden = why ?? (await this.#hidden(given, stat, folder));
    this.before.set(real, {
      type,
      sizeBytes: Number(stat.size),
      inode,
      kept: why === null ? kept : null,
      ...(hidden === null ? {} : { why: hidden }),
    });
  }

  /** `why` null: the content is there; else a file of the same size is, and why. */
  async #content(
    given: string,
    to: string,
    from: string | null,
    stat: BigIntStats,
  ): Promise<{ why: string | null; inode: bigint }> {
    const size = Number(stat.size);
    const mode = Number(stat.mode & 0o666n) | 0o600;
    const why =
      from === null
        ? "it may not be read"
        : size > MAX_FILE_BYTES || size > this.#bytesLeft
          ? "it is too large to be shown"
          : null;
    const target = await open(to, CREATE_FLAGS, mode);
    try {
      const { ino: inode } = await target.stat({ bigint: true });
      if (why !== null || from === null) {
        await target.truncate(size);
        return { why, inode };
      }
      try {
        this.#bytesLeft -= size;
        if (size > 0) await this.#pour(given, from, stat, (piece) => target.writeFile(piece));
        return { why: null, inode };
      } catch (cause) {
        if (!isUnreadable(cause)) throw cause;
        await target.truncate(size);
        return { why: "the server's user may not read it", inode };
      }
    } finally {
      await target.close();
    }
  }

  async #pour(
    given: string,
    from: string,
    stat: BigIntStats,
    put: (piece: Buffer) => Promise<void>,
  ): Promise<void> {
    const handle = await open(from, READ_FLAGS);
    try {
      const opened = await handle.stat({ bigint: true });
      if (!opened.isFile() || opened.dev !== stat.dev || opened.ino !== stat.ino)
        throw changed(given);
      for await (const piece of piecesOf(handle, given, MAX_FILE_BYTES, this.#there.signal))
        await put(piece);
    } finally {
      await handle.close();
    }
  }

  /** Why a file's text is not shown although its content was copied. */
  async #hidden(given: string, stat: BigIntStats, folder: BigIntStats): Promise<string | null> {
    if (stat.nlink <= 1n) return null;
    try {
      requireOwnLinks(given, stat, folder);
      await this.#there.requireUnguarded(given, stat);
      return null;
    } catch (cause) {
      if (cause instanceof AppError) return "it is another name of a file that lies elsewhere";
      throw cause;
    }
  }
}

const ENOUGH = new Error("one entry is enough");

/** `/a/b/c` → `/`, `/a`, `/a/b`, `/a/b/c`. */
function foldersTo(path: string): string[] {
  const found = [path];
  while (found[0] !== undefined && dirname(found[0]) !== found[0]) found.unshift(dirname(found[0]));
  return found;
}

const statOf = (path: string): Promise<BigIntStats | null> =>
  lstat(path, { bigint: true }).catch((cause: unknown) => {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw cause;
  });

const isUnreadable = (cause: unknown): boolean =>
  ["EACCES", "EPERM"].includes(String((cause as NodeJS.ErrnoException).code));
