// Opens what is written down: the log, the recorder, the ledger, history, and events on their way to the sink.
import type { Mode } from "../contract/call.ts";
import { createHistory, type History } from "../core/record/history.ts";
import {
  createRecorder,
  type BudgetBook,
  type Recorded,
  type Recorder,
} from "../core/record/index.ts";
import { createLive, type LivePublisher } from "../core/record/live.ts";
import { createRecent } from "../core/record/recent.ts";
import { lostEnds, type RecoverPowers } from "../core/record/recover.ts";
import { wholeResultFrom, type WholeResult } from "../core/record/whole.ts";
import { createRefusals, type Refusals } from "../governance/limits/refusals.ts";
import type { ModeController } from "../governance/modes/mode.ts";
import type { Ledger } from "../storage/ledger/ledger.ts";
import { createMemoryState } from "../storage/state/memory.ts";
import { mainThread } from "../util/async/time-slices.ts";
import { VERSION } from "../util/version.ts";
import { SYSTEM, type Base, type RecordNote } from "./base.ts";
import { createEventRelay, type EventRelay } from "./event-relay.ts";
import { openLedger } from "./ledger.ts";
import { openInstances, type Instances } from "./instances.ts";
import { createLogging, type Logging } from "./logging.ts";
import { recordLimits } from "./record-limits.ts";
import { exhaustedBy } from "../util/exhaustion.ts";

export interface OpenedRecord extends Omit<Logging, "close"> {
  readonly recorder: Recorder;
  readonly note: RecordNote;
  readonly ledger: Ledger;
  readonly live: LivePublisher;
  readonly relay: EventRelay;
  readonly history: History;
  readonly whole: WholeResult;
  readonly refusals: Refusals;
  /** For executions whose end was not written: after a crash, or while the store was out. */
  readonly recovery: RecoverPowers;
  readonly lost: ReturnType<typeof lostEnds>;
  /** Which instances are there, and what becomes of those that are not any more. */
  readonly instances: Instances;
  /** The operating mode at the moment; NORMAL until `useMode`. */
  mode(): Mode;
  useMode(mode: ModeController): void;
  useBudgets(book: BudgetBook): void;
  /** Records the start of the server. Only then is its stop recorded too, and the ledger closed. */
  start(): Promise<void>;
}

/** Parts that the recorder uses, and that are opened after it because they record something themselves. */
interface LaterParts {
  ledger: Pick<Ledger, "recorded"> | null;
  mode: Pick<ModeController, "signal"> | null;
  lastMode: Mode;
  book: BudgetBook;
}

const NO_BOOK: BudgetBook = { amounts: () => ({}), isReserved: () => false, settle: () => ({}) };
const MAX_REFUSED_CALLERS = 20_000;

export function openRecord(base: Base): OpenedRecord {
  const { config, store, dataDir, metrics, now, closing } = base;
  const { instanceId } = dataDir;
  const { close: closeLogging, ...logging } = createLogging(base);
  const { log } = logging;
  const later: LaterParts = { ledger: null, mode: null, lastMode: "NORMAL", book: NO_BOOK };
  const live = createLive(store.log);
  const recent = createRecent(config.history.memoryEntries);
  const relay = createEventRelay(config, { store, owner: instanceId, now, log });
  closing.defer(() => relay.close());
  const onRecorded = (recorded: Recorded): void => {
    metrics.recorded(recorded.event.action);
    later.ledger?.recorded();
    recent.add(recorded);
    live.publish(recorded);
    relay.wake();
  };
  const recovery: RecoverPowers = { store, now, onRecorded };
  const lost = lostEnds(recovery);
  const instances = openInstances(base, log);
  const { isOvertaken } = instances;
  const recorder = recorderFor(base, logging, later, {
    onRecorded,
    onEndLost: lost.add,
    isOvertaken,
  });
  const note: RecordNote = (action, who, body) => recorder.note(action, who, body);
  const ledger = openLedger({
    store,
    dataDir,
    settings: config.audit,
    now,
    note: (action, body) => note(action, SYSTEM, body),
    log,
    onRolledBack: () => later.mode?.signal({ kind: "rolled_back" }),
  });
  later.ledger = ledger;
  const start = startAndStop({ ledger, note, log, instanceId, closing });
  const refusals = refusalsFor(base, note, log);
  closing.defer(() => refusals.flush());
  closing.defer(closeLogging);
  const whole = wholeResultFrom(store.results, now);
  return {
    ...logging,
    recorder,
    note,
    ledger,
    live,
    relay,
    history: createHistory(store.executions, recent, {
      now,
      note,
      whole,
      approvals: store.approvals,
    }),
    whole,
    refusals,
    recovery,
    lost,
    instances,
    mode: () => later.lastMode,
    useMode(mode) {
      later.mode = mode;
      later.lastMode = mode.current().mode;
      mode.onChange((next) => (later.lastMode = next.mode));
    },
    useBudgets(book) {
      later.book = book;
    },
    start,
  };
}

