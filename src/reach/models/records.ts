// Models as records: those of the settings, for every tenant, and those that administrators add. The engine asks here.
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
import { createSealed, sealingKey } from "../../util/secrets/sealed.ts";
import { modelsConfig, type ModelsConfig, type ModelSettings } from "./config.ts";
import type { Exchange } from "./exchange.ts";
import { openModels, type AdapterAnswer } from "./model.ts";

/** A model as people may see it: never its key. */
export type ModelView = Omit<ModelRow, "sealedKey"> & { readonly hasKey: boolean };

export interface NewModel {
  readonly name: string;
  /** As under `models` in the settings, without the key. */
  readonly settings: JsonObject;
  /** Kept sealed. */
  readonly apiKey?: string;
  /** `env:NAME`, read when the model is asked. */
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
  /** Asks it for one word, with its own key, and says what came back. */
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
  readonly exchange: (signal: AbortSignal) => Exchange;
  readonly now: () => number;
  readonly note: (
    action: Action,
    who: Pick<Caller, "tenantId" | "userId">,
    body: JsonObject,
  ) => Promise<void>;
  /** Tells the other instances. */
  readonly changed: () => Promise<void>;
  /** The tenant whose log tells of the settings. */
  readonly houseTenant: string;
}

const PURPOSE = "ostiary models: key, v1";
/** A model's key and nothing else of the server's environment. */
const REFERENCE = /^env:(?!OSTIARY_)[A-Z][A-Z0-9_]{0,120}(?:_KEY|_TOKEN)$/;
const EXPECTED_REFERENCE =
  "expected env: and a variable whose name ends in _KEY or _TOKEN and does not begin with OSTIARY_";
const SHARED_LEASE_MS = 800;
const TEST_TOKENS = 16;

