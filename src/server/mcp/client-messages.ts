// Messages to the client while its request is under way: progress and log messages.
import type { ServerContext } from "@modelcontextprotocol/server";
import type { JsonObject, Progress } from "../../contract/call.ts";
import type { ClientState, McpEndpoint } from "./server.ts";

const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/** The lowest level of log messages that the client wants: of this request, or of its session. */
export function logLevelOf(
  endpoint: McpEndpoint,
  ctx: ServerContext,
  conversation: ClientState,
): string | undefined {
  const envelope = ctx.mcpReq.envelope as Record<string, unknown> | undefined;
  const level =
    envelope === undefined ? conversation.level : envelope[endpoint.sdk.server.LOG_LEVEL_META_KEY];
  return typeof level === "string" && LEVELS.includes(level) ? level : undefined;
}

export function sendLogMessage(
  endpoint: McpEndpoint,
  ctx: ServerContext,
  conversation: ClientState,
  params: JsonObject,
): void {
  const wanted = logLevelOf(endpoint, ctx, conversation);
  const { level, data, logger } = params;
  if (wanted === undefined || typeof level !== "string" || data === undefined) return;
  if (LEVELS.indexOf(level) < LEVELS.indexOf(wanted)) return;
  const message = { level, data, ...(typeof logger === "string" ? { logger } : {}) };
  ctx.mcpReq
    .notify({ method: "notifications/message", params: message })
    .catch((cause: unknown) =>
      endpoint.doors.log.debug({ err: cause }, "log message not delivered"),
    );
}

export interface ProgressSink {
  report(progress: Progress): void;
  /** Resolves once everything reported has been sent; later reports are dropped. */
  end(): Promise<void>;
}

/** Null: the client did not ask for progress. Only rising values are reported, as MCP demands. */
export function createProgressSink(endpoint: McpEndpoint, ctx: ServerContext): ProgressSink | null {
  const progressToken = ctx.mcpReq._meta?.progressToken;
  if (progressToken === undefined) return null;
  let highest = -Infinity;
  let ended = false;
  let sent = Promise.resolve();
  const report = (progress: Progress): void => {
    if (ended || !(progress.progress > highest)) return;
    highest = progress.progress;
    const params = { progressToken, ...progress };
    sent = sent
      .then(() => ctx.mcpReq.notify({ method: "notifications/progress", params }))
      .catch((cause: unknown) =>
        endpoint.doors.log.debug({ err: cause }, "progress not delivered"),
      );
  };
  const end = (): Promise<void> => {
    ended = true;
    return sent;
  };
  return { report, end };
}
