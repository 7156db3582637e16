// Searching in the contents of files: which ones, by the walk and the rules; what matches, in a thread of its own.
import { open } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "../../../../contract/errors.ts";
import type { Located } from "../../../../governance/rules/governance.ts";
import type { Sandbox } from "../../../../reach/sandbox/sandbox.ts";
import type { FilesPower, SearchQuery, SearchResult } from "../../../../contract/powers/files.ts";
import { globMatcher } from "../../../../util/files/glob.ts";
import { quote } from "../../../../util/text/quote.ts";
import { READ_FLAGS } from "./descriptor.ts";
import { walkFiles, type FoundFile } from "./list.ts";
import { locate, statIfThere, withOpened, type FileContext } from "./place.ts";
import { requireOwnLinks } from "./owner.ts";
import { filesThatMatch } from "./ripgrep.ts";
import type { SearchThreads } from "./search-threads.ts";

export interface FileSearchSettings {
  /** The caller: no single one gets all threads. */
  readonly owner: string;
  readonly threads: SearchThreads;
  /** Where it is available, ripgrep narrows down large searches first. */
  readonly sandbox: Sandbox | null;
  /** From how many bytes on that pays. */
  readonly narrowFrom: number;
}

const SNIFFED_BYTES = 8_192;
const BATCH_FILES = 16;
const BATCH_BYTES = 8_388_608;
const DEPTH = 100;

export const searchWith =
  (context: FileContext, settings: FileSearchSettings): FilesPower["search"] =>
  async (path, query) => {
    const located = await locate(context, path, "read");
    const invalid = (message: string, at: number): Error =>
      new AppError(
        "EXECUTION_FAILED",
        "pattern_invalid",
        `pattern ${quote(query.pattern)}, character ${at}: ${message}`,
        { remedy: "mend the pattern, or send literal: true to search for it as it is" },
      );
    const maxFileBytes = Math.min(query.maxFileBytes, context.rules.maxReadBytes);
    return settings.threads.with(
      settings.owner,
      query,
      context.signal,
      invalid,
      async (matching) => {
        const candidates = await candidatesOf(context, path, located, query);
        const total = new Totals(
          { ...query, maxFileBytes },
          candidates.denied,
          candidates.truncated,
        );
        const files = candidates.files.filter(({ sizeBytes }) => total.fits(sizeBytes));
        const bytes = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
        const narrowed =
          settings.sandbox !== null && candidates.folder && bytes >= settings.narrowFrom
            ? await filesThatMatch(
                settings.sandbox,
                located.path,
                files.map(({ within }) => within),
                query,
                context.signal,
              )
            : null;
        for (const batch of batches(files)) {
          context.signal.throwIfAborted();
          const texts = await Promise.all(
            batch.map((file) =>
              contentOf(
                context,
                file,
                narrowed !== null && !narrowed.has(file.within),
                maxFileBytes,
              ),
            ),
          );
          const whole = texts.map((text) => (text instanceof Uint8Array ? text : null));
          const found = await matching.find(
            whole.filter((text) => text !== null),
            query.maxPerFile,
          );
          let at = 0;
          batch.forEach((file, index) => {
            const text = texts[index];
            if (text instanceof Uint8Array) total.add(file.shown, found[at++]);
            else total.skip(text ?? "denied");
          });
        }
        return total.result();
      },
    );
  };

interface Candidates {
  readonly files: readonly FoundFile[];
  readonly folder: boolean;
  readonly denied: number;
  readonly truncated: boolean;
}

