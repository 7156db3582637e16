// The composition root: opens every part in order, and closes them in reverse.
import type { Caller } from "../contract/call.ts";
import type { Config } from "../config/config.ts";
import type { Engine } from "../core/engine/engine.ts";
import type { GatePowers } from "../core/gate/index.ts";
import { LOCAL_TENANT, OWNER } from "../core/identity/bootstrap.ts";
import { callerOf } from "../core/identity/caller-of.ts";
import type { DataDir } from "../storage/data-dir.ts";
import type { Ledger } from "../storage/ledger/ledger.ts";
import type { Store } from "../storage/store/store.ts";
import { openBase } from "./base.ts";
import { openChat } from "./chat.ts";
import { openDoors, type OpenedDoors } from "./doors.ts";
import { openEngine } from "./engine.ts";
import { openGovernance } from "./governance.ts";
import { openIdentity } from "./identity.ts";
import { openLimits } from "./limits.ts";
import type { AppOptions } from "./options.ts";
import { openReach } from "./reach.ts";
import { openRecord } from "./record.ts";
import { openStorage, type Storage } from "./storage.ts";
import { openTelemetry } from "./telemetry.ts";
import { recoverAfterCrash, startUpkeep } from "./upkeep.ts";

export type { AppOptions } from "./options.ts";

export interface App extends OpenedDoors {
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
  /** Drains, ends, records the stop, gives the data directory free. */
  close(): Promise<void>;
}

export async function createApp(config: Config, options: AppOptions = {}): Promise<App> {
  const closing = new AsyncDisposableStack();
  try {
    const storage = await openStorage(config, options, closing);
    return await storage.store.alone(() => compose(storage, config, options, closing));
  } catch (cause) {
    // A start that fails leaves nothing open, and what failed first is what is reported.
    await closing.disposeAsync().catch(() => undefined);
    throw cause;
  }
}

async function compose(
  storage: Storage,
  config: Config,
  options: AppOptions,
  closing: AsyncDisposableStack,
): Promise<App> {
  const base = await openBase(storage, config, options, closing);
  const record = openRecord(base);
  const telemetry = await openTelemetry(base, record);
  const governance = await openGovernance(base, record);
  const identity = await openIdentity(base, record, governance);
  const limits = openLimits(base, record, governance);
  const reach = await openReach(base, { record, telemetry, governance, identity, limits });
  const outer = { record, telemetry, governance, identity, limits, reach };
  const engine = openEngine(base, outer);
  const parts = { ...outer, engine };
  await recoverAfterCrash(base, parts);
  startUpkeep(base, parts);
  await record.start();
  const chat = openChat(base, parts);
  const doors = openDoors(base, { ...parts, chat });
  await probe(engine.engine, await callerOf(storage.store, OWNER, null), record.log);
  reach.webhooks.start();
  await reach.upstream.start();
  await record.relay.start();
  await reach.powers.work.start();
  storage.dataDir.announce(null);

  let closed: Promise<void> | null = null;
  return {
    ...doors,
    engine: engine.engine,
    gate: engine.gate,
    store: storage.store,
    ledger: record.ledger,
    dataDir: storage.dataDir,
    storeKind: storage.store.kind,
    toolCount: base.registry.stats().totalTools,
    newAdminKey: identity.newAdminKey,
    async loginUrl() {
      const owner = { tenantId: LOCAL_TENANT, userId: OWNER, keyId: null };
      const { token } = await identity.sessions.createLoginToken(owner);
      return `${base.settings.baseUrl}/?t=${token}`;
    },
    close: () => (closed ??= closing.disposeAsync()),
  };
}

/** Asks the visible part of the gate once, so that the log says why when the list of tools is empty. */
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
