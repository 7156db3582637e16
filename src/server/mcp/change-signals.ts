// Change signals to MCP clients: changed tools to all listeners; changes that upstream servers report, to listeners
// who may see that server at the time. All watchers of one resource share one upstream subscription.
import type { Caller, JsonObject } from "../../contract/call.ts";
import type { Doors } from "../doors.ts";
import { watchCaller, type CallerWatch } from "../http/long-lived.ts";
import { watchTools } from "./watch-tools.ts";
import { prefixed } from "./result.ts";
import { createSubscriptions } from "./subscriptions.ts";
import type { ServerView, Views } from "./views.ts";

export type ChangeSignal =
  | { readonly kind: "tools_list_changed" | "prompts_list_changed" | "resources_list_changed" }
  | { readonly kind: "resource_updated"; readonly uri: string };

/** A client that wants change signals. */
interface Listener {
  readonly caller: Caller;
  /** The server of its route `/mcp/<server>`; null: `/mcp`, all servers. */
  readonly server: string | null;
  send(notice: ChangeSignal): void;
  /** Called when the caller has lost access. */
  end(): void;
}

export interface SignalReceiver {
  /** `uri` as the listener's route names it. The caller must be allowed to see the resource. */
  subscribe(uri: string): Promise<void>;
  unsubscribe(uri: string): Promise<void>;
  unsubscribeAll(): void;
}

export interface ChangeSignals {
  /** Null: there are too many listeners already. */
  join(listener: Listener): SignalReceiver | null;
  close(): void;
}

interface Entry extends SignalReceiver {
  readonly listener: Listener;
  readonly watch: CallerWatch;
  readonly uris: Map<string, { readonly server: string; readonly uri: string }>;
}

const [MAX_PER_CALLER, MAX_LISTENERS, MAX_URIS] = [64, 12_000, 256];
const [DELAY_MS, MAX_DELAYED] = [50, 2_000];
const PREFIX = "notifications/";
const UPDATED = `${PREFIX}resources/updated`;
const CONNECTED = "ostiary/connected";
const KINDS: Readonly<
  Record<
    string,
    {
      readonly kind: Exclude<ChangeSignal["kind"], "resource_updated">;
      readonly sees: (view: ServerView) => boolean;
    }
  >
> = {
  [`${PREFIX}tools/list_changed`]: { kind: "tools_list_changed", sees: () => true },
  [`${PREFIX}prompts/list_changed`]: {
    kind: "prompts_list_changed",
    sees: ({ prompts }) => prompts !== null,
  },
  [`${PREFIX}resources/list_changed`]: {
    kind: "resources_list_changed",
    sees: ({ resources }) => resources !== null,
  },
};

export function openChangeSignals(doors: Doors, views: Views): ChangeSignals {
  const entries = new Set<Entry>();
  const subscriptions = createSubscriptions(doors);

  const mayReceive = async (
    { listener, watch }: Entry,
    server: string,
    sees: (view: ServerView) => boolean,
  ): Promise<boolean> => {
    if (listener.server !== null && listener.server !== server) return false;
    const view = (await views.of(watch.caller())).servers.get(server);
    return view !== undefined && sees(view);
  };
  const logUndelivered = (cause: unknown): void =>
    doors.log.debug({ err: cause }, "notice not delivered");

  const deliver = async (server: string, method: string, params: JsonObject): Promise<void> => {
    if (method === CONNECTED) return subscriptions.renew(server);
    const changed = KINDS[method];
    const { uri } = params;
    for (const entry of [...entries]) {
      if (changed) {
        if (await mayReceive(entry, server, changed.sees))
          entry.listener.send({ kind: changed.kind });
      } else if (method === UPDATED && typeof uri === "string") {
        const known = [...entry.uris].find(([, one]) => one.server === server && one.uri === uri);
        if (known && (await mayReceive(entry, server, ({ resources }) => resources !== null)))
          entry.listener.send({ kind: "resource_updated", uri: known[0] });
      }
    }
  };

  const delayed = createDelays((server, method, params) => {
    deliver(server, method, params).catch(logUndelivered);
  });
  const deliverLater = (server: string, method: string, params: JsonObject): void => {
    if (!Object.hasOwn(KINDS, method) && method !== UPDATED && method !== CONNECTED) return;
    delayed.add(server, method, params);
  };

  const off = [
    watchTools(doors, () => {
      for (const { listener } of entries) listener.send({ kind: "tools_list_changed" });
    }),
    ...(doors.upstreams ? [doors.upstreams.onNotification(deliverLater)] : []),
  ];

  return {
    join(listener) {
      const mine = [...entries].filter(({ listener: other }) =>
        isSame(other.caller, listener.caller),
      );
      if (mine.length >= MAX_PER_CALLER || entries.size >= MAX_LISTENERS) return null;
      const watch = watchCaller(doors, listener.caller);
      const resources = watchedResources(listener, subscriptions, logUndelivered);
      const entry: Entry = {
        listener,
        watch,
        ...resources,
        unsubscribeAll() {
          entries.delete(entry);
          watch.end();
          resources.unsubscribeAll();
        },
      };
      entries.add(entry);
      watch.signal.addEventListener("abort", () => {
        entry.unsubscribeAll();
        listener.end();
      });
      return entry;
    },
    close() {
      for (const stop of off) stop();
      delayed.clear();
      for (const entry of [...entries]) entry.unsubscribeAll();
    },
  };
}

/** The resources that one listener watches. */
function watchedResources(
  { caller, server }: Listener,
  subscriptions: ReturnType<typeof createSubscriptions>,
  onFailed: (cause: unknown) => void,
): SignalReceiver & Pick<Entry, "uris"> {
  const uris: Entry["uris"] = new Map();
  return {
    uris,
    async subscribe(name) {
      const one = resourceIn(server, name);
      if (uris.has(name) || uris.size >= MAX_URIS || !one) return;
      uris.set(name, one);
      try {
        await subscriptions.add(one.server, one.uri, caller.userId);
      } catch (cause) {
        uris.delete(name);
        throw cause;
      }
    },
    async unsubscribe(name) {
      const one = uris.get(name);
      uris.delete(name);
      if (one) await subscriptions.remove(one.server, one.uri);
    },
    unsubscribeAll() {
      for (const { server: of, uri } of uris.values())
        subscriptions.remove(of, uri).catch(onFailed);
      uris.clear();
    },
  };
}

type Notify = (server: string, method: string, params: JsonObject) => void;

/** Repeated notifications of a server are merged, and a flood of them is dropped. */
function createDelays(notify: Notify): { add: Notify; clear(): void } {
  const timers = new Map<string, NodeJS.Timeout>();
  return {
    add(server, method, params) {
      const key = JSON.stringify([server, method, params["uri"] ?? null]);
      if (timers.has(key) || timers.size >= MAX_DELAYED) return;
      const onDelay = (): void => {
        timers.delete(key);
        notify(server, method, params);
      };
      timers.set(key, setTimeout(onDelay, DELAY_MS).unref());
    },
    clear() {
      for (const timer of timers.values()) clearTimeout(timer);
    },
  };
}

const isSame = (a: Caller, b: Caller): boolean =>
  a.tenantId === b.tenantId && a.userId === b.userId;

/** The server of a resource, and its URI there; null: the name has no server prefix. */
function resourceIn(own: string | null, name: string): { server: string; uri: string } | null {
  if (own !== null) return { server: own, uri: name };
  const plus = name.indexOf("+");
  if (plus < 1) return null;
  const one = { server: name.slice(0, plus), uri: name.slice(plus + 1) };
  return prefixed(one.server, one.uri) === name ? one : null;
}
