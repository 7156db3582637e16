// Group commit: whatever queues up while one commit is under way becomes the next group. No timer, one call per group.
// A writer that merges what has arrived may be given several groups ahead: it then works while new calls come in.
import { AppError } from "../../contract/errors.ts";
import { FILES_LOST_REMEDY, FilesLost, type WatchedFiles } from "../../util/files/watched-files.ts";
import { assertStorable } from "./bind.ts";

/** A group crosses to the writer as one flat array: cloning many small objects would cost more than the write. */
export type Flat = string | number | bigint | boolean | Uint8Array | null;

/** A statement that failed in the writer, as plain data that can pass between threads. */
export interface WriteFailure {
  readonly failed: string;
  readonly errcode: number | null;
}

export type Result = number | WriteFailure | readonly unknown[][];

/** What the writer thread answers: one result per item of all the groups it merged, or one failure for them all. */
export interface CommitAnswer {
  readonly groups: number;
  readonly results: readonly Result[] | WriteFailure;
}

/** Asks the writer thread to bring history up to the log. */
export const SETTLE = "settle";

/** So many of those who asked are served. */
export interface HistorySettled {
  readonly settled: number;
}

/** Sent when it changes: why history could not be written, or null when it can be again. */
export interface HistoryFault {
  readonly historyFault: string | null;
}

export interface Groups {
  /** `put` adds the item's fields to the group. Resolves with the item's own result after the group is durable. */
  push(put: (flat: Flat[]) => void): Promise<number | readonly unknown[][]>;
  /** Resolves when everything pushed so far is settled; later pushes reject. */
  drain(): Promise<void>;
  /** Whether the newest group failed. */
  failing(): boolean;
}

/** With more of them a write is refused: waiting would take too long. */
const MAX_WAITING = 100_000;

interface Group {
  flat: Flat[];
  resolve: ((value: number | readonly unknown[][]) => void)[];
  reject: ((cause: Error) => void)[];
}

export class StatementFailed extends Error {
  readonly errcode: number | null;
  constructor(failure: WriteFailure) {
    super(failure.failed);
    this.errcode = failure.errcode;
  }
}

export function failure(cause: unknown): WriteFailure {
  return {
    failed: cause instanceof Error ? cause.message : String(cause),
    errcode: errcodeOf(cause),
  };
}

export function errcodeOf(cause: unknown): number | null {
  if (cause instanceof Error && "errcode" in cause) return Number(cause.errcode);
  return null;
}

export function unwritable(cause: unknown): AppError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new AppError("UNAVAILABLE", "engine_unavailable", `the store cannot be written: ${why}`, {
    remedy:
      cause instanceof FilesLost
        ? FILES_LOST_REMEDY
        : "check the disk space and the permissions of the data directory, or the database server",
    cause,
  });
}

export interface Pace {
  /** Groups that may be under way at once, the second and further ones only when they are full. */
  readonly ahead: number;
  /** A group this large is full, and does not wait for the end of the turn. */
  readonly fullAt: number;
  /** No group is larger: what comes after it is the next one. */
  readonly most: number;
}

/** One group at a time, for a writer that does not merge. */
const ONE_BY_ONE: Pace = { ahead: 1, fullAt: Infinity, most: Infinity };

/**
 * Called for each group that became durable: how many writes, and how long they waited from the moment they were sent.
 */
export type OnCommit = (size: number, ms: number) => void;

/** All fields of an item or none: one bad value must not spoil the group it would travel with. */
function putWhole(flat: Flat[], put: (flat: Flat[]) => void): void {
  const from = flat.length;
  try {
    put(flat);
    for (let at = from; at < flat.length; at++) assertStorable(flat[at]);
  } catch (cause) {
    flat.length = from;
    throw cause;
  }
}

