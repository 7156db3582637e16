// The time limit of a request: progress restarts it, a question to a person pauses it.

/** However often it reports progress. */
const MAX_TOTAL_MS = 300_000;

/** A class, not closures: one is made for every request. */
export class Deadline {
  readonly #timeoutMs: number;
  readonly #late: () => void;
  readonly #began = performance.now();
  #pausedFor = 0;
  #pausedAt: number | null = null;
  #timer: NodeJS.Timeout;

  constructor(timeoutMs: number, late: () => void) {
    this.#timeoutMs = timeoutMs;
    this.#late = late;
    this.#timer = setTimeout(late, timeoutMs);
  }

  /** The server reported progress. */
  restart(): void {
    if (this.#pausedAt !== null) return;
    const total = Math.max(this.#timeoutMs, MAX_TOTAL_MS);
    if (performance.now() - this.#began - this.#pausedFor < total) this.#timer.refresh();
  }

  /** A person was asked; the time they take does not count. */
  pause(): void {
    if (this.#pausedAt !== null) return;
    this.#pausedAt = performance.now();
    clearTimeout(this.#timer);
  }

  resume(): void {
    if (this.#pausedAt === null) return;
    this.#pausedFor += performance.now() - this.#pausedAt;
    this.#pausedAt = null;
    this.#timer = setTimeout(this.#late, this.#timeoutMs);
  }

  end(): void {
    this.#pausedAt = 0;
    clearTimeout(this.#timer);
  }
}
