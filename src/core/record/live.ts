// What a listener is told, first from the log since the last event seen, then live: changes of its own executions,
// the mode of the house, and approvals that it asked for or (administrators) may decide.
import type { Caller } from "../../contract/call.ts";
import type { EventFacts, LogEvent, Store } from "../../storage/store/store.ts";
import type { Recorded } from "./index.ts";
import {
  APPROVAL_ACTIONS,
  audienceOf,
  dataOf,
  executionData,
  HOUSE_ACTIONS,
  isAmong,
  isAnnounced,
  QUESTION_ACTIONS,
  type Audience,
} from "../../storage/events/announcements.ts";

/** One event of the record. `id` is its sequence number in the log. */
export interface LiveEvent {
  readonly id: number;
  readonly event: string;
  readonly data: string;
}

export interface Live {
  /**
   * What concerns the caller from now on, or (with `after`) from the log first, nothing missing and nothing twice.
   * Ends when the signal fires; `callerNow` says with which rights, where those may change. A reader that falls too
   * far behind is cut off and may resume.
   */
  subscribe(
    caller: Caller,
    options: {
      after?: number;
      /** Also what others of the tenant run, for as long as the caller is an administrator. */
      everyone?: boolean;
      signal: AbortSignal;
      callerNow?: () => Caller;
    },
  ): AsyncIterable<LiveEvent>;
}

export interface LivePublisher extends Live {
  publish(recorded: Recorded): void;
  /**
   * Tells what other instances recorded of the mode and of approvals. Called once at the start, then whenever one of
   * them says so.
   */
  catchUp(): Promise<void>;
}

/** How many changes a slow reader may lag behind. */
const MAX_LAG = 1_000;
const PAGE = 200;
/** Instances share one log, and a lower number may become visible after a higher one: so far back is looked again. */
const LOOK_BACK = 1_000;
const MAX_TOLD = 5_000;

/** What waits to be told is small, whatever the size of the event; who may know it is asked again then. */
interface Waiting {
  readonly event: LiveEvent;
  readonly audience: Audience;
}

interface Reader {
  readonly caller: Caller;
  readonly callerNow: () => Caller;
  readonly everyone: boolean;
  readonly waiting: Waiting[];
  hasLagged: boolean;
  wake: () => void;
}

