// Everything below a folder, reached through opened folders only. Links are entries; they are never followed.
import type { BigIntStats } from "node:fs";
import { lstat, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "../../../../contract/errors.ts";
import { quote } from "../../../../util/text/quote.ts";
import { FOLDER_FLAGS, pathOf } from "./descriptor.ts";
import { failed } from "./fault.ts";
import type { FileContext } from "./place.ts";

const MAX_DEPTH = 200;

export interface TreeEntry {
  /** Path below the top, with slashes. */
  readonly within: string;
  readonly stat: BigIntStats;
  /** The path to it during its visit. */
  readonly reach: string;
}

/** Visits a folder's entries, each folder before what is in it; `after` comes when a folder has been gone through. */
export async function walkTree(
  context: FileContext,
  given: string,
  reach: string,
  visit: {
    before(entry: TreeEntry): void | Promise<void>;
    after?(entry: TreeEntry): Promise<void>;
  },
): Promise<void> {
  let left = context.rules.maxVisitedEntries;
  const go = async (folder: string, within: string, depth: number): Promise<void> => {
    if (depth > MAX_DEPTH) throw tooMuch(given, `goes more than ${MAX_DEPTH} folders deep`);
    const handle = await open(folder, FOLDER_FLAGS);
    try {
      const opened = pathOf(handle, folder);
      for (const name of await readdir(opened)) {
        context.signal.throwIfAborted();
        if (left-- <= 0)
          throw tooMuch(given, `holds more than ${context.rules.maxVisitedEntries} entries`);
        const path = join(opened, name);
        const stat = await lstat(path, { bigint: true });
        const entry = { within: within === "" ? name : `${within}/${name}`, stat, reach: path };
        await visit.before(entry);
        if (!stat.isDirectory()) continue;
        await go(path, entry.within, depth + 1);
        await visit.after?.(entry);
      }
    } finally {
      await handle.close();
    }
  };
  await go(reach, "", 1);
}

function tooMuch(given: string, message: string): AppError {
  return new AppError(
    "FORBIDDEN",
    "size_exceeded",
    `path ${quote(given)}: the directory ${message}`,
    { remedy: "take it in parts" },
  );
}

export function requireOutside(given: string, source: string, target: string): void {
  if (target === source || target.startsWith(`${source}/`))
    throw failed(
      "into_itself",
      given,
      "lies inside what is to be put there",
      "use a path outside of it",
    );
}
