// Takes the beginning of the log out of the database, into a file that proves itself. The file is durable and was read
// back before anything is deleted: a crash at any point leaves the events, or the file and its row.
import { setImmediate as turn } from "node:timers/promises";
import { AppError } from "../../contract/errors.ts";
import type { SegmentRow, Store } from "../store/store.ts";
import type { Export, ExportQuestion } from "./export.ts";
import type { SegmentFiles } from "./segments.ts";
import { verifyExport } from "./verify.ts";

export interface ArchivePowers {
  readonly store: Pick<Store, "log" | "ledger" | "cursors">;
  /** Removes executions from history whose events are gone: those before the number. */
  readonly forget: (before: number) => Promise<unknown>;
  readonly files: SegmentFiles;
  readonly instanceId: string;
  readonly now: () => number;
  readonly export: (question: ExportQuestion) => Promise<Export>;
  readonly note: (segment: SegmentRow, events: number) => Promise<void>;
  /** Events of one file, and of one deletion. */
  readonly maxEvents?: number;
}

export interface Archived {
  /** What was, or would be, archived; null: nothing. */
  readonly from: number | null;
  readonly to: number | null;
  readonly events: number;
  readonly files: readonly string[];
  /** Why it ends where it ends. */
  readonly reason: string;
}

export interface ArchiveQuestion {
  /** Epoch ms: only what is older. */
  readonly before: number;
  readonly dryRun: boolean;
}

/** The newest events always stay. */
const KEPT = 1_000;
const MAX_EVENTS = 50_000;
const LEASE = "archive";
const LEASE_MS = 600_000;
const PAGE = 1_000;

export async function archive(powers: ArchivePowers, question: ArchiveQuestion): Promise<Archived> {
  const { store, instanceId, now } = powers;
  if (question.dryRun) {
    const { from, to, reason } = await bounds(powers, question.before);
    return { ...ended(from, to), events: Math.max(0, to - from + 1), files: [], reason };
  }
  const held = await store.cursors.hold(LEASE, instanceId, now(), now() + LEASE_MS, 0);
  if (held === null)
    throw new AppError("CONFLICT", "already_exists", "another server is archiving right now", {
      remedy: "wait until it is done: ostiary audit archive --dry-run shows what is left",
    });
  try {
    const { from, to, reason } = await bounds(powers, question.before);
    // Finishes what a crash after the last one left undone.
    await powers.forget(from);
    const files: string[] = [];
    const most = powers.maxEvents ?? MAX_EVENTS;
    for (let start = from; start <= to; start += most) {
      files.push(await seal(powers, start, Math.min(to, start + most - 1)));
      await store.cursors.hold(LEASE, instanceId, now(), now() + LEASE_MS, 0);
    }
    return { ...ended(from, to), events: Math.max(0, to - from + 1), files, reason };
  } finally {
    await store.cursors.release(LEASE, instanceId);
  }
}

const ended = (from: number, to: number) => (to < from ? { from: null, to: null } : { from, to });

async function bounds({ store, now }: ArchivePowers, before: number) {
  const from = ((await store.ledger.segments()).at(-1)?.toSeq ?? 0) + 1;
  const head = await store.log.head();
  const needed = (await store.ledger.needed(now())) ?? Infinity;
  let to = Math.min(head - KEPT, needed - 1);
  let reason =
    needed - 1 < head - KEPT
      ? `event ${needed} is still needed by an open execution or by a reader that follows the log`
      : `the newest ${KEPT} events stay`;
  for (let last = from - 1; last < to;) {
    const rows = await store.log.read(last, PAGE);
    const young = rows.find(({ at }) => at >= before);
    if (young && young.seq <= to) {
      to = young.seq - 1;
      reason = `event ${young.seq} is younger`;
    }
    const end = rows.at(-1);
    if (young || !end) break;
    last = end.seq;
    await turn();
  }
  return { from, to, reason };
}

async function seal(powers: ArchivePowers, from: number, to: number): Promise<string> {
  const { store, files, now, note } = powers;
  const name = files.nameOf(from, to);
  const { manifest, manifestLine, bytes } = await powers.export({
    tenantId: null,
    format: "ndjson",
    from,
    to,
  });
  try {
    await files.write(name, bytes());
    await readBack(files, name, manifest.digest);
    await files.settle(name);
  } catch (cause) {
    await files.discard(name);
    throw cause;
  }
  const row: SegmentRow = {
    fromSeq: from,
    toSeq: to,
    at: now(),
    file: name,
    manifest: manifestLine,
  };
  await store.ledger.archive(row);
  await powers.forget(to + 1);
  await note(row, manifest.events);
  return name;
}

async function readBack(files: SegmentFiles, name: string, digest: string): Promise<void> {
  const written = files.read(name, "unsettled");
  const verdict = written ? await verifyExport(written) : null;
  if (verdict?.ok && verdict.manifest?.digest === digest) return;
  const why = verdict && !verdict.ok ? verdict.fault.message : "it could not be read back";
  throw new AppError("UNAVAILABLE", "engine_unavailable", `nothing was archived: ${why}`, {
    remedy: "see where the ledger is broken: ostiary audit verify",
  });
}
