// The whole log in order, wherever it lies: its beginning in files, the rest in the store.
import { setImmediate as turn } from "node:timers/promises";
import type { LedgerRow, Store } from "../store/store.ts";
import type { LedgerEvent } from "../../util/record/ledger-line.ts";
import { eventLine, type OldEvent } from "./lines.ts";
import { parseLine } from "./parse.ts";
import type { SegmentFiles } from "./segments.ts";

export type LedgerStore = Pick<Store, "log" | "ledger">;

export interface Source {
  readonly store: LedgerStore;
  readonly files: Pick<SegmentFiles, "lines" | "has">;
}

export interface EventRange {
  /** Numbers, both included. */
  readonly from: number;
  readonly to: number;
  readonly tenantId: string | null;
  /** Highest number of each server's checkpoints that counts; what is made later is left out. */
  readonly marks: ReadonlyMap<string, number>;
}

export type SourceEvent =
  | (Pick<LedgerEvent, "instanceId" | "n" | "prevHash"> & OldEvent & { readonly hash: string })
  | (OldEvent & { readonly hash: null });

export type SourceLine =
  | { readonly kind: "event"; readonly text: string; readonly event: SourceEvent }
  | { readonly kind: "checkpoint"; readonly text: string; readonly instanceId: string };

const PAGE = 500;
const PAGE_BYTES = 8_000_000;

/** Where everything ends now, so that later writes change nothing. */
export async function marksOf({ ledger }: LedgerStore): Promise<ReadonlyMap<string, number>> {
  return new Map((await ledger.lastCheckpoints()).map(({ instanceId, n }) => [instanceId, n]));
}

/** Events as lines, and checkpoints after the event they name. */
export async function* ledgerLines(
  source: Source,
  stretch: EventRange,
): AsyncGenerator<readonly SourceLine[]> {
  const { tenantId, marks, to } = stretch;
  let last = stretch.from - 1;
  for await (const page of eventPages(source, stretch)) {
    const through = page.at(-1)?.event.seq ?? last;
    const all =
      tenantId === null ? await source.store.ledger.checkpoints(last, Math.min(through, to)) : [];
    const checkpoints = all.filter(({ instanceId, n }) => n <= (marks.get(instanceId) ?? 0));
    const lines: SourceLine[] = [];
    let next = 0;
    for (const each of page) {
      lines.push(each);
      for (
        let mark = checkpoints[next];
        mark && mark.seq <= each.event.seq;
        mark = checkpoints[++next]
      )
        lines.push({ kind: "checkpoint", text: mark.line, instanceId: mark.instanceId });
    }
    yield lines;
    last = through;
  }
}

type EventLine = Extract<SourceLine, { kind: "event" }>;

async function* eventPages(source: Source, stretch: EventRange): AsyncGenerator<EventLine[]> {
  const { from, to, tenantId } = stretch;
  for (const segment of await source.store.ledger.segments()) {
    if (segment.toSeq < from || segment.fromSeq > to) continue;
    const bytes = source.files.lines(segment.file);
    if (bytes) yield* archived(bytes, stretch);
  }
  let limit = PAGE;
  for (let last = from - 1; last < to;) {
    const rows = await source.store.log.read(last, limit, tenantId ?? undefined);
    const wanted = rows.filter(({ seq }) => seq <= to);
    if (wanted.length > 0)
      yield wanted.map((row) => ({ kind: "event", text: eventLine(row), event: eventOf(row) }));
    const end = rows.at(-1);
    if (!end || wanted.length < rows.length) return;
    last = end.seq;
    const bytes = rows.reduce((sum, { body }) => sum + body.length, 0);
    limit = Math.max(10, Math.min(PAGE, Math.floor(PAGE_BYTES / (1 + bytes / rows.length))));
    // An embedded store is read in this thread: yield to other work.
    await turn();
  }
}

function eventOf(row: LedgerRow): SourceEvent {
  const { instanceId, n, prevHash, hash } = row;
  if (instanceId === null || n === null || prevHash === null || hash === null)
    return { ...row, hash: null };
  return { ...row, instanceId, n, prevHash, hash };
}

async function* archived(
  lines: AsyncIterable<Uint8Array>,
  { from, to, tenantId }: EventRange,
): AsyncGenerator<EventLine[]> {
  let page: EventLine[] = [];
  for await (const bytes of lines) {
    const parsed = parseLine(bytes);
    // Checkpoints stay in the store, which may have later ones at the same place.
    if (parsed.kind !== "event" && parsed.kind !== "old") continue;
    const event: SourceEvent =
      parsed.kind === "event" ? parsed.event : { ...parsed.event, hash: null };
    if (event.seq < from || event.seq > to || (tenantId !== null && event.tenantId !== tenantId))
      continue;
    page.push({ kind: "event", text: Buffer.from(bytes).toString("utf8"), event });
    if (page.length < PAGE) continue;
    yield page;
    page = [];
    await turn();
  }
  if (page.length > 0) yield page;
}
