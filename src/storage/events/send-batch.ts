// Sends the next events of the log to the sink, as many at once as it takes.
import type { LedgerRow } from "../store/store.ts";
import { sinkEvent } from "./event.ts";
import type { Lease } from "./lease.ts";
import type { RelayPowers } from "./relay.ts";
import type { SinkEvent } from "./sink.ts";

const MOST_EVENTS = 500;
/** Below the default limit of a topic (1 MB), keys and headers included. */
const MOST_BYTES = 800_000;
const OVERHEAD_BYTES = 300;

export interface BatchSender {
  /** Epoch ms; null when nothing was sent yet. */
  readonly lastSuccess: number | null;
  /** Sends one batch. */
  send(): Promise<"more" | "done" | "not ours">;
}

export function createBatchSender(
  { store, sink, now, log }: Pick<RelayPowers, "store" | "sink" | "now" | "log">,
  lease: Lease,
): BatchSender {
  let pageSize = MOST_EVENTS;
  let lastSuccess: number | null = null;
  return {
    get lastSuccess() {
      return lastSuccess;
    },
    async send() {
      const sentTo = await lease.take();
      if (sentTo === null) return "not ours";
      const rows = await store.log.read(sentTo, pageSize);
      const [first] = rows;
      if (first === undefined) return "done";
      if (first.seq > sentTo + 1)
        log.warn(
          { from: sentTo + 1, to: first.seq - 1 },
          "events that lie in the archive only are not sent on",
        );
      const batch = gather(rows);
      pageSize = Math.max(
        1,
        Math.min(MOST_EVENTS, Math.ceil((2 * MOST_BYTES * batch.events.length) / batch.bytes)),
      );
      await sink.deliver(batch.events);
      lastSuccess = now();
      await lease.advance(batch.last);
      // A page ends early where events are large: only an empty one is the end.
      return "more";
    },
  };
}

/** As many as fit, one at least. */
function gather(rows: readonly LedgerRow[]): { events: SinkEvent[]; bytes: number; last: number } {
  const events: SinkEvent[] = [];
  let bytes = 0;
  let last = 0;
  for (const row of rows) {
    const event = sinkEvent(row);
    const size = Buffer.byteLength(event.line) + OVERHEAD_BYTES;
    if (events.length > 0 && bytes + size > MOST_BYTES) break;
    events.push(event);
    bytes += size;
    last = row.seq;
  }
  return { events, bytes, last };
}
