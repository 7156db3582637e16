// Files of the workspace. Every path is judged before it is touched, and what was opened is compared with what was judged.
import { createHash } from "node:crypto";
import { constants, existsSync, type BigIntStats } from "node:fs";
import { lstat, open, opendir, readlink, realpath, type FileHandle } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import type { Call } from "../../call.ts";
import { AppError } from "../../errors.ts";
import type { FileRules, Located, Territory } from "../../governance/governance.ts";
import type { FilesPower, FileStat } from "../../tools/powers/files.ts";
import { quote } from "../../util/quote.ts";

export interface FilesSettings {
  /** What governance says about files, for this call. */
  readonly rulesFor: (call: Call) => Promise<FileRules>;
}

const CHUNK_BYTES = 262_144;
const STAT_BATCH = 64;
const READ_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const FOLDER_FLAGS = READ_FLAGS | constants.O_DIRECTORY;

export function filesPower({ rulesFor }: FilesSettings) {
  return (call: Call, signal: AbortSignal): Pick<FilesPower, "read" | "list"> => ({
    read: async (path, { maxBytes }) => {
      signal.throwIfAborted();
      const { territory, maxReadBytes } = await rulesFor(call);
      return readFile(territory, path, Math.min(maxBytes, maxReadBytes), signal);
    },
    list: async (path, options) => {
      signal.throwIfAborted();
      const rules = await rulesFor(call);
      const area = rules.territory;
      const located = await locate(area, path);
      const listing = new Listing(area, rules, options, signal);
      await withOpened(area, path, located, FOLDER_FLAGS, (handle) =>
        listing.walk(pathOf(handle, located.path), located.path, "", options.depth),
      );
      return { path: located.shown, ...listing.result() };
    },
  });
}

/** The gate has judged the path before; what is opened is what is judged here, now. */
async function locate(area: Territory, given: string): Promise<Located> {
  const found = await area.locate(given, "read");
  if (found.ok) return found;
  const { reason, message, remedy } = found;
  const code = reason === "path_not_found" ? "EXECUTION_FAILED" : "FORBIDDEN";
  throw new AppError(code, reason, message, { remedy });
}

async function readFile(
  area: Territory,
  given: string,
  limit: number,
  signal: AbortSignal,
): ReturnType<FilesPower["read"]> {
  const located = await locate(area, given);
  return withOpened(area, given, located, READ_FLAGS, async (handle, stat) => {
    if (stat.size > BigInt(limit)) throw sizeExceeded(given, limit);
    const hash = createHash("sha256");
    const chunks: Buffer[] = [];
    let sizeBytes = 0;
    for (;;) {
      signal.throwIfAborted();
      const { bytesRead, buffer } = await handle.read({ buffer: Buffer.alloc(CHUNK_BYTES) });
      if (bytesRead === 0) break;
      sizeBytes += bytesRead;
      if (sizeBytes > limit) throw sizeExceeded(given, limit); // it grew meanwhile
      const chunk = buffer.subarray(0, bytesRead);
      hash.update(chunk);
      chunks.push(chunk);
    }
    const bytes = Buffer.concat(chunks);
    const modifiedMs = Number(stat.mtimeNs / 1_000_000n);
    return { path: located.shown, bytes, sizeBytes, modifiedMs, sha256: hash.digest("hex") };
  });
}

/** Opens without following a final link, and makes sure that it is what the rules were asked about. */
async function withOpened<T>(
  area: Territory,
  given: string,
  located: Located,
  flags: number,
  use: (handle: FileHandle, stat: BigIntStats) => Promise<T>,
): Promise<T> {
  let handle: FileHandle | null = null;
  try {
    const before = await lstat(located.path, { bigint: true });
    requireKind(given, before, flags);
    handle = await open(located.path, flags);
    const stat = await handle.stat({ bigint: true });
    requireKind(given, stat, flags);
    const same = stat.dev === before.dev && stat.ino === before.ino;
    if (!same || !(await stillThere(area, located, handle, stat))) throw changed(given);
    return await use(handle, stat);
  } catch (cause) {
    throw translate(given, cause);
  } finally {
    await handle?.close();
  }
}

/**
 * A folder above may have been swapped for a link between judging and opening. Where the system tells the path of a
 * descriptor, that path is judged; elsewhere the links are resolved once more.
 */
async function stillThere(
  area: Territory,
  located: Located,
  handle: FileHandle,
  stat: BigIntStats,
): Promise<boolean> {
  if (hasDescriptorPaths()) return area.allows(await readlink(descriptorPath(handle)), "read");
  if ((await realpath(located.path)) !== located.path) return false;
  const again = await lstat(located.path, { bigint: true });
  return again.dev === stat.dev && again.ino === stat.ino;
}

function hasDescriptorPaths(): boolean {
  return process.platform === "linux" && existsSync("/proc/self/fd");
}

function descriptorPath(handle: FileHandle): string {
  return `/proc/self/fd/${handle.fd}`;
}

/** A way to what lies in an opened folder that does not pass its parents again, where the system has one. */
function pathOf(handle: FileHandle, path: string): string {
  return hasDescriptorPaths() ? descriptorPath(handle) : path;
}

type ListOptions = Parameters<FilesPower["list"]>[1];

