// What runs or waits on this instance right now: how it is seen, cancelled and closed exactly once.
import type {
  Call,
  Caller,
  CallRequest,
  CancelReason,
  Status,
  TimeLimit,
} from "../../contract/call.ts";
import { UnorderedSet } from "./unordered-set.ts";

export interface ActiveView {
  readonly id: string;
  readonly toolName: string;
  readonly category: string;
  readonly status: Status;
  readonly startTime: number;
  readonly runningTime: number;
}

export interface ActiveEntry {
  readonly call: Call;
  status: "pending" | "running";
  /** Why it was cancelled, as the person or program that did it wrote. */
  note: string | null;
  /** The limit of the outer call that waits for it, where that can end it. */
  readonly outerLimit: TimeLimit | null;
  /** Fires the call's signal; the first reason wins. */
  abort(reason: CancelReason): void;
  /** Resolves when the execution has ended and its end is recorded. */
  readonly ended: Promise<void>;
  /** Takes it off the list. */
  close(): void;
}

type Waiting = Pick<CallRequest, "signal" | "whenGone" | "outerLimit">;

export interface Active {
  readonly size: number;
  /** `client` fires when the client that waits for it has disconnected. */
  add(call: Omit<Call, "signal">, client: Waiting): ActiveEntry;
  get(id: string): ActiveEntry | null;
  has(id: string): boolean;
  of(caller: Caller, now: number): ActiveView[];
  all(): ActiveEntry[];
}

export function createActive(): Active {
  const entries = new UnorderedSet<Entry>();
  // Asked for by people and at a stop, so looking through all of them is cheap enough.
  const find = (id: string): Entry | undefined => entries.find(({ call }) => call.id === id);

  const view = ({ call, status }: ActiveEntry, now: number): ActiveView => ({
    id: call.id,
    toolName: call.tool?.name ?? call.requestedName,
    category: call.tool?.category ?? "unknown",
    status,
    startTime: call.startedAt,
    runningTime: Math.max(0, now - call.startedAt),
  });

  return {
    get size() {
      return entries.size;
    },
    add(incoming, client) {
      const entry = new Entry(incoming, client, entries);
      entries.add(entry);
      return entry;
    },
    get: (id) => find(id) ?? null,
    has: (id) => find(id) !== undefined,
    of: (caller, now) =>
      entries
        .all()
        .filter(
          ({ call }) =>
            call.caller.userId === caller.userId && call.caller.tenantId === caller.tenantId,
        )
        .sort((a, b) => a.call.startedAt - b.call.startedAt)
        .map((entry) => view(entry, now)),
    all: () => entries.all(),
  };
}

/** A class, not closures: one is made for every call. */
class Entry implements ActiveEntry {
  readonly call: Call;
  index = -1;
  status: "pending" | "running" = "running";
  note: string | null = null;
  readonly outerLimit: TimeLimit | null;
  readonly #controller = new AbortController();
  readonly #entries: UnorderedSet<Entry>;
  readonly #client: AbortSignal | undefined;
  #ended: PromiseWithResolvers<void> | null = null;

  constructor(incoming: Omit<Call, "signal">, client: Waiting, entries: UnorderedSet<Entry>) {
    this.call = { ...incoming, signal: this.#controller.signal };
    this.outerLimit = client.outerLimit ?? null;
    this.#entries = entries;
    this.#client = client.signal;
    // A client that goes away cancels what it waits for.
    if (client.signal?.aborted) this.#onGone();
    else client.signal?.addEventListener("abort", this.#onGone, { once: true });
    client.whenGone?.(this.#onGone);
  }

  /** What a call waits for is cancelled for the call's own reason. */
  readonly #onGone = (): void => {
    const reason: unknown = this.#client?.reason;
    this.abort(reason === "timeout" || reason === "shutdown" ? reason : "user");
  };

  abort(reason: CancelReason): void {
    if (!this.#controller.signal.aborted) this.#controller.abort(reason);
  }

  get ended(): Promise<void> {
    if (!this.#entries.has(this)) return Promise.resolve();
    // Made only on demand: for most calls nothing waits.
    return (this.#ended ??= Promise.withResolvers<void>()).promise;
  }

  close(): void {
    this.#client?.removeEventListener("abort", this.#onGone);
    this.#entries.delete(this);
    this.#ended?.resolve();
  }
}
