// Loading a server takes twice the memory that it needs afterwards, and the runtime keeps what it once had. So the room goes
// back to the system when the start is over and nothing runs.
import { getHeapStatistics } from "node:v8";

const [SOON_MS, LATER_MS] = [1_000, 30_000];
/** Less is not worth a pause of some 50 ms. */
const WORTH_BYTES = 16_000_000;

/** Looks again while there is work. The process may end meanwhile. */
export function giveBackWhenIdle(isIdle: () => boolean): void {
  const look = (ms: number): void =>
    void setTimeout(() => (isIdle() ? void giveBack() : look(LATER_MS)), ms).unref();
  look(SOON_MS);
}

async function giveBack(): Promise<void> {
  const { total_heap_size: held, used_heap_size: used } = getHeapStatistics();
  if (held - used < WORTH_BYTES) return;
  const { Session } = await import("node:inspector/promises");
  const session = new Session();
  try {
    session.connect();
    await session.post("HeapProfiler.collectGarbage");
  } catch {
    // Somebody debugs this process: then it stays as large as it is.
  } finally {
    session.disconnect();
  }
}
