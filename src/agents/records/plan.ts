// What an import would do: every record checked as if the others of the file were there, and compared with what is.
import { CAPSULE_DEFAULTS } from "../../contract/agent-config.ts";
import type { Caller, Json, JsonObject } from "../../contract/call.ts";
import { AppError, type FieldFault } from "../../contract/errors.ts";
import type { NewModel } from "../../reach/models/records.ts";
import type { NewServer } from "../../reach/upstream/admin/server-admin.ts";
import { canonicalJson } from "../../util/json/json.ts";
import type { AgentRecordsPowers } from "./agent-records.ts";
import { capsuleEntry, modelEntry, personaEntry, rowsOf } from "./entries.ts";
import type { ReadFile } from "./file.ts";
import type { CapsuleEntry } from "./schema.ts";

export interface RecordChange {
  readonly kind: "server" | "model" | "capsule" | "persona";
  readonly id: string;
  readonly change: "created" | "changed" | "unchanged";
  /** Of one that changes: JSON pointers, and what stands there before and after. */
  readonly fields: readonly { readonly path: string; readonly from: Json; readonly to: Json }[];
}

export interface WriteStep {
  readonly change: RecordChange;
  write(signal: AbortSignal): Promise<unknown>;
}

interface Plan {
  readonly actor: Caller;
  readonly read: ReadFile;
  readonly p: AgentRecordsPowers;
  /** Runs a check; its faults are kept with their lines, and null comes back. */
  tried<T>(at: readonly string[], check: () => Promise<T> | T): Promise<T | null>;
}

/** In the order in which they are written: what others name comes first. */
export async function planImport(
  actor: Caller,
  read: ReadFile,
  faults: FieldFault[],
  p: AgentRecordsPowers,
): Promise<readonly WriteStep[]> {
  const plan: Plan = {
    actor,
    read,
    p,
    async tried(at, check) {
      try {
        return await check();
      } catch (cause) {
        if (!(cause instanceof AppError) || cause.fault.code === "INTERNAL_SERVER_ERROR")
          throw cause;
        const { errors = [], message } = cause.fault;
        const all = errors.length > 0 ? errors : [{ path: "", message }];
        for (const one of all)
          faults.push(read.fault([...at, ...one.path.split("/").slice(1)], one.message));
        return null;
      }
    },
  };
  const servers = await planServers(plan);
  const models = await planModels(plan);
  const capsules = await planCapsules(plan);
  return [...servers, ...models, ...capsules, ...(await planPersonas(plan))];
}

/** Servers that capsules define are added switched off: an administrator reviews them first. */
async function planServers({ read, actor, p, tried }: Plan): Promise<WriteStep[]> {
  const found = new Map<string, string>();
  const steps: WriteStep[] = [];
  for (const [capsule, { agentConfig }] of Object.entries(read.content.capsules))
    for (const [name, definition] of Object.entries(agentConfig?.mcpServers ?? {})) {
      const text = canonicalJson(definition as Json);
      if (text === "{}" || found.get(name) === text) continue;
      const at = ["capsules", capsule, "agentConfig", "mcpServers", name];
      await tried(at, async () => {
        if (found.has(name)) throw faulty("another capsule of the file defines it differently");
        const made = serverOf(name, definition);
        await p.servers.checkNew(actor, made);
        steps.push({
          change: { kind: "server", id: name, change: "created", fields: [] },
          write: (signal) => p.servers.add(actor, made, signal),
        });
      });
      found.set(name, text);
    }
  return steps;
}

type Definition = NonNullable<NonNullable<CapsuleEntry["agentConfig"]>["mcpServers"]>[string];

function serverOf(name: string, definition: Definition): NewServer {
  const { command, args = [], env, timeout, url, headers } = definition;
  const settings = timeout === undefined ? {} : { timeoutMs: Math.round(timeout * 1_000) };
  const made = { name, settings, enabled: false };
  if (url !== undefined) {
    if (args.length > 0 || env) throw faulty("args and env go with command, headers with url");
    return { ...made, transport: { kind: "http", url, headers } };
  }
  if (!command) throw faulty("expected command or url; {} names a server that exists");
  if (headers) throw faulty("headers go with url, args and env with command");
  return { ...made, transport: { kind: "stdio", argv: [...command, ...args], env } };
}

const faulty = (message: string): AppError => new AppError("BAD_REQUEST", "invalid_input", message);

async function planModels({ read, actor, p, tried }: Plan): Promise<WriteStep[]> {
  const wishes = Object.entries(read.content.models);
  if (wishes.length === 0) return [];
  const rows = (await p.models.list(actor)).filter(({ source }) => source === "api");
  const merged = wishes.map(([name, entry]): NewModel => {
    const now = rows.find((row) => row.name === name);
    const { keyReference } = entry;
    const settings = { ...now?.settings, ...entry.settings };
    return { name, settings, ...(keyReference === undefined ? {} : { keyReference }) };
  });
  const checked = await tried(["models"], () => p.models.check(actor, merged));
  if (!checked) return [];
  const steps = wishes.map(([name, entry], at): WriteStep & { after: readonly Json[] } => {
    const now = rows.find((row) => row.name === name);
    const settings = checked[at] ?? {};
    const next = modelEntry({
      keyReference: now?.keyReference ?? null,
      enabled: now?.enabled ?? true,
      position: now?.position ?? 0,
      ...given(entry),
      settings,
    });
    const change = changeOf("model", name, now ? modelEntry(now) : null, next);
    const wish = { ...given(entry), settings } as Omit<NewModel, "name">;
    const write = now
      ? () => p.models.update(actor, name, wish)
      : () => p.models.create(actor, { ...wish, name });
    const { fallbacks } = settings;
    return { change, write, after: Array.isArray(fallbacks) ? fallbacks : [] };
  });
  return inOrder(steps);
}

