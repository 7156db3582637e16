// One wall clock for all spans. Spans are timed by the steady clock, which the wall clock leaves behind over days.

export interface SpanClock {
  /** Seconds and nanoseconds of a moment of `performance.now`. */
  at(moment: number): [number, number];
  /** Follows the wall clock when it has been set; called between exports, so that one trace keeps one measure. */
  sync(): void;
}

const TOLERATED_MS = 5;

export function createSpanClock(wall = Date.now, steady = () => performance.now()): SpanClock {
  let offset = wall() - steady();
  return {
    at(moment) {
      const ms = moment + offset;
      const seconds = Math.floor(ms / 1000);
      return [seconds, Math.round((ms - seconds * 1000) * 1e6)];
    },
    sync() {
      const now = wall() - steady();
      if (Math.abs(now - offset) > TOLERATED_MS) offset = now;
    },
  };
}
