// Capsules of the actor's tenant and their versions: created, edited, drafted, activated, compared.
import {
  CAPSULE_DEFAULTS,
  type AgentConfig,
  type CapsuleSettings,
  type ToolPolicy,
} from "../../contract/agent-config.ts";
import type { Caller, Json, JsonObject } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import { CATEGORIES, EFFECTS } from "../../contract/tool.ts";
import type {
  Action,
  CapsuleBody,
  CapsuleRow,
  CapsuleVersionRow,
  Listing,
  Store,
} from "../../storage/store/store.ts";
import type { Ids } from "../../util/ids.ts";
import { canonicalJson } from "../../util/json/json.ts";
import { created, invalid, missing, ours, type ListPage } from "./directory-faults.ts";

type SettingsChange = Partial<Omit<CapsuleSettings, "agentConfig">> & {
  /** Fields that are named are replaced. */
  readonly agentConfig?: Partial<AgentConfig>;
};

export interface NewCapsule extends SettingsChange {
  readonly id?: string;
  readonly name: string;
  readonly capabilities: readonly string[];
  readonly default?: boolean;
  readonly status?: "draft" | "active" | "archived";
  readonly listing?: Listing;
}

export type CapsuleChange = SettingsChange &
  Partial<Pick<CapsuleRow, "name" | "status" | "isDefault" | "capabilities" | "listing">>;
export type CapsuleDraft = Omit<CapsuleChange, "status" | "isDefault">;

/** One field that two versions have different. */
export interface CapsuleDifference {
  /** JSON pointer. */
  readonly path: string;
  readonly from: Json;
  readonly to: Json;
}

export type CheckedCapsule<T> = Omit<T, "agentConfig"> & { readonly agentConfig?: AgentConfig };

/** Names of models and servers that come with the capsule. */
export interface Among {
  readonly models: readonly string[];
  readonly servers: readonly string[];
}
const NOTHING: Among = { models: [], servers: [] };

export interface CapsuleAdmin {
  createCapsule(actor: Caller, capsule: NewCapsule): Promise<CapsuleRow>;
  getCapsule(actor: Caller, id: string): Promise<CapsuleRow>;
  listCapsules(actor: Caller, page: ListPage): Promise<CapsuleRow[]>;
  /** A new version that acts at once. */
  updateCapsule(actor: Caller, id: string, change: CapsuleChange): Promise<CapsuleRow>;
  /** A new version that does not act until it is activated. */
  draftCapsule(actor: Caller, id: string, change: CapsuleDraft): Promise<CapsuleVersionRow>;
  listCapsuleVersions(
    actor: Caller,
    id: string,
    page: { readonly limit: number; readonly before?: number },
  ): Promise<CapsuleVersionRow[]>;
  getCapsuleVersion(actor: Caller, id: string, version: number): Promise<CapsuleVersionRow>;
  compareCapsuleVersions(
    actor: Caller,
    id: string,
    between: { readonly from: number; readonly to: number },
  ): Promise<CapsuleDifference[]>;
  /** A draft begins to act; an older body comes back as a new version. */
  activateCapsuleVersion(actor: Caller, id: string, version: number): Promise<CapsuleRow>;
  /**
   * The change with canonical names; throws where it names what does not exist. `among`: what counts as existing
   * besides.
   */
  checkCapsule<T extends CapsuleDraft>(
    actor: Caller,
    change: T,
    now?: CapsuleSettings,
    among?: Among,
  ): Promise<CheckedCapsule<T>>;
}

export interface CapsuleAdminPowers {
  readonly store: Pick<Store, "capsules" | "servers">;
  readonly ids: Ids;
  readonly now: () => number;
  readonly commit: (actor: Caller, action: Action, body: Record<string, unknown>) => Promise<void>;
  readonly toolName: (name: string) => string | null;
  /** Models that a capsule of the tenant may name. */
  readonly modelNames: (tenantId: string) => Promise<readonly string[]>;
}

const PIN = /^[0-9a-f]{12}$/;

