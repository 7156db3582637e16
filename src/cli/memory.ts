// A server lives long beside others: it takes little more memory than it needs. The runtime by itself keeps what the
// start needed, which is twice of what is needed afterwards, and under load lets garbage grow to several times of
// what lives.
import { getHeapStatistics, setFlagsFromString } from "node:v8";

const [SOON_MS, LATER_MS] = [1_000, 30_000];
/** Less is not worth a pause of some 50 ms. */
const WORTH_BYTES = 16_000_000;
/** Garbage of half of what lives, then it is collected. Throughput is the same: collecting runs beside the calls. */
const GROWTH = "--heap-growing-percent=50";

/** What the start needed is given back once nothing runs; that is looked for again while there is work. */
export function keepMemoryLow(isIdle: () => boolean): void {
  setFlagsFromString(GROWTH);
  const look = (ms: number): void =>
    void setTimeout(() => (isIdle() ? void giveBack() : look(LATER_MS)), ms).unref();
  look(SOON_MS);
}

async function giveBack(): Promise<void> {
  const { total_heap_size: held, used_heap_size: used } = getHeapStatistics();
  if (held - used < WORTH_BYTES) return;
  try {
    const { Session } = await import("node:inspector/promises");
    const session = new Session();
    session.connect();
    await session.post("HeapProfiler.collectGarbage");
    session.disconnect();
  } catch {
    // A runtime without an inspector, or one that is being debugged: then it stays as large as it is.
  }
}
