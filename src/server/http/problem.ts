// A fault as HTTP response: RFC 9457 body, status and headers. The same fields are in tRPC's `data.error`.
import type { Json, JsonObject, Outcome, RateWindow, Verdict } from "../../contract/call.ts";
import { AppError, CODES, type Fault, faultOf, type FieldFault } from "../../contract/errors.ts";

/** A call that did not succeed, with what is known about it. */
export class CallError extends AppError {
  readonly executionId: string;
  /** Absent when the tool is invisible. */
  readonly gates: readonly Verdict[] | undefined;
  readonly rate: readonly RateWindow[];
  /** Of a call whose tool ran: its partial result and its metadata. */
  readonly ran: Ran | undefined;

  constructor(outcome: Outcome) {
    const { code, reason, message, ...rest } = outcome.error ?? faultOf(null);
    super(code, reason, message, rest);
    const { output, metadata } = outcome;
    this.name = "CallError";
    this.executionId = outcome.executionId;
    this.gates = outcome.visible ? outcome.gates : undefined;
    this.rate = outcome.rate;
    this.ran = outcome.dispatched
      ? { ...(output === null ? {} : { result: output }), metadata }
      : undefined;
  }
}

interface Ran {
  readonly result?: Json;
  readonly metadata: JsonObject;
}

/** What a client may learn about a failure. */
export interface HttpFailure {
  readonly code: Fault["code"];
  readonly reason: string;
  readonly message: string;
  readonly remedy?: string;
  readonly executionId?: string;
  readonly gates?: readonly Verdict[];
  readonly errors?: readonly FieldFault[];
  readonly result?: Json;
  readonly metadata?: JsonObject;
}

export function failureOf(cause: unknown): HttpFailure {
  const fault = faultOf(cause);
  const row = CODES[fault.code];
  return {
    code: fault.code,
    reason: fault.reason,
    message: row.expose ? fault.message : row.title,
    ...(fault.remedy === undefined ? {} : { remedy: fault.remedy }),
    ...(cause instanceof CallError ? { executionId: cause.executionId } : {}),
    ...(cause instanceof CallError && cause.gates ? { gates: cause.gates } : {}),
    ...(fault.errors && fault.errors.length > 0 ? { errors: fault.errors } : {}),
    ...(cause instanceof CallError ? cause.ran : {}),
  };
}

export interface ProblemContext {
  readonly requestId: string;
  /** Links point at the running server, so that they work offline. */
  readonly baseUrl: string;
  /** Path of the request, without its query. */
  readonly path: string;
}

export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly instance: string;
  readonly code: string;
  readonly reason: string;
  readonly remedy?: string;
  readonly request_id: string;
  readonly execution_id?: string;
  readonly gates?: readonly Verdict[];
  readonly errors?: readonly FieldFault[];
  /** Names of the exhausted rate windows. */
  readonly "violated-policies"?: readonly string[];
  readonly doc_url: string;
  readonly explain_url?: string;
}

const QUOTA_TYPE = "https://iana.org/assignments/http-problem-types#quota-exceeded";

export function problemOf(cause: unknown, context: ProblemContext): Problem {
  const failure = failureOf(cause);
  const row = CODES[failure.code];
  const docUrl = `${context.baseUrl}/docs/errors#${failure.code}`;
  const id = failure.executionId;
  return {
    type: failure.code === "TOO_MANY_REQUESTS" ? QUOTA_TYPE : docUrl,
    title: row.title,
    status: row.http,
    detail: failure.message,
    instance: id === undefined ? context.path : `/api/v1/executions/${id}`,
    code: failure.code,
    reason: failure.reason,
    ...(failure.remedy === undefined ? {} : { remedy: failure.remedy }),
    request_id: context.requestId,
    ...(id === undefined ? {} : { execution_id: id }),
    ...(failure.gates ? { gates: failure.gates } : {}),
    ...(failure.errors ? { errors: failure.errors } : {}),
    ...violatedPolicies(cause),
    doc_url: docUrl,
    ...(id === undefined ? {} : { explain_url: `${context.baseUrl}/x/${id}` }),
  };
}

function violatedPolicies(cause: unknown): Pick<Problem, "violated-policies"> {
  if (!(cause instanceof CallError) || cause.code !== "TOO_MANY_REQUESTS") return {};
  const names = cause.rate.filter(({ remaining }) => remaining < 1).map(({ name }) => name);
  return names.length > 0 ? { "violated-policies": names } : {};
}

/** Headers that go with a fault. */
export function faultHeaders(cause: unknown): Record<string, string> {
  const fault = faultOf(cause);
  const headers: Record<string, string> = cause instanceof CallError ? rateHeaders(cause.rate) : {};
  const wait = fault.retryAfterSeconds ?? (fault.code === "UNAVAILABLE" ? 1 : undefined);
  if (wait !== undefined) headers["Retry-After"] = String(Math.max(1, Math.ceil(wait)));
  if (fault.code === "UNAUTHORIZED") {
    const error = fault.reason === "no_credentials" ? "" : ', error="invalid_token"';
    headers["WWW-Authenticate"] = `Bearer realm="ostiary"${error}`;
  }
  return headers;
}

export function problemResponse(cause: unknown, context: ProblemContext): Response {
  const problem = problemOf(cause, context);
  return new Response(JSON.stringify(problem), {
    status: problem.status,
    headers: {
      "Content-Type": "application/problem+json",
      "Cache-Control": "no-store",
      ...faultHeaders(cause),
    },
  });
}

/** RateLimit and RateLimit-Policy of every window, tightest first. Window names need no escaping. */
export function rateHeaders(windows: readonly RateWindow[]): Record<string, string> {
  if (windows.length === 0) return {};
  let policy = "";
  let state = "";
  for (const { name, quota, windowSeconds, remaining, resetSeconds } of windows) {
    const comma = policy === "" ? "" : ", ";
    policy += `${comma}"${name}";q=${quota};w=${Math.ceil(windowSeconds)}`;
    state += `${comma}"${name}";r=${remaining};t=${Math.ceil(resetSeconds)}`;
  }
  return { "RateLimit-Policy": policy, RateLimit: state };
}
