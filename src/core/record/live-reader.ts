// One listener's events: first from the log since the last event seen, then live, in order.
import type { Caller } from "../../contract/call.ts";
import type { EventFacts, LogEvent, Store } from "../../storage/store/store.ts";
import {
  APPROVAL_ACTIONS,
  audienceOf,
  dataOf,
  executionData,
  isAmong,
  MODE_ACTIONS,
  QUESTION_ACTIONS,
  RUN_ACTIONS,
  type Audience,
} from "../../storage/events/announcements.ts";
import type { Recorded } from "./index.ts";
import type { LiveEvent } from "./live.ts";

/** How many changes a slow reader may lag behind. */
const MAX_LAG = 1_000;
const PAGE = 200;

/** An event as it waits to be sent: small, whatever its size in the log. Who may get it is checked again then. */
export interface WaitingEvent {
  readonly event: LiveEvent;
  readonly audience: Audience;
}

export interface LiveReader {
  readonly caller: Caller;
  readonly callerNow: () => Caller;
  /** Also what others of the tenant run. */
  readonly everyone: boolean;
  readonly waiting: WaitingEvent[];
  hasLagged: boolean;
  wake: () => void;
}

export const newReader = (
  caller: Caller,
  callerNow: () => Caller,
  everyone: boolean,
): LiveReader => ({
  caller,
  callerNow,
  everyone,
  waiting: [],
  hasLagged: false,
  wake: () => undefined,
});

/** Puts an event into the reader's queue; one that has fallen too far behind gets no more. */
export function enqueue(reader: LiveReader, next: WaitingEvent): void {
  if (reader.waiting.length < MAX_LAG && !reader.hasLagged) reader.waiting.push(next);
  else reader.hasLagged = true;
  reader.wake();
}

/** What the reader gets, until the signal fires or it lags too far behind. Calls `leave` at its end. */
export async function* follow(
  log: Store["log"],
  reader: LiveReader,
  { after, signal, leave }: { after: number | undefined; signal: AbortSignal; leave: () => void },
): AsyncGenerator<LiveEvent> {
  try {
    let last = after ?? 0;
    if (after !== undefined) {
      const filter = filterOf(reader);
      for (;;) {
        const page = await log.since(last, filter, PAGE);
        for (const event of page) {
          last = event.seq;
          if (concerns(reader, audienceOf(event))) yield liveEvent(event.seq, event);
        }
        if (page.length === 0 || signal.aborted) break;
      }
    }
    let sent = last;
    while (!signal.aborted) {
      const next = reader.waiting.shift();
      if (next === undefined && reader.hasLagged) {
        yield laggedAfter(sent);
        return;
      }
      if (next === undefined) await new Promise<void>((resolve) => (reader.wake = resolve));
      else if (next.event.id > last && concerns(reader, next.audience)) {
        sent = next.event.id;
        yield next.event;
      }
    }
  } finally {
    leave();
  }
}

function concerns({ callerNow, everyone }: LiveReader, audience: Audience): boolean {
  const caller = callerNow();
  if (isAmong(caller, audience)) return true;
  const { tenantId, userId } = audience;
  const isOthers = tenantId === caller.tenantId && userId !== null && !audience.withAdmins;
  return everyone && isOthers && caller.role === "admin";
}

const filterOf = ({ caller: { tenantId, userId }, everyone }: LiveReader) => ({
  tenantId,
  actor: userId,
  everyActor: everyone,
  tenantActions: [...APPROVAL_ACTIONS, ...QUESTION_ACTIONS, ...RUN_ACTIONS],
  anyTenantActions: MODE_ACTIONS,
});

/**
 * The last event of a reader that fell too far behind. It has the id of the last one that was sent, so that resuming
 * goes on there.
 */
function laggedAfter(id: number): LiveEvent {
  const data = { reason: "too far behind", after: id, remedy: "connect again with Last-Event-ID" };
  return { id, event: "stream.lagged", data: JSON.stringify(data) };
}

export const waitingOf = ({ seq, event, known }: Recorded): WaitingEvent => ({
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
