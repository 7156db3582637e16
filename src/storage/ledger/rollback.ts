// At start: does the database still hold what the last checkpoint outside of it names? An older copy that was put back,
// or a log that was cut, does not. A restore on purpose must be possible, so it is reported and not refused.
import type { CheckpointRow, Store } from "../store/store.ts";
import { checkpointText, type Checkpoint, type Signed } from "./lines.ts";
import type { CheckpointFile } from "./checkpoint-file.ts";
import { isSigned } from "./key.ts";
import { LineFault, parseLine } from "./parse.ts";

export interface Rollback {
  readonly message: string;
  /** The last checkpoint in the file; null when it cannot be read. */
  readonly known: { readonly n: number; readonly seq: number; readonly at: number } | null;
  /** The last event in the database. */
  readonly seq: number;
}

export async function findRollback(
  { log, ledger }: Pick<Store, "log" | "ledger">,
  file: CheckpointFile,
  instanceId: string,
): Promise<Rollback | null> {
  const seq = await log.head();
  const stored = await ledger.lastCheckpoint(instanceId);
  const line = file.last();
  if (line === null) {
    // A crash may happen between the first one in the database and the first line of the file, never later.
    if (!stored || stored.n === 1) return null;
    return {
      message: `the file with the checkpoints is gone or empty, though ${stored.n} were made`,
      known: null,
      seq,
    };
  }
  const kept = readCheckpoint(line);
  if (kept === null)
    return {
      message: "the last line of the checkpoint file is not a checkpoint that this server signed",
      known: null,
      seq,
    };
  const known = { n: kept.n, seq: kept.seq, at: kept.at };
  const message = await differs(kept, line, stored, { log, ledger });
  return message === null ? null : { message, known, seq };
}

async function differs(
  kept: Checkpoint & Signed,
  line: string,
  stored: CheckpointRow | null,
  { log, ledger }: Pick<Store, "log" | "ledger">,
): Promise<string | null> {
  const checkpoint = `checkpoint ${kept.n}, made at event ${kept.seq},`;
  if (!stored || stored.n < kept.n)
    return `${checkpoint} is not in the database: it was put back to an older state`;
  if (stored.n === kept.n && stored.line !== line)
    return `${checkpoint} is another one in the database`;
  const archived = (await ledger.segments()).at(-1)?.toSeq ?? 0;
  for (const { tenantId, n, seq, hash } of kept.chains) {
    if (seq <= archived) continue;
    const [row] = await log.read(seq - 1, 1);
    const same =
      row?.seq === seq &&
      row.tenantId === tenantId &&
      row.n === n &&
      row.hash === hash &&
      row.instanceId === kept.instanceId;
    if (!same)
      return `${checkpoint} names event ${seq}, which is missing or another one in the database`;
  }
  return null;
}

export function readCheckpoint(line: string): (Checkpoint & Signed) | null {
  try {
    const parsed = parseLine(Buffer.from(line));
    if (parsed.kind !== "checkpoint") return null;
    const { checkpoint } = parsed;
    const { publicKey, signature } = checkpoint;
    return isSigned(checkpointText(checkpoint, checkpoint), publicKey, signature)
      ? checkpoint
      : null;
  } catch (cause) {
    if (cause instanceof LineFault) return null;
    throw cause;
  }
}

/** Writes to the file what the database has beyond it: what a crash in between left out. Returns how many. */
export async function fillFile(
  ledger: Store["ledger"],
  file: CheckpointFile,
  instanceId: string,
): Promise<number> {
  file.mend();
  const last = file.last();
  const from = last === null ? null : readCheckpoint(last);
  let added = 0;
  const rows = await ledger.checkpoints(Math.max(0, (from?.seq ?? 0) - 1));
  for (const row of rows.filter((row) => row.instanceId === instanceId && row.n > (from?.n ?? 0))) {
    await file.append(row.line);
    added++;
  }
  return added;
}
