// A token bucket: so many at once, and so many more every second.

export interface TokenBucket {
  /** False: there is none left. */
  take(): boolean;
  readonly isEmpty: boolean;
  /** Takes it, whether it is there or not; the milliseconds until what is missing has come back. */
  spend(amount: number): number;
}

export function createTokenBucket(
  burst: number,
  perSecond: number,
  now: () => number,
): TokenBucket {
  let left = burst;
  let at = now();
  const refill = (): void => {
    const time = now();
    left = Math.min(burst, left + (Math.max(0, time - at) * perSecond) / 1000);
    at = time;
  };
  return {
    take() {
      refill();
      if (left < 1) return false;
      left--;
      return true;
    },
    get isEmpty() {
      refill();
      return left < 1;
    },
    spend(amount) {
      refill();
      left -= amount;
      return left < 0 ? (-left * 1000) / perSecond : 0;
    },
  };
}
