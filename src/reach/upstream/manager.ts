// All upstream servers: requests find their connection, are bounded per server, and fail in one known way.
import { AppError } from "../../contract/errors.ts";
import type { Call, Json, JsonObject } from "../../contract/call.ts";
import type { ForeignDefinition, ServerRow } from "../../storage/store/store.ts";
import type { Tracing } from "../../telemetry/tracing.ts";
import { callUpstream, createEarlyChecks } from "./connection/call.ts";
import { parseDefinition } from "./definitions/definition.ts";
import { withoutDangerousEntries } from "./connection/lists.ts";
import {
  openPool,
  type ConnectServer,
  type ConnectionLease,
  type Pool,
} from "./connection/pool.ts";
import { pseudoDefinitions } from "./definitions/pseudo.ts";
import { openResilience, type Resilience } from "./resilience.ts";
import { createLogTail, type LogTail } from "./connection/log-tail.ts";
import type {
  ServerCredentials,
  ServerFacts,
  ServerHealth,
  ServerStatus,
  Upstreams,
} from "./upstream.ts";

export interface UpstreamsPowers {
  readonly connect: ConnectServer;
  readonly credentials: ServerCredentials;
  readonly tracing: Pick<Tracing, "client">;
  /** Definitions of an API, which are not asked for but were imported. */
  readonly imported: (row: ServerRow) => readonly ForeignDefinition[];
  readonly masked: (text: string) => string;
  /** The same for all texts of a value. */
  readonly cleaned: (value: Json) => Json;
  readonly now: () => number;
  readonly onStatus: (server: string, status: ServerStatus, reason: string | null) => void;
  /** A check before a call showed another definition than the approved one: the call was not sent. */
  readonly onDrift: (server: string) => void;
  readonly report: (fields: object, message: string) => void;
}

/** One server while its row stays as it is. */
export interface ServerHandle {
  readonly row: ServerRow;
  readonly pool: Pool;
  readonly tail: LogTail;
  readonly resilience: Promise<Resilience>;
  /** The same once it has been opened, so that a call need not wait. */
  guard: Resilience | null;
}

const REQUEST_MS = 30_000;

