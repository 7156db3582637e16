// Events for listeners, first from the log since the last event seen, then live: changes of a listener's own
// executions, of the operating mode, and of approvals that it asked for or (administrators) may decide.
import type { Caller } from "../../contract/call.ts";
import {
  APPROVAL_ACTIONS,
  isAmong,
  isAnnounced,
  MODE_ACTIONS,
  QUESTION_ACTIONS,
  RUN_ACTIONS,
} from "../../storage/events/announcements.ts";
import type { Store } from "../../storage/store/store.ts";
import type { Recorded } from "./index.ts";
import { enqueue, follow, newReader, waitingOf, type LiveReader } from "./live-reader.ts";

/** One event of the record. `id` is its sequence number in the log. */
export interface LiveEvent {
  readonly id: number;
  readonly event: string;
  readonly data: string;
}

export interface Live {
  /**
   * What concerns the caller from now on, or (with `after`) from the log first, nothing missing and nothing twice. Ends
   * when the signal fires; `callerNow` gives the present rights, where those may change. A reader that falls too far
   * behind is cut off and may resume.
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
   * Sends what other instances recorded of the mode and of approvals. Called once at the start, then with each change
   * signal of theirs.
   */
  catchUp(): Promise<void>;
}

const PAGE = 200;
/** Instances share one log, and a lower number may become visible after a higher one: so far back is read again. */
const LOOK_BACK = 1_000;
const MAX_REMEMBERED = 5_000;

export function createLive(log: Store["log"]): LivePublisher {
  const readers = new Map<string, Set<LiveReader>>();
  /** Those among them that follow all users of a tenant. */
  const watchers = new Map<string, Set<LiveReader>>();
  /** Announced events that were sent here already, oldest first. */
  const sent = new Set<number>();
  let readTo: number | null = null;
  let reading: Promise<void> = Promise.resolve();

  /** False when it was sent before. */
  const remember = ({ seq }: Recorded): boolean => {
    if (sent.has(seq)) return false;
    sent.add(seq);
    const [oldest] = sent;
    if (sent.size > MAX_REMEMBERED && oldest !== undefined) sent.delete(oldest);
    return true;
  };

  const announce = (recorded: Recorded): void => {
    if (!remember(recorded)) return;
    const waiting = waitingOf(recorded);
    for (const mine of readers.values()) {
      for (const reader of mine)
        if (isAmong(reader.callerNow(), waiting.audience)) enqueue(reader, waiting);
    }
  };

  async function readAnnounced(): Promise<void> {
    const head = await log.head();
    const anyTenantActions = [
      ...MODE_ACTIONS,
      ...APPROVAL_ACTIONS,
      ...QUESTION_ACTIONS,
      ...RUN_ACTIONS,
    ];
    // The first time only learns where the log stands: what is there already was sent before this start.
    const take = readTo === null ? remember : announce;
    let from = Math.max(0, (readTo ?? head) - LOOK_BACK);
    for (;;) {
      const page = await log.since(from, { tenantId: "", actor: "", anyTenantActions }, PAGE);
      for (const { seq, ...event } of page) take({ seq, event });
      if (page.length === 0) break;
      from = page.at(-1)?.seq ?? head;
    }
    readTo = head;
  }

  return {
    subscribe(caller, { after, everyone = false, signal, callerNow = () => caller }) {
      const reader = newReader(caller, callerNow, everyone);
      // From this moment on, not from the first read: nothing between the two is missed.
      const leaveOwn = join(readers, ownerKey(caller.tenantId, caller.userId), reader);
      const leaveAll = everyone ? join(watchers, caller.tenantId, reader) : () => undefined;
      const leave = (): void => {
        leaveOwn();
        leaveAll();
        signal.removeEventListener("abort", leave);
        reader.wake();
      };
      signal.addEventListener("abort", leave, { once: true });
      return follow(log, reader, { after, signal, leave });
    },
    publish(recorded) {
      const { event } = recorded;
      if (isAnnounced(event.action)) return announce(recorded);
      if (readers.size === 0 || event.executionId === null) return;
      const mine = readers.get(ownerKey(event.tenantId, event.actor));
      const all = watchers.get(event.tenantId);
      if (mine === undefined && all === undefined) return;
      const waiting = waitingOf(recorded);
      for (const reader of mine ?? []) if (!all?.has(reader)) enqueue(reader, waiting);
      for (const reader of all ?? []) enqueue(reader, waiting);
    },
    catchUp: () => (reading = reading.then(readAnnounced, readAnnounced)),
  };
}

/** Answers how to leave again. */
function join(groups: Map<string, Set<LiveReader>>, key: string, reader: LiveReader): () => void {
  const group = groups.get(key) ?? new Set();
  groups.set(key, group.add(reader));
  return () => {
    group.delete(reader);
    if (group.size === 0 && groups.get(key) === group) groups.delete(key);
  };
}

const ownerKey = (tenantId: string, userId: string): string => `${tenantId}\n${userId}`;
