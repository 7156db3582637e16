// The status of one server, and when it changed last.
import type { ServerHealth } from "../upstream.ts";

type Status = ServerHealth["status"];

export class ServerStatusTracker {
  readonly #now: () => number;
  readonly #onStatus: (status: Status, reason: string | null) => void;
  #state: Pick<ServerHealth, "status" | "reason" | "since" | "restarts">;

  constructor(
    status: Status,
    now: () => number,
    onStatus: (status: Status, reason: string | null) => void,
  ) {
    this.#now = now;
    this.#onStatus = onStatus;
    this.#state = { status, reason: null, since: now(), restarts: 0 };
  }

  get state(): Pick<ServerHealth, "status" | "reason" | "since" | "restarts"> {
    return this.#state;
  }

  get status(): Status {
    return this.#state.status;
  }

  set(status: Status, reason: string | null): void {
    const state = this.#state;
    if (state.status === status && state.reason === reason) return;
    const isNewStatus = state.status !== status;
    this.#state = { ...state, status, reason, since: isNewStatus ? this.#now() : state.since };
    if (isNewStatus) this.#onStatus(status, reason);
  }

  countRestart(): void {
    this.#state = { ...this.#state, restarts: this.#state.restarts + 1 };
  }
}