export function openUpstreams(p: UpstreamsPowers): Upstreams {
  const handles = new Map<string, ServerHandle>();
  const earlyChecks = createEarlyChecks();
  const callPowers = { ...p, earlyChecks };
  const listeners = new Set<Notify>();
  const notify: Notify = (server, method, params) => {
    for (const listener of listeners) listener(server, method, params);
  };

  const known = (name: string): ServerHandle => {
    const handle = handles.get(name);
    if (handle?.row.enabled) return handle;
    throw new AppError(
      "UNAVAILABLE",
      "upstream_unavailable",
      `the server ${name} is ${handle ? "switched off" : "not there any more"}`,
      { remedy: "ask an administrator: ostiary servers list" },
    );
  };

  return {
    async apply(rows) {
      const next = new Map(rows.map((row) => [row.name, row]));
      const ended: Promise<void>[] = [];
      for (const [name, handle] of handles) {
        const row = next.get(name);
        if (row && reachedAlike(row, handle.row)) continue;
        handles.delete(name);
        ended.push(handle.pool.close());
      }
      for (const row of next.values())
        if (!handles.has(row.name)) handles.set(row.name, openHandle(row, p, notify));
      await Promise.all(ended);
    },
    names: () => [...handles.keys()],
    health(name) {
      const handle = handles.get(name);
      return handle ? healthOf(handle) : null;
    },
    logs: (name) => handles.get(name)?.tail.lines() ?? [],
    restart: async (name) => known(name).pool.restart(),
    async definitions(name, signal) {
      const handle = known(name);
      if (handle.row.transport.kind === "api") return p.imported(handle.row);
      return withConnection(handle, handle.row.createdBy, signal, (lease) =>
        listDefinitions(lease, handle.tail),
      );
    },
    async request(name, userId, method, params, options) {
      const handle = known(name);
      const signal = options.signal ?? AbortSignal.timeout(REQUEST_MS);
      const result = await withConnection(handle, userId, signal, ({ connection }) =>
        connection.request(method, params, {
          timeoutMs: handle.row.settings.timeoutMs,
          maxResultBytes: handle.row.settings.maxResultBytes,
          ...options,
          signal,
        }),
      );
      return withoutDangerousEntries(method, result, {
        cleaned: p.cleaned,
        leftOut: handle.tail.addOnce,
      });
    },
    checkAhead(call) {
      const handle = handles.get(call.tool?.route?.server ?? "");
      // While its breaker is open a server is not checked either.
      if (handle?.row.enabled && handle.guard?.breaker === "closed")
        earlyChecks.start(call, handle);
    },
    call: (call: Call) => callUpstream(call, known(call.tool?.route?.server ?? ""), callPowers),
    async guarded(name, signal, work) {
      const handle = known(name);
      const guard = handle.guard ?? (await handle.resilience);
      return guard.run(() => work(handle.row), signal);
    },
    facts(name): ServerFacts | null {
      const newest = handles.get(name)?.pool.newest;
      if (!newest) return null;
      const { serverInfo, capabilities, instructions, era } = newest;
      return { serverInfo, capabilities, instructions, era };
    },
    onNotification(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async close() {
      const all = [...handles.values()];
      handles.clear();
      await Promise.allSettled(all.map(({ pool }) => pool.close()));
    },
  };
}

type Notify = (server: string, method: string, params: JsonObject) => void;

function openHandle(row: ServerRow, p: UpstreamsPowers, notify: Notify): ServerHandle {
  const tail = createLogTail(p.masked);
  const pool = openPool(row, {
    connect: p.connect,
    credentials: p.credentials,
    now: p.now,
    events: {
      notified: (method, params) => notify(row.name, method, params),
      logged: tail.add,
    },
    onStatus(status, reason) {
      tail.add(`[ostiary] ${status}${reason === null ? "" : `: ${reason}`}`);
      p.onStatus(row.name, status, reason === null ? null : p.masked(reason));
      if (status === "up") notify(row.name, "ostiary/connected", {});
    },
  });
  const resilience = openResilience(row.name, row.settings, (breaker) => {
    tail.add(`[ostiary] breaker ${breaker}`);
    p.report({ server: row.name, breaker }, "the breaker of a server changed its state");
  });
  const handle: ServerHandle = { row, pool, tail, resilience, guard: null };
  resilience
    .then((guard) => (handle.guard = guard))
    .catch((cause: unknown) =>
      p.report({ err: cause }, "the breaker of a server could not be made"),
    );
  return handle;
}

function healthOf({ row, pool, guard }: ServerHandle): ServerHealth {
  const { newest, state } = pool;
  return {
    ...state,
    ...(row.transport.kind === "api" && row.enabled ? { status: "up" as const, reason: null } : {}),
    era: newest?.era ?? null,
    protocolVersion: newest?.protocolVersion ?? null,
    serverInfo: newest?.serverInfo ?? null,
    breaker: guard?.breaker ?? "closed",
    inFlight: guard?.inFlight ?? 0,
    queued: guard?.queued ?? 0,
  };
}

/** Runs a request that is no call, within the limits of the server. */
async function withConnection<T>(
  handle: ServerHandle,
  userId: string,
  signal: AbortSignal,
  work: (lease: ConnectionLease) => Promise<T>,
): Promise<T> {
  const guard = await handle.resilience;
  return guard.runProbe(async () => {
    const lease = await handle.pool.lease(userId, false);
    try {
      return await work(lease);
    } finally {
      lease.release();
    }
  }, signal);
}

async function listDefinitions(
  { connection, checks }: ConnectionLease,
  tail: LogTail,
): Promise<ForeignDefinition[]> {
  const found: ForeignDefinition[] = [];
  const hasTools = connection.capabilities["tools"] !== undefined;
  for (const entry of hasTools ? (await checks.fresh(0)).entries : []) {
    const parsed = parseDefinition(entry);
    if ("fault" in parsed) tail.add(`[ostiary] a tool was left out: ${parsed.fault}`);
    else found.push(parsed.definition);
  }
  return [...found, ...pseudoDefinitions(connection.capabilities)];
}

/** Compares what a connection depends on; a new description needs no new connection. */
function reachedAlike(a: ServerRow, b: ServerRow): boolean {
  const reach = ({ transport, settings, enabled }: ServerRow): string =>
    JSON.stringify([transport, settings, enabled]);
  return a === b || reach(a) === reach(b);
}
