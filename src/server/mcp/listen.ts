// One listener of the modern era: the SDK's stream asks a bus for changes, and this bus knows who listens.
import type { ServerEvent, ServerEventBus } from "@modelcontextprotocol/server";
import type { Caller, Json } from "../../contract/call.ts";
import { isObject } from "./json-rpc.ts";
import { resourceOf } from "./content.ts";
import type { SignalReceiver, ChangeSignals } from "./change-signals.ts";
import type { McpEndpoint } from "./server.ts";

export interface ListenerParts {
  readonly endpoint: McpEndpoint;
  readonly caller: Caller;
  readonly notices: ChangeSignals;
  readonly body: Json | undefined;
  readonly onerror: (cause: unknown) => void;
  /** Ends the stream. */
  readonly end: () => void;
  /** Called when the stream has ended. */
  readonly left: () => void;
}

export interface ListenerBus extends ServerEventBus {
  /** new: the stream wanted nothing that could be given; full: too many listen already. */
  readonly state: "new" | "open" | "full" | "ended";
}

export function listenerBus(p: ListenerParts): ListenerBus {
  let state: ListenerBus["state"] = "new";
  let member: SignalReceiver | null = null;
  return {
    get state() {
      return state;
    },
    publish: () => undefined, // nobody but the hub below knows of changes
    subscribe(listener) {
      const { caller, endpoint } = p;
      const tell = (event: ServerEvent): void => listener(event);
      member = p.notices.join({ caller, server: endpoint.server, send: tell, end: p.end });
      state = member ? "open" : "full";
      for (const uri of urisOf(p.body)) watch(p, member, uri).catch(p.onerror);
      return () => {
        state = "ended";
        member?.unsubscribeAll();
        p.left();
      };
    },
  };
}

async function watch(
  { endpoint, caller }: ListenerParts,
  member: SignalReceiver | null,
  uri: string,
): Promise<void> {
  await resourceOf(endpoint, caller, uri); // what the caller may not see is not watched
  await member?.subscribe(uri);
}

function urisOf(body: Json | undefined): string[] {
  const params = isObject(body) ? body["params"] : undefined;
  const wanted = isObject(params) ? params["notifications"] : undefined;
  const uris = isObject(wanted) ? wanted["resourceSubscriptions"] : undefined;
  return Array.isArray(uris)
    ? (uris as readonly Json[]).filter((uri) => typeof uri === "string")
    : [];
}
