// The thread that sends: messages come finished from the main thread, and no call waits for a receiver that is slow or
// not reachable.
import { parentPort, workerData } from "node:worker_threads";
import { openExport, type ExportPowers, type Parcel } from "./export.ts";
import type { FromThread, ThreadData, ToThread } from "./sender.ts";

const MAX_QUEUED = 8_192;
const MAX_QUEUED_BYTES = 64 * 1024 * 1024;

const { endpoint, headers } = workerData as ThreadData;
const figures = { sent: 0, dropped: 0 };
const tell = (more: Partial<FromThread>): void =>
  parentPort?.postMessage({ done: 0, ...figures, ...more } satisfies FromThread);

const common = { headers, maxSpans: MAX_QUEUED, maxBytes: MAX_QUEUED_BYTES };
const urlOf = (signal: string): string => `${endpoint.replace(/\/+$/, "")}/v1/${signal}`;
const open = (powers: Pick<ExportPowers, "signal" | "sent" | "lost">) =>
  openExport({ ...common, ...powers, url: urlOf(powers.signal) });

/** Its memory is the main thread's again. */
const done = ({ spans, bytes: { buffer } }: Parcel): Pick<FromThread, "done" | "freed"> =>
  buffer instanceof SharedArrayBuffer ? { done: spans, freed: buffer } : { done: spans };

const traces = open({
  signal: "traces",
  sent(parcel, rejected) {
    figures.sent += parcel.spans - rejected;
    figures.dropped += rejected;
    tell({
      ...done(parcel),
      ...(rejected > 0 ? { why: "the collector rejected some of them" } : {}),
    });
  },
  lost(parcel, why) {
    figures.dropped += parcel.spans;
    tell({ ...done(parcel), why });
  },
});
// The next message contains all of it again.
const metrics = open({ signal: "metrics", sent: () => undefined, lost: () => undefined });

async function close(): Promise<void> {
  await Promise.all([traces.drained(), metrics.drained()]);
  tell({ closed: true });
  parentPort?.close();
}

parentPort?.on("message", (message: ToThread) => {
  if (message === "close") return void close();
  if (message.signal === "metrics") return void metrics.add(message);
  if (traces.add(message)) return;
  figures.dropped += message.spans;
  tell({ ...done(message), why: "the collector is too slow" });
});
