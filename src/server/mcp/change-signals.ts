// Who hears of what has changed: tools, for everybody who listens; what servers upstream tell of their own, for those who
// may see it at that moment. One subscription upstream stands for all that watch the same resource.
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

/** Somebody who listens. */
interface Listener {
  readonly caller: Caller;
  /** The server whose own face it looks at; null: the union. */
  readonly server: string | null;
  send(notice: ChangeSignal): void;
  /** Called when whoever listens stands no more. */
  end(): void;
}

export interface SignalReceiver {
  /** By the name that its route gives the resource; the caller may see it. */
  subscribe(uri: string): Promise<void>;
  unsubscribe(uri: string): Promise<void>;
  unsubscribeAll(): void;
}

export interface ChangeSignals {
  /** Null: too many listen already. */
  join(listener: Listener): SignalReceiver | null;
  close(): void;
}

interface Entry extends SignalReceiver {
  readonly listener: Listener;
  readonly stands: CallerWatch;
  readonly uris: Map<string, { readonly server: string; readonly uri: string }>;
}

const [PER_CALLER, IN_TOTAL, URIS] = [64, 12_000, 256];
const [DELAY_MS, AT_ONCE] = [50, 2_000];
const CHANGED = "notifications/";
const UPDATED = `${CHANGED}resources/updated`;
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
  [`${CHANGED}tools/list_changed`]: { kind: "tools_list_changed", sees: () => true },
  [`${CHANGED}prompts/list_changed`]: {
    kind: "prompts_list_changed",
    sees: ({ prompts }) => prompts !== null,
  },
  [`${CHANGED}resources/list_changed`]: {
    kind: "resources_list_changed",
    sees: ({ resources }) => resources !== null,
  },
};

export function openChangeSignals(doors: Doors, views: Views): ChangeSignals {
  const entries = new Set<Entry>();
  const subscriptions = createSubscriptions(doors);

  const mayHear = async (
    { listener, stands }: Entry,
    server: string,
    sees: (view: ServerView) => boolean,
  ): Promise<boolean> => {
    if (listener.server !== null && listener.server !== server) return false;
    const view = (await views.of(stands.caller())).servers.get(server);
    return view !== undefined && sees(view);
  };
  const unheard = (cause: unknown): void => doors.log.debug({ err: cause }, "notice not delivered");

  const heard = async (server: string, method: string, params: JsonObject): Promise<void> => {
    if (method === CONNECTED) return subscriptions.again(server);
    const changed = KINDS[method];
    const { uri } = params;
    for (const entry of [...entries]) {
      if (changed) {
        if (await mayHear(entry, server, changed.sees)) entry.listener.send({ kind: changed.kind });
      } else if (method === UPDATED && typeof uri === "string") {
        const known = [...entry.uris].find(([, one]) => one.server === server && one.uri === uri);
        if (known && (await mayHear(entry, server, ({ resources }) => resources !== null)))
          entry.listener.send({ kind: "resource_updated", uri: known[0] });
      }
    }
  };

  /** A server that repeats itself is heard once in a while; one that floods is not handed on to everybody. */
  const soon = new Map<string, NodeJS.Timeout>();
  const later = (server: string, method: string, params: JsonObject): void => {
    if (!Object.hasOwn(KINDS, method) && method !== UPDATED && method !== CONNECTED) return;
    const key = JSON.stringify([server, method, params["uri"] ?? null]);
    if (soon.has(key) || soon.size >= AT_ONCE) return;
    const deliver = (): void => {
      soon.delete(key);
      heard(server, method, params).catch(unheard);
    };
    soon.set(key, setTimeout(deliver, DELAY_MS).unref());
  };

  const off = [
    watchTools(doors, () => {
      for (const { listener } of entries) listener.send({ kind: "tools_list_changed" });
    }),
    ...(doors.upstreams ? [doors.upstreams.onNotification(later)] : []),
  ];

  return {
    join(listener) {
      const mine = [...entries].filter(({ listener: other }) =>
        isSame(other.caller, listener.caller),
      );
      if (mine.length >= PER_CALLER || entries.size >= IN_TOTAL) return null;
      const uris: Entry["uris"] = new Map();
      const { caller, server } = listener;
      const stands = watchCaller(doors, caller);
      const entry: Entry = {
        listener,
        stands,
        uris,
        async subscribe(name) {
          const one = resourceIn(server, name);
          if (uris.has(name) || uris.size >= URIS || !one) return;
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
          entries.delete(entry);
          stands.end();
          for (const { server: of, uri } of uris.values())
            subscriptions.remove(of, uri).catch(unheard);
          uris.clear();
        },
      };
      entries.add(entry);
      stands.signal.addEventListener("abort", () => {
        entry.unsubscribeAll();
        listener.end();
      });
      return entry;
    },
    close() {
      for (const stop of off) stop();
      for (const timer of soon.values()) clearTimeout(timer);
      for (const entry of [...entries]) entry.unsubscribeAll();
    },
  };
}

const isSame = (a: Caller, b: Caller): boolean =>
  a.tenantId === b.tenantId && a.userId === b.userId;

/** Whose it is and what the server calls it. */
function resourceIn(own: string | null, name: string): { server: string; uri: string } | null {
  if (own !== null) return { server: own, uri: name };
  const plus = name.indexOf("+");
  if (plus < 1) return null;
  const one = { server: name.slice(0, plus), uri: name.slice(plus + 1) };
  return prefixed(one.server, one.uri) === name ? one : null;
}
