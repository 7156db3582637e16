// Changes of executions, streamed to their owner: first what the log holds since the last one seen, then live.
import type { Caller } from "../call.ts";
import type { LogEvent, Store } from "../store/store.ts";
import type { Recorded } from "./index.ts";

/** One change of an execution's state. `id` is the sequence number in the log. */
export interface LiveEvent {
  readonly id: number;
  readonly event: string;
  readonly data: string;
}

export interface Live {
  /**
   * Changes of the caller's own executions from now on, or (with `after`) from the log first, nothing missing and
   * nothing twice. Ends when the signal fires; a reader that falls too far behind is cut off and may resume.
   */
  subscribe(
    caller: Caller,
    options: { after?: number; signal: AbortSignal },
  ): AsyncIterable<LiveEvent>;
}

/** How many changes a slow reader may lag behind. */
const MAX_LAG = 1_000;
const PAGE = 200;

interface Reader {
  readonly waiting: (Recorded | null)[];
  wake: () => void;
}

export function createLive(log: Store["log"]): Live & { publish(recorded: Recorded): void } {
  const readers = new Map<string, Set<Reader>>();

  async function* follow(caller: Caller, reader: Reader, after: number | undefined, signal: AbortSignal, leave: () => void): AsyncGenerator<LiveEvent> {
    try {
      let last = after ?? 0;
      if (after !== undefined) {
        for (;;) {
          const page = await log.since(last, { tenantId: caller.tenantId, actor: caller.userId }, PAGE);
          for (const event of page) {
            last = event.seq;
            if (event.executionId !== null) yield liveEvent(event.seq, event);
          }
          if (page.length < PAGE || signal.aborted) break;
        }
      }
      while (!signal.aborted) {
        const next = reader.waiting.shift();
        if (next === null) return; // lagged too far: the client resumes from its last id
        if (next === undefined) await new Promise<void>((resolve) => (reader.wake = resolve));
        else if (next.seq > last) yield liveEvent(next.seq, next.event);
      }
    } finally {
      signal.removeEventListener("abort", leave);
      leave();
    }
  } // prettier-ignore

  return {
    subscribe(caller, { after, signal }) {
      const owner = ownerKey(caller.tenantId, caller.userId);
      const reader: Reader = { waiting: [], wake: () => undefined };
      const mine = readers.get(owner) ?? new Set();
      // From this moment on, not from the first read: nothing between the two is missed.
      readers.set(owner, mine.add(reader));
      const leave = (): void => {
        mine.delete(reader);
        if (mine.size === 0 && readers.get(owner) === mine) readers.delete(owner);
        reader.wake();
      };
      signal.addEventListener("abort", leave, { once: true });
      return follow(caller, reader, after, signal, leave);
    },
    publish(recorded) {
      if (readers.size === 0 || recorded.event.executionId === null) return;
      for (const reader of readers.get(ownerKey(recorded.event.tenantId, recorded.event.actor)) ??
        []) {
        if (reader.waiting.length > MAX_LAG) continue;
        reader.waiting.push(reader.waiting.length === MAX_LAG ? null : recorded);
        reader.wake();
      }
    },
  };
}

const ownerKey = (tenantId: string, userId: string): string => `${tenantId}\n${userId}`;

function liveEvent(seq: number, event: LogEvent): LiveEvent {
  const body = JSON.parse(event.body) as Record<string, unknown>;
  const { toolName, category, status, executionTime, cancelReason, errorCode } = body;
  const data = { id: event.executionId, at: new Date(event.at).toISOString(), toolName, category, status, executionTime, cancelReason, errorCode }; // prettier-ignore
  return { id: seq, event: event.action, data: JSON.stringify(data) };
}
