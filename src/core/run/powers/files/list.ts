// Walks folders: each is opened once, and what is below is reached through it.
import { lstat, open, opendir, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import type { Located } from "../../../../governance/rules/governance.ts";
import type { FilesPower, FileStat } from "../../../../contract/powers/files.ts";
import { mainThread } from "../../../../util/async/time-slices.ts";
import { FOLDER_FLAGS, pathOf } from "./descriptor.ts";
import { ignoreAbove, ignoreIn, type IgnoreLayer } from "./ignore.ts";
import { locate, withOpened, type FileContext } from "./place.ts";
import { targetOf, typeOf } from "./stat.ts";

const STAT_BATCH = 64;

type ListOptions = Parameters<FilesPower["list"]>[1];

export const listWith =
  (context: FileContext): FilesPower["list"] =>
  async (path, options) => {
    const located = await locate(context, path, "read");
    const listing = new Listing(context, options);
    const layers = options.respectIgnore ? await ignoreAbove(context, located.path) : [];
    await withOpened(context, path, located, FOLDER_FLAGS, (handle) =>
      listing.walk(
        { reach: pathOf(handle, located.path), real: located.path, within: "" },
        options.depth,
        layers,
      ),
    );
    return { path: located.shown, ...listing.result() };
  };

export interface FoundFile {
  readonly real: string;
  readonly shown: string;
  readonly within: string;
  readonly sizeBytes: number;
}

/** Every regular file below a folder, however many. `prune` leaves out a file, or a folder with all that is in it. */
export async function walkFiles(
  context: FileContext,
  given: string,
  located: Located,
  options: {
    depth: number;
    includeHidden: boolean;
    respectIgnore: boolean;
    prune(within: string): boolean;
    accept(within: string): boolean;
  },
): Promise<{ files: FoundFile[]; denied: number; truncated: boolean }> {
  const files: FoundFile[] = [];
  const listing = new Listing(context, {
    ...options,
    maxEntries: 0,
    accept(entry, within) {
      if (entry.type === "file" && options.accept(within))
        files.push({
          real: join(located.path, within),
          shown: entry.path,
          within,
          sizeBytes: entry.sizeBytes,
        });
      return false;
    },
  });
  const layers = options.respectIgnore ? await ignoreAbove(context, located.path) : [];
  await withOpened(context, given, located, FOLDER_FLAGS, (handle) =>
    listing.walk(
      { reach: pathOf(handle, located.path), real: located.path, within: "" },
      options.depth,
      layers,
    ),
  );
  return { files, denied: listing.denied, truncated: listing.stopped };
}

/** `reach` is a path to the opened folder, `real` the path that the rules check, `within` its path in the listing. */
interface Folder {
  readonly reach: string;
  readonly real: string;
  readonly within: string;
}

class Listing {
  readonly #context: FileContext;
  readonly #options: ListOptions & { prune?(within: string): boolean };
  readonly #maxEntries: number;
  readonly #entries: FileStat[] = [];
  #visitsLeft: number;
  readonly #turn = mainThread.job("begun");
  #total = 0;
  /** Entries that the rules leave out. */
  denied = 0;
  /** A limit ended the walk: there are more entries. */
  stopped = false;

  constructor(context: FileContext, options: ListOptions & { prune?(within: string): boolean }) {
    this.#context = context;
    this.#options = options;
    this.#maxEntries = Math.min(options.maxEntries, context.rules.maxListEntries);
    this.#visitsLeft = context.rules.maxVisitedEntries;
  }

  result(): { entries: FileStat[]; total: number; truncated: boolean } {
    const truncated = this.stopped || this.#total > this.#entries.length;
    return { entries: this.#entries, total: this.#total, truncated };
  }

  async walk(folder: Folder, depth: number, above: readonly IgnoreLayer[]): Promise<void> {
    const { reach, real, within } = folder;
    const own = this.#options.respectIgnore ? await ignoreIn(reach, within) : null;
    const layers = own ? [...above, own] : above;
    const names = await this.#namesIn(folder);
    for (let at = 0; at < names.length; at += STAT_BATCH) {
      this.#context.signal.throwIfAborted();
      const batch = names.slice(at, at + STAT_BATCH);
      const stats = await Promise.all(
        batch.map((name) => this.#stat(join(reach, name), join(real, name))),
      );
      for (const [index, name] of batch.entries()) {
        const entry = stats[index];
        if (!entry) continue; // gone meanwhile
        // There may be many long patterns, from callers and files.
        const over = this.#turn();
        if (over) {
          await over;
          this.#context.signal.throwIfAborted();
        }
        const place = within === "" ? name : `${within}/${name}`;
        if (this.#options.prune?.(place)) continue;
        if (layers.length > 0 && isIgnored(layers, place, entry.type === "dir")) continue;
        if (this.#options.accept?.(entry, place) ?? true) {
          this.#total++;
          if (this.#entries.length < this.#maxEntries) this.#entries.push(entry);
        }
        if (entry.type === "dir" && depth > 1 && !this.stopped)
          await this.#descend(
            { reach: join(reach, name), real: join(real, name), within: place },
            depth - 1,
            layers,
          );
      }
    }
  }

  async #descend(folder: Folder, depth: number, layers: readonly IgnoreLayer[]): Promise<void> {
    this.#context.signal.throwIfAborted();
    let handle: FileHandle;
    try {
      handle = await open(folder.reach, FOLDER_FLAGS);
    } catch {
      return; // not readable, or no folder any more: it is listed, what is in it is not
    }
    try {
      await this.walk({ ...folder, reach: pathOf(handle, folder.real) }, depth, layers);
    } finally {
      await handle.close();
    }
  }

  async #namesIn({ reach, real }: Folder): Promise<string[]> {
    const { paths, signal } = this.#context;
    const { includeHidden, respectIgnore } = this.#options;
    const names: string[] = [];
    for await (const { name } of await opendir(reach, { bufferSize: 512 })) {
      if (this.#visitsLeft-- <= 0) {
        this.stopped = true;
        break;
      }
      if (names.length % 512 === 0) signal.throwIfAborted();
      if (name.startsWith(".") && (!includeHidden || (respectIgnore && name === ".git"))) continue;
      if (paths.allows(join(real, name), "read")) names.push(name);
      else this.denied++;
    }
    return names.sort();
  }

  async #stat(reach: string, real: string): Promise<FileStat | null> {
    const { paths } = this.#context;
    try {
      const stat = await lstat(reach, { bigint: true });
      const type = typeOf(stat);
      const modifiedMs = Number(stat.mtimeNs / 1_000_000n);
      const entry = { path: paths.show(real), type, sizeBytes: Number(stat.size), modifiedMs };
      return type === "link" ? { ...entry, target: await targetOf(paths, reach) } : entry;
    } catch {
      return null;
    }
  }
}

/** The deepest file with a line that fits decides. */
function isIgnored(layers: readonly IgnoreLayer[], within: string, isFolder: boolean): boolean {
  for (let at = layers.length - 1; at >= 0; at--) {
    const decision = layers[at]?.(within, isFolder) ?? null;
    if (decision !== null) return decision;
  }
  return false;
}
