// Answers that may be given again: of tools that declare it and change nothing. It stands behind the gate, so that a
// hit is asked about, counted and recorded as any other call; only the work is spared.
import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { narrowingOf, type Call } from "../../contract/call.ts";
import { canonicalJson } from "../../util/json/json.ts";
import type { Runner, Runners, RunResult } from "./index.ts";

export interface CachePowers {
  /** How long an answer may be given again; 0: never. */
  readonly seconds: number;
  /** Versions of the rules: under others an answer is not given again. */
  readonly rules: () => readonly string[];
  readonly now: () => number;
  readonly onHit: () => void;
}

interface CachedResult {
  readonly result: RunResult;
  readonly at: number;
  readonly bytes: number;
}

const MAX_BYTES = 32 * 1_048_576;
const MAX_ENTRY_BYTES = 262_144;

/** Every runner with the same cache in front of it. */
export function cachedRunners(runners: Runners, p: CachePowers): Runners {
  if (p.seconds === 0) return runners;
  const kept = new LRUCache<string, CachedResult>({
    maxSize: MAX_BYTES,
    maxEntrySize: MAX_ENTRY_BYTES,
    sizeCalculation: ({ bytes }) => bytes,
  });
  const entries = Object.entries(runners).map(([provider, runner]) => [
    provider,
    cached(runner, kept, p),
  ]);
  return Object.fromEntries(entries) as Runners;
}

function cached(runner: Runner, kept: LRUCache<string, CachedResult>, p: CachePowers): Runner {
  return (call) => {
    if (call.tool?.cacheable !== true || call.tool.effects !== "read_only") return runner(call);
    const key = keyOf(call, p.rules());
    const known = call.metadata?.["cache"] === false ? undefined : kept.get(key);
    const ageMs = known ? p.now() - known.at : 0;
    // A clock that was set back makes nothing younger.
    if (known && ageMs >= 0 && ageMs < p.seconds * 1_000) {
      p.onHit();
      return { ...known.result, metadata: { ...known.result.metadata, cached: true, ageMs } };
    }
    const keep = (result: RunResult): RunResult => {
      if (mayBeKept(result)) kept.set(key, { result, at: p.now(), bytes: bytesOf(result) });
      return result;
    };
    const running = runner(call);
    return running instanceof Promise ? running.then(keep) : keep(running);
  };
}

/** The caller is part of the key: the answer to one caller is never given to another. */
function keyOf({ caller, tool, arguments: given }: Call, rules: readonly string[]): string {
  const { tenantId, userId, keyId } = caller;
  const question = canonicalJson([
    tenantId,
    userId,
    keyId,
    narrowingOf(caller),
    tool?.pin ?? null,
    [...rules],
    given,
  ]);
  return createHash("sha256").update(question).digest("base64");
}

/**
 * Only what is whole: neither a part of an answer, for lack of time or of a server, nor one whose file may be gone
 * meanwhile.
 */
const mayBeKept = ({ error, metadata }: RunResult): boolean =>
  error === null &&
  metadata["timedOut"] !== true &&
  metadata["partial"] !== true &&
  metadata["filesTouched"] === undefined;

/** At least one, as the cache wants it; what the record keeps lies there besides. */
const bytesOf = ({ output, recorded }: RunResult): number =>
  2 *
    ((JSON.stringify(output)?.length ?? 0) +
      (recorded === undefined || recorded === output
        ? 0
        : (JSON.stringify(recorded)?.length ?? 0))) +
  256;
