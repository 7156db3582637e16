// The threads that match, one pattern at a time.
import { beside, openThreads } from "../../threads.ts";
import type { FoundInText, Pattern } from "./search-matcher.ts";
import type { FromThread, ToThread } from "./search-thread.ts";

const AT_ONCE = 4;
const OF_ONE_OWNER = 2;
const MEMORY_MB = 512;

export interface Matching {
  find(texts: readonly Uint8Array[], limit: number): Promise<readonly FoundInText[]>;
}

export interface SearchThreads {
  /** A pattern that cannot be read ends with what `invalid` makes of it; a signal that fires ends the thread. */
  with<T>(
    owner: string,
    query: Pattern,
    signal: AbortSignal,
    invalid: (message: string, at: number) => Error,
    use: (matching: Matching) => Promise<T>,
  ): Promise<T>;
  close(): Promise<void>;
}

export function searchThreads(): SearchThreads {
  const threads = openThreads<ToThread, FromThread>({
    name: "search",
    entry: beside(import.meta.url, "search-thread"),
    atOnce: AT_ONCE,
    ofOneOwner: OF_ONE_OWNER,
    memoryMb: MEMORY_MB,
  });
  return {
    with: (owner, query, signal, invalid, use) =>
      threads.with(owner, signal, async (ask) => {
        const begun = await ask({ kind: "pattern", query });
        if (begun.kind === "invalid") throw invalid(begun.message, begun.at);
        return use({
          async find(texts, limit) {
            const answer = await ask({ kind: "texts", texts, limit });
            return answer.kind === "found" ? answer.found : [];
          },
        });
      }),
    close: () => threads.close(),
  };
}
