// One listening stream of the modern era: an event bus for the SDK that knows its caller.
import type { ServerEvent, ServerEventBus } from "@modelcontextprotocol/server";
import type { Caller, Json } from "../../contract/call.ts";
import { isObject } from "./json-rpc.ts";
import { resourceOf } from "./content.ts";
import type { SignalReceiver, ChangeSignals } from "./change-signals.ts";
import type { McpEndpoint } from "./server.ts";

export interface ListenerParts {
  readonly endpoint: McpEndpoint;
  readonly caller: Caller;
  readonly changes: ChangeSignals;
  readonly body: Json | undefined;
  readonly onerror: (cause: unknown) => void;
  /** Ends the stream. */
  readonly end: () => void;
  /** Called when the stream has ended. */
  readonly onEnd: () => void;
}

export interface ListenerBus extends ServerEventBus {
  /** new: the stream subscribed to nothing; full: too many streams listen already. */
  readonly state: "new" | "open" | "full" | "ended";
}

export function listenerBus(p: ListenerParts): ListenerBus {
  let state: ListenerBus["state"] = "new";
  let receiver: SignalReceiver | null = null;
  return {
    get state() {
      return state;
    },
    publish: () => undefined, // changes come from ChangeSignals only
    subscribe(listener) {
      const { caller, endpoint } = p;
      const tell = (event: ServerEvent): void => listener(event);
      receiver = p.changes.join({ caller, server: endpoint.server, send: tell, end: p.end });
      state = receiver ? "open" : "full";
      for (const uri of urisOf(p.body)) watch(p, receiver, uri).catch(p.onerror);
      return () => {
        state = "ended";
        receiver?.unsubscribeAll();
        p.onEnd();
      };
    },
  };
}

async function watch(
  { endpoint, caller }: ListenerParts,
  receiver: SignalReceiver | null,
  uri: string,
): Promise<void> {
  await resourceOf(endpoint, caller, uri); // throws for a resource that the caller may not see
  await receiver?.subscribe(uri);
}

function urisOf(body: Json | undefined): string[] {
  const params = isObject(body) ? body["params"] : undefined;
  const wanted = isObject(params) ? params["notifications"] : undefined;
  const uris = isObject(wanted) ? wanted["resourceSubscriptions"] : undefined;
  return Array.isArray(uris)
    ? (uris as readonly Json[]).filter((uri) => typeof uri === "string")
    : [];
}
