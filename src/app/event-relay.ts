// Sends audit events on to the configured sink, and reports how that goes.
import type { Config } from "../config/config.ts";
import {
  startRelay,
  type Relay,
  type RelayFigures,
  type RelayPowers,
} from "../storage/events/relay.ts";
import { openSink } from "../storage/events/sink.ts";

/** Does nothing where no sink is configured: then nothing is loaded, and nothing runs. */
export interface EventRelay extends Pick<Relay, "wake" | "close"> {
  /** To be called when the doors may open: events recorded before are sent on then. */
  start(): Promise<void>;
  pending(): Promise<number> | number;
  /** For `/readyz`; null where no sink is configured. A sink that is down keeps no call from being made. */
  report(): Promise<string | null>;
}

export function createEventRelay(
  { sink: address, sinkFrom: from }: Pick<Config, "sink" | "sinkFrom">,
  powers: Omit<RelayPowers, "sink" | "from">,
): EventRelay {
  let relay: Relay | null = null;
  return {
    async start() {
      if (address !== "none")
        relay = startRelay({ ...powers, from, sink: await openSink(address) });
    },
    wake: () => relay?.wake(),
    pending: () => relay?.pending() ?? 0,
    report: async () => (relay === null ? null : sinkReport(await relay.figures())),
    close: async () => relay?.close(),
  };
}

export function sinkReport({ pending, lastError, lastSuccess, relaying }: RelayFigures): string {
  const waiting = pending === 1 ? "1 event waits" : `${pending} events wait`;
  const last =
    lastSuccess === null
      ? "none was sent by this server yet"
      : `the last was sent at ${new Date(lastSuccess).toISOString()}`;
  if (lastError !== null) return `events are not sent on: ${lastError}; ${waiting}, ${last}`;
  return relaying ? `${waiting}, ${last}` : `another server sends events on; ${waiting}`;
}
