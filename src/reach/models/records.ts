// Models as records: those of the settings, for every tenant, and those that administrators add. The engine gets its
// models here.
import type { Caller, JsonObject } from "../../contract/call.ts";
import { AppError, faultOf, type Fault } from "../../contract/errors.ts";
import {
  AlreadyExists,
  EVERY_TENANT,
  type Action,
  type ModelRow,
  type Store,
} from "../../storage/store/store.ts";
import { canonicalJson } from "../../util/json/json.ts";
import type { ModelsConfig, ModelSettings } from "./config.ts";
import type { ModelExchange } from "./exchange.ts";
import { openModels, type AdapterAnswer } from "./model.ts";
import { checkModel, checkModels, requireOneKey, withoutKey } from "./record-checks.ts";
import { createModelKeys, type ModelKeys } from "./record-keys.ts";

/** A model as people may see it: never its key. */
export type ModelView = Omit<ModelRow, "sealedKey"> & { readonly hasKey: boolean };

export interface NewModel {
  readonly name: string;
  /** As under `models` in the settings, without the key. */
  readonly settings: JsonObject;
  /** Kept sealed. */
  readonly apiKey?: string;
  /** `env:NAME`, read when the model is used. */
  readonly keyReference?: string | null;
  readonly enabled?: boolean;
  readonly position?: number;
}

export type ModelChange = Partial<Omit<NewModel, "name">>;

export type ModelTest =
  | {
      readonly ok: true;
      readonly reply: string;
      readonly ms: number;
      readonly usage: { readonly input: number; readonly output: number };
    }
  | { readonly ok: false; readonly ms: number; readonly error: Fault };

/** All of the actor's tenant; those of the settings can be read and tested, and only the settings change them. */
export interface ModelAdmin {
  list(actor: Caller): Promise<ModelView[]>;
  get(actor: Caller, name: string): Promise<ModelView>;
  create(actor: Caller, model: NewModel): Promise<ModelView>;
  update(actor: Caller, name: string, change: ModelChange): Promise<ModelView>;
  remove(actor: Caller, name: string): Promise<void>;
  /** The settings of several models that come together, as they would be kept; throws with every fault. */
  check(actor: Caller, models: readonly NewModel[]): Promise<readonly JsonObject[]>;
  /** Requests one word from it, with its own key, and returns the result. */
  test(actor: Caller, name: string, signal: AbortSignal): Promise<ModelTest>;
}

export interface ModelRecords extends ModelAdmin {
  /** Those a tenant may use now, keys included. */
  source(tenantId: string): Promise<ModelsConfig>;
  /** Takes over the settings; called once at start. */
  importSettings(): Promise<void>;
  /** Another instance changed something. */
  forget(): void;
}

export interface ModelRecordPowers {
  readonly store: Pick<Store, "models" | "shared">;
  readonly settings: ModelsConfig;
  readonly serverSecret: string;
  readonly know: (secret: string) => void;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly exchange: (signal: AbortSignal) => ModelExchange;
  readonly now: () => number;
  readonly note: (
    action: Action,
    who: Pick<Caller, "tenantId" | "userId">,
    body: JsonObject,
  ) => Promise<void>;
  /** Sends the change signal to the other instances. */
  readonly changed: () => Promise<void>;
  /** The tenant whose log records changes by the settings. */
  readonly houseTenant: string;
}

const SHARED_LEASE_MS = 800;
const TEST_TOKENS = 16;

type ModelStore = Store["models"];

export function openModelRecords(p: ModelRecordPowers): ModelRecords {
  const { models } = p.store;
  const keys = createModelKeys(p);
  const { source, forget } = createUsableModels(p, keys);
  const changed = async (): Promise<void> => {
    forget();
    await p.changed();
  };
  return {
    source,
    forget,
    importSettings: () => importSettings(p, changed),
    check: async ({ tenantId }, made) => checkModels(await rowsOf(models, tenantId), made),
    list: async ({ tenantId }) => (await rowsOf(models, tenantId)).map(viewOf),
    get: async (actor, name) => viewOf(await find(models, actor, name)),
    ...createModelEdits(p, keys, changed),
    async test(actor, name, signal) {
      const settings = keys.opened(await find(models, actor, name));
      return testModel(actor.tenantId, name, settings, () => p.exchange(signal));
    },
  };
}

/** What each tenant may use, remembered until something changes, or for a moment where instances share the store. */
function createUsableModels(
  p: ModelRecordPowers,
  keys: ModelKeys,
): Pick<ModelRecords, "source" | "forget"> {
  const known = new Map<string, { config: ModelsConfig; learntAt: number }>();
  let epoch = 0;
  return {
    forget() {
      epoch++;
      known.clear();
    },
    async source(tenantId) {
      const hit = known.get(tenantId);
      if (hit && (!p.store.shared || p.now() - hit.learntAt < SHARED_LEASE_MS)) return hit.config;
      const began = epoch;
      const rows = (await rowsOf(p.store.models, tenantId)).filter(({ enabled }) => enabled);
      const config = Object.fromEntries(rows.map((row) => [row.name, keys.opened(row)]));
      // A change during the read may be missing from it.
      if (began === epoch) known.set(tenantId, { config, learntAt: p.now() });
      return config;
    },
  };
}