class Listing {
  readonly #area: Territory;
  readonly #options: ListOptions;
  readonly #signal: AbortSignal;
  readonly #maxEntries: number;
  readonly #entries: FileStat[] = [];
  #visitsLeft: number;
  #total = 0;
  #stopped = false;

  constructor(area: Territory, rules: FileRules, options: ListOptions, signal: AbortSignal) {
    this.#area = area;
    this.#options = options;
    this.#signal = signal;
    this.#maxEntries = Math.min(options.maxEntries, rules.maxListEntries);
    this.#visitsLeft = rules.maxVisitedEntries;
  }

  result(): { entries: FileStat[]; total: number; truncated: boolean } {
    const truncated = this.#stopped || this.#total > this.#entries.length;
    return { entries: this.#entries, total: this.#total, truncated };
  }

  /** `reach` is how to get at the folder, `real` what the rules know it as, `within` its place in the listing. */
  async walk(reach: string, real: string, within: string, depth: number): Promise<void> {
    const names = await this.#namesIn(reach, real);
    for (let at = 0; at < names.length; at += STAT_BATCH) {
      this.#signal.throwIfAborted();
      const batch = names.slice(at, at + STAT_BATCH);
      const stats = await Promise.all(
        batch.map((name) => this.#stat(join(reach, name), join(real, name))),
      );
      for (const [index, name] of batch.entries()) {
        const entry = stats[index];
        if (!entry) continue; // gone meanwhile
        const place = within === "" ? name : `${within}/${name}`;
        if (this.#options.accept?.(entry, place) ?? true) {
          this.#total++;
          if (this.#entries.length < this.#maxEntries) this.#entries.push(entry);
        }
        if (entry.type === "dir" && depth > 1 && !this.#stopped) {
          await this.#descend(join(reach, name), join(real, name), place, depth - 1);
        }
      }
    }
  }

  async #descend(reach: string, real: string, within: string, depth: number): Promise<void> {
    this.#signal.throwIfAborted();
    let handle: FileHandle;
    try {
      handle = await open(reach, FOLDER_FLAGS);
    } catch {
      return; // not readable, or no folder any more: it is listed, what is in it is not
    }
    try {
      await this.walk(pathOf(handle, real), real, within, depth);
    } finally {
      await handle.close();
    }
  }

  async #namesIn(reach: string, real: string): Promise<string[]> {
    const names: string[] = [];
    for await (const { name } of await opendir(reach, { bufferSize: 512 })) {
      if (this.#visitsLeft-- <= 0) {
        this.#stopped = true;
        break;
      }
      if (names.length % 512 === 0) this.#signal.throwIfAborted();
      if (name.startsWith(".") && !this.#options.includeHidden) continue;
      if (this.#area.allows(join(real, name), "read")) names.push(name);
    }
    return names.sort();
  }

  async #stat(reach: string, real: string): Promise<FileStat | null> {
    try {
      const stat = await lstat(reach);
      const type = stat.isFile() ? "file" : stat.isDirectory() ? "dir" : stat.isSymbolicLink() ? "link" : "other"; // prettier-ignore
      const entry = { path: this.#area.show(real), type, sizeBytes: stat.size, modifiedMs: stat.mtimeMs } as const; // prettier-ignore
      if (type !== "link") return entry;
      const target = await readlink(reach);
      return { ...entry, target: isAbsolute(target) ? this.#area.show(target) : target };
    } catch {
      return null;
    }
  }
}

function requireKind(given: string, stat: BigIntStats, flags: number): void {
  if (stat.isSymbolicLink()) throw changed(given);
  if (flags === FOLDER_FLAGS) {
    if (!stat.isDirectory())
      throw failed("not_a_directory", given, "is not a directory", "name a directory, or use file/read"); // prettier-ignore
  } else if (stat.isDirectory()) {
    throw failed("not_a_file", given, "is a directory", "name a file, or use file/list");
  } else if (!stat.isFile()) {
    throw failed("not_a_file", given, "is a device, socket or pipe", "name a regular file");
  }
}

function failed(reason: string, given: string, message: string, remedy: string): AppError {
  return new AppError("EXECUTION_FAILED", reason, `path ${quote(given)}: ${message}`, { remedy });
}

function sizeExceeded(given: string, limit: number): AppError {
  const message = `path ${quote(given)}: the file is larger than ${limit} bytes`;
  return new AppError("FORBIDDEN", "size_exceeded", message, { remedy: "use a smaller file" });
}

function changed(given: string): AppError {
  const message = `path ${quote(given)} was changed while it was being opened`;
  return new AppError("FORBIDDEN", "path_not_allowed", message, {
    remedy: "repeat the call once nothing changes the path any more",
  });
}

/** System errors become ours here; anything else keeps flying. */
function translate(given: string, cause: unknown): unknown {
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
  switch (code) {
    case "ENOENT":
    case "ENOTDIR":
    case "ENAMETOOLONG":
      return failed("path_not_found", given, "does not exist", "list the directory to see what is there"); // prettier-ignore
    case "EACCES":
    case "EPERM":
      return failed("permission_denied", given, "the server's user may not open it", "change its permissions"); // prettier-ignore
    case "ELOOP":
      return changed(given);
    case "ENXIO":
      return failed("not_a_file", given, "is a device, socket or pipe", "name a regular file");
    default:
      return cause;
  }
}
