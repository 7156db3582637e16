// An export: a signed line that says what follows, then the events and checkpoints in order. The log is read twice, so
// that the first line is exact and nothing has to be kept in memory.
import { createHash } from "node:crypto";
import { AppError } from "../../contract/errors.ts";
import { toCloudEvent } from "./cloud.ts";
import type { LedgerKey } from "./key.ts";
import { manifestText, signLine, type ExportedChain, type Format, type Manifest } from "./lines.ts";
import { ledgerLines, marksOf, type Source, type SourceEvent, type EventRange } from "./source.ts";

export interface ExportQuestion {
  /** Null: of all tenants. */
  readonly tenantId: string | null;
  readonly format: Format;
  readonly from?: number;
  readonly to?: number;
  /** Epoch ms: begins with the first event that is not older. */
  readonly since?: number;
}

export interface Export {
  readonly manifest: Manifest;
  readonly manifestLine: string;
  /** Lines with their ends, the manifest first, in pieces of moderate size. */
  bytes(): AsyncGenerator<Buffer>;
}

interface Signer {
  readonly key: LedgerKey;
  readonly instanceId: string;
  readonly now: () => number;
}

export async function openExport(
  source: Source,
  question: ExportQuestion,
  { key, instanceId, now }: Signer,
): Promise<Export> {
  const { tenantId, format } = question;
  const head = await source.store.log.head();
  const marks = await marksOf(source.store);
  const to = Math.min(question.to ?? head, head);
  const asked = question.from ?? (await firstHere(source));
  await allHere(source, asked);
  const since =
    question.since === undefined
      ? asked
      : await firstSince(source, { from: asked, to, tenantId, marks }, question.since);
  const stretch: EventRange = { from: Math.max(asked, since), to, tenantId, marks };
  const line = format === "cloudevents" ? toCloudEvent : (text: string): string => text;

  const digest = createHash("sha256");
  const tally = new Tally();
  for await (const page of ledgerLines(source, stretch)) {
    for (const each of page) {
      if (each.kind === "event") tally.add(each.event);
      else tally.checkpoints++;
      digest.update(`${line(each.text)}\n`);
    }
  }
  const manifest: Manifest = {
    format,
    tenant: tenantId,
    from: stretch.from,
    to: Math.max(to, stretch.from - 1),
    events: tally.events,
    chains: tally.chains(),
    checkpoints: tally.checkpoints,
    unchained: tally.unchained,
    digest: digest.digest("hex"),
    at: now(),
    instanceId,
  };
  const manifestLine = signLine(manifestText(manifest, key), key);
  return {
    manifest,
    manifestLine,
    async *bytes() {
      yield Buffer.from(`${line(manifestLine)}\n`);
      for await (const page of ledgerLines(source, stretch))
        yield Buffer.from(page.map(({ text }) => `${line(text)}\n`).join(""));
    },
  };
}

/** After the last archived file that is not on this machine. */
async function firstHere({ store, files }: Source): Promise<number> {
  const missing = (await store.ledger.segments()).findLast(({ file }) => !files.has(file));
  return (missing?.toSeq ?? 0) + 1;
}

async function allHere({ store, files }: Source, from: number): Promise<void> {
  const missing = (await store.ledger.segments()).find(
    ({ toSeq, file }) => toSeq >= from && !files.has(file),
  );
  if (missing)
    throw new AppError(
      "NOT_FOUND",
      "unknown",
      `events ${missing.fromSeq} to ${missing.toSeq} are archived in ${missing.file}, which is not on this machine`,
      {
        remedy: `put the file back into the folder archive of the data directory, or begin after it: --from ${missing.toSeq + 1}`,
      },
    );
}

async function firstSince(source: Source, stretch: EventRange, since: number): Promise<number> {
  for await (const page of ledgerLines(source, stretch))
    for (const each of page)
      if (each.kind === "event" && each.event.at >= since) return each.event.seq;
  return stretch.to + 1;
}

class Tally {
  events = 0;
  unchained = 0;
  checkpoints = 0;
  readonly #chains = new Map<string, ExportedChain>();

  add(event: SourceEvent): void {
    this.events++;
    if (event.hash === null) return void this.unchained++;
    const { tenantId, instanceId, n, prevHash, hash } = event;
    const key = JSON.stringify([tenantId, instanceId]);
    const chain = this.#chains.get(key);
    this.#chains.set(key, {
      tenantId,
      instanceId,
      first: chain?.first ?? { n, prevHash },
      last: { n, hash },
      count: (chain?.count ?? 0) + 1,
    });
  }

  chains(): ExportedChain[] {
    return [...this.#chains.values()].sort(
      (a, b) => order(a.tenantId, b.tenantId) || order(a.instanceId, b.instanceId),
    );
  }
}

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
