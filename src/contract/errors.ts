// One error class, one table. HTTP status, JSON-RPC mapping, CLI exit code, retryability and documentation derive
// from the row.

export interface CodeRow {
  /** HTTP status of REST (call not dispatched) and tRPC. */
  http: number;
  /** tRPC's own code word (`data.code`). */
  trpc: string;
  /** JSON-RPC error number where the fault cannot be an `isError` result. */
  rpc: number;
  /** Exit code of the CLI. */
  exit: number;
  /** May the same request succeed later without a change? */
  retryable: boolean;
  /** May the message be shown to an agent? Hidden ones answer with their title alone. */
  expose: boolean;
  title: string;
  reasons: readonly string[];
}

const row = (
  http: number,
  trpc: string,
  rpc: number,
  exit: number,
  flags: { retryable: boolean; expose: boolean },
  title: string,
  ...reasons: string[]
): CodeRow => ({ http, trpc, rpc, exit, ...flags, title, reasons });

const SHOWN = { retryable: false, expose: true };
const LATER = { retryable: true, expose: true };
const HIDDEN = { retryable: false, expose: false };

// A table: a code on one line, its reasons below.
// prettier-ignore
export const CODES = {
  BAD_REQUEST: row(400, "BAD_REQUEST", -32602, 2, SHOWN, "The request is not valid",
    "invalid_input", "invalid_arguments", "unknown_parameter", "invalid_json", "ambiguous_request", "where_empty", "labels_duplicate", "name_invalid", "schema_invalid", "draft_invalid", "kind_unsupported"),
  UNAUTHORIZED: row(401, "UNAUTHORIZED", -32600, 3, SHOWN, "A valid credential is needed",
    "no_credentials", "bad_credentials", "key_inactive", "upstream_login"),
  BUDGET_EXHAUSTED: row(402, "PAYMENT_REQUIRED", 402, 5, SHOWN, "The budget is used up",
    "budget_tokens", "budget_tool_calls", "budget_images", "budget_voice_minutes", "budget_api_calls",
    "budget_memory_tokens", "budget_vector_ops", "turn_cost"),
  FORBIDDEN: row(403, "FORBIDDEN", 403, 3, SHOWN, "This call is not allowed",
    "not_allowlisted", "policy_denied", "level_too_low", "scope_missing", "permission_missing", "mode_forbids",
    "path_forbidden", "path_not_allowed", "command_forbidden", "env_forbidden", "size_exceeded", "egress_blocked", "header_forbidden", "tainted", "approval_declined",
    "approval_expired", "approval_not_presented", "approval_changed", "approval_used", "own_approval", "tools_exceed_caller", "budget_exceeds_caller", "admin_only", "bad_origin", "bad_host",
    "not_read_only", "several_statements", "function_denied", "relation_denied", "connection_read_only", "connection_forbidden", "definition_changed", "definition_orphaned", "key_inactive"),
  NOT_FOUND: row(404, "NOT_FOUND", -32602, 3, SHOWN, "Not found", "unknown", "workflow_not_found", "agent_not_found"),
  METHOD_NOT_ALLOWED: row(405, "METHOD_NOT_SUPPORTED", -32601, 2, SHOWN, "This method is not offered here", "method_not_allowed"),
  CONFLICT: row(409, "CONFLICT", 409, 1, SHOWN, "The request conflicts with what exists",
    "not_running", "not_waiting", "already_exists", "idempotency_in_flight", "several_matches", "stale", "mode_order", "phase_not_current", "approval_required", "result_not_kept", "still_running", "turn_in_progress", "session_ended"),
  PAYLOAD_TOO_LARGE: row(413, "PAYLOAD_TOO_LARGE", -32600, 2, SHOWN, "The body is too large", "body_too_large"),
  UNSUPPORTED_MEDIA_TYPE: row(415, "UNSUPPORTED_MEDIA_TYPE", -32600, 2, SHOWN, "The content type is not understood", "content_type"),
  UNPROCESSABLE: row(422, "UNPROCESSABLE_CONTENT", 422, 1, SHOWN, "The request does not fit an earlier one", "idempotency_mismatch"),
  TOO_MANY_REQUESTS: row(429, "TOO_MANY_REQUESTS", 429, 5, LATER, "Too many calls",
    "rate_user", "rate_tenant", "rate_throttle", "rate_category", "rate_tool", "rate_mode", "rate_key", "rate_ip", "rate_refusals", "concurrency"),
  CANCELLED: row(499, "CLIENT_CLOSED_REQUEST", 499, 1, SHOWN, "The execution was cancelled", "user", "shutdown"),
  INTERNAL_SERVER_ERROR: row(500, "INTERNAL_SERVER_ERROR", -32603, 1, HIDDEN, "Something failed inside the server", "internal"),
  EXECUTION_FAILED: row(500, "INTERNAL_SERVER_ERROR", 500, 1, SHOWN, "The tool failed",
    "unexpected", "upstream_unavailable", "upstream_protocol", "upstream_error", "upstream_rate", "tool_error", "output_invalid", "rounds_exhausted", "loop_blocked", "no_answer"),
  OUTCOME_UNKNOWN: row(500, "INTERNAL_SERVER_ERROR", 500, 1, SHOWN, "It is not known whether the tool finished",
    "crashed", "not_recorded", "answer_lost", "stale"),
  UNSUPPORTED_PROVIDER: row(501, "NOT_IMPLEMENTED", 501, 1, SHOWN, "No runner exists for this provider", "drafted", "external", "mcp", "native"),
  UNAVAILABLE: row(503, "SERVICE_UNAVAILABLE", 503, 3, LATER, "A needed part is not available",
    "engine_unavailable", "sandbox_unavailable", "browser_missing", "circuit_open", "provider_not_configured", "provider_quota", "resource_exhausted",
    "queue_full", "shutting_down", "upstream_unavailable", "client_cannot_be_asked"),
  TIMEOUT: row(504, "GATEWAY_TIMEOUT", 504, 1, LATER, "The execution took too long", "timeout"),
} as const satisfies Record<string, CodeRow>;

export type Code = keyof typeof CODES;

/** What the caller gets: the same fields at every door. */
export interface Fault {
  code: Code;
  /** Why, as a lower-case slug. */
  reason: string;
  /** For people. */
  message: string;
  /** What to do about it. */
  remedy?: string;
  /** One entry per faulty field. */
  errors?: readonly FieldFault[];
  /** Seconds after which a repeat makes sense. */
  retryAfterSeconds?: number;
}

export interface FieldFault {
  /** JSON pointer of the field. */
  path: string;
  message: string;
  suggestion?: string;
}

export class AppError extends Error {
  readonly fault: Fault;

  constructor(
    code: Code,
    reason: string,
    message: string,
    extra: Partial<Omit<Fault, "code" | "reason" | "message">> & { cause?: unknown } = {},
  ) {
    const { cause, ...rest } = extra;
    super(message, cause === undefined ? undefined : { cause });
    this.name = "AppError";
    this.fault = { code, reason, message, ...rest };
  }

  get code(): Code {
    return this.fault.code;
  }
}

/** Unknown errors are converted once, here: their text stays in the log, never on the wire. */
export function faultOf(cause: unknown): Fault {
  if (cause instanceof AppError) return cause.fault;
  return {
    code: "INTERNAL_SERVER_ERROR",
    reason: "internal",
    message: CODES.INTERNAL_SERVER_ERROR.title,
    remedy: "look up the request id in the server's log",
  };
}
