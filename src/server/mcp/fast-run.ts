// Runs a call of the fast path, and says what is to be answered: the same, whoever writes it to the client.
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
  /** Name and value in turn. */
  readonly headers: string[];
  /** One byte a character means plain ASCII, which travels without being encoded. */
  readonly encoding: "latin1" | "utf8";
}

export interface FastFacts {
  readonly requestId: string;
  /** The face that was asked; null: that of all. */
  readonly server: string | null;
  readonly span: RequestSpan;
  readonly ip: string | undefined;
  readonly whenGone: NonNullable<CallRequest["whenGone"]>;
}

/** An id: the call waits for a person under it, and the SDK's way knows how the client can wait. Throws NoSuchServer only. */
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
    let answer: FastResponse;
    try {
      const outcome = await doors.engine.execute(caller, {
        ...request,
        within: span.context?.within,
        ip,
        whenGone,
      });
      if (doors.tracing.on) recordOutcome(span, outcome);
      if (outcome.approval?.state === "pending") return outcome.executionId;
      if (outcome.rate.length > 0)
        headers.push(...Object.entries(rateHeaders(outcome.rate)).flat());
      // Whoever sees nothing of a server learns nothing of it: its face is as absent as any other.
      if (server !== null && isUnknown(outcome) && !(await views.of(caller)).servers.has(server))
        throw noSuchServer();
      answer = fastResponse(fast, outcome, doors.settings.version, server);
    } catch (cause) {
      if (cause instanceof NoSuchServer) throw cause;
      doors.log.error({ err: cause, tool: request.name, requestId }, "execution was not recorded");
      span.failed(CODES.INTERNAL_SERVER_ERROR.rpc);
      answer = { status: 503, text: fastFailure(id, cause) };
    }
    const { status, text } = answer;
    const bytes = Buffer.byteLength(text);
    headers.push("Content-Length", String(bytes));
    return { status, headers, text, encoding: bytes === text.length ? "latin1" : "utf8" };
  };
}

class NoSuchServer extends AppError {}

/** The same whether there is none or it is not for this caller. */
export const noSuchServer = (): AppError =>
  new NoSuchServer("NOT_FOUND", "unknown", "There is no server of this name for this caller", {
    remedy: "see what there is at /mcp, or ask an administrator",
  });