export function createLive(log: Store["log"]): LivePublisher {
  const readers = new Map<string, Set<Reader>>();
  /** Those among them that follow everybody of a tenant. */
  const watchers = new Map<string, Set<Reader>>();
  /** Announced events that were told here already, oldest first. */
  const told = new Set<number>();
  let lookedTo: number | null = null;
  let looking: Promise<void> = Promise.resolve();

  async function* follow(
    reader: Reader,
    after: number | undefined,
    signal: AbortSignal,
    leave: () => void,
  ): AsyncGenerator<LiveEvent> {
    const { caller } = reader;
    const filter = {
      tenantId: caller.tenantId,
      actor: caller.userId,
      everyActor: reader.everyone,
      tenantActions: [...APPROVAL_ACTIONS, ...QUESTION_ACTIONS],
      houseActions: HOUSE_ACTIONS,
    };
    try {
      let last = after ?? 0;
      if (after !== undefined) {
        for (;;) {
          const page = await log.since(last, filter, PAGE);
          for (const event of page) {
            last = event.seq;
            if (concerns(reader, audienceOf(event))) yield liveEvent(event.seq, event);
          }
          if (page.length === 0 || signal.aborted) break;
        }
      }
      let told = last;
      while (!signal.aborted) {
        const next = reader.waiting.shift();
        if (next === undefined && reader.hasLagged) {
          yield laggedAfter(told);
          return;
        }
        if (next === undefined) await new Promise<void>((resolve) => (reader.wake = resolve));
        else if (next.event.id > last && concerns(reader, next.audience)) {
          told = next.event.id;
          yield next.event;
        }
      }
    } finally {
      signal.removeEventListener("abort", leave);
      leave();
    }
  }

  const hand = (reader: Reader, next: Waiting): void => {
    if (reader.waiting.length < MAX_LAG && !reader.hasLagged) reader.waiting.push(next);
    else reader.hasLagged = true;
    reader.wake();
  };

  /** False when it was told before. */
  const remember = ({ seq }: Recorded): boolean => {
    if (told.has(seq)) return false;
    told.add(seq);
    const [oldest] = told;
    if (told.size > MAX_TOLD && oldest !== undefined) told.delete(oldest);
    return true;
  };

  const announce = (recorded: Recorded): void => {
    if (!remember(recorded)) return;
    const waiting = waitingOf(recorded);
    for (const mine of readers.values()) {
      for (const reader of mine)
        if (isAmong(reader.callerNow(), waiting.audience)) hand(reader, waiting);
    }
  };

  async function look(): Promise<void> {
    const head = await log.head();
    const houseActions = [...HOUSE_ACTIONS, ...APPROVAL_ACTIONS, ...QUESTION_ACTIONS];
    // The first look only learns where the log stands: what is there already is no news.
    const tell = lookedTo === null ? remember : announce;
    let from = Math.max(0, (lookedTo ?? head) - LOOK_BACK);
    for (;;) {
      const page = await log.since(from, { tenantId: "", actor: "", houseActions }, PAGE);
      for (const { seq, ...event } of page) tell({ seq, event });
      if (page.length === 0) break;
      from = page.at(-1)?.seq ?? head;
    }
    lookedTo = head;
  }

  return {
    subscribe(caller, { after, everyone = false, signal, callerNow = () => caller }) {
      const owner = ownerKey(caller.tenantId, caller.userId);
      const reader: Reader = {
        caller,
        callerNow,
        everyone,
        waiting: [],
        hasLagged: false,
        wake: () => undefined,
      };
      // From this moment on, not from the first read: nothing between the two is missed.
      const leaveOwn = join(readers, owner, reader);
      const leaveAll = everyone ? join(watchers, caller.tenantId, reader) : () => undefined;
      const leave = (): void => {
        leaveOwn();
        leaveAll();
        reader.wake();
      };
      signal.addEventListener("abort", leave, { once: true });
      return follow(reader, after, signal, leave);
    },
    publish(recorded) {
      const { event } = recorded;
      if (isAnnounced(event.action)) return announce(recorded);
      if (readers.size === 0 || event.executionId === null) return;
      const mine = readers.get(ownerKey(event.tenantId, event.actor));
      const all = watchers.get(event.tenantId);
      if (mine === undefined && all === undefined) return;
      const waiting = waitingOf(recorded);
      for (const reader of mine ?? []) if (!all?.has(reader)) hand(reader, waiting);
      for (const reader of all ?? []) hand(reader, waiting);
    },
    catchUp: () => (looking = looking.then(look, look)),
  };
}

/** Answers how to leave again. */
function join(groups: Map<string, Set<Reader>>, key: string, reader: Reader): () => void {
  const group = groups.get(key) ?? new Set();
  groups.set(key, group.add(reader));
  return () => {
    group.delete(reader);
    if (group.size === 0 && groups.get(key) === group) groups.delete(key);
  };
}

function concerns({ callerNow, everyone }: Reader, audience: Audience): boolean {
  const caller = callerNow();
  if (isAmong(caller, audience)) return true;
  const { tenantId, userId } = audience;
  const isOthers = tenantId === caller.tenantId && userId !== null && !audience.withAdmins;
  return everyone && isOthers && caller.role === "admin";
}

const ownerKey = (tenantId: string, userId: string): string => `${tenantId}\n${userId}`;

/**
 * The last words to a reader that fell too far behind. It has the id of the last event, so that resuming goes on
 * there.
 */
function laggedAfter(id: number): LiveEvent {
  const data = { reason: "too far behind", after: id, remedy: "connect again with Last-Event-ID" };
  return { id, event: "stream.lagged", data: JSON.stringify(data) };
}

const waitingOf = ({ seq, event, known }: Recorded): Waiting => ({
  event:
    event.executionId !== null && known ? executionEvent(seq, event, known) : liveEvent(seq, event),
  audience: audienceOf(event),
});

const executionEvent = (seq: number, event: LogEvent, known: EventFacts): LiveEvent => ({
  id: seq,
  event: event.action,
  data: JSON.stringify(executionData(event, known)),
});

function liveEvent(seq: number, event: LogEvent): LiveEvent {
  return { id: seq, event: event.action, data: JSON.stringify(dataOf(event)) };
}
