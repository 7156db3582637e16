// Runs a call of the fast path and makes its HTTP response, for the raw HTTP reader and for node:http.
import type { Caller, CallRequest } from "../../contract/call.ts";
import { AppError, CODES } from "../../contract/errors.ts";
import type { RequestSpan } from "../../telemetry/tracing.ts";
import type { Doors } from "../doors.ts";
import { rateHeaders } from "../http/problem.ts";
import { fastResponse, fastFailure, type FastResponse, type FastCall } from "./fast.ts";
import { isUnknown } from "./result.ts";
import { recordOutcome } from "./span.ts";
import type { Views } from "./views.ts";

export interface FastHttpResponse extends FastResponse {
  /** Names and values, alternating. */
  readonly headers: string[];
  /** latin1 for plain ASCII, which is written without encoding it. */
  readonly encoding: "latin1" | "utf8";
}

export interface FastFacts {
  readonly requestId: string;
  /** The server of `/mcp/<server>`; null: `/mcp`. */
  readonly server: string | null;
  readonly span: RequestSpan;
  readonly ip: string | undefined;
  readonly whenGone: NonNullable<CallRequest["whenGone"]>;
}

/** A string is the id of an execution that waits for an approval: the SDK path answers it. Throws NoSuchServer only. */
export type FastRun = (
  fast: FastCall,
  caller: Caller,
  facts: FastFacts,
) => Promise<FastHttpResponse | string>;

export function createFastRun(doors: Doors, views: Views): FastRun {
  return async (fast, caller, { requestId, server, span, ip, whenGone }) => {
    const { id, request } = fast;
    doors.metrics.mcpPath("fast");
    const headers = ["Content-Type", "application/json", "Request-Id", requestId];
    let response: FastResponse;
    try {
      const taint = doors.clientTaint.of(caller, null);
      const outcome = await doors.engine.execute(caller, {
        ...request,
        ...(taint && { taint }),
        within: span.context?.within,
        ip,
        whenGone,
      });
      if (doors.tracing.on) recordOutcome(span, outcome);
      if (outcome.approval?.state === "pending") return outcome.executionId;
      doors.clientTaint.read(caller, null, outcome);
      if (outcome.rate.length > 0)
        headers.push(...Object.entries(rateHeaders(outcome.rate)).flat());
      // A caller who sees nothing of a server gets the same 404 as for one that does not exist.
      if (server !== null && isUnknown(outcome) && !(await views.of(caller)).servers.has(server))
        throw noSuchServer();
      response = fastResponse(fast, outcome, doors.settings.version, server);
    } catch (cause) {
      if (cause instanceof NoSuchServer) throw cause;
      doors.log.error({ err: cause, tool: request.name, requestId }, "execution was not recorded");
      span.failed(CODES.INTERNAL_SERVER_ERROR.rpc);
      response = { status: 503, text: fastFailure(id, cause) };
    }
    const { status, text } = response;
    const bytes = Buffer.byteLength(text);
    headers.push("Content-Length", String(bytes));
    return { status, headers, text, encoding: bytes === text.length ? "latin1" : "utf8" };
  };
}

class NoSuchServer extends AppError {}

/** The same for a server that does not exist and for one that the caller may not see. */
export const noSuchServer = (): AppError =>
  new NoSuchServer("NOT_FOUND", "unknown", "There is no server of this name for this caller", {
    remedy: "see what there is at /mcp, or ask an administrator",
  });