export function createCapsuleAdmin(p: CapsuleAdminPowers): CapsuleAdmin {
  const { capsules } = p.store;
  const find = async (actor: Caller, id: string): Promise<CapsuleRow> =>
    ours(actor, await capsules.get(id), "capsule", id);
  const versionOf = async (
    actor: Caller,
    id: string,
    version: number,
  ): Promise<CapsuleVersionRow> => {
    await find(actor, id);
    const row = await capsules.version(id, version);
    if (row) return row;
    throw new AppError("NOT_FOUND", "unknown", `capsule '${id}' has no version ${version}`, {
      remedy: `list them first: ostiary capsules versions ${id}`,
    });
  };

  /** The change with canonical names, or the fault of the first field that names what does not exist. */
  const checked = async <T extends CapsuleDraft>(
    actor: Caller,
    change: T,
    now: CapsuleSettings,
    among = NOTHING,
  ): Promise<CheckedCapsule<T>> => {
    await requireModels(p, actor, change, among);
    const { agentConfig, capabilities } = change;
    return {
      ...change,
      ...(capabilities ? { capabilities: toolNames(p, capabilities) } : {}),
      ...(agentConfig
        ? {
            agentConfig: {
              ...now.agentConfig,
              ...(await checkedConfig(p, actor, agentConfig, among)),
            },
          }
        : {}),
    };
  };

  return {
    async createCapsule(actor, { id, default: isDefault = false, ...capsule }) {
      const now = p.now();
      const row: CapsuleRow = {
        id: id ?? p.ids.next("cap", now),
        tenantId: actor.tenantId,
        version: 1,
        parent: null,
        status: "active",
        isDefault,
        listing: "full",
        ...CAPSULE_DEFAULTS,
        ...(await checked(actor, capsule, CAPSULE_DEFAULTS)),
        createdAt: now,
        updatedAt: now,
      };
      await created(capsules.create(row), "capsule", row.id);
      await p.commit(actor, "capsule.created", {
        capsuleId: row.id,
        capabilities: row.capabilities,
      });
      return row;
    },
    getCapsule: find,
    listCapsules: (actor, page) => capsules.list(actor.tenantId, page),
    async updateCapsule(actor, id, change) {
      const clean = await checked(actor, change, await find(actor, id));
      const edit = { ...clean, updatedAt: p.now(), author: actor.userId };
      const row = ours(actor, await capsules.update(id, edit), "capsule", id);
      const { version } = row;
      await p.commit(actor, "capsule.changed", { capsuleId: id, version, change: clean });
      return row;
    },
    async draftCapsule(actor, id, change) {
      const clean = await checked(actor, change, await find(actor, id));
      const edit = { ...clean, updatedAt: p.now(), author: actor.userId };
      const row = await capsules.draft(id, edit);
      if (!row) throw missing("capsule", id);
      const { version } = row;
      await p.commit(actor, "capsule.changed", {
        capsuleId: id,
        version,
        draft: true,
        change: clean,
      });
      return row;
    },
    async listCapsuleVersions(actor, id, page) {
      await find(actor, id);
      return capsules.versions(id, page);
    },
    getCapsuleVersion: versionOf,
    async compareCapsuleVersions(actor, id, { from, to }) {
      const [one, other] = [await versionOf(actor, id, from), await versionOf(actor, id, to)];
      return differences(one.body, other.body);
    },
    async activateCapsuleVersion(actor, id, version) {
      const { body } = await versionOf(actor, id, version);
      // What it names may have gone since it was written.
      await checked(actor, body, CAPSULE_DEFAULTS);
      const edit = { updatedAt: p.now(), author: actor.userId };
      const row = ours(actor, await capsules.activate(id, version, edit), "capsule", id);
      const facts = { capsuleId: id, version: row.version, activated: version };
      await p.commit(actor, "capsule.changed", facts);
      return row;
    },
    checkCapsule: (actor, change, now = CAPSULE_DEFAULTS, among = NOTHING) =>
      checked(actor, change, now, among),
  };
}

/** Field by field, settings one level deeper; lists and maps are compared whole. */
export function differences(from: CapsuleBody, to: CapsuleBody): CapsuleDifference[] {
  const flat = ({ agentConfig, ...rest }: CapsuleBody): Map<string, Json> =>
    new Map([
      ...Object.entries(rest as unknown as JsonObject).map(
        ([name, value]) => [`/${name}`, value] as const,
      ),
      ...Object.entries(agentConfig as unknown as JsonObject).map(
        ([name, value]) => [`/agentConfig/${name}`, value] as const,
      ),
    ]);
  const [one, other] = [flat(from), flat(to)];
  return [...new Set([...one.keys(), ...other.keys()])]
    .map((path) => ({ path, from: one.get(path) ?? null, to: other.get(path) ?? null }))
    .filter((field) => canonicalJson(field.from) !== canonicalJson(field.to));
}

