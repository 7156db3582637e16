// From a row to a live connection: the switch over the ways a server is reached.
import type { Transport } from "@modelcontextprotocol/client";
import type { Egress } from "../egress/egress.ts";
import type { ServerRow } from "../store/store.ts";
import { openConnection } from "./connection.ts";
import { openWire } from "./connection-wire.ts";
import { openDirect } from "./direct.ts";
import { openHttp, type HttpTransport } from "./http.ts";
import { createIntake } from "./http-intake.ts";
import {
  UpstreamFault,
  type Connection,
  type ConnectionEvents,
  type Credential,
} from "./upstream.ts";
import type { Verdicts } from "./verdicts.ts";

export interface ConnectPowers {
  readonly egress: Egress;
  readonly verdicts: Verdicts;
  /** Starts the program; what it says is a transport. */
  readonly openStdio: (
    row: ServerRow,
    credential: Credential,
    events: ConnectionEvents,
  ) => Promise<Transport>;
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
): Promise<Connection> {
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
): Promise<Connection> {
  const { kind, url } = row.transport;
  const watch = {
    sent: (mark: string) => wire.sent(mark),
    failed: (mark: string, fault: UpstreamFault) => wire.failed(mark, fault),
  };
  const intake = createIntake(events.said, () => performance.now());
  const http = await openHttp(row, credential, watch, intake, powers.egress);
  const wire = openWire(http.transport, events, kind);
  const isPlain = !(credential.oauth && "dpop" in credential.oauth && credential.oauth.dpop);
  return openConnection({
    wire,
    interactive,
    signal,
    // The transport of 2024 knows nothing newer.
    ...(kind === "sse"
      ? { prior: { kind: "legacy" }, keep: () => undefined, drop: () => undefined }
      : memory(row, credential, powers)),
    direct:
      kind === "http" && isPlain
        ? (version) =>
            openDirect({
              url: new URL(url),
              version,
              credential,
              pool: http.pool,
              events,
              intake,
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
): Promise<Connection> {
  const attempt = async (): Promise<Connection> => {
    const transport = await powers.openStdio(row, credential, events);
    const wire = openWire(transport, events, "stdio");
    return openConnection({
      wire,
      interactive,
      signal,
      ...memory(row, credential, powers),
      direct: null,
      close: () => transport.close(),
    });
  };
  try {
    return await attempt();
  } catch (cause) {
    // Some programs of the legacy era end when they are asked anything before `initialize`.
    if (!isEndedByProbe(cause) || powers.verdicts.of(row, credential.id) !== null) throw cause;
    powers.verdicts.keep(row, credential.id, { kind: "legacy" });
    return attempt();
  }
}

const isEndedByProbe = (cause: unknown): boolean =>
  cause instanceof UpstreamFault && /closed during the .*probe/.test(cause.message);

function memory(row: ServerRow, { id }: Credential, { verdicts }: ConnectPowers) {
  return {
    prior: verdicts.of(row, id),
    keep: (verdict: Parameters<Verdicts["keep"]>[2]) => verdicts.keep(row, id, verdict),
    drop: () => verdicts.drop(row, id),
  };
}
