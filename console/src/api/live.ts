// One stream of events for all tabs of the browser: the tab that holds the lock reads it and passes it on.
import { useEffect, useSyncExternalStore } from "react";
import { queryClient } from "./query.ts";

export interface LiveEvent {
  readonly id: number;
  readonly name: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export type LiveState = "connecting" | "live" | "reconnecting";

type Message =
  | { readonly kind: "event"; readonly event: LiveEvent }
  | { readonly kind: "state"; readonly state: LiveState }
  | { readonly kind: "ask" };

const NAMES = [
  "tool.execution.start",
  "tool.execution.held",
  "tool.execution.complete",
  "tool.execution.failed",
  "tool.execution.cancelled",
  "tool.execution.denied",
  "approval.requested",
  "approval.voted",
  "approval.approved",
  "approval.declined",
  "approval.expired",
  "approval.not_presented",
  "approval.cancelled",
  "approval.consumed",
  "question.asked",
  "question.answered",
  "question.declined",
  "workflow.run",
  "mode.changed",
  "mode.proposed",
  "stream.lagged",
] as const;

/** Which cached answers an event makes stale, by the first word of its name. */
const STALE: Readonly<Record<string, readonly string[]>> = {
  tool: ["executions", "metrics", "usage", "runs", "drafts"],
  approval: ["approvals", "executions"],
  question: ["questions"],
  workflow: ["runs", "work", "questions"],
  mode: ["mode"],
  stream: ["executions", "approvals", "questions", "mode", "runs", "work"],
};
/** At most one refresh of a noun in this time, however many events arrive. */
const REFRESH_MS = 1_000;

const listeners = new Set<(event: LiveEvent) => void>();
const stateListeners = new Set<() => void>();
const waiting = new Map<string, ReturnType<typeof setTimeout>>();
let state: LiveState = "connecting";
let started = false;

function setState(next: LiveState): void {
  if (next === state) return;
  state = next;
  for (const listener of stateListeners) listener();
}

function deliver(event: LiveEvent): void {
  for (const listener of listeners) listener(event);
  for (const noun of STALE[event.name.split(".", 1)[0] ?? ""] ?? []) refreshSoon(noun);
}

function refreshSoon(noun: string): void {
  if (waiting.has(noun)) return;
  waiting.set(
    noun,
    setTimeout(() => {
      waiting.delete(noun);
      void queryClient.invalidateQueries({ queryKey: [noun] });
    }, REFRESH_MS),
  );
}

/** Begins to listen; once per page. Administrators hear of everybody's executions. */
export function startLive({ everyone }: { everyone: boolean }): void {
  if (started) return;
  started = true;
  const channel = new BroadcastChannel("ostiary.live");
  let isReader = false;
  channel.addEventListener("message", ({ data }: MessageEvent<Message>) => {
    if (data.kind === "event") deliver(data.event);
    else if (data.kind === "state") setState(data.state);
    else if (isReader) channel.postMessage({ kind: "state", state } satisfies Message);
  });
  channel.postMessage({ kind: "ask" } satisfies Message);
  const read = (): Promise<never> => {
    isReader = true;
    const tell = (message: Message): void => channel.postMessage(message);
    readStream(
      everyone,
      (event) => {
        deliver(event);
        tell({ kind: "event", event });
      },
      (next) => {
        setState(next);
        tell({ kind: "state", state: next });
      },
    );
    // The lock is held until the tab is closed.
    return new Promise<never>(() => undefined);
  };
  // Locks exist on https and on loopback; elsewhere each tab reads for itself.
  const { locks } = navigator as { locks?: LockManager };
  void (locks ? locks.request("ostiary.live", read) : read());
}

function readStream(
  everyone: boolean,
  onEvent: (event: LiveEvent) => void,
  onState: (state: LiveState) => void,
): void {
  let last = 0;
  let delayMs = 500;
  const open = (): void => {
    const query = new URLSearchParams();
    if (everyone) query.set("everyone", "true");
    if (last > 0) query.set("after", String(last));
    const source = new EventSource(`/api/v1/events?${query}`);
    source.addEventListener("open", () => {
      delayMs = 500;
      onState("live");
    });
    source.addEventListener("error", () => {
      onState("reconnecting");
      source.close();
      setTimeout(open, delayMs);
      delayMs = Math.min(delayMs * 2, 15_000);
    });
    for (const name of NAMES) {
      source.addEventListener(name, (message: MessageEvent<string>) => {
        const id = Number(message.lastEventId);
        if (id > 0) last = id;
        onEvent({ id, name, data: JSON.parse(message.data) as LiveEvent["data"] });
      });
    }
  };
  open();
}

/** Calls back for every event while the component is shown. */
export function useLive(listener: (event: LiveEvent) => void): void {
  useEffect(() => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, [listener]);
}

export function useLiveState(): LiveState {
  return useSyncExternalStore(
    (listener) => {
      stateListeners.add(listener);
      return () => void stateListeners.delete(listener);
    },
    () => state,
  );
}