/** Writes only when the settings differ from the rows of the last start. */
async function importSettings(p: ModelRecordPowers, changed: () => Promise<void>): Promise<void> {
  const { models } = p.store;
  const before = await models.list(EVERY_TENANT);
  const at = p.now();
  const rows = Object.entries(p.settings).map(([name, settings], position): ModelRow => {
    const old = before.find((row) => row.name === name);
    return {
      tenantId: EVERY_TENANT,
      name,
      settings: withoutKey(settings as unknown as JsonObject),
      keyReference: null,
      sealedKey: null,
      source: "settings",
      enabled: true,
      position,
      createdAt: old?.createdAt ?? at,
      updatedAt: at,
    };
  });
  const facts = (list: readonly ModelRow[]): string =>
    canonicalJson(list.map(({ name, settings }) => ({ name, settings })));
  if (facts(before) === facts(rows)) return;
  await models.replaceSettings(rows);
  await changed();
  const who = { tenantId: p.houseTenant, userId: "system" };
  await p.note("config.changed", who, { models: rows.map(({ name }) => name) });
}

/** Changes by administrators, of their own tenant's models only. */
function createModelEdits(
  p: ModelRecordPowers,
  keys: ModelKeys,
  changed: () => Promise<void>,
): Pick<ModelAdmin, "create" | "update" | "remove"> {
  const { models } = p.store;
  const commit = async (actor: Caller, body: JsonObject): Promise<void> => {
    await changed();
    await p.note("config.changed", actor, body);
  };
  const checked = async ({ tenantId }: Caller, name: string, settings: JsonObject) =>
    checkModel(await rowsOf(models, tenantId), name, settings);

  return {
    async create(actor, { name, settings, apiKey, keyReference = null, ...rest }) {
      requireOneKey(apiKey, keyReference);
      const row: ModelRow = {
        tenantId: actor.tenantId,
        name,
        settings: await checked(actor, name, settings),
        keyReference,
        sealedKey: apiKey === undefined ? null : keys.seal({ ...actor, name }, apiKey),
        source: "api",
        enabled: rest.enabled ?? true,
        position: rest.position ?? 0,
        createdAt: p.now(),
        updatedAt: p.now(),
      };
      await insert(models, row);
      await commit(actor, { model: name, change: "added", settings: row.settings });
      return viewOf(row);
    },
    async update(actor, name, { settings, apiKey, keyReference, ...rest }) {
      const row = await findChangeable(models, actor, name);
      requireOneKey(apiKey, keyReference ?? null);
      const change = {
        ...rest,
        ...(settings
          ? { settings: await checked(actor, name, { ...row.settings, ...settings }) }
          : {}),
        ...(apiKey === undefined ? {} : { sealedKey: keys.seal(row, apiKey), keyReference: null }),
        ...(keyReference === undefined ? {} : { keyReference, sealedKey: null }),
        updatedAt: p.now(),
      };
      const after = await models.update(actor.tenantId, name, change);
      await commit(actor, { model: name, change: "changed", fields: Object.keys(change) });
      return viewOf(after ?? row);
    },
    async remove(actor, name) {
      await findChangeable(models, actor, name);
      if (await models.remove(actor.tenantId, name))
        await commit(actor, { model: name, change: "removed" });
    },
  };
}

/** Without its fallbacks: the answer must be the model's own. */
async function testModel(
  tenantId: string,
  name: string,
  settings: ModelSettings,
  exchange: () => ModelExchange,
): Promise<ModelTest> {
  const began = performance.now();
  const ms = (): number => Math.round(performance.now() - began);
  try {
    const alone = openModels(() => ({ [name]: { ...settings, fallbacks: [] } }));
    const [{ open }] = await alone.candidates(tenantId, "generate", { model: name });
    const adapter = await open(exchange());
    const answer = (await adapter.generate?.({
      messages: [{ role: "user", content: "Answer with the single word: pong" }],
      maxTokens: TEST_TOKENS,
    })) as AdapterAnswer<"generate">; // a candidate can generate
    return { ok: true, reply: answer.text, ms: ms(), usage: answer.usage };
  } catch (cause) {
    return { ok: false, ms: ms(), error: faultOf(cause) };
  }
}

/** A tenant's own model stands in for one of the settings with the same name. */
async function rowsOf(models: ModelStore, tenantId: string): Promise<ModelRow[]> {
  const own = await models.list(tenantId);
  const shared = await models.list(EVERY_TENANT);
  return [...own, ...shared.filter(({ name }) => !own.some((row) => row.name === name))];
}

async function find(models: ModelStore, { tenantId }: Caller, name: string): Promise<ModelRow> {
  const row = (await models.get(tenantId, name)) ?? (await models.get(EVERY_TENANT, name));
  if (row) return row;
  throw new AppError("NOT_FOUND", "unknown", `model '${name}' not found`, {
    remedy: "list the models first",
  });
}

async function findChangeable(models: ModelStore, actor: Caller, name: string): Promise<ModelRow> {
  const row = await find(models, actor, name);
  if (row.source === "api") return row;
  throw new AppError("CONFLICT", "stale", `model '${name}' comes from the settings`, {
    remedy: "change it under models in the settings, or add one with another name",
  });
}

async function insert(models: ModelStore, row: ModelRow): Promise<void> {
  try {
    await models.create(row);
  } catch (cause) {
    if (!(cause instanceof AlreadyExists)) throw cause;
    throw new AppError("CONFLICT", "already_exists", `a model '${row.name}' exists already`, {
      remedy: "choose another name, or change that one",
      cause,
    });
  }
}

function viewOf({ sealedKey, ...row }: ModelRow): ModelView {
  return { ...row, hasKey: sealedKey !== null || row.keyReference !== null };
}
