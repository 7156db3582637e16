// The composition root: configuration → store → engine → doors. The only file that opens adapters.
import { hkdfSync } from "node:crypto";
import { homedir } from "node:os";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isatty } from "node:tty";
import { pino } from "pino";
import { openEngines, type Engines, type EnginesPowers } from "./engines.ts";
import { noteDecision, sourcesOf } from "./figures.ts";
import { filesWatch } from "./files-watch.ts";
import { healthOf } from "./health.ts";
import { requireFolderApart, requireOwnApart } from "./kept.ts";
import { secretsOf } from "./known-secrets.ts";
import { openLedger } from "./ledger.ts";
import { readableLine } from "./log-lines.ts";
import { maskThreads } from "./mask-threads.ts";
import { ownerFinder } from "./owner.ts";
import { openPowers } from "./powers.ts";
import { recordLimits } from "./record-limits.ts";
import { replayer } from "./replay.ts";
import { openTelemetry } from "./telemetry.ts";
import { openRelay, sinkReport } from "./sink.ts";
import { openStanding, type OpenedStanding } from "./standing.ts";
import { openUpstream } from "./upstream.ts";
import { createVisibility } from "./visibility.ts";
import { watchEnds } from "./watch.ts";
import { lowNoter, webhooksOf } from "./webhooks.ts";
import type { AgentModel } from "../agents/agents.ts";
import {
  createApprovals,
  SWEEP_EVERY_MS as APPROVALS_EVERY_MS,
} from "../governance/approvals/index.ts";
import type { Caller, JsonObject, Mode } from "../contract/call.ts";
import type { Config } from "../config/config.ts";
import { openDataDir, type DataDir } from "../storage/data-dir.ts";
import { openEgress, type EgressOptions } from "../reach/egress/guard.ts";
import { createEngine, type Engine } from "../core/engine/engine.ts";
import { openCall } from "../core/engine/open-call.ts";
import { createAttempts } from "../server/http/attempts.ts";
import { createClients } from "../server/http/client-address.ts";
import { connectionLimits, createConnections } from "../server/http/connections.ts";
import { createRooms } from "../server/http/rooms.ts";
import type { Doors, DoorSettings } from "../server/doors.ts";
import { createHttpDoor, type HttpDoor } from "../server/http/listener.ts";
import { EXECUTE, type GatePowers } from "../core/gate/index.ts";
import { createValidators, type Validators } from "../core/gate/validators.ts";
import { createAllowlist } from "../governance/rules/allowlist.ts";
import { bootstrap, LOCAL_TENANT, OWNER } from "../core/identity/bootstrap.ts";
import { createCapsules } from "../core/identity/capsules.ts";
import { createDirectory } from "../core/identity/directory.ts";
import { callerOf, createIdentity } from "../core/identity/index.ts";
import { createSessions } from "../core/identity/sessions.ts";
import { memberChanges, starterRelations } from "../core/identity/starter-relations.ts";
import { createBudgets, type LowBudget } from "../governance/limits/budgets.ts";
import { createRates } from "../governance/limits/rates.ts";
import { createRequests } from "../governance/limits/requests.ts";
import { createRefusals } from "../governance/limits/refusals.ts";
import type { Ledger } from "../storage/ledger/ledger.ts";
import { createHistory } from "../core/record/history.ts";
import { createIdempotency } from "../core/record/idempotency.ts";
import { keep } from "../core/record/cut.ts";
import { createRecorder, type BudgetBook, type Recorded } from "../core/record/index.ts";
import { createLive } from "../core/record/live.ts";
import { createMetrics, type Metrics } from "../core/record/metrics.ts";
import { maxFiles } from "../core/record/process-figures.ts";
import { createRecent } from "../core/record/recent.ts";
import { closeAfterCrash, closeStale, lostEnds } from "../core/record/recover.ts";
import { refuseHeld } from "../core/record/refuse-held.ts";
import { wholeFrom } from "../core/record/whole.ts";
import { createActive } from "../core/run/active.ts";
import { cachedRunners } from "../core/run/cache.ts";
import { nativeRunner } from "../core/run/native.ts";
import { createLogRing } from "../core/run/powers/host/logs.ts";
import type { Machine } from "../core/run/powers/host/machine.ts";
import { createSlots } from "../core/run/slots.ts";
import type { Relay } from "../storage/events/relay.ts";
import { createMemoryState } from "../storage/state/memory.ts";
import { openStore, type Store } from "../storage/store/store.ts";
import { idsOf } from "../telemetry/call-log.ts";
import { lineBatch } from "../telemetry/line-batch.ts";
import { NATIVE_TOOLS } from "../tools/index.ts";
import { openRegistry } from "../tools/registry.ts";
import type { Tool } from "../contract/tool.ts";
import { createIds } from "../util/ids.ts";
import { createMasker } from "../util/masker.ts";
import { mainThread } from "../util/turns.ts";
import { VERSION } from "../util/version.ts";

