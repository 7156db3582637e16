// Work on large input takes the main thread in time slices, so that small requests are answered in between, however
// many large ones arrive at the same time.

/** Null while the current slice lasts, then a promise of the next one. */
export type SliceEnd = () => Promise<void> | null;

export interface TimeSlices {
  /** Waits for a slice. It lasts until the caller awaits anything else. */
  next(): Promise<void>;
  /** For work in small pieces: call the result before each piece. `begun`: the first slice has already started. */
  job(begun?: "begun"): SliceEnd;
}

/** Bodies and values from this size on are large: in bytes, or in characters. Smaller ones take a few milliseconds. */
export const LARGE = 16_384;

const SLICE_MS = 4;
const MAX_PAUSE_MS = 50;

/**
 * One slice in each round of the event loop, first come first served. A slice that took too long is followed by a pause
 * of the same length: a small call needs several rounds, threads and the disk between its request and its answer.
 */
function createTimeSlices(): TimeSlices {
  const waiting: (() => void)[] = [];
  let startedAt = 0;
  let isOpen = true;

  /** Runs in the round after the slice. */
  const after = (): void => {
    const took = performance.now() - startedAt;
    if (took > SLICE_MS) setTimeout(open, Math.min(took, MAX_PAUSE_MS));
    else open();
  };
  const open = (): void => {
    isOpen = true;
    if (waiting.length > 0) soon();
  };
  const soon = (): void => {
    isOpen = false;
    setImmediate(() => {
      startedAt = performance.now();
      setImmediate(after);
      waiting.shift()?.();
    });
  };
  const next = (): Promise<void> =>
    new Promise((resolve) => {
      waiting.push(resolve);
      if (isOpen) soon();
    });

  return {
    next,
    job(begun) {
      let until = begun ? performance.now() + SLICE_MS : 0;
      return () =>
        performance.now() < until
          ? null
          : next().then(() => {
              until = performance.now() + SLICE_MS;
            });
    },
  };
}

/** A process has one event loop: all servers in it share the slices. */
export const mainThread: TimeSlices = createTimeSlices();
