// What every part is opened with: settings, storage, ids, the registry, and the links to parts that are opened later.
import { hkdfSync } from "node:crypto";
import type { Config } from "../config/config.ts";
import type { JsonObject } from "../contract/call.ts";
import type { Tool } from "../contract/tool.ts";
import type { Engine } from "../core/engine/engine.ts";
import { createValidators, type Validators } from "../core/gate/validators.ts";
import type { ResilientRunner } from "../core/run/resilient.ts";
import { LOCAL_TENANT } from "../core/identity/bootstrap.ts";
import type { Policies } from "../governance/policy/policy.ts";
import type { Sandbox } from "../reach/sandbox/sandbox.ts";
import type { DoorSettings } from "../server/doors.ts";
import type { Action } from "../storage/store/store.ts";
import { NATIVE_TOOLS } from "../tools/index.ts";
import { openRegistry, type Registry } from "../tools/registry.ts";
import { createIds, type Ids } from "../util/ids.ts";
import { VERSION } from "../util/version.ts";
import { createLate, type Late } from "./late.ts";
import type { AppOptions } from "./options.ts";
import type { RightsWatch } from "./rights-watch.ts";
import type { Storage } from "./storage.ts";

/** Who acts when the server does something by itself. */
export const SYSTEM = { tenantId: LOCAL_TENANT, userId: "system" } as const;

/** Writes an event that is no call; durable when it resolves. */
export type RecordNote = (
  action: Action,
  who: { readonly tenantId: string; readonly userId: string },
  body: JsonObject,
) => Promise<void>;

export interface Base extends Storage {
  readonly config: Config;
  readonly options: AppOptions;
  /** Each part registers here how it is closed, right after it was opened. */
  readonly closing: AsyncDisposableStack;
  readonly now: () => number;
  readonly ids: Ids;
  /** The same on every instance of one database. */
  readonly serverSecret: string;
  readonly settings: DoorSettings;
  readonly nativeTools: readonly Tool[];
  readonly registry: Registry;
  readonly validators: Validators;
  readonly links: Links;
}

/** Parts that are opened after others which use them. */
export interface Links {
  readonly policies: Late<Policies>;
  readonly sandbox: Late<Sandbox>;
  readonly standing: Late<RightsWatch>;
  readonly engine: Late<Engine>;
  readonly breakers: Late<Pick<ResilientRunner, "figures">>;
}

export async function openBase(
  storage: Storage,
  config: Config,
  options: AppOptions,
  closing: AsyncDisposableStack,
): Promise<Base> {
  const { store } = storage;
  const ids = createIds();
  const serverSecret = await store.facts.putIfAbsent("server.secret", ids.hex(32));
  const nativeTools = [...NATIVE_TOOLS, ...(options.tools ?? [])];
  return {
    ...storage,
    config,
    options,
    closing,
    now: options.now ?? Date.now,
    ids,
    serverSecret,
    settings: doorSettings(config, serverSecret),
    nativeTools,
    registry: await openRegistry(store, nativeTools, options.now),
    validators: createValidators(),
    links: {
      policies: createLate("the policy engine"),
      sandbox: createLate("the sandbox"),
      standing: createLate("the watch over rights"),
      engine: createLate("the engine"),
      breakers: createLate("the runner of native tools"),
    },
  };
}

function doorSettings({ server, features }: Config, serverSecret: string): DoorSettings {
  return {
    version: VERSION,
    maxBodyBytes: server.maxBodyBytes,
    allowedHosts: server.allowedHosts,
    fastPath: server.fastPath,
    toolsOn: features.mcpTools,
    mcpSessionTimeoutMs: server.sessionTimeoutSeconds * 1000,
    stateKey: Buffer.from(hkdfSync("sha256", serverSecret, "", "mcp request state", 32)),
    publicUrl: server.publicUrl === undefined ? null : new URL(server.publicUrl).origin,
    baseUrl: "",
    localUrl: "",
  };
}
