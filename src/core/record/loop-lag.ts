// How late the event loop is: a timer knows when it should have come. Reading changes nothing, so many may read.

export interface LoopLag {
  /** Seconds, over the last minute: the 99th percentile and the worst. */
  read(): { readonly p99: number; readonly max: number };
  close(): void;
}

const EVERY_MS = 25;
const KEPT = 60_000 / EVERY_MS;

export function watchLoop(): LoopLag {
  const lags = new Float64Array(KEPT);
  let count = 0;
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    lags[count++ % KEPT] = Math.max(0, now - last - EVERY_MS);
    last = now;
  }, EVERY_MS);
  timer.unref();
  return {
    read() {
      const sorted = lags.slice(0, Math.min(count, KEPT)).sort();
      const at = (share: number): number =>
        (sorted[Math.ceil(sorted.length * share) - 1] ?? 0) / 1000;
      return { p99: at(0.99), max: at(1) };
    },
    close: () => clearInterval(timer),
  };
}