/** `commit` makes one group durable and answers one result per item, in order. */
export function groups(
  commit: (flat: Flat[], items: number) => Promise<readonly Result[]>,
  pace: Pace = ONE_BY_ONE,
  onCommit: OnCommit = () => undefined,
  /** Nothing is acknowledged while one of them is lost: it may have been written where nobody can read it. */
  files?: Pick<WatchedFiles, "lost">,
): Groups {
  let waiting: Group = { flat: [], resolve: [], reject: [] };
  /** Groups of the largest size, which go before the one that still grows. */
  let whole: Group[] = [];
  let underWay = 0;
  let scheduled = false;
  let closed = false;
  let failing = false;
  let idle: (() => void)[] = [];

  /** Only a full one goes before the one under way has come back: others grow meanwhile, and are cheaper together. */
  const mayGo = (): boolean => underWay < (isFull() ? pace.ahead : 1);
  const isFull = (): boolean => waiting.resolve.length >= pace.fullAt;
  const isEmpty = (): boolean => whole.length === 0 && waiting.resolve.length === 0;
  const countWaiting = (): number =>
    (whole.length === 0 ? 0 : whole.length * pace.most) + waiting.resolve.length;

  function schedule(): void {
    if (!mayGo()) return;
    if (isFull()) return flush();
    if (scheduled) return;
    scheduled = true;
    // After the current turn of the event loop, so that all of its calls travel together.
    setImmediate(() => {
      scheduled = false;
      if (!isEmpty() && mayGo()) flush();
    });
  }

  function flush(): void {
    const group = whole.shift() ?? waiting;
    if (group === waiting) waiting = { flat: [], resolve: [], reject: [] };
    underWay++;
    const sent = performance.now();
    commit(group.flat, group.resolve.length).then(
      (results) => {
        const lost = files?.lost() ?? null;
        if (lost) return fail(group, unwritable(lost));
        onCommit(group.resolve.length, performance.now() - sent);
        settle(group, results);
      },
      (cause: unknown) => fail(group, unwritable(cause)),
    );
  }

  function settle(group: Group, results: readonly Result[]): void {
    failing = false;
    for (let i = 0; i < group.resolve.length; i++) {
      const result = results[i];
      if (typeof result === "number") group.resolve[i]?.(result);
      else if (result === undefined) group.reject[i]?.(unwritable("no answer for this write"));
      else if ("failed" in result) group.reject[i]?.(new StatementFailed(result));
      else group.resolve[i]?.(result);
    }
    next();
  }

  function fail(group: Group, error: Error): void {
    failing = true;
    for (const reject of group.reject) reject(error);
    // What was not sent yet would only wait for the same: it is refused now, and so is nobody's answer late.
    const unsent = [...whole, waiting];
    whole = [];
    waiting = { flat: [], resolve: [], reject: [] };
    for (const { reject } of unsent) for (const each of reject) each(error);
    next();
  }

  function next(): void {
    underWay--;
    if (!isEmpty()) return schedule();
    if (underWay > 0) return;
    for (const resolve of idle) resolve();
    idle = [];
  }

  return {
    push(put) {
      if (closed) return Promise.reject(unwritable("it is closed"));
      // One attempt at a time finds out whether it can be written again; the others fail at once.
      if (failing && underWay > 0)
        return Promise.reject(unwritable("the last write failed, the next attempt is under way"));
      if (countWaiting() >= MAX_WAITING)
        return Promise.reject(unwritable(`${MAX_WAITING} writes are waiting already`));
      return new Promise((resolve, reject) => {
        putWhole(waiting.flat, put);
        waiting.resolve.push(resolve);
        waiting.reject.push(reject);
        if (waiting.resolve.length >= pace.most) {
          whole.push(waiting);
          waiting = { flat: [], resolve: [], reject: [] };
        }
        schedule();
      });
    },
    failing: () => failing,
    drain() {
      closed = true;
      if (underWay === 0 && isEmpty()) return Promise.resolve();
      return new Promise((resolve) => idle.push(resolve));
    },
  };
}
