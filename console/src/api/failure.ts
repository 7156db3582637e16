// A request that failed, as the server says it: one shape for every door.
import { TRPCClientError } from "@trpc/client";

export interface Failure {
  readonly code: string;
  readonly reason?: string;
  readonly message: string;
  readonly remedy?: string;
  readonly requestId?: string;
  readonly executionId?: string;
  readonly retryAfterSeconds?: number;
  readonly errors?: readonly FieldFault[];
}

export interface FieldFault {
  readonly path: string;
  readonly message: string;
  readonly suggestion?: string;
}

/** What any thrown value says about a request that failed. */
export function failureOf(cause: unknown): Failure {
  if (cause instanceof RequestFailed) return cause.failure;
  if (cause instanceof TRPCClientError) {
    const data = cause.data as { error?: Failure } | undefined;
    const requestId = headersOf(cause.meta)?.get("request-id");
    const known = data?.error ?? unreachable(cause.message);
    return requestId ? { ...known, requestId } : known;
  }
  const message = cause instanceof Error ? cause.message : String(cause);
  return isOfNetwork(message) ? unreachable(message) : broken(message);
}

function headersOf(meta: Record<string, unknown> | undefined): Headers | undefined {
  const { response } = (meta ?? {}) as { response?: Response };
  return response?.headers;
}

/** As browsers word it. */
const isOfNetwork = (message: string): boolean => /fetch|network|load failed/i.test(message);

/** A fault of this application, not of the server. */
const broken = (message: string): Failure => ({
  code: "CONSOLE_FAILED",
  message: `This page failed: ${message}`,
  remedy: "reload it; if it fails again, report what you did and this message",
});

const unreachable = (message: string): Failure => ({
  code: "UNREACHABLE",
  message: isOfNetwork(message) ? "The server does not answer" : message,
  remedy: "check that the server runs and that this machine can reach it, then try again",
});

/** Thrown by `request`. */
export class RequestFailed extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}

export const isSignedOut = (failure: Failure): boolean => failure.code === "UNAUTHORIZED";
