// Connects to an address that was checked. The name serves for TLS alone, so nothing resolves it a second time.
import { connect, isIP, type OnReadOpts, type Socket } from "node:net";
import { connect as connectTls, rootCertificates } from "node:tls";
import type { CheckedTarget } from "./egress.ts";
import { connectFailed, tlsFailed, tooSlow, translated } from "./faults.ts";

export interface DialOptions {
  readonly signal: AbortSignal;
  /** For all addresses and the handshake together. */
  readonly connectMs: number;
  readonly tls: boolean;
  /** Further certificates to trust, PEM. */
  readonly ca?: readonly string[] | undefined;
  readonly connect?: ConnectSocket | undefined;
  /** Where bytes go without TLS; what is read with TLS comes as events. */
  readonly onread?: OnReadOpts | undefined;
}

/** How a connection to a checked address is made. */
export type ConnectSocket = (to: Destination) => Socket;

export interface Destination {
  readonly host: string;
  readonly port: number;
  /** May be left out of account: what is read then comes as events. */
  readonly onread?: OnReadOpts;
}

const connectDirectly: ConnectSocket = ({ host, port, onread }) =>
  connect({ host, port, family: isIP(host), noDelay: true, ...(onread ? { onread } : {}) });

/** One address that does not answer must not use up the time of the others. */
const PER_ADDRESS_MS = 3_000;

export async function dial(target: CheckedTarget, options: DialOptions): Promise<Socket> {
  const where = `${target.host}:${target.port}`;
  const ends = performance.now() + options.connectMs;
  let failure: unknown = connectFailed(where, "no address answered");
  for (const [index, address] of target.addresses.entries()) {
    const isLast = index === target.addresses.length - 1;
    const left = ends - performance.now();
    if (left <= 0) break;
    try {
      const ms = isLast ? left : Math.min(left, PER_ADDRESS_MS);
      const made = (options.connect ?? connectDirectly)({
        host: address,
        port: target.port,
        ...(options.onread && !options.tls ? { onread: options.onread } : {}),
      });
      const socket = await settled(made, "connect", options.signal, ms, where);
      return options.tls
        ? await secure(socket, target, where, Math.max(1, ends - performance.now()), options)
        : socket;
    } catch (cause) {
      options.signal.throwIfAborted();
      failure = cause;
      if (options.tls && isTls(cause)) break; // the host answered, and is not trusted
    }
  }
  throw translated(where, failure);
}

const isTls = (cause: unknown): boolean =>
  cause instanceof Error &&
  "fault" in cause &&
  (cause.fault as { reason: string }).reason === "tls_failed";

async function secure(
  socket: Socket,
  { host }: CheckedTarget,
  where: string,
  ms: number,
  { signal, ca }: DialOptions,
): Promise<Socket> {
  const bare = host.startsWith("[") ? host.slice(1, -1) : host;
  const secured = connectTls({
    socket,
    host: bare,
    ...(isIP(bare) === 0 ? { servername: bare } : {}),
    ALPNProtocols: ["http/1.1"],
    rejectUnauthorized: true,
    ...(ca ? { ca: [...rootCertificates, ...ca] } : {}),
  });
  try {
    return await settled(secured, "secureConnect", signal, ms, where);
  } catch (cause) {
    signal.throwIfAborted();
    throw cause instanceof Error && "fault" in cause ? cause : tlsFailed(where, cause);
  }
}

function settled<S extends Socket>(
  socket: S,
  event: "connect" | "secureConnect",
  signal: AbortSignal,
  ms: number,
  where: string,
): Promise<S> {
  return new Promise((resolve, reject) => {
    const finish = (cause?: unknown): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      socket.removeListener("error", finish);
      socket.removeListener("close", onClose);
      socket.removeListener(event, done);
      // Without a listener an error of an abandoned socket would crash the process.
      socket.on("error", () => undefined);
      if (cause === undefined) return resolve(socket);
      socket.destroy();
      // The reason of a cancel need not be an error.
      reject(cause); // eslint-disable-line @typescript-eslint/prefer-promise-reject-errors
    };
    const done = (): void => finish();
    const onClose = (): void => finish(connectFailed(where, "the connection was closed early"));
    const onAbort = (): void => finish(signal.reason ?? new Error("aborted"));
    const timer = setTimeout(() => finish(tooSlow(where, "connecting", Math.ceil(ms))), ms);
    socket.once("error", finish).once("close", onClose).once(event, done);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
}
