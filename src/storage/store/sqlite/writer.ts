// The writer thread of SQLite: the only connection that writes.
import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { YOUNG_MS } from "./projection-backlog.ts";
import { copyBack } from "./copy-back.ts";
import { openConnection } from "../connection.ts";
import {
  failure,
  SETTLE,
  type CommitAnswer,
  type Flat,
  type HistoryFault,
  type HistorySettled,
} from "../group.ts";
import { groupWriter } from "./write-group.ts";
import type { WriterData } from "./writer-client.ts";

if (!parentPort) throw new Error("the writer runs in a thread of its own");
const port = parentPort;
const { file, instanceId } = workerData as WriterData;
const db = openConnection(file);
/**
 * How long a group waits for a foreign lock. An answer must come within 2 s, and one group ahead of ours and our own
 * may each wait this long. Once it failed, an attempt only finds out whether the lock is still there.
 */
const [PATIENT_MS, FAILING_MS] = [700, 50];
/** Calls that have ended are written together, as many share the pages that change: so many, or later. */
const [MANY, FAR] = [96, 512];
/** History that could not be written. */
const RETRY_MS = 1_000;
const wait = patience();
wait(PATIENT_MS);
const log = groupWriter(db, instanceId);
const logFile = copyBack(db, file);
/** A group; `SETTLE`: history is wanted as it is; null: the end. */
type Message = readonly Flat[] | typeof SETTLE | null;
const history = followed();

port.on("message", (first: Message) => {
  for (let messages = [first, ...arrived()]; messages.length > 0; messages = arrived()) {
    take(messages);
    // Writes to the log go first, unless the backlog is large.
    if (log.backlog >= FAR) history.follow(false);
    logFile.look();
  }
  history.follow(false);
});

/** Whatever has arrived by now becomes one transaction: one wait for the disk serves them all. */
function take(messages: readonly Message[]): void {
  const flats = messages.filter((message) => message !== null && message !== SETTLE);
  if (flats.length > 0) port.postMessage(answerTo(flats));
  const asked = messages.filter((message) => message === SETTLE).length;
  const isLast = messages.includes(null);
  if (asked > 0 || isLast) history.follow(true);
  if (asked > 0) port.postMessage({ settled: asked } satisfies HistorySettled);
  if (!isLast) return;
  history.end();
  const close = (): void => {
    db.close();
    port.close();
  };
  logFile.end().then(close, close);
}

function arrived(): Message[] {
  const messages: Message[] = [];
  for (let more = receive(); more !== undefined; more = receive()) messages.push(more);
  return messages;
}

/** Writes history after each group: all of it for a reader, else when the backlog is large, else a little later. */
function followed(): { follow(all: boolean): void; end(): void } {
  let later: NodeJS.Timeout | null = null;
  let isOver = false;
  /** Why it could not be written the last time: it is tried again after a while, or for a reader. */
  let fault: string | null = null;
  const settle = (all: boolean): void => {
    try {
      log.settle(all);
      report(null);
    } catch (cause) {
      report(failure(cause).failed);
      wait(FAILING_MS);
    }
    soon();
  };
  /** Sent when it changes: this thread cannot be asked while it waits for a lock. */
  const report = (now: string | null): void => {
    if (now !== fault) port.postMessage({ historyFault: now } satisfies HistoryFault);
    fault = now;
  };
  const soon = (): void => {
    if (log.backlog > 0) later ??= setTimeout(settleLater, fault === null ? YOUNG_MS : RETRY_MS);
  };
  const settleLater = (): void => {
    later = null;
    settle(false);
  };
  return {
    follow(all) {
      if (isOver) return;
      if (all || (log.ended >= MANY && fault === null)) settle(all);
      else soon();
    },
    end() {
      isOver = true;
      if (later) clearTimeout(later);
    },
  };
}

function patience(): (ms: number) => void {
  let present: number | null = null;
  return (ms) => {
    if (ms !== present) db.exec(`pragma busy_timeout = ${ms}`);
    present = ms;
  };
}

function receive(): Message | undefined {
  return (receiveMessageOnPort(port) as { message: Message } | undefined)?.message;
}

function answerTo(flats: readonly (readonly Flat[])[]): CommitAnswer {
  try {
    const results = log.write(flats.length === 1 ? (flats[0] ?? []) : flats.flat());
    wait(PATIENT_MS);
    return { groups: flats.length, results };
  } catch (cause) {
    wait(FAILING_MS);
    return { groups: flats.length, results: failure(cause) };
  }
}
