// Spans are timed by the steady clock, which the wall clock leaves behind over days: between batches the way from one
// to the other is looked at again, so that one trace keeps one measure.

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
