// How long a request may go without a sign: progress begins the time anew, a question to a person stops it.

export interface Deadline {
  /** The server gave a sign. */
  restart(): void;
  /** Somebody was asked: how long they take is not the server's doing. */
  pause(): void;
  resume(): void;
  end(): void;
}

/** However often it reports progress. */
const MAX_TOTAL_MS = 300_000;

export function startDeadline(timeoutMs: number, late: () => void): Deadline {
  const total = Math.max(timeoutMs, MAX_TOTAL_MS);
  const began = performance.now();
  let pausedFor = 0;
  let pausedAt: number | null = null;
  let timer = setTimeout(late, timeoutMs);
  return {
    restart() {
      if (pausedAt !== null) return;
      if (performance.now() - began - pausedFor < total) timer.refresh();
    },
    pause() {
      if (pausedAt !== null) return;
      pausedAt = performance.now();
      clearTimeout(timer);
    },
    resume() {
      if (pausedAt === null) return;
      pausedFor += performance.now() - pausedAt;
      pausedAt = null;
      timer = setTimeout(late, timeoutMs);
    },
    end() {
      pausedAt = 0;
      clearTimeout(timer);
    },
  };
}
