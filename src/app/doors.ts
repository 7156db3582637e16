// Opens the doors: what they are given, and the HTTP listener that comes up when it is asked for.
import { createPlanStep } from "../agents/plan-step.ts";
import { createWorkReading } from "../agents/workflows/reading.ts";
import { createAgentRecords } from "../agents/records/agent-records.ts";
import { LOCAL_TENANT } from "../core/identity/bootstrap.ts";
import { maxFiles } from "../core/record/process-figures.ts";
import type { Chat } from "../agents/chat/chat.ts";
import type { Config } from "../config/config.ts";
import { shownSettings } from "../config/shown.ts";
import { sourcesOf } from "../contract/taint.ts";
import type { Doors } from "../server/doors.ts";
import { createAddressThrottle } from "../server/http/address-throttle.ts";
import { createClients } from "../server/http/client-address.ts";
import { connectionLimits, createConnections } from "../server/http/connections.ts";
import { createHttpDoor, type HttpDoor } from "../server/http/listener.ts";
import { createCapacity } from "../server/http/capacity.ts";
import { createMemoryState } from "../storage/state/memory.ts";
import { mainThread } from "../util/async/time-slices.ts";
import { readOwner } from "../storage/data-dir.ts";
import type { Base } from "./base.ts";
import { createDiagnosis } from "./diagnosis.ts";
import { createExaminer } from "./doctor/examine.ts";
import type { DoctorReach } from "./doctor/place.ts";
import { createClientTaint } from "./client-taint.ts";
import type { EngineParts, OpenedEngine } from "./engine.ts";
import { outsideOf } from "./outside.ts";
import { policyQuestions, replayer, type ReplayPowers } from "./replay.ts";

export interface OpenedDoors {
  readonly doors: Doors;
  /** Opens the HTTP door; with `exactPort` a taken port is an error, else the next free one is used. */
  listen(options?: { exactPort?: boolean }): Promise<string>;
  /** Opens the HTTP door for other processes of the same user alone, without an address. */
  listenLocally(): Promise<void>;
}

export interface DoorParts extends EngineParts {
  readonly engine: OpenedEngine;
  readonly chat: Chat;
}

const MAX_COUNTED_ADDRESSES = 20_000;
const PORTS_TO_TRY = 20;

export function openDoors(base: Base, parts: DoorParts): OpenedDoors {
  const { config, dataDir, closing } = base;
  const { engine } = parts.engine;
  const doors = doorsOf(base, parts);
  let http: HttpDoor | null = null;
  const openHttp = (): HttpDoor =>
    (http = createHttpDoor(doors, async () =>
      (await import("../server/http/web-app.ts")).createWebHandler(doors),
    ));
  // Nothing new comes in, what runs ends within the grace period, and its answers go out before connections are closed.
  closing.defer(async () => {
    http?.stopAccepting();
    await engine.drain(config.server.shutdownGraceSeconds * 1000);
    await http?.close();
  });
  return {
    doors,
    async listen({ exactPort = false } = {}) {
      const url = await listenAtFreePort(openHttp(), config.server, exactPort);
      dataDir.announce(url);
      return url;
    },
    async listenLocally() {
      const socket = dataDir.socketPlace();
      await openHttp().listenAt(socket);
      dataDir.announce(null, socket);
    },
  };
}

function doorsOf(base: Base, parts: DoorParts): Doors {
  const { config, options, store, metrics, registry, settings, ids, now } = base;
  const { record, telemetry, governance, identity, limits, reach } = parts;
  const { engine, gate, approvals, standing } = parts.engine;
  const { upstream } = reach;
  const recorded: ReplayPowers = {
    executions: store.executions,
    policyPath: config.policyPath,
    auditedOf: (caller, id) => record.history.audited(caller, id),
    registry,
    gate,
    draft: governance.draft,
  };
  return {
    engine,
    identity: identity.identity,
    directory: identity.directory,
    registry,
    history: record.history,
    live: record.live,
    metrics,
    mode: governance.mode,
    governance: governance.governance,
    relations: governance.relations,
    documents: governance.documents,
    policies: governance.policies,
    budgets: limits.budgets,
    approvals: approvals.inbox,
    questions: reach.powers.questions,
    planStep: createPlanStep({ engine, log: record.log, toolsOn: settings.toolsOn }),
    chat: parts.chat,
    work: createWorkReading(store, record.masker),
    runs: reach.powers.work.runs,
    schedules: reach.powers.work.schedules,
    clientTaint: createClientTaint({
      governance: governance.governance,
      brings: (outcome) =>
        sourcesOf(outcome, registry.get(outcome.toolName), outsideOf(config.workspace)),
    }),
    assets: reach.powers.assets,
    webhooks: reach.webhooks.admin,
    models: reach.models,
    agentRecords: createAgentRecords({
      directory: identity.directory,
      models: reach.models,
      servers: upstream.admin,
      note: record.note,
    }),
    servers: upstream.admin,
    apis: upstream.apis,
    toolDrafts: reach.toolDrafts.admin,
    upstreams: upstream.upstreams,
    logins: upstream.logins,
    visibility: governance.visibility,
    standing,
    listing: async ({ capsuleId }) =>
      (capsuleId === null ? null : await identity.capsules.find(capsuleId))?.listing ?? "full",
    replay: replayer(recorded),
    policyQuestion: policyQuestions(recorded),
    audit: record.note,
    ledger: record.ledger,
    soleTenant: () => Promise.resolve(LOCAL_TENANT),
    capacity: createCapacity(config.server),
    turns: mainThread,
    connections: createConnections(() => connectionLimits(maxFiles())),
    clients: createClients(config.server.trustedProxies),
    addressThrottle: createAddressThrottle({
      state: createMemoryState({ now, maxCounters: MAX_COUNTED_ADDRESSES }),
      perMinute: () => (config.rateLimit.enabled ? governance.governance.limits.perIp : null),
    }),
    requests: limits.requests,
    health: reach.health,
    tracing: telemetry.tracing,
    log: record.log,
    ids,
    masker: record.masker,
    now,
    settings,
    examine: createExaminer(() => ({
      dataDir: config.dataDir,
      owner: readOwner(config.dataDir),
      config,
      portGiven: options.origins?.["server.port"]?.source !== "default",
      faults: [],
      reach: ofOwnParts(base, parts),
    })),
    diagnose: createDiagnosis(base, parts),
    shownSettings: () => shownSettings({ config, origins: options.origins ?? {} }),
  };
}

/** A server asks its own parts instead of calling itself. */
const ofOwnParts = ({ store }: Base, { reach }: DoorParts): DoctorReach => ({
  async readiness() {
    const { ready, checks } = await reach.health.check();
    return { status: ready ? 200 : 503, checks };
  },
  database: () =>
    store.ping().then(
      () => true,
      () => false,
    ),
});

async function listenAtFreePort(
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
