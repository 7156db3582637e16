// After a failed attempt to connect, no other is made with the same credential for a while; each time for longer.
export const [FIRST_WAIT_MS, LAST_WAIT_MS] = [500, 60_000];

interface Failure {
  readonly count: number;
  readonly until: number;
  readonly reason: string;
}

export class ConnectBackoff {
  readonly #failures = new Map<string, Failure>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  failed(credentialId: string, reason: string): void {
    const count = (this.#failures.get(credentialId)?.count ?? 0) + 1;
    const wait = Math.min(LAST_WAIT_MS, FIRST_WAIT_MS * 2 ** (count - 1));
    this.#failures.set(credentialId, { count, until: this.#now() + wait, reason });
  }

  /** Why the last attempt failed, while no other may be made; null: one may. */
  waitingFor(credentialId: string): string | null {
    const known = this.#failures.get(credentialId);
    return known && known.until > this.#now() ? known.reason : null;
  }

  succeeded(credentialId: string): void {
    this.#failures.delete(credentialId);
  }

  clear(): void {
    this.#failures.clear();
  }
}