/** Those that stand in for others come first: each is checked again when it is written. */
function inOrder<S extends WriteStep & { readonly after: readonly Json[] }>(
  steps: readonly S[],
): S[] {
  const ordered = new Set<S>();
  const visit = (step: S): void => {
    if (ordered.has(step)) return;
    for (const other of steps) if (step.after.includes(other.change.id)) visit(other);
    ordered.add(step);
  };
  steps.forEach(visit);
  return [...ordered];
}

async function planCapsules({ read, actor, p, tried }: Plan): Promise<WriteStep[]> {
  const wishes = Object.entries(read.content.capsules);
  const rows = await rowsOf((page) => p.directory.listCapsules(actor, page));
  const among = {
    models: Object.keys(read.content.models),
    // A faulty one is reported where it is defined.
    servers: wishes.flatMap(([, { agentConfig }]) => definedIn(agentConfig?.mcpServers ?? {})),
  };
  const steps: WriteStep[] = [];
  for (const [id, entry] of wishes) {
    const now = rows.find((row) => row.id === id) ?? null;
    const { default: isDefault, agentConfig, ...rest } = given(entry);
    const wish = {
      ...rest,
      ...(now ? {} : { name: entry.name ?? id, capabilities: entry.capabilities ?? [] }),
      ...(agentConfig ? { agentConfig: named(agentConfig) } : {}),
    };
    const checked = await tried(["capsules", id], () =>
      p.directory.checkCapsule(actor, wish, now ?? CAPSULE_DEFAULTS, among),
    );
    if (!checked) continue;
    const next = capsuleEntry({
      ...CAPSULE_DEFAULTS,
      name: id,
      capabilities: [],
      status: "active",
      listing: "full",
      ...now,
      ...checked,
      isDefault: isDefault ?? now?.isDefault ?? false,
    });
    const { name = id, capabilities = [] } = next;
    steps.push({
      change: changeOf("capsule", id, now && capsuleEntry(now), next),
      write: now
        ? () =>
            p.directory.updateCapsule(actor, id, {
              ...wish,
              ...(isDefault === undefined ? {} : { isDefault }),
            })
        : () =>
            p.directory.createCapsule(actor, {
              ...wish,
              id,
              name,
              capabilities,
              ...(isDefault === undefined ? {} : { default: isDefault }),
            }),
    });
  }
  return steps;
}

const definedIn = (servers: Readonly<Record<string, Definition>>): string[] =>
  Object.keys(servers).filter((name) => Object.keys(servers[name] ?? {}).length > 0);

/** A capsule names its servers; what the file says of them beyond that is the servers' own. */
function named(config: NonNullable<CapsuleEntry["agentConfig"]>) {
  const { mcpServers, ...rest } = given(config);
  if (!mcpServers) return rest;
  const names = Object.keys(mcpServers).map((name) => [name, {}] as const);
  return { ...rest, mcpServers: Object.fromEntries(names) };
}

async function planPersonas({ read, actor, p, tried }: Plan): Promise<WriteStep[]> {
  const rows = await rowsOf((page) => p.directory.listPersonas(actor, page));
  const steps: WriteStep[] = [];
  for (const [id, entry] of Object.entries(read.content.personas)) {
    const now = rows.find((row) => row.id === id) ?? null;
    const wish = given(entry);
    const checked = await tried(["personas", id], () => p.directory.checkPersona(wish));
    if (!checked) continue;
    const blank = { name: id, prompt: "", traits: {}, knobs: {}, capabilities: null };
    const next = personaEntry({ ...blank, ...now, ...checked });
    steps.push({
      change: changeOf("persona", id, now && personaEntry(now), next),
      write: now
        ? () => p.directory.updatePersona(actor, id, wish)
        : () => p.directory.createPersona(actor, { ...wish, id, name: entry.name ?? id }),
    });
  }
  return steps;
}

type Given<T> = { [K in keyof T]: Exclude<T[K], undefined> };

/** The fields that the file says. */
function given<T extends object>(entry: T): Given<T> {
  const present = Object.entries(entry).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present) as Given<T>;
}

/** Field by field, settings one level deeper; lists and maps are compared whole. */
function changeOf(
  kind: RecordChange["kind"],
  id: string,
  before: object | null,
  after: object,
): RecordChange {
  if (before === null) return { kind, id, change: "created", fields: [] };
  const [one, other] = [flat(before), flat(after)];
  const fields = [...new Set([...one.keys(), ...other.keys()])]
    .map((path) => ({ path, from: one.get(path) ?? null, to: other.get(path) ?? null }))
    .filter(({ from, to }) => canonicalJson(from) !== canonicalJson(to));
  return { kind, id, change: fields.length === 0 ? "unchanged" : "changed", fields };
}

const NESTED = ["agentConfig", "settings"];

function flat(entry: object): Map<string, Json> {
  const fields = Object.entries(entry as JsonObject).flatMap(([name, value]) =>
    NESTED.includes(name)
      ? Object.entries(value as JsonObject).map(
          ([inner, one]) => [`/${name}/${inner}`, one] as const,
        )
      : [[`/${name}`, value] as const],
  );
  return new Map(fields);
}