function recorderFor(
  { config, store, dataDir, metrics, now }: Base,
  { masker }: Pick<Logging, "masker">,
  later: LaterParts,
  listeners: {
    readonly onRecorded: (recorded: Recorded) => void;
    readonly onEndLost: (executionId: string) => void;
    readonly isOvertaken: Instances["isOvertaken"];
  },
): Recorder {
  return createRecorder({
    ...listeners,
    log: store.log,
    results: store.results,
    limits: recordLimits(config.record),
    masker,
    turns: mainThread,
    instanceId: dataDir.instanceId,
    now,
    mode: () => later.lastMode,
    budget: {
      amounts: (call) => later.book.amounts(call),
      isReserved: (call) => later.book.isReserved(call),
      settle: (call, outcome) => later.book.settle(call, outcome),
    },
    onFailed(cause) {
      metrics.unrecorded();
      const isFull = exhaustedBy(cause) === "disk";
      later.mode?.signal(
        isFull
          ? { kind: "exhausted", resource: "disk", by: "the record" }
          : { kind: "audit_failed" },
      );
    },
  });
}

/**
 * The first and the last event of a run of the server. A ledger that was not started is not closed: its checkpoint
 * would hide that the database is older than the last one.
 */
function startAndStop(p: {
  readonly ledger: Ledger;
  readonly note: RecordNote;
  readonly log: Logging["log"];
  readonly instanceId: string;
  readonly closing: AsyncDisposableStack;
}): () => Promise<void> {
  const { ledger, note, instanceId } = p;
  let isStarted = false;
  p.closing.defer(async () => {
    if (!isStarted) return;
    // A store that is out must not keep the server from stopping.
    const report = (cause: unknown): void =>
      p.log.warn({ err: cause }, "could not be written while stopping");
    await note("server.stopped", SYSTEM, { instanceId }).catch(report);
    await ledger.close().catch(report);
  });
  return async () => {
    await note("server.started", SYSTEM, {
      version: VERSION,
      instanceId,
      ledgerKeyId: ledger.keyId,
      ledgerPublicKey: ledger.publicKey,
    });
    await ledger.start();
    isStarted = true;
  };
}

/** Many refused calls of one caller become one event that counts them. */
function refusalsFor({ config, now }: Base, note: RecordNote, log: Logging["log"]): Refusals {
  return createRefusals({
    state: createMemoryState({ now, maxCounters: MAX_REFUSED_CALLERS }),
    perMinute: config.rateLimit.refusalsPerMinute,
    enabled: config.rateLimit.enabled,
    now,
    note: (who, left) =>
      note("tool.refusals.suppressed", who, { ...left }).catch((cause: unknown) =>
        log.error({ err: cause, ...left }, "refused calls could not be recorded"),
      ),
  });
}
