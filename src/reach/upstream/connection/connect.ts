// From a row to a live connection: the switch over the ways a server is reached.
import type { PriorDiscovery } from "@modelcontextprotocol/client";
import type { Egress } from "../../egress/egress.ts";
import type { ServerRow } from "../../../storage/store/store.ts";
import { openConnection } from "./connection.ts";
import { toUpstreamFault } from "./faults.ts";
import { openWire } from "./wire.ts";
import { openDirect } from "../http/direct.ts";
import { openHttp, type HttpTransport } from "../http/http.ts";
import { createReadBudget } from "../http/read-budget.ts";
import { START_MS } from "./pool.ts";
import type { StdioTransport } from "../stdio/stdio.ts";
import {
  UpstreamFault,
  type UpstreamConnection,
  type ConnectionEvents,
  type Credential,
} from "../upstream.ts";
import type { EraCache } from "./era-cache.ts";

export interface ConnectPowers {
  readonly egress: Egress;
  readonly eras: EraCache;
  /** Starts the program; what it says is a transport. */
  readonly openStdio: (
    row: ServerRow,
    credential: Credential,
    events: ConnectionEvents,
  ) => Promise<StdioTransport>;
}

export interface ConnectOptions {
  readonly events: ConnectionEvents;
  readonly powers: ConnectPowers;
  /** The caller's client can be asked over it. */
  readonly interactive: boolean;
  readonly signal: AbortSignal;
}

/** Throws UpstreamFault, or what the credential throws. */
export async function connect(
  row: ServerRow,
  credential: Credential,
  options: ConnectOptions,
): Promise<UpstreamConnection> {
  const { transport } = row;
  switch (transport.kind) {
    case "stdio":
      return overStdio(row, credential, options);
    case "http":
    case "sse":
      return overHttp({ ...row, transport }, credential, options);
    case "api":
      throw new UpstreamFault("protocol", "an HTTP API is not spoken to over MCP", {
        dispatched: false,
      });
  }
}

async function overHttp(
  row: ServerRow & { readonly transport: HttpTransport },
  credential: Credential,
  { events, powers, interactive, signal }: ConnectOptions,
): Promise<UpstreamConnection> {
  const { kind, url } = row.transport;
  const watch = {
    sent: (mark: string) => wire.sent(mark),
    failed: (mark: string, fault: UpstreamFault) => wire.failed(mark, fault),
  };
  const budget = createReadBudget(events.logged, () => performance.now());
  const http = await openHttp(row, credential, watch, budget, powers.egress);
  const wire = openWire(http.transport, events, kind);
  const isPlain = !(credential.oauth && "dpop" in credential.oauth && credential.oauth.dpop);
  return openConnection({
    wire,
    interactive,
    signal,
    // The transport of 2024 knows nothing newer.
    ...(kind === "sse"
      ? { knownEra: { kind: "legacy" }, rememberEra: () => undefined, forgetEra: () => undefined }
      : eraMemory(row, credential, powers)),
    direct:
      kind === "http" && isPlain
        ? (version) =>
            openDirect({
              url: new URL(url),
              version,
              credential,
              pool: http.pool,
              events,
              budget,
              maxBytes: row.settings.maxResultBytes,
            })
        : null,
    close: http.close,
  });
}

async function overStdio(
  row: ServerRow,
  credential: Credential,
  { events, powers, interactive, signal }: ConnectOptions,
): Promise<UpstreamConnection> {
  const attempt = async (): Promise<UpstreamConnection> => {
    const transport = await powers.openStdio(row, credential, events);
    const wire = openWire(transport, events, "stdio");
    try {
      return await openConnection({
        wire,
        interactive,
        signal,
        handshakeMs: START_MS,
        ...eraMemory(row, credential, powers),
        direct: null,
        close: () => transport.close(),
      });
    } catch (cause) {
      throw wire.probe === "open" && transport.hasEnded
        ? new EndedByProbe(cause, transport)
        : withLastWords(cause, transport);
    }
  };
  try {
    return await attempt();
  } catch (cause) {
    if (!(cause instanceof EndedByProbe) || signal.aborted) throw cause;
    powers.eras.set(row, credential.id, { kind: "legacy" });
    return attempt();
  }
}

/** Some programs of the legacy era end when they are asked anything before `initialize`. */
class EndedByProbe extends UpstreamFault {
  constructor(cause: unknown, transport: EndedProgram) {
    const { kind, message } = withLastWords(cause, transport);
    super(kind, message, { dispatched: false, cause });
  }
}

type EndedProgram = Pick<StdioTransport, "endReason" | "hasEnded" | "lastWords">;

/** Its exit and its messages explain more than a missing answer does. */
function withLastWords(cause: unknown, program: EndedProgram): UpstreamFault {
  const { endReason, hasEnded, lastWords } = program;
  const fault = toUpstreamFault(cause, false);
  const late = `it did not answer within ${START_MS / 1_000} s of its start`;
  const why = (hasEnded ? endReason : null) ?? (fault.kind === "timeout" ? late : fault.message);
  const words = lastWords === "" || why.includes(lastWords) ? "" : `; its last words: ${lastWords}`;
  const { kind, rpc } = fault;
  return new UpstreamFault(kind, `${why}${words}`, { dispatched: false, rpc, cause });
}

function eraMemory(row: ServerRow, { id }: Credential, { eras }: ConnectPowers) {
  return {
    knownEra: eras.get(row, id),
    rememberEra: (era: PriorDiscovery) => eras.set(row, id, era),
    forgetEra: () => eras.delete(row, id),
  };
}
