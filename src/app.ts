// The composition root: configuration → store → engine → doors. The only file that opens adapters.
import { homedir } from "node:os";
import { pino } from "pino";
import type { Call } from "./call.ts";
import type { Config } from "./config.ts";
import { openDataDir, type DataDir } from "./data-dir.ts";
import { createEngine, type Engine } from "./engine.ts";
import type { Doors, Health } from "./entry/doors.ts";
import { createHttpDoor, type HttpDoor } from "./entry/http.ts";
import { createValidators, type Validators } from "./gate/validators.ts";
import { bootstrap, LOCAL_TENANT, OWNER } from "./identity/bootstrap.ts";
import { createCapsules } from "./identity/capsules.ts";
import { createDirectory } from "./identity/directory.ts";
import { createIdentity } from "./identity/index.ts";
import { createSessions } from "./identity/sessions.ts";
import { openCall } from "./engine/open-call.ts";
import { createHistory } from "./record/history.ts";
import { createIdempotency } from "./record/idempotency.ts";
import { createRecorder, type Recorded } from "./record/index.ts";
import { createLive } from "./record/live.ts";
import { createMetrics } from "./record/metrics.ts";
import { createRecent } from "./record/recent.ts";
import { closeAfterCrash, closeStale } from "./record/recover.ts";
import { createActive } from "./run/active.ts";
import { nativeRunner } from "./run/native.ts";
import { nativePowers } from "./run/powers/index.ts";
import { createSlots } from "./run/slots.ts";
import { openStore, type Store } from "./store/store.ts";
import { NATIVE_TOOLS } from "./tools/index.ts";
import { openRegistry } from "./tools/registry.ts";
import type { Tool } from "./tools/tool.ts";
import { createIds } from "./util/ids.ts";
import { VERSION } from "./version.ts";

export interface App {
  readonly doors: Doors;
  readonly engine: Engine;
  readonly store: Store;
  readonly dataDir: DataDir;
  readonly storeKind: Store["kind"];
  readonly toolCount: number;
  /** The administrator key, only when this start made it. */
  readonly newAdminKey: string | null;
  /** A one-time console link, 15 minutes. */
  loginUrl(): Promise<string>;
  /** Opens the HTTP door; with `exactPort` a taken port is an error, else the next free one is used. */
  listen(options?: { exactPort?: boolean }): Promise<string>;
  /** Drains, ends, records the stop, gives the data directory free. */
  close(): Promise<void>;
}

export interface AppOptions {
  /** Further native tools, for tests. */
  readonly tools?: readonly Tool[];
  readonly now?: () => number;
  /** Wraps the store that was opened: how tests break it. */
  readonly wrapStore?: (store: Store) => Store;
  /** The file the configuration came from: no tool may touch it. */
  readonly configFile?: string | null;
}

const FLUSH_EVERY_MS = 10_000;
const SWEEP_EVERY_MS = 60_000;
/** Beyond every deadline, queue wait and this much grace, an open row has no owner any more. */
const STALE_GRACE_MS = 60_000;

export async function createApp(config: Config, options: AppOptions = {}): Promise<App> {
  const dataDir = openDataDir(config.dataDir);
  let store: Store | null = null;
  try {
    const opened = await openStore(config.store, { dataDir: dataDir.path });
    store = options.wrapStore?.(opened) ?? opened;
    return await compose(config, options, dataDir, store);
  } catch (cause) {
    // A start that fails leaves nothing held.
    await store?.close();
    dataDir.release();
    throw cause;
  }
}

