// What runs or waits on this instance right now: how it is seen, cancelled and closed exactly once.
import type { Call, Caller, CallRequest, CancelReason, Status } from "../call.ts";

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
  /** Why it was cancelled, in the words of whoever did it. */
  note: string | null;
  /** Fires the call's signal; the first reason wins. */
  abort(reason: CancelReason): void;
  /** Resolves when the execution has ended and its end is recorded. */
  readonly ended: Promise<void>;
  /** Takes it off the list. */
  close(): void;
}

export interface Active {
  readonly size: number;
  /** `client` tells when whoever waits for it has gone. */
  add(call: Omit<Call, "signal">, client: Pick<CallRequest, "signal" | "whenGone">): ActiveEntry;
  get(id: string): ActiveEntry | null;
  has(id: string): boolean;
  of(caller: Caller, now: number): ActiveView[];
  all(): ActiveEntry[];
}

export function createActive(): Active {
  const entries = new Map<string, ActiveEntry>();

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
      const controller = new AbortController();
      const abort = (reason: CancelReason): void => {
        if (!controller.signal.aborted) controller.abort(reason);
      };
      // A client that goes away cancels what it waits for.
      const onGone = (): void => abort("user");
      const { signal } = client;
      if (signal?.aborted) onGone();
      else signal?.addEventListener("abort", onGone, { once: true });
      client.whenGone?.(onGone);
      const call: Call = Object.assign(incoming, { signal: controller.signal });
      let closed: () => void = () => undefined;
      let ended: Promise<void> | null = null;
      const entry: ActiveEntry = {
        call,
        status: "running",
        note: null,
        abort,
        get ended() {
          // Made only when somebody waits for it: most calls end unwatched.
          ended ??= entries.has(call.id)
            ? new Promise<void>((resolve) => (closed = resolve))
            : Promise.resolve();
          return ended;
        },
        close() {
          signal?.removeEventListener("abort", onGone);
          entries.delete(call.id);
          closed();
        },
      };
      entries.set(call.id, entry);
      return entry;
    },
    get: (id) => entries.get(id) ?? null,
    has: (id) => entries.has(id),
    of: (caller, now) =>
      [...entries.values()]
        .filter(
          ({ call }) =>
            call.caller.userId === caller.userId && call.caller.tenantId === caller.tenantId,
        )
        .map((entry) => view(entry, now)),
    all: () => [...entries.values()],
  };
}
