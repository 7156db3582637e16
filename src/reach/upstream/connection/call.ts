// One call to a server: its definition is checked first, then it is sent once. It is sent again only if the server
// cannot have begun with it, or if an administrator marked the tool as idempotent.
import type { Call, Json, JsonObject } from "../../../contract/call.ts";
import { AppError } from "../../../contract/errors.ts";
import { ATTR, SPAN } from "../../../telemetry/names.ts";
import type { Route, Tool } from "../../../contract/tool.ts";
import { sideMessageOptions } from "../messages/side-messages.ts";
import type { ServerHandle, UpstreamsPowers } from "../manager.ts";
import type { OfferedTools } from "../definitions/checks.ts";
import type { ConnectionLease } from "./pool.ts";
import { mayRepeat, type Resilience } from "../resilience.ts";
import {
  failedTwice,
  UpstreamFault,
  type UpstreamConnection,
  type UpstreamResult,
} from "../upstream.ts";

type Powers = Pick<UpstreamsPowers, "tracing" | "onDrift" | "cleaned"> & {
  readonly earlyChecks: EarlyChecks;
};

/** Definition checks that were begun for a call before it could run. */
export interface EarlyChecks {
  start(call: Call, handle: ServerHandle): void;
  /** Its result if it was made on this connection; a second attempt checks anew. */
  take(call: Call, lease: ConnectionLease): Promise<OfferedTools> | null;
}

interface EarlyCheck {
  readonly connection: UpstreamConnection;
  readonly offered: Promise<OfferedTools>;
}

export function createEarlyChecks(): EarlyChecks {
  const begun = new WeakMap<Call, { check: EarlyCheck | null }>();
  return {
    start(call, handle) {
      if (call.tool?.route?.method !== "tools/call" || canAnswerQuestions(call)) return;
      const entry: { check: EarlyCheck | null } = { check: null };
      begun.set(call, entry);
      const check = ({ connection, checks, release }: ConnectionLease): void => {
        entry.check = { connection, offered: checks.fresh(handle.row.settings.recheckMs) };
        release();
      };
      const lease = handle.pool.lease(call.caller.userId, false);
      // A failure is reported when the call itself asks for a connection.
      if (lease instanceof Promise) lease.then(check, () => undefined);
      else check(lease);
    },
    take(call, { connection }) {
      const check = begun.get(call)?.check;
      begun.delete(call);
      return check?.connection === connection ? check.offered : null;
    },
  };
}

/** What a server may ask the caller's client for. */
const ASKABLE = ["elicitation", "sampling", "roots"] as const;

export function callUpstream(call: Call, handle: ServerHandle, p: Powers): Promise<UpstreamResult> {
  const { tool } = call;
  if (!tool?.route) throw new AppError("UNSUPPORTED_PROVIDER", "mcp", "this tool has no server");
  const { route } = tool;
  const run = (guard: Resilience): Promise<UpstreamResult> =>
    guard.run(() => callWithRetry(call, tool, route, handle, p), call.signal);
  return handle.guard ? run(handle.guard) : handle.resilience.then(run);
}

function callWithRetry(
  call: Call,
  tool: Tool,
  route: Route,
  handle: ServerHandle,
  p: Powers,
): Promise<UpstreamResult> {
  return callOnce(call, route, handle, p).then(
    (result) => ({ result, attempts: 1 }),
    async (cause: unknown) => {
      if (call.signal.aborted || !mayRepeat(cause, tool)) throw cause;
      const result = await callOnce(call, route, handle, p).catch(failedTwice);
      return { result, attempts: 2 };
    },
  );
}

async function callOnce(
  call: Call,
  route: Route,
  handle: ServerHandle,
  p: Powers,
): Promise<JsonObject> {
  const { settings } = handle.row;
  const leased = handle.pool.lease(call.caller.userId, canAnswerQuestions(call));
  const lease = leased instanceof Promise ? await leased : leased;
  try {
    if (route.method === "tools/call") {
      let offered: OfferedTools;
      try {
        offered = await (p.earlyChecks.take(call, lease) ?? lease.checks.fresh(settings.recheckMs));
      } catch (cause) {
        throw checkFailure(cause, lease);
      }
      assertUnchanged(offered, route, p);
    }
    const name = SPAN.mcp(route.method, call.tool?.name ?? null);
    const labels = { [ATTR.mcpMethod]: route.method, [ATTR.upstream]: route.server };
    const span = p.tracing.client(call, { name, attributes: labels, measured: labels });
    try {
      const result = await lease.connection.request(
        route.method,
        paramsOf(call, route, span.context),
        {
          signal: call.signal,
          timeoutMs: call.timeoutMs,
          maxResultBytes: settings.maxResultBytes,
          ...sideMessageOptions(call, route.server, p.cleaned),
        },
      );
      span.end({}, result["isError"] === true ? "tool_error" : undefined);
      lease.reportResult(null);
      return result;
    } catch (cause) {
      span.end({}, cause instanceof UpstreamFault ? cause.kind : "unexpected");
      lease.reportResult(cause);
      if (cause instanceof UpstreamFault && cause.kind === "session_lost") lease.discard();
      throw cause;
    }
  } finally {
    lease.release();
  }
}

/** A failed check: the call itself has not been sent. */
function checkFailure(cause: unknown, lease: ConnectionLease): unknown {
  if (!(cause instanceof UpstreamFault)) return cause;
  if (cause.kind === "session_lost") lease.discard();
  lease.reportResult(cause);
  return new UpstreamFault(cause.kind, cause.message, { dispatched: false, rpc: cause.rpc, cause });
}

function assertUnchanged(offered: OfferedTools, route: Route, { onDrift }: Powers): void {
  if (offered.pin(route.name) === route.pin) return;
  onDrift(route.server);
  throw new AppError(
    "FORBIDDEN",
    "definition_changed",
    `${route.server} no longer offers ${route.name} as it was approved`,
    {
      remedy: `an administrator must review it: ostiary servers diff ${route.server}`,
    },
  );
}

function paramsOf(
  call: Call,
  { method, name }: Route,
  context: { traceparent?: string; tracestate?: string },
): JsonObject {
  const meta: Record<string, Json> = {};
  if (context.traceparent !== undefined) meta["traceparent"] = context.traceparent;
  if (context.tracestate !== undefined) meta["tracestate"] = context.tracestate;
  return method === "tools/call"
    ? { name, arguments: call.arguments, _meta: meta }
    : { ...call.arguments, _meta: meta };
}

function canAnswerQuestions({ client }: Call): boolean {
  return client !== null && ASKABLE.some((kind) => client.capabilities[kind] !== undefined);
}
