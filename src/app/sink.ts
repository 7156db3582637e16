// Audit events sent on to where the configuration says, and what is told of it.
import type { Config } from "../config/config.ts";
import {
  startRelay,
  type Relay,
  type RelayFigures,
  type RelayPowers,
} from "../storage/events/relay.ts";
import { openSink } from "../storage/events/sink.ts";

/** Null where nothing is sent on: then nothing is loaded, and nothing runs. */
export async function openRelay(
  { sink: address, sinkFrom: from }: Pick<Config, "sink" | "sinkFrom">,
  powers: Omit<RelayPowers, "sink" | "from">,
): Promise<Relay | null> {
  if (address === "none") return null;
  return startRelay({ ...powers, from, sink: await openSink(address) });
}

/** For `/readyz`. A sink that is down keeps no call from being made. */
export function sinkReport({ pending, lastError, lastSuccess, relaying }: RelayFigures): string {
  const waiting = pending === 1 ? "1 event waits" : `${pending} events wait`;
  const last =
    lastSuccess === null
      ? "none was sent by this server yet"
      : `the last was sent at ${new Date(lastSuccess).toISOString()}`;
  if (lastError !== null) return `events are not sent on: ${lastError}; ${waiting}, ${last}`;
  return relaying ? `${waiting}, ${last}` : `another server sends events on; ${waiting}`;
}
