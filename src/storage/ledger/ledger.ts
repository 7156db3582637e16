// Operations on the ledger besides writing: verify, export, archive, search.
import { AppError } from "../../contract/errors.ts";
import type { JsonObject } from "../../contract/call.ts";
import type { Action, Store } from "../store/store.ts";
import type { WatchedFiles } from "../../util/files/watched-files.ts";
import { archive, type Archived, type ArchiveQuestion } from "./archive.ts";
import { checkpointFile } from "./checkpoint-file.ts";
import { createCheckpoints } from "./checkpoints.ts";
import { openExport, type Export, type ExportQuestion } from "./export.ts";
import { pemOf, type LedgerKey } from "./key.ts";
import type { Checkpoint, Signed } from "./lines.ts";
import { createVerifications, type VerificationState } from "./verification.ts";
import { verifyLive, type LiveVerdict, type LiveVerify } from "./live.ts";
import { fillFile, findRollback, readCheckpoint } from "./rollback.ts";
import { search, type SearchAnswer, type LedgerFilter, type SearchPage } from "./search.ts";
import { segmentFiles } from "./segments.ts";
import type { Source } from "./source.ts";

export interface LedgerPowers {
  readonly store: Pick<Store, "log" | "ledger" | "cursors">;
  readonly dataDir: string;
  readonly instanceId: string;
  /** Of the data directory: while one is lost, nothing is written to the file in its place. */
  readonly files?: Pick<WatchedFiles, "check">;
  readonly key: LedgerKey;
  readonly now: () => number;
  readonly settings: {
    readonly checkpointEvents: number;
    readonly checkpointSeconds: number;
    readonly archiveAfterDays: number;
  };
  readonly note: (action: Action, body: JsonObject) => Promise<void>;
  readonly forget: (before: number) => Promise<unknown>;
  readonly report: (fields: object, message: string) => void;
  /** Called when the database is older than the checkpoints outside of it. */
  readonly onRolledBack: () => void;
  readonly maxSegmentEvents?: number;
}

export interface VerifyQuestion extends Pick<LiveVerify, "tenantId"> {
  /** Checkpoint lines that were kept elsewhere. */
  readonly anchors?: readonly string[];
}

export interface Ledger {
  readonly keyId: string;
  /** SPKI, base64. */
  readonly publicKey: string;
  readonly publicKeyPem: string;
  /** Called for each event; cheap. */
  recorded(): void;
  /** A signed line that names every chain of this server as it is now; null before the first event. */
  checkpoint(): Promise<string | null>;
  export(question: ExportQuestion): Promise<Export>;
  verify(question: VerifyQuestion): Promise<LiveVerdict>;
  /** How far the last verification of a tenant (null: of everything) is. */
  verification(tenantId: string | null): VerificationState;
  archive(question: ArchiveQuestion): Promise<Archived>;
  search(filter: LedgerFilter, page: SearchPage): Promise<SearchAnswer>;
  /** To be called after the first event of this start. */
  start(): Promise<void>;
  /** To be called after the last event. */
  close(): Promise<void>;
}

const DAY_MS = 86_400_000;
const FIRST_ARCHIVE_MS = 600_000;
/** Each reads the whole log. */
const READERS = 4;

