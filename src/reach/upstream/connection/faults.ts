// Whatever the way to a server throws, as an UpstreamFault that says truthfully whether the request had been sent.
import { AppError } from "../../../contract/errors.ts";
import type { Json, JsonObject } from "../../../contract/call.ts";
import { JsonFault } from "../../../util/json/json.ts";
import { UpstreamFault, type FaultKind } from "../upstream.ts";

/** Reasons of the guard that mean: no connection came about. */
const NOT_CONNECTED = new Set(["egress_blocked", "dns_failed", "tls_failed"]);
/** The server answered that it did not take the request. */
const NOT_TAKEN = new Set([401, 403, 404, 405, 406, 413, 415, 429]);
const MAX_WORDS = 300;

export function toUpstreamFault(cause: unknown, sent: boolean): UpstreamFault {
  for (const one of causesOf(cause)) {
    if (one instanceof UpstreamFault) return one;
    if (one instanceof AppError) return guardFault(one, sent);
    if (one instanceof JsonFault)
      return new UpstreamFault("protocol", `the server's answer is not valid: ${one.message}`, {
        dispatched: true,
        cause,
      });
    const status = statusOf(one);
    if (status !== null) return statusFault(status, messageOf(one), { hasSession: false, cause });
    const kind = KINDS[nameOf(one)] ?? KINDS[codeOf(one)];
    if (kind !== undefined)
      return new UpstreamFault(kind, messageOf(one), { dispatched: sent, cause });
  }
  return new UpstreamFault(sent ? "closed" : "unreachable", messageOf(cause), {
    dispatched: sent,
    cause,
  });
}

/** Names and codes of the SDK's errors. */
const KINDS: Readonly<Record<string, FaultKind>> = {
  UnauthorizedError: "unauthorized",
  InsufficientScopeError: "unauthorized",
  CLIENT_HTTP_AUTHENTICATION: "unauthorized",
  CLIENT_HTTP_FORBIDDEN: "unauthorized",
  REQUEST_TIMEOUT: "timeout",
  TimeoutError: "timeout",
  CONNECTION_CLOSED: "closed",
  NOT_CONNECTED: "closed",
  INVALID_RESULT: "protocol",
  UNSUPPORTED_RESULT_TYPE: "protocol",
  CLIENT_HTTP_UNEXPECTED_CONTENT: "protocol",
};

function guardFault(fault: AppError, sent: boolean): UpstreamFault {
  const { reason } = fault.fault;
  const words = fault.message;
  if (fault.code === "UNAUTHORIZED")
    return new UpstreamFault("unauthorized", words, { dispatched: false, cause: fault });
  if (reason === "body_too_large")
    return new UpstreamFault("too_large", words, { dispatched: true, cause: fault });
  if (reason === "timeout")
    return new UpstreamFault(sent ? "timeout" : "unreachable", words, {
      dispatched: sent,
      cause: fault,
    });
  const kind = sent && !NOT_CONNECTED.has(reason) ? "closed" : "unreachable";
  return new UpstreamFault(kind, words, { dispatched: sent, cause: fault });
}

/** An answer that is no success and carries no JSON-RPC error. */
export function statusFault(
  status: number,
  words: string,
  { hasSession, cause }: { readonly hasSession: boolean; readonly cause?: unknown },
): UpstreamFault {
  const dispatched = !NOT_TAKEN.has(status);
  if (status === 401 || status === 403)
    return new UpstreamFault("unauthorized", `the server answered ${status}: ${words}`, {
      dispatched,
      cause,
    });
  if (hasSession && (status === 404 || (status === 400 && /session/i.test(words))))
    return new UpstreamFault(
      "session_lost",
      `the server does not know the session any more (${status})`,
      { dispatched: false, cause },
    );
  if (status >= 300 && status < 400)
    return new UpstreamFault("protocol", `the server points elsewhere (${status}); ${words}`, {
      dispatched: false,
      cause,
    });
  return new UpstreamFault(
    status >= 500 ? "closed" : "protocol",
    `the server answered ${status}: ${words}`,
    { dispatched, cause },
  );
}

/** The server's own no: it had the request, and answered. */
export function rpcFault(error: unknown): UpstreamFault {
  const { code, message, data } = (typeof error === "object" && error !== null ? error : {}) as {
    code?: unknown;
    message?: unknown;
    data?: Json;
  };
  if (!Number.isSafeInteger(code) || typeof message !== "string")
    return invalidResponse("its error has no code or no message");
  const rpc = {
    code: code as number,
    message: cut(message, 4_000),
    ...(data === undefined ? {} : { data }),
  };
  return new UpstreamFault(
    "rpc",
    `the server answered with error ${rpc.code}: ${cut(message, MAX_WORDS)}`,
    { dispatched: true, rpc },
  );
}

export const invalidResponse = (why: string): UpstreamFault =>
  new UpstreamFault("protocol", `the server's answer is not valid: ${why}`, { dispatched: true });

export const responseTooLarge = (maxBytes: number): UpstreamFault =>
  new UpstreamFault("too_large", `the server's answer is larger than ${maxBytes} bytes`, {
    dispatched: true,
  });

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function* causesOf(cause: unknown): Generator {
  for (let one = cause, depth = 0; one !== undefined && one !== null && depth < 6; depth++) {
    yield one;
    one = (one as { cause?: unknown }).cause;
  }
}

/** Of the SDK's HTTP errors; `code` is a status on those of its SSE transport. */
export function statusOf(cause: unknown): number | null {
  const { status, code, data } = cause as {
    status?: unknown;
    code?: unknown;
    data?: { status?: unknown };
  };
  for (const one of [status, data?.status, nameOf(cause) === "SseError" ? code : null])
    if (typeof one === "number" && one >= 300 && one < 600) return one;
  return null;
}

/** The body that came with the SDK's HTTP error. */
export function bodyOf(cause: unknown): string {
  const { text, data } = cause as { text?: unknown; data?: { text?: unknown } };
  const body = text ?? data?.text;
  return typeof body === "string" ? body : "";
}

const nameOf = (cause: unknown): string =>
  cause instanceof Error
    ? cause.constructor.name === "Error"
      ? cause.name
      : cause.constructor.name
    : "";
const codeOf = (cause: unknown): string => {
  const { code } = cause as { code?: unknown };
  return typeof code === "string" ? code : "";
};

const messageOf = (cause: unknown): string =>
  cut(cause instanceof Error ? cause.message : String(cause), MAX_WORDS);
const cut = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length)}…` : text;
