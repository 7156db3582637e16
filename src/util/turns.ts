// Work on large input is done in turns on the main thread: whoever brings little gets through in between, however many bring
// much at the same time.

/** Null while the present turn is not over. */
export type Turn = () => Promise<void> | null;

export interface Turns {
  /** Waits for one turn: what follows until the next wait for anything is done in it. */
  next(): Promise<void>;
  /** Work in small pieces: asked before each of them, it waits whenever its turn is over. `begun`: it is in its first. */
  job(begun?: "begun"): Turn;
}

/** Bodies and values from this size on are large: in bytes, or in characters. What is smaller takes a few milliseconds. */
export const LARGE = 16_384;

const TURN_MS = 4;
const LONGEST_REST_MS = 50;

/**
 * One turn in each round of the event loop, in the order of asking. A turn that took longer than it should is followed by a
 * rest of the same length: a call that brings little needs some rounds from its request to its answer, and threads and
 * the disk in between.
 */
function createTurns(): Turns {
  const waiting: (() => void)[] = [];
  let began = 0;
  let isOpen = true;

  /** In the round after the one in which the turn was: all that was done in it is over. */
  const after = (): void => {
    const took = performance.now() - began;
    if (took > TURN_MS) setTimeout(open, Math.min(took, LONGEST_REST_MS));
    else open();
  };
  const open = (): void => {
    isOpen = true;
    if (waiting.length > 0) soon();
  };
  const soon = (): void => {
    isOpen = false;
    setImmediate(() => {
      began = performance.now();
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
      let until = begun ? performance.now() + TURN_MS : 0;
      return () =>
        performance.now() < until
          ? null
          : next().then(() => {
              until = performance.now() + TURN_MS;
            });
    },
  };
}

/** There is one event loop, however many servers run on it: they share its turns. */
export const mainThread: Turns = createTurns();
