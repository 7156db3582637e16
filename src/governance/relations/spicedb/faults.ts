// Refusals of the server as our errors; everything else means that the engine is not available.
import { AppError } from "../../../contract/errors.ts";

/** Status codes of gRPC. */
const UNKNOWN = 2;
const INVALID_ARGUMENT = 3;
export const NOT_FOUND = 5;
export const ALREADY_EXISTS = 6;
const FAILED_PRECONDITION = 9;
const OUT_OF_RANGE = 11;
/** PERMISSION_DENIED, UNAUTHENTICATED. */
const KEY_REFUSED = [7, 16];

/** An error of a call, or of one check in a batch. */
export interface ServerFault {
  readonly code: number;
  /** The server's own message. */
  readonly text: string;
  /** Its machine-readable reason, as bytes among others. */
  readonly detail: string;
}

const PRECONDITION = "ERROR_REASON_WRITE_OR_DELETE_PRECONDITION_FAILURE";
/** A context that does not fit its caveat; partials that contain each other. */
const REFUSED_WITHOUT_CODE =
  /^(unknown parameter|could not convert context parameter|could not resolve partials)/;
const INVALID_TOKEN = /invalid (revision|zedtoken)|revision has expired/i;

export function serverFault(cause: unknown): ServerFault | null {
  const { code, details, metadata } = cause as {
    code?: unknown;
    details?: unknown;
    metadata?: { get(name: string): (string | Buffer)[] };
  };
  if (typeof code !== "number") return null;
  const detail = metadata?.get("grpc-status-details-bin").map(String).join("") ?? "";
  return { code, text: typeof details === "string" ? details : "", detail };
}

/** The token we sent is not one of this server: it was replaced, or lost its data. */
export const tokenRefused = (fault: ServerFault | null): boolean =>
  fault !== null && (fault.code === OUT_OF_RANGE || INVALID_TOKEN.test(fault.text));

export function faultOfServer(fault: ServerFault | null, cause: unknown): AppError {
  if (fault === null || tokenRefused(fault)) return engineOut(fault, cause);
  const { code, text, detail } = fault;
  if (code === ALREADY_EXISTS)
    return new AppError("CONFLICT", "already_exists", text, {
      remedy: "use touch to write it either way",
      cause,
    });
  if (code === FAILED_PRECONDITION && detail.includes(PRECONDITION))
    return new AppError("CONFLICT", "stale", text, {
      remedy: "read again, then decide anew",
      cause,
    });
  // The server has no code of its own for some refusals.
  const badInput = code === UNKNOWN && REFUSED_WITHOUT_CODE.test(text);
  if (code === INVALID_ARGUMENT || code === FAILED_PRECONDITION || badInput)
    return new AppError("BAD_REQUEST", "invalid_input", text, {
      remedy: "compare it with the schema: GET /api/v1/relationships/schema",
      cause,
    });
  return engineOut(fault, cause);
}

/** The message of the server or the network stays in the cause: it may name hosts, and is for the log. */
function engineOut(fault: ServerFault | null, cause: unknown): AppError {
  const keyRefused = fault !== null && KEY_REFUSED.includes(fault.code);
  const why = keyRefused ? "refuses our preshared key" : "does not answer";
  return new AppError("UNAVAILABLE", "engine_unavailable", `the relation engine SpiceDB ${why}`, {
    remedy: "check the server and the address in the setting relations; see /readyz",
    retryAfterSeconds: 1,
    cause,
  });
}
