// PostgreSQL's errors in our words: by SQLSTATE, never by text.
import { AppError } from "../../../contract/errors.ts";
import {
  columnNotFound,
  connectFailed,
  constraintViolation,
  functionDenied,
  lockTimeout,
  notReadOnly,
  permissionDenied,
  sqlError,
  tableNotFound,
  timedOut,
} from "../faults.ts";

export interface PostgresFault extends Error {
  readonly code?: string;
  readonly position?: string;
  readonly constraint?: string;
  readonly column?: string;
  readonly detail?: string;
  readonly hint?: string;
}

export interface FaultGround {
  readonly name: string;
  readonly timeoutMs: number;
  /** Characters put before the statement that was sent. */
  readonly shift: number;
  /** Tables it may have meant. */
  readonly tables: () => Promise<readonly string[]>;
}

/** A fault of a running statement; what is not the server's word is a lost connection. */
export async function statementFault(cause: unknown, ground: FaultGround): Promise<unknown> {
  if (cause instanceof AppError) return cause;
  if (!(cause instanceof Error)) return cause;
  const fault = cause as PostgresFault;
  const code = fault.code ?? "";
  if (!/^[0-9A-Z]{5}$/.test(code)) return connectFailed(ground.name, "the connection was lost");
  if (code.startsWith("23"))
    return constraintViolation(fault.constraint ?? fault.column ?? code, fault.message);
  switch (code) {
    case "42P01": {
      const wanted = /relation "(.+)" does not exist/.exec(fault.message)?.[1] ?? "";
      return tableNotFound(wanted, await ground.tables());
    }
    case "42703": {
      const wanted =
        /column "?(.+?)"? (?:of relation .+ )?does not exist/.exec(fault.message)?.[1] ??
        fault.message;
      const meant = /column "(?:[^"]*\.)?([^".]+)"/.exec(fault.hint ?? "")?.[1];
      return columnNotFound(wanted, null, meant === undefined ? [] : [meant]);
    }
    case "25006":
      return notReadOnly("a statement that writes");
    case "42501":
      return permissionDenied(fault.message);
    case "57014":
      return timedOut(ground.timeoutMs);
    case "55P03":
    case "40P01":
    case "40001":
      return lockTimeout();
    case "2F003":
      return functionDenied(fault.message);
    case "57P01":
    case "57P02":
    case "57P03":
      return connectFailed(ground.name, "the server is shutting down or ended the connection");
  }
  const position = Number(fault.position ?? 0) - ground.shift;
  return sqlError(code, fault.message, position > 0 ? position : null);
}

const REASONS: Record<string, string> = {
  ECONNREFUSED: "nothing answers at its address",
  ENOTFOUND: "its host is not known",
  EAI_AGAIN: "its host cannot be looked up at the moment",
  EHOSTUNREACH: "its host cannot be reached",
  ENETUNREACH: "its network cannot be reached",
  ETIMEDOUT: "it did not answer in time",
  ECONNRESET: "it closed the connection",
  EPIPE: "it closed the connection",
  "28P01": "the password is wrong",
  "28000": "this user may not connect",
  "3D000": "the database does not exist",
  "53300": "the server has no free connection",
  "57P03": "the server is starting or stopping",
  "42704": "the role does not exist",
  "22023": "the role does not exist or may not be taken",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is self-signed",
  SELF_SIGNED_CERT_IN_CHAIN: "its certificate is self-signed",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its certificate cannot be verified",
  CERT_HAS_EXPIRED: "its certificate has expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another host",
};

/** Never the driver's own text: it may name hosts and users. */
export function connectFault(cause: unknown, name: string): AppError {
  if (cause instanceof AppError) return cause;
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  const message = cause instanceof Error ? cause.message : "";
  if (REASONS[code] !== undefined) return connectFailed(name, REASONS[code]);
  if (/does not support SSL/.test(message)) return connectFailed(name, "it does not speak TLS");
  if (/timeout|timed out/i.test(message)) return connectFailed(name, "it did not answer in time");
  return connectFailed(name, `it refused${/^\w{3,40}$/.test(code) ? ` (${code})` : ""}`);
}