type Names = Pick<CapsuleAdminPowers, "toolName">;

/** Canonical names; an unknown tool in a capsule is a typo, not a wish. */
function toolNames(p: Names, names: readonly string[]): string[] {
  return names.map((name, index) => {
    const [plain = name, pin] = name.split("@", 2);
    if (pin !== undefined && !PIN.test(pin))
      throw invalid(
        `/capabilities/${index}`,
        `expected ${plain}@ and the first 12 characters of a pin, got '${name}'`,
        `see its pins: ostiary servers tools ${plain.split("/", 1)[0] ?? plain}`,
      );
    const known = name === "*" ? "*" : p.toolName(plain);
    if (known !== null) return pin === undefined ? known : `${known}@${pin}`;
    throw invalid(
      `/capabilities/${index}`,
      `there is no tool '${name}'`,
      "list the tools: GET /api/v1/tools",
    );
  });
}

async function checkedConfig(
  p: CapsuleAdminPowers,
  actor: Caller,
  { toolPolicy, mcpServers, ...rest }: Partial<AgentConfig>,
  among: Among,
): Promise<Partial<AgentConfig>> {
  const known = (await p.store.servers.list(actor.tenantId)).map(({ name }) => name);
  const servers = [...known, ...among.servers];
  for (const [name, definition] of Object.entries(mcpServers ?? {})) {
    const path = `/agentConfig/mcpServers/${name}`;
    if (!servers.includes(name))
      throw invalid(
        path,
        `there is no server '${name}'`,
        `add it first: ostiary servers add ${name}`,
      );
    if (Object.keys(definition).length > 0)
      throw invalid(
        path,
        "expected {}: a capsule names a server, and does not define it",
        "a file with definitions adds servers for review: ostiary agents import",
      );
  }
  const words = (list: keyof ToolPolicy): string[] =>
    (toolPolicy?.[list] ?? []).map((word, index) =>
      policyWord(p, word, `/agentConfig/toolPolicy/${list}/${index}`, servers),
    );
  return {
    ...rest,
    ...(mcpServers ? { mcpServers } : {}),
    ...(toolPolicy
      ? { toolPolicy: { auto: words("auto"), ask: words("ask"), never: words("never") } }
      : {}),
  };
}

function policyWord(p: Names, word: string, path: string, servers: readonly string[]): string {
  const [group = word, tool] = word.split("/", 2);
  if (tool === undefined) {
    if ((EFFECTS as readonly string[]).includes(word)) return word;
    const known = p.toolName(word);
    if (known !== null) return known;
    throw invalid(
      path,
      `there is no governance class or tool '${word}'`,
      `classes are ${EFFECTS.join(", ")}`,
    );
  }
  if (tool === "*") {
    if ((CATEGORIES as readonly string[]).includes(group) || servers.includes(group)) return word;
    throw invalid(
      path,
      `there is no category or server '${group}'`,
      `categories are ${CATEGORIES.join(", ")}`,
    );
  }
  const known = p.toolName(word);
  if (known !== null) return known;
  throw invalid(path, `there is no tool '${word}'`, "list the tools: GET /api/v1/tools");
}

const MODEL_FIELDS = [
  "imageModel",
  "voiceModel",
  "transcriptionModel",
  "visionModel",
  "embeddingModel",
] as const;

/** Each model that is named must resolve to a configured one. */
async function requireModels(
  p: CapsuleAdminPowers,
  { tenantId }: Caller,
  change: SettingsChange,
  among: Among,
): Promise<void> {
  const named = [
    { path: "/agentConfig/chatModel", name: change.agentConfig?.chatModel },
    ...MODEL_FIELDS.map((field) => ({ path: `/${field}`, name: change[field] })),
  ].flatMap(({ path, name }) => (typeof name === "string" ? [{ path, name }] : []));
  if (named.length === 0) return;
  const known = [...(await p.modelNames(tenantId)), ...among.models];
  for (const { path, name } of named)
    if (!known.includes(name))
      throw invalid(path, `there is no model '${name}'`, "list the models: ostiary models list");
}