async function candidatesOf(
  context: FileContext,
  given: string,
  located: Located,
  query: SearchQuery,
): Promise<Candidates> {
  const stat = await statIfThere(located.path).catch(() => null);
  if (stat?.isFile()) {
    const file = {
      real: located.path,
      shown: located.shown,
      within: "",
      sizeBytes: Number(stat.size),
    };
    return { files: [file], folder: false, denied: 0, truncated: false };
  }
  const [globs, exclude] = [query.globs.map(globMatcher), query.exclude.map(globMatcher)];
  const { respectIgnore, includeHidden } = query;
  const found = await walkFiles(context, given, located, {
    depth: DEPTH,
    respectIgnore,
    includeHidden,
    prune: (within) => exclude.some((matches) => matches(within)),
    accept: (within) => globs.length === 0 || globs.some((matches) => matches(within)),
  });
  return { ...found, folder: true };
}

/** Its bytes, or why there are none. `sniff`: it has no match, only its kind is needed. */
async function contentOf(
  context: FileContext,
  { real, shown }: FoundFile,
  sniff: boolean,
  maxBytes: number,
): Promise<Uint8Array | "binary" | "tooLarge" | "denied" | "searched"> {
  try {
    return await withOpened(
      context,
      shown,
      { ok: true, path: real, shown },
      READ_FLAGS,
      async (handle, stat) => {
        if (stat.nlink > 1n) {
          const folder = await open(join(real, ".."), READ_FLAGS);
          try {
            requireOwnLinks(shown, stat, await folder.stat({ bigint: true }));
          } finally {
            await folder.close();
          }
          await context.requireUnguarded(shown, stat);
        }
        const start = Buffer.alloc(SNIFFED_BYTES);
        const { bytesRead } = await handle.read(start, 0, SNIFFED_BYTES, 0);
        if (start.subarray(0, bytesRead).includes(0)) return "binary";
        if (sniff) return "searched";
        if (stat.size > BigInt(maxBytes)) return "tooLarge"; // it grew meanwhile
        const bytes = Buffer.alloc(Number(stat.size));
        const read = await handle.read(bytes, 0, bytes.length, 0);
        return bytes.subarray(0, read.bytesRead);
      },
    );
  } catch (cause) {
    if (cause instanceof AppError) return "denied";
    throw cause;
  }
}

function* batches(files: readonly FoundFile[]): Generator<readonly FoundFile[]> {
  let batch: FoundFile[] = [];
  let bytes = 0;
  for (const file of files) {
    if (batch.length >= BATCH_FILES || (batch.length > 0 && bytes + file.sizeBytes > BATCH_BYTES)) {
      yield batch;
      [batch, bytes] = [[], 0];
    }
    batch.push(file);
    bytes += file.sizeBytes;
  }
  if (batch.length > 0) yield batch;
}

class Totals {
  readonly #query: SearchQuery;
  readonly #result: SearchResult;

  constructor(query: SearchQuery, denied: number, truncated: boolean) {
    this.#query = query;
    this.#result = {
      matches: [],
      files: [],
      filesSearched: 0,
      filesSkipped: { binary: 0, tooLarge: 0, denied },
      truncated,
      incomplete: truncated,
    };
  }

  fits(sizeBytes: number): boolean {
    const fits = sizeBytes <= this.#query.maxFileBytes;
    if (!fits) this.#result.filesSkipped.tooLarge++;
    return fits;
  }

  skip(why: "binary" | "tooLarge" | "denied" | "searched"): void {
    if (why === "searched") this.#result.filesSearched++;
    else this.#result.filesSkipped[why]++;
  }

  add(
    path: string,
    found:
      | {
          count: number;
          matches: readonly Omit<SearchResult["matches"][number], "path">[];
          cut: boolean;
        }
      | undefined,
  ): void {
    this.#result.filesSearched++;
    if (!found || found.count === 0) return;
    this.#result.files.push({ path, count: found.count });
    const room = this.#query.maxResults - this.#result.matches.length;
    const kept = found.matches.slice(0, Math.max(0, room));
    this.#result.matches.push(...kept.map((match) => ({ path, ...match })));
    if (found.cut || kept.length < found.count) this.#result.truncated = true;
  }

  result(): SearchResult {
    return this.#result;
  }
}
