// Spans are timed by the monotonic clock, which drifts from the wall clock over days: the offset is measured again
// between batches, so that it is the same within one trace.

const TOLERATED_MS = 5;

/** Milliseconds from `performance.now` to the wall clock. */
export function wallOffset(wall = Date.now, steady = () => performance.now()): () => number {
  let offset = wall() - steady();
  return () => {
    const now = wall() - steady();
    if (Math.abs(now - offset) > TOLERATED_MS) offset = now;
    return offset;
  };
}