export function createLedger(powers: LedgerPowers): Ledger {
  const { store, dataDir, instanceId, key, now, settings, note, report } = powers;
  const assertKept = (): void => {
    const lost = powers.files?.check();
    if (lost) throw lost;
  };
  const file = checkpointFile(dataDir, assertKept);
  const files = segmentFiles(dataDir);
  const source: Source = { store, files };
  const checkpoints = createCheckpoints({
    ledger: store.ledger,
    file,
    key,
    instanceId,
    now,
    everyEvents: settings.checkpointEvents,
    everyMs: settings.checkpointSeconds * 1000,
    report: (cause) => report({ err: cause }, "a checkpoint could not be made; it is tried again"),
  });
  let reading = 0;
  let archiving: Promise<unknown> = Promise.resolve();
  const timers: NodeJS.Timeout[] = [];

  async function limited<T>(read: () => Promise<T>): Promise<T> {
    if (reading >= READERS)
      throw new AppError(
        "TOO_MANY_REQUESTS",
        "concurrency",
        `the ledger is being read ${READERS} times already`,
        { remedy: "wait until one of them is done", retryAfterSeconds: 10 },
      );
    reading++;
    try {
      return await read();
    } finally {
      reading--;
    }
  }

  async function openedExport(question: ExportQuestion): Promise<Export> {
    await checkpoints
      .make()
      .catch((cause: unknown) => report({ err: cause }, "an export begins without a checkpoint"));
    return openExport(source, question, { key, instanceId, now });
  }

  async function runArchive(question: ArchiveQuestion): Promise<Archived> {
    assertKept();
    const done = archiving.then(() =>
      archive(
        {
          store,
          files,
          instanceId,
          now,
          forget: powers.forget,
          export: openedExport,
          note: ({ fromSeq, toSeq, file: name }, events) =>
            note("audit.archived", { from: fromSeq, to: toSeq, events, file: name }),
          ...(powers.maxSegmentEvents === undefined ? {} : { maxEvents: powers.maxSegmentEvents }),
        },
        question,
      ),
    );
    archiving = done.catch(() => undefined);
    return done;
  }

  const byItself = (): void => {
    runArchive({ before: now() - settings.archiveAfterDays * DAY_MS, dryRun: false }).catch(
      (cause: unknown) => report({ err: cause }, "old events could not be archived"),
    );
  };

  const verifications = createVerifications(
    ({ anchors = [], ...question }, onProgress) =>
      limited(() =>
        verifyLive(
          { store, segments: files, checkpointFile: file, instanceId },
          { ...question, anchors: anchors.map(anchorOf), onProgress },
        ),
      ),
    now,
  );

  return {
    keyId: key.keyId,
    publicKey: key.publicKey,
    publicKeyPem: pemOf(key.publicKey),
    recorded: () => checkpoints.recorded(),
    checkpoint: () => checkpoints.make("all"),
    export: (question) => limited(() => openedExport(question)),
    verify: async (question) => verifications.verify(question),
    verification: (tenantId) => verifications.state(tenantId),
    archive: runArchive,
    search: (filter, page) => search(store, filter, page),
    async start() {
      const rollback = await findRollback(store, file, instanceId);
      if (rollback) {
        const { message, known, seq } = rollback;
        report({ known, seq }, `THE LEDGER WAS ROLLED BACK: ${message}`);
        powers.onRolledBack();
        const aside = file.exists() ? `checkpoints.${now()}.ndjson` : null;
        await note("audit.rolled_back", { message, known, databaseSeq: seq, evidence: aside });
        if (aside) await file.setAside(aside);
      }
      const added = await fillFile(store.ledger, file, instanceId);
      if (added > 1 && !rollback)
        report({ added }, "the checkpoint file was behind the database and was filled up");
      checkpoints.start();
      if (settings.archiveAfterDays > 0)
        timers.push(setTimeout(byItself, FIRST_ARCHIVE_MS), setInterval(byItself, DAY_MS));
      for (const timer of timers) timer.unref();
    },
    async close() {
      for (const timer of timers) clearTimeout(timer);
      await archiving;
      await checkpoints.close();
    },
  };
}

function anchorOf(line: string, index: number): Checkpoint & Signed {
  const anchor = readCheckpoint(line);
  if (anchor) return anchor;
  throw new AppError(
    "BAD_REQUEST",
    "invalid_input",
    `anchor ${index + 1} is not a checkpoint with a valid signature`,
    { remedy: "give the line exactly as `ostiary audit checkpoint` wrote it" },
  );
}
