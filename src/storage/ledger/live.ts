// Checks the ledger where it lies: archived files, the store, and the checkpoints outside of it, in one reading.
import type { ChainHead, HistoryAgreement, SegmentRow } from "../store/store.ts";
import type { CheckpointFile } from "./checkpoint-file.ts";
import { LedgerCheck, LedgerFault, type LedgerCheckOptions, type Findings } from "./check.ts";
import { isSigned } from "./key.ts";
import { manifestText, type ExportedChain, type Manifest, type Signed } from "./lines.ts";
import { LineFault, parseLine } from "./parse.ts";
import type { SegmentFiles } from "./segments.ts";
import { ledgerLines, type LedgerStore, type Source } from "./source.ts";
import { verifyExport, type VerificationFault } from "./verify.ts";

export interface LiveVerify extends Pick<LedgerCheckOptions, "keys" | "anchors"> {
  /** One tenant's chains alone; null: everything. */
  readonly tenantId: string | null;
  readonly onProgress?: (events: number, of: number) => void;
}

export interface LivePlace {
  readonly store: LedgerStore;
  readonly segments: SegmentFiles;
  readonly checkpointFile: CheckpointFile;
  readonly instanceId: string;
}

export type LiveVerdict =
  | {
      readonly ok: true;
      readonly findings: Findings;
      /** Archived stretches, and those whose file is not on this machine: only their signed first line was checked. */
      readonly segments: number;
      readonly segmentsElsewhere: number;
      readonly history: HistoryAgreement;
    }
  /** History is compared with a log that holds, and with no other. */
  | {
      readonly ok: false;
      readonly fault: VerificationFault;
      readonly events: number;
      readonly history: HistoryAgreement | null;
    };

export async function verifyLive(place: LivePlace, options: LiveVerify): Promise<LiveVerdict> {
  const { store, segments: files, checkpointFile } = place;
  let events = 0;
  let at: number | null = null;
  try {
    // In this order: the event that a checkpoint names was written before it.
    const newest = await store.ledger.lastCheckpoints();
    const to = await store.log.head();
    const marks = new Map(newest.map(({ instanceId, n }) => [instanceId, n]));
    const heads = (await store.ledger.heads()).filter(
      ({ tenantId }) => options.tenantId === null || tenantId === options.tenantId,
    );
    const segments = await store.ledger.segments();
    const { before, after, elsewhere } = await checkSegments(segments, files);
    const check = new LedgerCheck({
      ...options,
      tenant: options.tenantId,
      before,
      after,
      heads: heads.filter(({ seq }) => seq <= to && seq > after),
    });
    check.beginLive();
    const outside = options.tenantId === null ? besides(checkpointFile, after) : null;
    const source: Source = { store, files };
    for await (const page of ledgerLines(source, {
      from: after + 1,
      to,
      tenantId: options.tenantId,
      marks,
    })) {
      for (const line of page) {
        if (line.kind === "event") at = line.event.seq;
        check.line(parseLine(Buffer.from(line.text)));
        if (line.kind === "event") events++;
        else if (line.instanceId === place.instanceId) await outside?.met(line.text);
      }
      options.onProgress?.(check.seq, to);
    }
    at = null;
    reaches(heads, check.spans());
    await outside?.end(check.seq);
    const lost = newest.find(({ seq }) => seq > to);
    if (lost)
      throw new LedgerFault(
        `checkpoint ${lost.n} of ${lost.instanceId} was made at event ${lost.seq}, the log ends at ${to}: its end was cut off`,
        to + 1,
      );
    const findings = check.end(null);
    const history = await store.ledger.agreement({ tenantId: options.tenantId, through: to });
    if (!history.agrees)
      return {
        ok: false,
        events,
        fault: { ...NOWHERE, seq: null, message: disagreement(history) },
        history,
      };
    return { ok: true, findings, segments: segments.length, segmentsElsewhere: elsewhere, history };
  } catch (cause) {
    return { ok: false, events, fault: faultOf(cause, at), history: null };
  }
}

const NOWHERE = { line: null, offset: null };

function disagreement({ missing, extra, different, sums }: HistoryAgreement): string {
  return `the log is unbroken, but history does not agree with the log: ${missing} executions are missing, ${extra} are not in the log, ${different} are different, ${sums} sums are different (ostiary history rebuild makes history anew)`;
}