export interface App {
  readonly doors: Doors;
  readonly engine: Engine;
  /** What the stages decide with; for measuring them alone. */
  readonly gate: GatePowers;
  readonly store: Store;
  readonly ledger: Ledger;
  readonly dataDir: DataDir;
  readonly storeKind: Store["kind"];
  readonly toolCount: number;
  /** The administrator key, only when this start made it. */
  readonly newAdminKey: string | null;
  /** A one-time console link, 15 minutes. */
  loginUrl(): Promise<string>;
  /** Opens the HTTP door; with `exactPort` a taken port is an error, else the next free one is used. */
  listen(options?: { exactPort?: boolean }): Promise<string>;
  /** Opens the HTTP door for other processes of the same user alone, without an address. */
  listenLocally(): Promise<void>;
  /** Drains, ends, records the stop, gives the data directory free. */
  close(): Promise<void>;
}

export interface AppOptions {
  /** Further native tools, for tests. */
  readonly tools?: readonly Tool[];
  readonly now?: () => number;
  /** Wraps the store that was opened: how tests break it. */
  readonly wrapStore?: (store: Store) => Store;
  /** How names are resolved and whom to trust besides, for tests. */
  readonly egress?: EgressOptions;
  /** What agents ask instead of the configured model, for tests. */
  readonly model?: AgentModel;
  /** Programs, kernel files and logs of another machine than this one, for tests. */
  readonly machine?: Machine;
  /** The file the configuration came from: no tool may touch it. */
  readonly configFile?: string | null;
  /** Files that settings were read from by reference (`${file:…}`): the same. */
  readonly secretFiles?: readonly string[];
}

const FLUSH_EVERY_MS = 10_000;
const REQUESTS_EVERY_MS = 1_000;
const SWEEP_EVERY_MS = 60_000;
/** Beyond every deadline, queue wait and this much grace, an open row has no owner any more. */
const STALE_GRACE_MS = 60_000;
const SHOWN_MS = 800;
/** Characters of call lines that may wait for a slow reader of stderr. */
const MAX_UNREAD = 4_194_304;
const FRESH_MS = 20_000;
const LOST_ENDS_EVERY_MS = 1_000;
const FILES_EVERY_MS = 1_000;
const NO_BOOK: BudgetBook = { amounts: () => ({}), isReserved: () => false, settle: () => ({}) };