export function openModelRecords(p: ModelRecordPowers): ModelRecords {
  const { models } = p.store;
  const sealed = createSealed(sealingKey(p.serverSecret, PURPOSE));
  const known = new Map<string, { config: ModelsConfig; learntAt: number }>();
  let epoch = 0;
  const forget = (): void => {
    epoch++;
    known.clear();
  };

  const keyOf = (row: ModelRow): string | undefined => {
    if (row.source === "settings") return p.settings[row.name]?.apiKey;
    const key =
      row.sealedKey === null
        ? row.keyReference === null
          ? undefined
          : p.env[row.keyReference.slice("env:".length)]
        : sealed.open(boundTo(row), row.sealedKey);
    if (key !== undefined && key !== "") p.know(key);
    return key === "" ? undefined : key;
  };
  const openedOf = (row: ModelRow): ModelSettings => {
    const apiKey = keyOf(row);
    return { ...(row.settings as unknown as ModelSettings), ...(apiKey ? { apiKey } : {}) };
  };
  /** A tenant's own model stands in for one of the settings with the same name. */
  const rowsOf = async (tenantId: string): Promise<ModelRow[]> => {
    const own = await models.list(tenantId);
    const shared = await models.list(EVERY_TENANT);
    return [...own, ...shared.filter(({ name }) => !own.some((row) => row.name === name))];
  };
  const find = async ({ tenantId }: Caller, name: string): Promise<ModelRow> => {
    const row = (await models.get(tenantId, name)) ?? (await models.get(EVERY_TENANT, name));
    if (row) return row;
    throw new AppError("NOT_FOUND", "unknown", `model '${name}' not found`, {
      remedy: "list the models first",
    });
  };
  const ofApi = async (actor: Caller, name: string): Promise<ModelRow> => {
    const row = await find(actor, name);
    if (row.source === "api") return row;
    throw new AppError("CONFLICT", "stale", `model '${name}' comes from the settings`, {
      remedy: "change it under models in the settings, or add one with another name",
    });
  };
  const commit = async (actor: Caller, body: JsonObject): Promise<void> => {
    forget();
    await p.changed();
    await p.note("config.changed", actor, body);
  };
  /** The whole list must hold together: a fallback names another model of it. */
  const checked = async (
    { tenantId }: Caller,
    name: string,
    settings: JsonObject,
  ): Promise<JsonObject> => {
    const others = (await rowsOf(tenantId)).filter((row) => row.name !== name);
    const all = Object.fromEntries(others.map((row) => [row.name, row.settings]));
    const parsed = modelsConfig.safeParse({ ...all, [name]: withoutKey(settings) });
    if (parsed.success) return parsed.data[name] as unknown as JsonObject;
    throw invalid(
      parsed.error.issues.map(({ path: [model, ...path], message }) => ({
        path: model === name ? `/settings/${path.join("/")}` : `/settings (of ${String(model)})`,
        message,
      })),
    );
  };
  const sealedKey = (row: { tenantId: string; name: string }, apiKey: string): string => {
    p.know(apiKey);
    return sealed.close(boundTo(row), apiKey);
  };

  return {
    forget,
    async source(tenantId) {
      const hit = known.get(tenantId);
      if (hit && (!p.store.shared || p.now() - hit.learntAt < SHARED_LEASE_MS)) return hit.config;
      const began = epoch;
      const rows = (await rowsOf(tenantId)).filter(({ enabled }) => enabled);
      const config = Object.fromEntries(rows.map((row) => [row.name, openedOf(row)]));
      if (began === epoch) known.set(tenantId, { config, learntAt: p.now() });
      return config;
    },
    async importSettings() {
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
      forget();
      await p.changed();
      const who = { tenantId: p.houseTenant, userId: "system" };
      await p.note("config.changed", who, { models: rows.map(({ name }) => name) });
    },
    async check({ tenantId }, made) {
      const rows = await rowsOf(tenantId);
      const others = rows.filter((row) => !made.some(({ name }) => name === row.name));
      const parsed = modelsConfig.safeParse({
        ...Object.fromEntries(others.map((row) => [row.name, row.settings])),
        ...Object.fromEntries(made.map(({ name, settings }) => [name, withoutKey(settings)])),
      });
      const faults = (parsed.error?.issues ?? []).map(({ path: [model, ...path], message }) => ({
        path: `/${String(model)}/settings${path.map((part) => `/${String(part)}`).join("")}`,
        message,
      }));
      for (const { name, keyReference = null } of made)
        if (keyReference !== null && !REFERENCE.test(keyReference))
          faults.push({ path: `/${name}/keyReference`, message: EXPECTED_REFERENCE });
      if (!parsed.success || faults.length > 0) throw invalid(faults);
      return made.map(({ name }) => parsed.data[name] as unknown as JsonObject);
    },
    list: async ({ tenantId }) => (await rowsOf(tenantId)).map(viewOf),
    get: async (actor, name) => viewOf(await find(actor, name)),
    async create(actor, { name, settings, apiKey, keyReference = null, ...rest }) {
      requireOneKey(apiKey, keyReference);
      const row: ModelRow = {
        tenantId: actor.tenantId,
        name,
        settings: await checked(actor, name, settings),
        keyReference,
        sealedKey: apiKey === undefined ? null : sealedKey({ ...actor, name }, apiKey),
        source: "api",
        enabled: rest.enabled ?? true,
        position: rest.position ?? 0,
        createdAt: p.now(),
        updatedAt: p.now(),
      };
      try {
        await models.create(row);
      } catch (cause) {
        if (!(cause instanceof AlreadyExists)) throw cause;
        throw new AppError("CONFLICT", "already_exists", `a model '${name}' exists already`, {
          remedy: "choose another name, or change that one",
          cause,
        });
      }
      await commit(actor, { model: name, change: "added", settings: row.settings });
      return viewOf(row);
    },
    async update(actor, name, { settings, apiKey, keyReference, ...rest }) {
      const row = await ofApi(actor, name);
      requireOneKey(apiKey, keyReference ?? null);
      const change = {
        ...rest,
        ...(settings
          ? { settings: await checked(actor, name, { ...row.settings, ...settings }) }
          : {}),
        ...(apiKey === undefined ? {} : { sealedKey: sealedKey(row, apiKey), keyReference: null }),
        ...(keyReference === undefined ? {} : { keyReference, sealedKey: null }),
        updatedAt: p.now(),
      };
      const changed = await models.update(actor.tenantId, name, change);
      await commit(actor, { model: name, change: "changed", fields: Object.keys(change) });
      return viewOf(changed ?? row);
    },
    async remove(actor, name) {
      await ofApi(actor, name);
      if (await models.remove(actor.tenantId, name))
        await commit(actor, { model: name, change: "removed" });
    },
    async test(actor, name, signal) {
      const settings = openedOf(await find(actor, name));
      const began = performance.now();
      const ms = (): number => Math.round(performance.now() - began);
      try {
        const alone = openModels(() => ({ [name]: { ...settings, fallbacks: [] } }));
        const [{ open }] = await alone.candidates(actor.tenantId, "generate", { model: name });
        const adapter = await open(p.exchange(signal));
        const answer = (await adapter.generate?.({
          messages: [{ role: "user", content: "Answer with the single word: pong" }],
          maxTokens: TEST_TOKENS,
        })) as AdapterAnswer<"generate">; // a candidate can generate
        return { ok: true, reply: answer.text, ms: ms(), usage: answer.usage };
      } catch (cause) {
        return { ok: false, ms: ms(), error: faultOf(cause) };
      }
    },
  };
}

const boundTo = ({ tenantId, name }: { tenantId: string; name: string }): string =>
  JSON.stringify([tenantId, name]);

function withoutKey({ apiKey: _apiKey, ...settings }: JsonObject): JsonObject {
  return settings;
}

function viewOf({ sealedKey, ...row }: ModelRow): ModelView {
  return { ...row, hasKey: sealedKey !== null || row.keyReference !== null };
}

function requireOneKey(apiKey: string | undefined, reference: string | null): void {
  if (reference === null) return;
  if (apiKey !== undefined)
    throw invalid([
      { path: "/keyReference", message: "expected apiKey or keyReference, not both" },
    ]);
  if (!REFERENCE.test(reference))
    throw invalid([
      {
        path: "/keyReference",
        message: EXPECTED_REFERENCE,
      },
    ]);
}

function invalid(errors: readonly { path: string; message: string }[]): AppError {
  const [first] = errors;
  return new AppError("BAD_REQUEST", "invalid_input", `${first?.path}: ${first?.message}`, {
    remedy: "correct the fields listed in errors",
    errors,
  });
}
