// What can go wrong on the way out, in the words every caller knows.
import { AppError } from "../../contract/errors.ts";
import { quote } from "../../util/text/quote.ts";
import type { RuleSource } from "./egress.ts";

export function blocked(url: string, why: string, rule: RuleSource, remedy: string): AppError {
  return new AppError(
    "FORBIDDEN",
    "egress_blocked",
    `url ${quote(url)}: ${why} (${rule.at}: ${rule.text})`,
    { remedy },
  );
}

export function dnsFailed(host: string, why: string, cause?: unknown): AppError {
  return new AppError("EXECUTION_FAILED", "dns_failed", `the name ${quote(host)} ${why}`, {
    remedy: "check the spelling of the host, or try again later",
    cause,
  });
}

export function connectFailed(where: string, why: string, cause?: unknown): AppError {
  return new AppError("EXECUTION_FAILED", "connect_failed", `${where}: ${why}`, {
    remedy: "check host and port, or try again later",
    cause,
  });
}

export function tlsFailed(where: string, cause: unknown): AppError {
  const why = wordOf(cause) ?? "the handshake failed";
  return new AppError(
    "EXECUTION_FAILED",
    "tls_failed",
    `${where}: no trusted TLS connection (${why})`,
    {
      remedy: "use a host whose certificate is valid for this name",
      cause,
    },
  );
}

export function tooSlow(where: string, what: string, ms: number): AppError {
  return new AppError("TIMEOUT", "timeout", `${where}: ${what} took longer than ${ms} ms`, {
    remedy: "try again later, or use another host",
  });
}

export function bodyTooLarge(where: string, limit: number): AppError {
  return new AppError(
    "EXECUTION_FAILED",
    "body_too_large",
    `${where}: the body is larger than ${limit} bytes`,
    {
      remedy: "ask for less, or raise maxBytes",
    },
  );
}

/** Errors of sockets and of the HTTP parser become ours; what is ours already, and an abort, keeps flying. */
export function translated(where: string, cause: unknown): unknown {
  if (cause instanceof AppError || !(cause instanceof Error)) return cause;
  if (cause.name === "AbortError" || cause.name === "TimeoutError") return cause;
  const code = codeOf(cause);
  if (code.startsWith("HPE_")) return connectFailed(where, "the answer is not valid HTTP", cause);
  if (
    code.startsWith("Z_") ||
    code.startsWith("ERR_ZSTD") ||
    code.startsWith("ZSTD") ||
    code.startsWith("ERR__ERROR_FORMAT") ||
    code.startsWith("ERR_BROTLI") ||
    code.startsWith("ERR_PADDING")
  )
    return new AppError(
      "EXECUTION_FAILED",
      "body_invalid",
      `${where}: the compressed body is broken`,
      { remedy: "try again later, or use another address", cause },
    );
  if (code === "ERR_STREAM_PREMATURE_CLOSE" || code === "ECONNRESET" || code === "EPIPE")
    return connectFailed(where, "the connection was closed early", cause);
  return connectFailed(where, wordOf(cause) ?? "the connection failed", cause);
}

export const codeOf = (cause: unknown): string =>
  cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : "";

const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nobody listens there",
  EHOSTUNREACH: "the host cannot be reached",
  ENETUNREACH: "the network cannot be reached",
  ETIMEDOUT: "nobody answers",
  CERT_HAS_EXPIRED: "the certificate has expired",
  DEPTH_ZERO_SELF_SIGNED_CERT: "the certificate is self-signed",
  SELF_SIGNED_CERT_IN_CHAIN: "the certificate's chain is self-signed",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "nobody known has signed the certificate",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "nobody known has signed the certificate",
  ERR_TLS_CERT_ALTNAME_INVALID: "the certificate is for another host",
};

/** Only known words: the text of a system error may name inside addresses. */
function wordOf(cause: unknown): string | null {
  const code = codeOf(cause);
  return WORDS[code] ?? (/^[A-Z][A-Z0-9_]{2,60}$/.test(code) ? code : null);
}
