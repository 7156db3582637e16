// One request with its redirects. Each hop is checked and dialled anew; credentials stay with their origin.
import { request as httpRequest, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { AppError } from "../../contract/errors.ts";
import { limitedBody } from "./body.ts";
import { dial, type ConnectSocket } from "./dial.ts";
import type { CheckedTarget, EgressRequest, EgressResponse, EgressSubject } from "./egress.ts";
import { connectFailed, tooSlow, translated } from "./faults.ts";

export interface RequestLimits {
  readonly connectMs: number;
  /** Until the head of the answer is there. */
  readonly headersMs: number;
  /** Without a byte. */
  readonly idleMs: number;
  /** All hops and the body. */
  readonly totalMs: number;
  readonly headerBytes: number;
}

export interface RequestPowers {
  readonly check: (url: string, subject: EgressSubject) => Promise<CheckedTarget>;
  readonly limits: RequestLimits;
  readonly ca?: readonly string[] | undefined;
  readonly connect?: ConnectSocket | undefined;
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Sent by nobody but the one they were meant for. */
const OF_ORIGIN = /^(authorization|cookie|proxy-authorization|x-api-key|api-key|x-auth-token)$/i;
const OF_BODY = /^content-(type|length|encoding|language|location)$/i;

interface Hop {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** For the first origin only; gone for good once a redirect leaves it. */
  readonly credentials: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | undefined;
}

export async function requestThrough(
  request: EgressRequest,
  subject: EgressSubject,
  p: RequestPowers,
): Promise<EgressResponse> {
  const overall = AbortSignal.timeout(p.limits.totalMs);
  const signal = AbortSignal.any([subject.signal, overall]);
  const asked = { ...subject, signal };
  const redirects: string[] = [];
  let url = request.url;
  let hop: Hop = {
    method: request.method,
    headers: request.headers,
    credentials: request.credentials ?? {},
    body: request.body,
  };
  try {
    for (;;) {
      const target = await p.check(url, asked);
      const { answer, socket, stalled } = await exchange(target, hop, signal, p, request);
      subject.onHost?.(target.host);
      const next = REDIRECTS.has(answer.statusCode ?? 0) ? answer.headers.location : undefined;
      if (next === undefined || request.redirect === "manual")
        return responseOf(
          target,
          answer,
          socket,
          request.maxBytes,
          redirects,
          signal,
          (cause) => stalled.fault ?? late(cause, target),
        );
      socket.destroy();
      if (redirects.length >= request.maxRedirects)
        throw new AppError(
          "EXECUTION_FAILED",
          "too_many_redirects",
          `${where(target)}: more than ${request.maxRedirects} redirects`,
          { remedy: "call the last address itself, or raise maxRedirects" },
        );
      const moved = URL.parse(next, target.url.href);
      if (!moved) throw connectFailed(where(target), "the redirect names no valid address");
      hop = followed(hop, answer.statusCode ?? 0, moved.origin === target.url.origin);
      url = moved.href;
      redirects.push(url);
    }
  } catch (cause) {
    throw late(cause, null);
  }

  /** A cap of our own is a timeout; the caller's cancel stays what it is. */
  function late(cause: unknown, target: CheckedTarget | null): unknown {
    if (!subject.signal.aborted && overall.aborted)
      return tooSlow(
        target ? where(target) : new URL(request.url).host,
        "the request",
        p.limits.totalMs,
      );
    if (subject.signal.aborted) return subject.signal.reason;
    return target ? translated(where(target), cause) : cause;
  }
}

const where = ({ host, port }: CheckedTarget): string => `${host}:${port}`;

function followed(
  { method, headers, credentials, body }: Hop,
  status: number,
  sameOrigin: boolean,
): Hop {
  const dropsBody =
    (status === 303 && method !== "HEAD") ||
    ((status === 301 || status === 302) && method === "POST");
  const kept = Object.entries(headers).filter(
    ([name]) => (sameOrigin || !OF_ORIGIN.test(name)) && !(dropsBody && OF_BODY.test(name)),
  );
  return {
    method: dropsBody ? "GET" : method,
    headers: Object.fromEntries(kept),
    credentials: sameOrigin ? credentials : {},
    body: dropsBody ? undefined : body,
  };
}

interface Exchanged {
  readonly answer: IncomingMessage;
  readonly socket: Socket;
  /** Why the body stopped, when it was us who stopped it. */
  readonly stalled: { readonly fault?: AppError };
}

async function exchange(
  target: CheckedTarget,
  { method, headers, credentials, body }: Hop,
  signal: AbortSignal,
  { limits, ca, connect }: RequestPowers,
  asked: Pick<EgressRequest, "onSent" | "headersMs">,
): Promise<Exchanged> {
  const tls = target.url.protocol === "https:";
  const socket = await dial(target, { signal, connectMs: limits.connectMs, tls, ca, connect });
  asked.onSent?.();
  const headersMs = asked.headersMs ?? limits.headersMs;
  const idleMs = Math.max(limits.idleMs, asked.headersMs ?? 0);
  const { url } = target;
  const stalled: { fault?: AppError } = {};
  // A socket that was given up may still say something; nobody listens any more.
  socket.on("error", () => undefined);
  try {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const sent = httpRequest({
        // The socket leads to the address that was checked; no agent, so no pool and no proxy variables.
        createConnection: () => socket,
        method,
        path: `${url.pathname}${url.search}`,
        headers: {
          host: url.host,
          "accept-encoding": "gzip, deflate, br, zstd",
          ...headers,
          ...credentials,
          ...lengthOf(body, method),
          connection: "close",
        },
        setHost: false,
        maxHeaderSize: limits.headerBytes,
        signal,
      });
      const timer = setTimeout(
        () => sent.destroy(tooSlow(where(target), "the answer", headersMs)),
        headersMs,
      );
      socket.setTimeout(idleMs, () =>
        socket.destroy((stalled.fault = tooSlow(where(target), "the next byte", idleMs))),
      );
      sent.once("response", (message) => {
        clearTimeout(timer);
        resolve(message.on("error", () => undefined));
      });
      sent.once("upgrade", () =>
        reject(connectFailed(where(target), "the answer switches to another protocol")),
      );
      sent.once("close", () => clearTimeout(timer));
      // Also after the head: then reading the body fails.
      sent.on("error", reject);
      sent.end(body);
    });
    return { answer, socket, stalled };
  } catch (cause) {
    socket.destroy();
    signal.throwIfAborted();
    throw stalled.fault ?? translated(where(target), cause);
  }
}

function lengthOf(body: string | Uint8Array | undefined, method: string): Record<string, string> {
  if (body !== undefined) return { "content-length": String(Buffer.byteLength(body)) };
  return method === "POST" || method === "PUT" ? { "content-length": "0" } : {};
}

function responseOf(
  target: CheckedTarget,
  answer: IncomingMessage,
  socket: Socket,
  maxBytes: number,
  redirects: readonly string[],
  signal: AbortSignal,
  translate: (cause: unknown) => unknown,
): EgressResponse {
  const onAbort = (): void => void answer.destroy(new Error("aborted"));
  signal.addEventListener("abort", onAbort, { once: true });
  const release = (): void => {
    signal.removeEventListener("abort", onAbort);
    socket.destroy();
  };
  socket.once("close", release);
  const body = limitedBody(answer, where(target), maxBytes, translate, release);
  return {
    status: answer.statusCode ?? 0,
    url: target.url.href,
    headers: Object.fromEntries(
      Object.entries(answer.headersDistinct).map(([name, values]) => [
        name,
        (values ?? []).join(", "),
      ]),
    ),
    redirects,
    body: body.chunks,
    truncated: body.truncated,
  };
}
