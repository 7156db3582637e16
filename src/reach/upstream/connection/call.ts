// One call to a server: its definition is looked at first, it goes out once, and is sent again only when nothing can have
// happened yet or an administrator said that repeating does no harm.
import type { Call, Json, JsonObject } from "../../../contract/call.ts";
import { AppError } from "../../../contract/errors.ts";
import { ATTR, SPAN } from "../../../telemetry/names.ts";
import type { Route, Tool } from "../../../contract/tool.ts";
import { asidesOf } from "../messages/side-messages.ts";
import type { Handle, UpstreamsPowers } from "../manager.ts";
import type { Seen } from "../definitions/checks.ts";
import type { Lease } from "./pool.ts";
import type { Resilience } from "../resilience.ts";
import { UpstreamFault, type Connection, type UpstreamAnswer } from "../upstream.ts";

type Powers = Pick<UpstreamsPowers, "tracing" | "onDrift" | "cleaned"> & {
  readonly glances: Glances;
};

/** Looks that were begun for a call before it could run. */
export interface Glances {
  take(call: Call, handle: Handle): void;
  /** What it showed, where it was on this very connection; a second attempt looks anew. */
  use(call: Call, lease: Lease): Promise<Seen> | null;
}

interface Glance {
  readonly connection: Connection;
  readonly seen: Promise<Seen>;
}

export function createGlances(): Glances {
  const taken = new WeakMap<Call, { glance: Glance | null }>();
  return {
    take(call, handle) {
      if (call.tool?.route?.method !== "tools/call" || canBeAsked(call)) return;
      const place: { glance: Glance | null } = { glance: null };
      taken.set(call, place);
      const look = ({ connection, looks, release }: Lease): void => {
        place.glance = { connection, seen: looks.fresh(handle.row.settings.recheckMs) };
        release();
      };
      const lease = handle.pool.lease(call.caller.userId, false);
      // Whoever makes the call hears of it then.
      if (lease instanceof Promise) lease.then(look, () => undefined);
      else look(lease);
    },
    use(call, { connection }) {
      const glance = taken.get(call)?.glance;
      taken.delete(call);
      return glance?.connection === connection ? glance.seen : null;
    },
  };
}

/** What a server may ask the caller's client for. */
const ASKABLE = ["elicitation", "sampling", "roots"] as const;

export function callUpstream(call: Call, handle: Handle, p: Powers): Promise<UpstreamAnswer> {
  const { tool } = call;
  if (!tool?.route) throw new AppError("UNSUPPORTED_PROVIDER", "mcp", "this tool has no server");
  const { route } = tool;
  const run = (guard: Resilience): Promise<UpstreamAnswer> =>
    guard.run(() => attempts(call, tool, route, handle, p), call.signal);
  return handle.guard ? run(handle.guard) : handle.resilience.then(run);
}

function attempts(
  call: Call,
  tool: Tool,
  route: Route,
  handle: Handle,
  p: Powers,
): Promise<UpstreamAnswer> {
  return attempt(call, route, handle, p).then(
    (result) => ({ result, attempts: 1 }),
    async (cause: unknown) => {
      if (call.signal.aborted || !mayRepeat(cause, tool)) throw cause;
      return { result: await attempt(call, route, handle, p), attempts: 2 };
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

async function attempt(call: Call, route: Route, handle: Handle, p: Powers): Promise<JsonObject> {
  const { settings } = handle.row;
  const leased = handle.pool.lease(call.caller.userId, canBeAsked(call));
  const lease = leased instanceof Promise ? await leased : leased;
  try {
    if (route.method === "tools/call") {
      let seen: Seen;
      try {
        seen = await (p.glances.use(call, lease) ?? lease.looks.fresh(settings.recheckMs));
      } catch (cause) {
        throw unseen(cause, lease);
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
          ...asidesOf(call, route.server, p.cleaned),
        },
      );
      span.end({}, result["isError"] === true ? "tool_error" : undefined);
      lease.went(null);
      return result;
    } catch (cause) {
      span.end({}, cause instanceof UpstreamFault ? cause.kind : "unexpected");
      lease.went(cause);
      if (cause instanceof UpstreamFault && cause.kind === "session_lost") lease.discard();
      throw cause;
    }
  } finally {
    lease.release();
  }
}

/** Before anything goes out, so whatever happened here has not happened to the call. */
function unseen(cause: unknown, lease: Lease): unknown {
  if (!(cause instanceof UpstreamFault)) return cause;
  if (cause.kind === "session_lost") lease.discard();
  lease.went(cause);
  return new UpstreamFault(cause.kind, cause.message, { dispatched: false, rpc: cause.rpc, cause });
}

function assertUnchanged(seen: Seen, route: Route, { onDrift }: Powers): void {
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

function canBeAsked({ client }: Call): boolean {
  return client !== null && ASKABLE.some((kind) => client.capabilities[kind] !== undefined);
}
