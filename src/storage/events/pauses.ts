// Waiting that others can end: once by a signal, or for good. One waits at a time.

export interface Pauses {
  readonly stopped: boolean;
  rest(ms: number): Promise<void>;
  untilWoken(ms: number): Promise<void>;
  /** Ends `untilWoken`, and nothing else. */
  wake(): void;
  /** Ends every wait, those of later too. */
  stop(): void;
}

export function createPauses(): Pauses {
  let stopped = false;
  let end: (() => void) | null = null;
  let wakeable = false;

  const wait = (ms: number, bySignal: boolean): Promise<void> =>
    new Promise((resolve) => {
      if (stopped) return resolve();
      const done = (): void => {
        clearTimeout(timer);
        end = null;
        resolve();
      };
      const timer = setTimeout(done, ms);
      timer.unref();
      wakeable = bySignal;
      end = done;
    });

  return {
    get stopped() {
      return stopped;
    },
    rest: (ms) => wait(ms, false),
    untilWoken: (ms) => wait(ms, true),
    wake() {
      if (wakeable) end?.();
    },
    stop() {
      stopped = true;
      end?.();
    },
  };
}

/** Waits for work that never rejects, but no longer than this. */
export async function atMost(ms: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  await Promise.race([work, late]);
  clearTimeout(timer);
}
