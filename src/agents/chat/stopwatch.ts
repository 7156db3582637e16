// The working time of a turn. It stands still while a person is asked, and calls back when the time is over.

export interface Stopwatch {
  start(limitMs: number): void;
  pause(): void;
  resume(): void;
  workedMs(): number;
  leftMs(): number;
  close(): void;
}

export function createStopwatch(before: number, over: () => void): Stopwatch {
  let worked = before;
  let limit = Infinity;
  let since: number | null = null;
  let pauses = 0;
  let timer: NodeJS.Timeout | undefined;

  const workedMs = (): number =>
    Math.round(worked + (since === null ? 0 : performance.now() - since));
  const run = (): void => {
    since = performance.now();
    timer = setTimeout(over, Math.max(0, limit - worked));
  };
  const halt = (): void => {
    worked = workedMs();
    since = null;
    clearTimeout(timer);
  };

  return {
    start(limitMs) {
      limit = limitMs;
      run();
    },
    // Calls side by side may wait at the same time.
    pause() {
      if (pauses++ === 0) halt();
    },
    resume() {
      if (--pauses === 0) run();
    },
    workedMs,
    leftMs: () => Math.max(0, limit - workedMs()),
    close: halt,
  };
}