export async function createApp(config: Config, options: AppOptions = {}): Promise<App> {
  requireOwnApart(config, options);
  const dataDir = openDataDir(config.dataDir);
  const metrics = createMetrics({
    version: VERSION,
    identityLabels: config.metrics.identityLabels,
    stages: EXECUTE.map(({ name }) => name),
  });
  let store: Store | null = null;
  try {
    // Again, now that it exists: a link may have been put in its place.
    requireOwnApart(config, options);
    const opened = await openStore(config.store, {
      dataDir: dataDir.path,
      instanceId: dataDir.instanceId,
      onCommit: metrics.committed,
      files: dataDir.files,
    });
    store = options.wrapStore?.(opened) ?? opened;
    const open = store;
    return await store.alone(() => compose(config, options, dataDir, open, metrics));
  } catch (cause) {
    // A start that fails leaves nothing held.
    metrics.close();
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
  metrics: Metrics,
): Promise<App> {
  const ids = createIds();
  const serverSecret = await store.facts.putIfAbsent("server.secret", ids.hex(32));
  const maskKey = Buffer.from(
    hkdfSync("sha256", serverSecret, "", "ostiary record: masked values, v1", 32),
  );
  const knownSecrets = [serverSecret, ...secretsOf(config)];
  const longTexts = maskThreads(maskKey, knownSecrets);
  const masker = createMasker({ key: maskKey, known: knownSecrets, longTexts });
  const logRing = createLogRing();
  const stderr = pino.destination({ fd: 2, sync: true });
  const onTerminal = isatty(2);
  const show = (line: string): void => void stderr.write(onTerminal ? readableLine(line) : line);
  const write = (given: string): void => {
    const line = masker.line(given);
    logRing.add(line);
    show(line);
  };
  const log = pino({ level: config.log.level, base: { app: "ostiary" } }, { write });
  const now = options.now ?? Date.now;
  const callLines = lineBatch(
    () => pino.destination({ fd: 2, sync: false, maxLength: MAX_UNREAD }),
    now,
  );
  const native = [...NATIVE_TOOLS, ...(options.tools ?? [])];
  const registry = await openRegistry(store, native);
  const { instanceId } = dataDir;
  const background = (work: Promise<unknown>): void => {
    work.catch((cause: unknown) => log.error({ err: cause }, "background work failed"));
  };

  // Record: what is durable is told to the live view.
  const live = createLive(store.log);
  const recent = createRecent(config.history.memoryEntries);
  let relay: Relay | null = null;
  let counted: Pick<Ledger, "recorded"> | null = null;
  const onRecorded = (recorded: Recorded): void => {
    metrics.recorded(recorded.event.action);
    counted?.recorded();
    recent.add(recorded);
    live.publish(recorded);
    relay?.wake();
  };
  let engines: Engines | null = null;
  let book: BudgetBook = NO_BOOK;
  let lastMode: Mode = "NORMAL";
  const recovery = { store, now, onRecorded };
  const lost = lostEnds(recovery);
  const recorder = createRecorder({
    log: store.log,
    results: store.results,
    limits: recordLimits(config.record),
    masker,
    turns: mainThread,
    instanceId,
    now,
    mode: () => lastMode,
    // The engines note their own start, so the recorder comes first; no call is recorded before the book is there.
    budget: {
      amounts: (call) => book.amounts(call),
      isReserved: (call) => book.isReserved(call),
      settle: (call, outcome) => book.settle(call, outcome),
    },
    onEndLost: (id) => lost.add(id),
    onFailed(cause) {
      metrics.unrecorded();
      engines?.mode.signal({ kind: isDiskFull(cause) ? "disk_full" : "audit_failed" });
    },
    onRecorded,
  });
  const note: EnginesPowers["note"] = (action, who, body) => recorder.note(action, who, body);
  const system = { tenantId: LOCAL_TENANT, userId: "system" };
  const ledger = openLedger({
    store,
    dataDir,
    settings: config.audit,
    now,
    note: (action, body) => note(action, system, body),
    log,
    onRolledBack: () => engines?.mode.signal({ kind: "rolled_back" }),
  });
  counted = ledger;
  const whole = wholeFrom(store.results, now);
  const history = createHistory(store.executions, recent, { now, note, whole });

  const opened = await openEngines({
    config,
    store,
    registry,
    now,
    clock: options.now ? { now: options.now } : {},
    note,
    log,
    dataDir: dataDir.path,
    home: homedir(),
    configFiles: [
      ...(options.configFile ? [options.configFile] : []),
      ...(options.secretFiles ?? []),
    ],
  });
  engines = opened;
  const { state, follower, relations, policies, policyEngine, governance, documents, mode } =
    opened;
  try {
    await untilFresh(follower);
    lastMode = mode.current().mode;
    mode.onChange((next) => (lastMode = next.mode));
    const visibility = createVisibility();
    relations.onChange(visibility.changed);
    mode.onChange(visibility.changed);
    documents.onApplied((kind, state) =>
      kind !== "governance" && state === "enforced" ? visibility.changed() : undefined,
    );

    // Identity.
    const { newAdminKey, adminKeyElsewhere, presetRevoked } = await bootstrap({
      store,
      serverSecret,
      now,
      tools: native,
      presetAdminKey: config.adminKey ?? null,
      readSecret: dataDir.readSecret,
      writeSecret: dataDir.writeSecret,
    });
    for (const file of ["admin.key", "cli.key", "ledger.key"])
      for (const line of dataDir.readSecret(file)?.split("\n") ?? [])
        if (!line.startsWith("-----")) masker.know(line);
    if (presetRevoked)
      log.warn(
        "the preset administrator key (OSTIARY_ADMIN_KEY) was revoked and is not taken again; set another one",
      );
    if (adminKeyElsewhere)
      log.warn(
        { dataDir: dataDir.path },
        "another instance made the administrator key of this database; it is in admin.key of its data directory. To use another one, set OSTIARY_ADMIN_KEY, the same for every instance",
      );
    await starterRelations({ store, relations, tools: native });
    const capsules = createCapsules({
      store,
      now,
      isNative: (name) => registry.get(name)?.provider === "native",
      approvedPin: (name) => registry.get(name)?.route?.pin ?? null,
    });
    const sessions = createSessions({ store, now, newId: () => ids.handle("sgn", now()) });
    const identity = createIdentity({
      store,
      serverSecret,
      sessions,
      now,
      anonymousUserId: config.server.authEnabled ? null : OWNER,
      onSignIn: (signIn) =>
        note("login.used", signIn, { signInId: signIn.id, keyId: signIn.keyId }),
      async onSignInEnded({ id, tenantId, userId }, by) {
        forget();
        await follower.changed("directory");
        await note("login.ended", { tenantId, userId: by }, { signInId: id, userId });
      },
    });
    let standing: OpenedStanding | null = null;
    const forget = (): void => {
      identity.forget();
      capsules.forget();
      visibility.changed();
      standing?.changed();
    };
    follower.on("directory", forget);
    const directory = createDirectory({
      store,
      serverSecret,
      ids,
      now,
      note: (action, who, body) => note(action, who, body as JsonObject),
      async changed(everywhere) {
        forget();
        if (everywhere) await follower.changed("directory");
      },
      relate: async (user) => void (await relations.write(memberChanges(user))),
      mayConfigure: async ({ userId }, tool) =>
        (
          await relations.check({
            resource: { type: "tool", id: tool },
            permission: "configure",
            subject: { type: "user", id: userId },
          })
        ).has === "yes",
      toolName: (name) => registry.get(name)?.name ?? null,
      noteUses: identity.flush,
      async setToolEnabled(name, enabled) {
        const switched = await registry.setEnabled(name, enabled);
        if (switched) await follower.changed("tools");
        return switched;
      },
    });

    // Gate and run.
    const active = createActive();
    const slots = createSlots(config.execution);
    const validators: Validators = createValidators();
    const allowlist = createAllowlist(
      { whitelist: config.tools.whitelist, toolsPolicy: config.features.toolsPolicy },
      (name) => registry.get(name)?.name ?? null,
    );
    const noteLow = lowNoter({
      facts: store.facts,
      ids,
      note: (action, who, body) => note(action, who, { ...body }),
    });
    const onLow = (low: LowBudget): void => {
      log.warn(low, "BUDGET_LOW_WARNING");
      metrics.low(low.metric);
      background(noteLow(low));
    };
    const requests = createRequests({
      usage: store.usage,
      shared: store.shared,
      governance: () => governance,
      now,
      onLow,
    });
    const budgets = createBudgets({
      usage: store.usage,
      governance: () => governance,
      now,
      instanceId,
      onLow,
      onSpent: (amounts) => metrics.spent(amounts),
      settled: requests.flush,
    });
    book = budgets.book;
    const rates = createRates({
      state,
      governance: () => governance,
      mode,
      enabled: config.rateLimit.enabled,
      now,
      onLow(caller, window) {
        log.warn({ userId: caller.userId, window: window.name }, "a rate window is nearly full");
        metrics.low(window.name);
      },
    });
    const egress = openEgress({
      ownPorts: () =>
        settings.localUrl === "" ? [] : [Number(new URL(settings.localUrl).port || 80)],
      ...options.egress,
    });
    const webhooks = await webhooksOf(config, {
      store,
      egress,
      serverSecret,
      instanceId,
      ids,
      now,
      note,
      masked: masker.told,
      report: (message, fields) => log.warn(fields, message),
      linkTo: (id) => `${settings.baseUrl}/a/${id}`,
      presented: (id) => store.approvals.presented([id], now()),
      tenantId: LOCAL_TENANT,
    });
    const {
      approvals,
      desk,
      sweep,
      closeOver,
      close: closeApprovals,
    } = createApprovals({
      store,
      serverSecret,
      policyVersion: () => policies.version,
      governance,
      relations,
      registry,
      validate: ({ inputSchema, route }, args) =>
        route ? validators.checkForeign(inputSchema, args) : validators.check(inputSchema, args),
      callerAgain: (mandate) => identity.again(mandate),
      isOwner: async ({ userId }) => (await store.users.get(userId))?.role === "admin",
      authenticates: config.server.authEnabled,
      ownerOf: ownerFinder(store, instanceId),
      ids,
      masker,
      now,
      note,
      state,
      goOn: (id) => engine.resume(id),
      refuse: refuseHeld({ store, now, onRecorded, masker }),
      tell(what, row) {
        if (what === "decided") noteDecision(metrics, row);
      },
      report: (message, fields) => log.error(fields, message),
      keep,
      maxPending: config.approvals.maxPendingPerCaller,
    });
    const stands = (standing = openStanding({
      identity,
      active,
      closeOver,
      now,
      background,
      report: (message, fields) => log.warn(fields, message),
    }));
    const gate: GatePowers = {
      toolsOn: config.features.mcpTools,
      providers: new Set(["native", "mcp", "external"]),
      capsule: capsules.find,
      relations,
      policies,
      allowlist,
      mode,
      governance,
      validators,
      rates,
      budgets,
      approvals,
      now,
    };
    const health = healthOf(
      opened.parts,
      allowlist,
      () => powers.sandbox,
      async () => (relay === null ? null : sinkReport(await relay.figures())),
    );
    const { tracing, observe } = await openTelemetry({
      config,
      version: VERSION,
      instanceId,
      ids,
      mode: () => lastMode,
      policyVersion: () => policies.version,
      sandboxKind: () => powers.sandbox.kind,
      masked: masker.beginning,
      log,
      lines: {
        log: pino(
          { level: config.log.level, base: { app: "ostiary" } },
          { write: (line: string) => show(masker.line(line)) },
        ),
        line: (line) => callLines.add(onTerminal ? readableLine(line) : line),
        masked: masker.beginning,
        now,
      },
    });
    const refusals = createRefusals({
      state: createMemoryState({ now, maxCounters: 20_000 }),
      perMinute: config.rateLimit.refusalsPerMinute,
      enabled: config.rateLimit.enabled,
      now,
      note: (who, left) =>
        note("tool.refusals.suppressed", who, { ...left }).catch((cause: unknown) =>
          log.error({ err: cause, ...left }, "refused calls could not be recorded"),
        ),
    });
    const powers = await openPowers({
      config,
      store,
      tracing,
      governance,
      egress,
      registry,
      dataDir: dataDir.path,
      mode: () => lastMode,
      engine: () => engine,
      health: health.check,
      logRing,
      machine: options.machine,
      ids,
      now,
      log,
      work: {
        instanceId,
        note,
        ...(options.model ? { model: options.model } : {}),
        callerAgain: (mandate) => identity.again(mandate),
        watch: stands.watch,
        onEnded: stands.ended,
        validate: (schema, value) => createValidators().check(schema, value),
      },
    });
    const { powersFor } = powers;
    const upstream = openUpstream({
      configured: {
        servers: config.mcpServers,
        folder: options.configFile ? dirname(options.configFile) : process.cwd(),
      },
      store,
      registry,
      directory,
      relations,
      follower,
      sandbox: powers.sandbox,
      guard: {
        requireApart: (folder) => requireFolderApart(config, options, folder),
        hold: powers.holdFolder,
      },
      egress,
      tracing,
      masker,
      serverSecret,
      onStatus: visibility.changed,
      dataDir: dataDir.path,
      baseUrl: () => settings.baseUrl,
      tenantId: LOCAL_TENANT,
      checkOutput: (schema, output) => validators.checkForeign(schema, output),
      ids,
      now,
      note,
      background,
      log,
      report: (call, cause) =>
        log.error(
          { err: cause, ...idsOf(call), tool: call.tool?.name },
          "a call upstream failed unexpectedly",
        ),
    });
    metrics.watch(
      sourcesOf({
        active: () => active.size,
        slots,
        maxRunning: config.execution.maxRunning,
        mode: () => lastMode,
        approvals: store.approvals,
        sandbox: powers.sandbox,
        outboxPending: () => relay?.pending() ?? 0,
        upstreams: upstream.figures,
      }),
    );
    const opening = {
      registry,
      governance,
      ids,
      now,
      ...config.execution,
      ...(tracing.on ? { samples: tracing.samples } : {}),
    };
    const engine: Engine = createEngine({
      registry,
      gate,
      recorder,
      refusals,
      idempotency: createIdempotency(store, now, whole),
      runners: cachedRunners(
        {
          native: nativeRunner({
            powersFor: (needs, call) => powersFor(needs, call, call.signal),
            masker,
            checkOutput: (schema, output) => validators.check(schema, output),
            report: (call, cause) =>
              log.error(
                { err: cause, ...idsOf(call), tool: call.tool?.name },
                "tool failed unexpectedly",
              ),
          }),
          ...upstream.runners,
        },
        {
          seconds: config.execution.cacheSeconds,
          rules: () => [policies.version, governance.version],
          now,
          onHit: metrics.cacheHit,
        },
      ),
      slots,
      active,
      approvals,
      metrics,
      onEnded: watchEnds(metrics, mode),
      observe,
      now,
      masker,
      maxTimeoutMs: config.execution.maxTimeoutMs,
      open: (caller, request) => openCall(caller, request, opening),
      recordOf: (caller, id) => history.get(caller, id),
      auditedOf: (caller, id) => history.audited(caller, id),
      // Rights may also run out by themselves: what was shown is looked at again before a second has passed.
      visibleStamp: () =>
        relations.revision === null || !policies.timeless
          ? null
          : [
              registry.revision,
              capsules.revision,
              relations.revision,
              policyEngine.revision,
              upstream.revision(),
              lastMode,
              Math.floor(now() / SHOWN_MS),
            ].join(" "),
      ahead: upstream.upstreams.ahead,
      isAway: (tool) => tool.route !== null && upstream.isAway(tool.route.server),
      background,
    });

    if (store.shared) {
      // What other instances recorded reaches the listeners here too.
      await live.catchUp();
      for (const name of ["mode", "approvals"]) follower.on(name, () => live.catchUp());
    }
    const closed = await closeAfterCrash(recovery, instanceId);
    if (closed > 0) log.warn({ executions: closed }, "closed executions that a crash left open");
    const over = (await powers.questions.recover()) + (await closeOver());
    if (over > 0) log.warn({ questions: over }, "closed questions and approvals of what has ended");
    await store.usage.releaseOrphans(instanceId);
    const maxAge = config.execution.maxTimeoutMs + config.execution.maxQueueWaitMs + STALE_GRACE_MS;
    let sweeping: Promise<unknown> = Promise.resolve();
    const timers = [
      setInterval(() => background(identity.flush()), FLUSH_EVERY_MS),
      setInterval(() => background(requests.flush()), REQUESTS_EVERY_MS),
      setInterval(() => background(closeStale(recovery, maxAge, active.has)), SWEEP_EVERY_MS),
      // While the store is out each attempt fails, and that is told by every call already; the next one tries again.
      setInterval(() => void lost.close().catch(() => undefined), LOST_ENDS_EVERY_MS),
      setInterval(filesWatch(dataDir.files, log), FILES_EVERY_MS),
      setInterval(() => background((sweeping = sweeping.then(sweep, sweep))), APPROVALS_EVERY_MS),
    ];
    for (const timer of timers) timer.unref();
    await note("server.started", system, {
      version: VERSION,
      instanceId,
      ledgerKeyId: ledger.keyId,
      ledgerPublicKey: ledger.publicKey,
    });
    await ledger.start();

    const settings: DoorSettings = {
      version: VERSION,
      maxBodyBytes: config.server.maxBodyBytes,
      allowedHosts: config.server.allowedHosts,
      fastPath: config.server.fastPath,
      toolsOn: config.features.mcpTools,
      mcpSessionTimeoutMs: config.server.sessionTimeoutSeconds * 1000,
      stateKey: Buffer.from(hkdfSync("sha256", serverSecret, "", "mcp request state", 32)),
      publicUrl:
        config.server.publicUrl === undefined ? null : new URL(config.server.publicUrl).origin,
      baseUrl: "",
      localUrl: "",
    };
    const doors: Doors = {
      engine,
      identity,
      directory,
      registry,
      history,
      live,
      metrics,
      mode,
      governance,
      relations,
      documents,
      policies,
      budgets,
      approvals: desk,
      questions: powers.questions,
      webhooks: webhooks.desk,
      servers: upstream.desk,
      apis: upstream.apis,
      upstreams: upstream.upstreams,
      logins: upstream.logins,
      visibility,
      standing: stands,
      listing: async ({ capsuleId }) =>
        (capsuleId === null ? null : await capsules.find(capsuleId))?.listing ?? "full",
      replay: replayer({ executions: store.executions, registry, gate, draft: opened.draft }),
      audit: note,
      ledger,
      soleTenant: () => Promise.resolve(LOCAL_TENANT),
      rooms: createRooms(config.server),
      turns: mainThread,
      connections: createConnections(() => connectionLimits(maxFiles())),
      clients: createClients(config.server.trustedProxies),
      attempts: createAttempts({
        state: createMemoryState({ now, maxCounters: 20_000 }),
        perMinute: () => (config.rateLimit.enabled ? governance.limits.perIp : null),
      }),
      requests,
      health,
      tracing,
      log,
      ids,
      masker,
      now,
      settings,
    };
    await probe(engine, await callerOf(store, OWNER, null), log);
    webhooks.start();
    await upstream.start();
    relay = await openRelay(config, { store, owner: instanceId, now, log });
    let http: HttpDoor | null = null;
    const openHttp = (): HttpDoor =>
      createHttpDoor(doors, async () => (await import("../server/http/web.ts")).createWeb(doors));
    let closing: Promise<void> | null = null;
    dataDir.announce(null);

    const shutDown = async (): Promise<void> => {
      http?.stopAccepting();
      await engine.drain(config.server.shutdownGraceSeconds * 1000);
      await http?.close();
      for (const timer of timers) clearInterval(timer);
      await sweeping.catch(() => undefined);
      closeApprovals();
      stands.close();
      await webhooks.close();
      // A store that is out must not keep the server from stopping.
      const lastWords = (cause: unknown): void =>
        log.warn({ err: cause }, "could not be written while stopping");
      await identity.flush().catch(lastWords);
      await requests.flush().catch(lastWords);
      await upstream.close();
      await powers.close();
      await egress.close();
      await opened.close();
      await tracing.close();
      callLines.close();
      await longTexts.close();
      await refusals.flush();
      await note("server.stopped", system, { instanceId }).catch(lastWords);
      await ledger.close().catch(lastWords);
      await relay?.close();
      await store.close();
      metrics.close();
      dataDir.release();
    };

    return {
      doors,
      engine,
      gate,
      store,
      ledger,
      dataDir,
      storeKind: store.kind,
      toolCount: registry.stats().totalTools,
      newAdminKey,
      loginUrl: async () =>
        `${settings.baseUrl}/?t=${(await sessions.createLoginToken({ tenantId: LOCAL_TENANT, userId: OWNER, keyId: null })).token}`,
      async listenLocally() {
        http = openHttp();
        const socket = dataDir.socketPlace();
        await http.listenAt(socket);
        dataDir.announce(null, socket);
      },
      async listen({ exactPort = false } = {}) {
        http = openHttp();
        const url = await listenSomewhere(http, config.server, exactPort);
        dataDir.announce(url);
        return url;
      },
      close: () => (closing ??= shutDown()),
    };
  } catch (cause) {
    await opened.close();
    throw cause;
  }
}

/** A busy machine may look late at what the other instances did: a start waits for it, a call would not. */
async function untilFresh(follower: Pick<Engines["follower"], "assertFresh">): Promise<void> {
  for (const until = performance.now() + FRESH_MS; ; await sleep(50)) {
    try {
      return follower.assertFresh();
    } catch (cause) {
      if (performance.now() > until) throw cause;
    }
  }
}

/** Asks the whole visible gate once (L05): silence about an empty list would leave everybody guessing (L13). */
async function probe(
  engine: Engine,
  owner: Caller | null,
  log: { warn(fields: object, message: string): void },
): Promise<void> {
  try {
    const tools = owner ? await engine.discover(owner) : [];
    if (tools.length === 0)
      log.warn({ owner: OWNER }, "the owner sees no tool: ostiary explain --missing says why");
  } catch (cause) {
    log.warn({ err: cause }, "the gate cannot decide yet; it denies until its engines answer");
  }
}

/** ENOSPC of the system, SQLITE_FULL, or PostgreSQL's own word for it. */
function isDiskFull(cause: unknown): boolean {
  const { code, errcode } = cause as { code?: unknown; errcode?: unknown };
  return code === "ENOSPC" || errcode === 13 || code === "53100";
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