async function compose(
  config: Config,
  options: AppOptions,
  dataDir: DataDir,
  store: Store,
): Promise<App> {
  const log = pino(
    { level: config.log.level, base: { app: "ostiary" } },
    pino.destination({ fd: 2, sync: true }),
  );
  const now = options.now ?? Date.now;
  const ids = createIds();
  const serverSecret = await store.facts.putIfAbsent("server.secret", ids.hex(32));
  const native = [...NATIVE_TOOLS, ...(options.tools ?? [])];
  const registry = await openRegistry(store, native);

  // Record: what is durable is told to the live view.
  const live = createLive(store.log);
  const recent = createRecent(config.history.memoryEntries);
  const onRecorded = (recorded: Recorded): void => {
    recent.add(recorded);
    live.publish(recorded);
  };
  const recorder = createRecorder({
    log: store.log,
    instanceId: dataDir.instanceId,
    now,
    onRecorded,
  });
  const history = createHistory(store.executions, recent);

  // Identity.
  const { newAdminKey } = await bootstrap({ store, serverSecret, ids, now, tools: native, presetAdminKey: config.adminKey ?? null, readSecret: dataDir.readSecret, writeSecret: dataDir.writeSecret }); // prettier-ignore
  const capsules = createCapsules({
    store,
    now,
    isNative: (name) => registry.get(name)?.provider === "native",
  });
  const sessions = createSessions(store.facts, now);
  const identity = createIdentity({ store, serverSecret, sessions, now, onSignIn: (userId) => recorder.note("login.used", { tenantId: LOCAL_TENANT, userId }, {}), anonymousUserId: config.server.authEnabled ? null : OWNER }); // prettier-ignore
  const directory = createDirectory({
    store,
    serverSecret,
    ids,
    now,
    note: (action, who, body) => recorder.note(action, who, body as never),
    changed() {
      identity.forget();
      capsules.forget();
    },
    toolName: (name) => registry.get(name)?.name ?? null,
    setToolEnabled: (name, enabled) => registry.setEnabled(name, enabled),
  });

  // Gate and run.
  const active = createActive();
  const metrics = createMetrics({ version: VERSION, identityLabels: config.metrics.identityLabels, active: () => active.size }); // prettier-ignore
  const validators: Validators = createValidators();
  const powersFor = nativePowers({
    files: {
      workspace: config.workspace,
      home: homedir(),
      dataDir: dataDir.path,
      configFiles: options.configFile ? [options.configFile] : [],
    },
    host: { name: "ostiary", version: VERSION, mode: () => "NORMAL" },
    memory: store.memory,
    now,
  });
  const report = (call: Call, cause: unknown): void =>
    log.error(
      { err: cause, executionId: call.id, tool: call.tool?.name },
      "tool failed unexpectedly",
    );
  const background = (work: Promise<unknown>): void => {
    work.catch((cause: unknown) => log.error({ err: cause }, "background work failed"));
  };
  const engine = createEngine({
    registry,
    gate: { capsule: capsules.find, validators },
    recorder,
    idempotency: createIdempotency(store, now),
    runners: {
      native: nativeRunner({
        powersFor: (needs, call) => powersFor(needs, call, call.signal),
        checkOutput: (schema, output) => validators.check(schema, output),
        report,
      }),
    },
    slots: createSlots(config.execution),
    active,
    metrics,
    now,
    open: (caller, request) =>
      openCall(caller, request, { registry, ids, now, ...config.execution }),
    recorded: async (caller, id) => (await history.get(caller, id)) !== null,
    background,
  });

  const recovery = { store, now, onRecorded };
  const closed = await closeAfterCrash(recovery, dataDir.instanceId);
  if (closed > 0) log.warn({ executions: closed }, "closed executions that a crash left open");
  const maxAge = config.execution.maxTimeoutMs + config.execution.maxQueueWaitMs + STALE_GRACE_MS;
  const timers = [
    setInterval(() => background(identity.flush()), FLUSH_EVERY_MS),
    setInterval(() => background(closeStale(recovery, maxAge, active.has)), SWEEP_EVERY_MS),
  ];
  for (const timer of timers) timer.unref();
  const system = { tenantId: LOCAL_TENANT, userId: "system" };
  await recorder.note("server.started", system, {
    version: VERSION,
    instanceId: dataDir.instanceId,
  });

  const doors: Doors = {
    engine,
    identity,
    directory,
    registry,
    history,
    live,
    metrics,
    health: healthOf(store),
    log,
    ids,
    now,
    settings: {
      version: VERSION,
      maxBodyBytes: config.server.maxBodyBytes,
      allowedHosts: config.server.allowedHosts,
      fastPath: config.server.fastPath,
      mcpSessionTimeoutMs: config.server.sessionTimeoutSeconds * 1000,
      baseUrl: "",
    },
  };
  let http: HttpDoor | null = null;
  let closing: Promise<void> | null = null;
  dataDir.announce(null);

  const shutDown = async (): Promise<void> => {
    http?.stopAccepting();
    await engine.drain(config.server.shutdownGraceSeconds * 1000);
    await http?.close();
    for (const timer of timers) clearInterval(timer);
    await identity.flush();
    await recorder.note("server.stopped", system, { instanceId: dataDir.instanceId });
    await store.close();
    dataDir.release();
  };

  return {
    doors,
    engine,
    store,
    dataDir,
    storeKind: store.kind,
    toolCount: registry.stats().totalTools,
    newAdminKey,
    loginUrl: async () =>
      `${doors.settings.baseUrl}/?t=${(await identity.createLoginToken(OWNER)).token}`,
    async listen({ exactPort = false } = {}) {
      http = createHttpDoor(doors, async () => (await import("./entry/web.ts")).createWeb(doors));
      const url = await listenSomewhere(http, config.server, exactPort);
      dataDir.announce(url);
      return url;
    },
    close: () => (closing ??= shutDown()),
  };
}

const PORTS_TO_TRY = 20;

async function listenSomewhere(
  http: HttpDoor,
  { host, port }: Config["server"],
  exact: boolean,
): Promise<string> {
  for (let offset = 0; ; offset++) {
    try {
      return await http.listen(host, port === 0 ? 0 : port + offset);
    } catch (cause) {
      const taken = (cause as NodeJS.ErrnoException).code === "EADDRINUSE";
      if (!taken || exact || offset >= PORTS_TO_TRY) throw cause;
    }
  }
}

function healthOf(store: Store): Health {
  return {
    async check() {
      const began = performance.now();
      let reason: string | undefined;
      try {
        await store.ping();
      } catch {
        reason = "the store does not answer";
      }
      const ms = Math.round((performance.now() - began) * 100) / 100;
      const row = {
        name: "store",
        ok: reason === undefined,
        ms,
        ...(reason === undefined ? {} : { reason }),
      };
      return { ready: row.ok, checks: [row] };
    },
  };
}
