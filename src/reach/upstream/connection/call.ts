// One call to a server: its definition is looked at first, it goes out once, and is sent again only when nothing can have
// happened yet or an administrator said that repeating does no harm.
import type { Call, Json, JsonObject } from "../../../contract/call.ts";
import { AppError } from "../../../contract/errors.ts";
import { ATTR, SPAN } from "../../../telemetry/names.ts";
import type { Route, Tool } from "../../../contract/tool.ts";
import { sideMessageOptions } from "../messages/side-messages.ts";
import type { ServerHandle, UpstreamsPowers } from "../manager.ts";
import type { OfferedTools } from "../definitions/checks.ts";
import type { Lease } from "./pool.ts";
import type { Resilience } from "../resilience.ts";
import { UpstreamFault, type Connection, type UpstreamResult } from "../upstream.ts";

type Powers = Pick<UpstreamsPowers, "tracing" | "onDrift" | "cleaned"> & {
  readonly earlyChecks: EarlyChecks;
};

/** Looks that were begun for a call before it could run. */
export interface EarlyChecks {
  start(call: Call, handle: ServerHandle): void;
  /** What it showed, where it was on this very connection; a second attempt looks anew. */
  take(call: Call, lease: Lease): Promise<OfferedTools> | null;
}

interface EarlyCheck {
  readonly connection: Connection;
  readonly offered: Promise<OfferedTools>;
}

export function createEarlyChecks(): EarlyChecks {
  const taken = new WeakMap<Call, { glance: EarlyCheck | null }>();
  return {
    start(call, handle) {
      if (call.tool?.route?.method !== "tools/call" || canAnswerQuestions(call)) return;
      const place: { glance: EarlyCheck | null } = { glance: null };
      taken.set(call, place);
      const look = ({ connection, checks: looks, release }: Lease): void => {
        place.glance = { connection, offered: looks.fresh(handle.row.settings.recheckMs) };
        release();
      };
      const lease = handle.pool.lease(call.caller.userId, false);
      // Whoever makes the call hears of it then.
      if (lease instanceof Promise) lease.then(look, () => undefined);
      else look(lease);
    },
    take(call, { connection }) {
      const glance = taken.get(call)?.glance;
      taken.delete(call);
      return glance?.connection === connection ? glance.offered : null;
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
      return { result: await callOnce(call, route, handle, p), attempts: 2 };
    },
  );
}

/** A connection that broke; anything else would only fail again, or fail more expensively. */
function mayRepeat(cause: unknown, { idempotent }: Tool): boolean {
  if (!(cause instanceof UpstreamFault)) return false;
  if (cause.kind === "session_lost") return true; // the server says that it does not know the session: it did nothing
  return (
    (cause.kind === "closed" || cause.kind === "unreachable") && (!cause.dispatched || idempotent)
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
      let seen: OfferedTools;
      try {
        seen = await (p.earlyChecks.take(call, lease) ?? lease.checks.fresh(settings.recheckMs));
      } catch (cause) {
        throw checkFailure(cause, lease);
      }
      assertUnchanged(seen, route, p);
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

/** Before anything goes out, so whatever happened here has not happened to the call. */
function checkFailure(cause: unknown, lease: Lease): unknown {
  if (!(cause instanceof UpstreamFault)) return cause;
  if (cause.kind === "session_lost") lease.discard();
  lease.reportResult(cause);
  return new UpstreamFault(cause.kind, cause.message, { dispatched: false, rpc: cause.rpc, cause });
}

function assertUnchanged(seen: OfferedTools, route: Route, { onDrift }: Powers): void {
  if (seen.pin(route.name) === route.pin) return;
  onDrift(route.server);
  throw new AppError(
    "FORBIDDEN",
    "definition_changed",
    `${route.server} no longer offers ${route.name} as it was approved`,
    {
      remedy: `an administrator must look at it: ostiary servers diff ${route.server}`,
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
