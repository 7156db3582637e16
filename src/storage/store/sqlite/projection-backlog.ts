// The projection backlog: events that are in the log and not yet in the tables of history. A call is answered as soon
// as its events are durable. Its row is written a little later, in a transaction of its own: most calls have ended by
// then and cost one write instead of two. Reads of history have the backlog written first; after a crash it is read
// from the log again. Writing something twice does no harm: a row takes a start and an end once.
import type { DatabaseSync } from "node:sqlite";
import { bind } from "../bind.ts";
import type { ExecutionChange, ExecutionChanges } from "../projection.ts";
import { changesOf, EVENT_COLUMNS, STRETCH, type EventRow } from "../rebuild.ts";
import { tally } from "../tally.ts";
import { projectionWriter } from "./write-projection.ts";

/** A call that lasts longer is written as running without waiting for a reader. */
export const YOUNG_MS = 50;

/** History is complete up to the event of this number, and may be for some after it. */
const MARK = "projected";
const READ_MARK = "select value from facts where name = ?";
const SET_MARK =
  "insert into facts (name, value) values (?1, ?2) on conflict do update set value = excluded.value";
const HEAD = "select max(seq) as seq from events";
const EVENTS = `select ${EVENT_COLUMNS} from events where seq > ? and seq <= ? and execution_id is not null order by seq limit ?`;
const ADD_USAGE = `insert into usage (tenant_id, period, metric, used) values (?1, ?2, ?3, max(0, ?4))
  on conflict do update set used = max(0, used + ?4)`;
const SETTLE_RESERVATION = "delete from reservations where execution_id = ?";

interface Open {
  readonly change: ExecutionChange;
  /** When it came here, on the clock of `performance`. */
  readonly at: number;
}

/** What is not written yet. */
interface State {
  /** Calls that have not ended, in the order of their numbers. */
  readonly open: Map<string, Open>;
  readonly ended: ExecutionChange[];
  /** The newest event that is here or written. */
  readonly head: number;
  /** Events after this one, up to `head`, may be of another process that has opened the file. */
  readonly foreignAfter: number | null;
}

/** Calls whose ends are written in one transaction: the log waits for it. */
const AT_ONCE = 128;

export class ProjectionBacklog {
  readonly #db: DatabaseSync;
  readonly #projection;
  readonly #addUsage;
  readonly #settleReservation;
  readonly #setMark;
  readonly #readHead;
  #state: State = { open: new Map(), ended: [], head: 0, foreignAfter: null };
  /** Before what was written inside a transaction that may still fail. */
  #before: State | null = null;

  /** The tables are there. */
  constructor(db: DatabaseSync) {
    this.#db = db;
    this.#projection = projectionWriter(db, { executions: "executions", rollups: "rollups" });
    this.#addUsage = db.prepare(ADD_USAGE);
    this.#settleReservation = db.prepare(SETTLE_RESERVATION);
    this.#setMark = db.prepare(SET_MARK);
    this.#readHead = db.prepare(HEAD);
  }

  get size(): number {
    return this.#state.open.size + this.#state.ended.length;
  }

  get ended(): number {
    return this.#state.ended.length;
  }

  /** What a group did that is durable: its events came after `before` and end with `head`. */
  add(changes: ExecutionChanges, before: number, head: number, now: number): void {
    const { open, ended, ...state } = this.#state;
    const foreignAfter = state.foreignAfter ?? (before > state.head ? state.head : null);
    this.#state = { open, ended, head, foreignAfter };
    for (const change of changes.values()) {
      const { id, start, end } = change;
      const known = open.get(id);
      // One that was held begins anew, after all others.
      if (known) open.delete(id);
      if (end) ended.push(known ? { id, start: start ?? known.change.start, end } : change);
      else open.set(id, { change, at: now });
    }
  }

  /**
   * Writes what has ended or is old; or all, and what others wrote into the log. Inside a transaction: `done` or
   * `undone` says how that ended.
   */
  write(all: boolean, now: number): void {
    const state = this.#state;
    const ended = all ? [] : state.ended.slice(AT_ONCE);
    const [changes, open] = [
      all ? [...state.ended] : state.ended.slice(0, AT_ONCE),
      new Map<string, Open>(),
    ];
    for (const [id, one] of state.open) {
      if (all || one.at <= now - YOUNG_MS) changes.push(one.change);
      else open.set(id, one);
    }
    const head = all ? this.#headOfLog() : state.head;
    const foreignAfter = state.foreignAfter ?? (head > state.head ? state.head : null);
    this.#before ??= state;
    this.#state = { open, ended, head, foreignAfter: null };
    if (changes.length > 0) this.#project(changes);
    if (foreignAfter !== null) this.#read(foreignAfter, head);
    this.#setMark.run(MARK, String(completeUpTo(this.#state)));
  }

  done(): void {
    this.#before = null;
  }

  undone(): void {
    this.#projection.undone();
    this.#state = this.#before ?? this.#state;
    this.#before = null;
  }

  /** Writes the backlog of an earlier process or thread. A database without a mark never had one. */
  catchUp(): void {
    const mark = this.#db.prepare(READ_MARK).get(MARK)?.["value"];
    const head = this.#headOfLog();
    this.#state = { ...this.#state, head };
    if (mark !== undefined && Number(mark) >= head) return;
    this.#db.exec("begin immediate");
    try {
      if (mark !== undefined) this.#read(Number(mark), head);
      this.#setMark.run(MARK, String(head));
      this.#db.exec("commit");
    } catch (cause) {
      if (this.#db.isTransaction) this.#db.exec("rollback");
      throw cause;
    }
  }

  #headOfLog(): number {
    return Number(this.#readHead.get()?.["seq"] ?? 0);
  }

  #read(after: number, head: number): void {
    const events = this.#db.prepare(EVENTS);
    for (let seq = after; seq < head;) {
      const rows = events.all(seq, head, STRETCH) as unknown as EventRow[];
      this.#project(changesOf(rows).values());
      seq = rows.length < STRETCH ? head : (rows.at(-1)?.seq ?? head);
    }
  }

  #project(changes: Iterable<ExecutionChange>): void {
    const budgets = tally();
    for (const change of this.#projection.write(changes)) budgets.add(change);
    for (const u of budgets.sums())
      this.#addUsage.run(bind(u.tenant_id), bind(u.period), bind(u.metric), bind(u.used));
    for (const id of budgets.settled) this.#settleReservation.run(id);
  }
}

/** The number before the first event that is not written. */
function completeUpTo({ open, ended, head }: State): number {
  let first = open.values().next().value?.change.start?.seq ?? head + 1;
  for (const { start, end } of ended) first = Math.min(first, (start ?? end)?.seq ?? first);
  return first - 1;
}