function faultOf(cause: unknown, at: number | null): VerificationFault {
  if (cause instanceof LedgerFault)
    return { ...NOWHERE, seq: cause.seq ?? at, message: cause.message };
  if (cause instanceof LineFault)
    return { ...NOWHERE, seq: at, message: `event ${at} is not valid: ${cause.message}` };
  throw cause;
}

/** With a table behind its chain the next event would fork the chain. */
function reaches(heads: readonly ChainHead[], spans: readonly ExportedChain[]): void {
  for (const { tenantId, instanceId, last } of spans) {
    const head = heads.find((each) => each.tenantId === tenantId && each.instanceId === instanceId);
    if (!head || head.n < last.n)
      throw new LedgerFault(
        `the table of heads knows the chain of ${tenantId} to number ${head?.n ?? 0}, it goes to ${last.n}`,
      );
  }
}

/** The lines of the file must be those of the store, all of them and in order. */
function besides(
  file: CheckpointFile,
  after: number,
): { met(line: string): Promise<void>; end(last: number): Promise<void> } {
  const lines = beyond(file, after);
  let met = 0;
  let seen = 0;
  return {
    async met(line) {
      met++;
      const next = await lines.next();
      if (next.done) return; // behind by what a crash left out; the next start fills it in
      seen++;
      if (next.value !== line)
        throw new LedgerFault(
          `line ${seen} of the checkpoint file is another than the checkpoint in the store`,
        );
    },
    async end(last) {
      const next = await lines.next();
      if (!next.done) {
        const seq = seqOf(next.value);
        throw new LedgerFault(
          `the checkpoint file knows more than the store (line ${seen + 1}${seq === null ? "" : `, made at event ${seq}`}): an older state was put back, or the end was cut off`,
          Math.min(seq ?? last + 1, last + 1),
        );
      }
      if (met > seen + 1)
        throw new LedgerFault(
          `the checkpoint file has ${seen} lines, the store has ${met} checkpoints: its end was cut off`,
        );
    },
  };
}

async function* beyond(file: CheckpointFile, after: number): AsyncGenerator<string> {
  for await (const line of file.lines())
    if (after === 0 || (seqOf(line) ?? Infinity) > after) yield line;
}

function seqOf(line: string): number | null {
  try {
    const parsed = parseLine(Buffer.from(line));
    return parsed.kind === "checkpoint" ? parsed.checkpoint.seq : null;
  } catch {
    return null; // the fault is reported anyway, without the number
  }
}

/**
 * Each file by itself, against the signed line that the store kept of it. Files that are not on this machine are
 * trusted.
 */
async function checkSegments(segments: readonly SegmentRow[], files: SegmentFiles) {
  const stood = new Map<string, ExportedChain>();
  let before: ExportedChain[] = [];
  let after = 0;
  let elsewhere = 0;
  let next = 1;
  for (const { fromSeq, toSeq, file, manifest: line } of segments) {
    const manifest = manifestOf(line, file);
    if (fromSeq !== next || manifest.from !== fromSeq || manifest.to !== toSeq)
      throw new LedgerFault(
        `the archived stretch ${file} begins at ${fromSeq}, expected ${next}`,
        next,
      );
    next = toSeq + 1;
    for (const chain of manifest.chains)
      stood.set(JSON.stringify([chain.tenantId, chain.instanceId]), chain);
    const bytes = files.read(file);
    if (bytes === null) {
      // The reading begins after the last file that is not on this machine: what comes before cannot be linked.
      before = [...stood.values()];
      after = toSeq;
      elsewhere++;
      continue;
    }
    const verdict = await verifyExport(bytes);
    if (!verdict.ok)
      throw new LedgerFault(
        `the archived file ${file}: ${verdict.fault.message} (line ${verdict.fault.line ?? 0})`,
        verdict.fault.seq ?? fromSeq,
      );
    if (verdict.manifest?.digest !== manifest.digest)
      throw new LedgerFault(`the archived file ${file} is another than the store knows`, fromSeq);
  }
  return { before, after, elsewhere };
}

function manifestOf(line: string, file: string): Manifest & Signed {
  const parsed = parseLine(Buffer.from(line));
  if (parsed.kind !== "manifest") throw new LedgerFault(`the store keeps no manifest of ${file}`);
  const { manifest } = parsed;
  if (!isSigned(manifestText(manifest, manifest), manifest.publicKey, manifest.signature))
    throw new LedgerFault(`the signature of the manifest of ${file} is not valid`, manifest.from);
  return manifest;
}
