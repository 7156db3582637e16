// Makes checkpoints: after so many events, or so long after the first that none covers, or on request.
import { AppError } from "../../contract/errors.ts";
import type { Store } from "../store/store.ts";
import { NO_HASH } from "../../util/record/ledger-line.ts";
import type { CheckpointFile } from "./checkpoint-file.ts";
import type { LedgerKey } from "./key.ts";
import { checkpointText, lineHash, signLine, type NamedHead } from "./lines.ts";

export interface CheckpointPowers {
  readonly ledger: Store["ledger"];
  readonly file: CheckpointFile;
  readonly key: LedgerKey;
  readonly instanceId: string;
  readonly now: () => number;
  /** Events of this server after which one is made. */
  readonly everyEvents: number;
  readonly everyMs: number;
  readonly report: (cause: unknown) => void;
}

export interface Checkpoints {
  /** Called for each event: on the path of every call, so it only counts. */
  recorded(): void;
  /** From now on they are made automatically: what the last start left has been checked. */
  start(): void;
  /**
   * A checkpoint of the present state; the last one where nothing moved. `all`: names every chain, also those that have
   * not moved.
   */
  make(which?: "moved" | "all"): Promise<string | null>;
  close(): Promise<void>;
}

/** At most one a second is made automatically, however much is written. */
const LEAST_MS = 1_000;

export function createCheckpoints(powers: CheckpointPowers): Checkpoints {
  const { ledger, file, key, instanceId, now, everyEvents, everyMs, report } = powers;
  let uncovered = 0;
  /** Not before `start`: a new one would hide that the database is older than the last. Not after `close`. */
  let running = false;
  let timer: NodeJS.Timeout | null = null;
  let soon: NodeJS.Timeout | null = null;
  let working: Promise<unknown> = Promise.resolve();
  /** Unknown after a start: the first checkpoint then names every chain. */
  let last: { n: number; line: string; all: boolean } | null = null;
  let covered: ReadonlyMap<string, number> | null = null;
  const unwritten: string[] = [];

  async function make(which: "moved" | "all"): Promise<string | null> {
    uncovered = 0;
    if (timer) clearTimeout(timer);
    if (soon) clearTimeout(soon);
    timer = soon = null;
    await writeOut();
    const heads = (await ledger.heads()).filter((head) => head.instanceId === instanceId);
    if (heads.length === 0) return null;
    const before: { n: number; line: string; all?: boolean } | null =
      last ?? (await ledger.lastCheckpoint(instanceId));
    const moved =
      covered === null ? heads : heads.filter(({ tenantId, n }) => covered?.get(tenantId) !== n);
    if (before && moved.length === 0 && (which === "moved" || before.all)) return before.line;
    const all = which === "all" || moved.length === heads.length;
    const chains = (all ? heads : moved)
      .map(({ tenantId, n, seq, hash }): NamedHead => ({ tenantId, n, seq, hash }))
      .sort(byTenant);
    const n = (before?.n ?? 0) + 1;
    const seq = Math.max(...heads.map((head) => head.seq));
    const at = now();
    const prevHash = before ? lineHash(before.line) : NO_HASH;
    const line = signLine(checkpointText({ instanceId, n, at, seq, prevHash, chains }, key), key);
    await ledger.addCheckpoint({ instanceId, n, seq, at, line });
    last = { n, line, all };
    covered = new Map(heads.map((head) => [head.tenantId, head.n]));
    unwritten.push(line);
    await writeOut();
    return line;
  }

  /** The database first: what is missing in the file can be written later, what is missing in the database is lost. */
  async function writeOut(): Promise<void> {
    for (let line = unwritten[0]; line !== undefined; line = unwritten[0]) {
      await file.append(line).catch(notWritten);
      unwritten.shift();
    }
  }

  const inTurn = (which: "moved" | "all"): Promise<string | null> => {
    const made = working.then(() => make(which));
    working = made.catch(() => undefined);
    return made;
  };
  const byItself = (): void =>
    void inTurn("moved").catch((cause: unknown) => {
      report(cause);
      // Even if no event follows, the events that are not covered yet must be.
      uncovered = Math.max(uncovered, 1);
      arm();
    });

  function arm(): void {
    if (!running || uncovered === 0) return;
    timer ??= setTimeout(byItself, everyMs).unref();
    if (uncovered >= everyEvents)
      soon ??= setTimeout(byItself, Math.min(LEAST_MS, everyMs)).unref();
  }

  return {
    recorded() {
      uncovered++;
      if (timer === null || uncovered >= everyEvents) arm();
    },
    start() {
      running = true;
      arm();
    },
    make: (which = "moved") => inTurn(which),
    async close() {
      running = false;
      if (timer) clearTimeout(timer);
      if (soon) clearTimeout(soon);
      await inTurn("moved");
    },
  };
}

function notWritten(cause: unknown): never {
  throw new AppError(
    "UNAVAILABLE",
    "resource_exhausted",
    `the checkpoint file cannot be written: ${(cause as Error).message}`,
    { remedy: "make room in the data directory, or make it writable; it is tried again", cause },
  );
}

const byTenant = (a: NamedHead, b: NamedHead): number => (a.tenantId < b.tenantId ? -1 : 1);
