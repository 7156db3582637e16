// Servers of the settings: rows like the others, made, changed and removed by every start.
import { homedir } from "node:os";
import { resolve } from "node:path";
import type { Caller, Json, JsonObject } from "../../../contract/call.ts";
import { AppError } from "../../../contract/errors.ts";
import type { Action, ServerRow, ServerTransport, Store } from "../../../storage/store/store.ts";
import { canonicalJson } from "../../../util/json/json.ts";
import type { ServerConfig } from "../config.ts";
import type { OpenedCredentials } from "../credentials/credentials.ts";
import { readTransport, readSettings, type ResolveProgram } from "./input.ts";
import { isServerName } from "../definitions/names.ts";
import type { ToolLinks } from "./tool-links.ts";
import { credentialName } from "../credentials/plain-secrets.ts";
import type { Review } from "../definitions/review.ts";
import type { TransportInput } from "./server-admin.ts";

export interface ConfiguredServer {
  readonly servers: Readonly<Record<string, DeepReadonly<ServerConfig>>>;
  /** Relative paths start here. */
  readonly folder: string;
  readonly tenantId: string;
}

type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T;

export interface ConfiguredPowers {
  readonly store: Pick<Store, "servers" | "serverTools">;
  readonly credentials: Pick<OpenedCredentials, "put" | "of">;
  readonly review: Pick<Review, "registerTools" | "unregisterTools">;
  readonly links: Pick<ToolLinks, "unlink">;
  readonly resolveProgram: ResolveProgram;
  readonly removeFolders: (server: string) => Promise<void>;
  readonly now: () => number;
  readonly note: (
    action: Action,
    who: { tenantId: string; userId: string },
    body: JsonObject,
  ) => Promise<void>;
  readonly report: (fields: object, message: string) => void;
}

export async function applyConfiguredServers(
  configured: ConfiguredServer,
  p: ConfiguredPowers,
): Promise<void> {
  const { servers } = configured;
  const known = new Map((await p.store.servers.list()).map((row) => [row.name, row]));
  for (const [name, config] of Object.entries(servers))
    await applyServer(name, config, known.get(name) ?? null, configured, p);
  for (const row of known.values())
    if (row.origin === "configuration" && !Object.hasOwn(servers, row.name))
      await removeServer(row, p);
}

async function applyServer(
  name: string,
  config: DeepReadonly<ServerConfig>,
  before: ServerRow | null,
  { folder, tenantId }: ConfiguredServer,
  p: ConfiguredPowers,
): Promise<void> {
  if (!isServerName(name))
    throw new AppError(
      "BAD_REQUEST",
      "invalid_input",
      `mcpServers.${name}: a server cannot be called as a category of tools`,
      { remedy: "give it another name" },
    );
  const { transport, values } = await transportOf(name, config, folder, p);
  if (before !== null && before.tenantId !== tenantId)
    throw new AppError(
      "CONFLICT",
      "already_exists",
      `mcpServers.${name}: another tenant has a server of this name`,
      { remedy: "give it another name" },
    );
  const at = p.now();
  const settings = readSettings(
    { timeoutMs: config.timeout * 1000, credentials: config.credentials },
    before?.settings,
  );
  const facts = {
    description: config.description,
    transport,
    settings,
    enabled: !config.disabled,
    origin: "configuration" as const,
  };
  const row: ServerRow =
    before === null
      ? { name, tenantId, ...facts, createdBy: "system", createdAt: at, updatedAt: at }
      : { ...before, ...facts };
  const isChanged = before === null || textOf(before) !== textOf(row);
  if (before === null) await p.store.servers.create(row);
  else if (isChanged) await p.store.servers.update(name, { ...facts, updatedAt: at });
  await seal(row, values, p);
  if (!isChanged) return;
  await p.review.registerTools(row);
  await p.note(
    before === null ? "upstream.added" : "upstream.changed",
    { tenantId, userId: "system" },
    { server: name, kind: transport.kind, origin: "configuration", enabled: row.enabled },
  );
}

/** A missing program affects its own server only, which is shown as down. */
async function transportOf(
  name: string,
  config: DeepReadonly<ServerConfig>,
  folder: string,
  p: ConfiguredPowers,
): Promise<{ transport: ServerTransport; values: Record<string, string> }> {
  const { input, values } = inputOf(config, folder);
  const resolveProgram: ResolveProgram = async (argv, cwd, options) => {
    try {
      return await p.resolveProgram(argv, cwd, options);
    } catch (cause) {
      if (!(cause instanceof AppError)) throw cause;
      p.report({ server: name, fault: cause.fault }, "a server of the settings cannot be started");
      return { argv, folders: [] };
    }
  };
  return { transport: (await readTransport(input, resolveProgram)).transport, values };
}

/** Only changed values are sealed again, since another credential means other connections. */
async function seal(
  row: ServerRow,
  values: Readonly<Record<string, string>>,
  p: ConfiguredPowers,
): Promise<void> {
  if (Object.keys(values).length === 0 || (await isSealed(row, values, p))) return;
  for (const [name, value] of Object.entries(values)) await p.credentials.put(row, "", name, value);
}

async function isSealed(
  row: ServerRow,
  values: Readonly<Record<string, string>>,
  p: ConfiguredPowers,
): Promise<boolean> {
  try {
    const credential = await p.credentials.of(
      { ...row, settings: { ...row.settings, credentials: "shared" } },
      "",
    );
    const texts =
      row.transport.kind === "stdio" ? await credential.env() : await credential.headers();
    return (
      canonicalJson(Object.values(texts).sort()) === canonicalJson(Object.values(values).sort())
    );
  } catch {
    // Not there, or not readable: stored anew.
    return false;
  }
}

async function removeServer(row: ServerRow, p: ConfiguredPowers): Promise<void> {
  const tools = await p.store.serverTools.list(row.name);
  await p.review.unregisterTools(row.name);
  await p.links.unlink(
    operator(row.tenantId),
    tools.map(({ name }) => name),
  );
  await p.store.servers.remove(row.name);
  // Files that cannot be removed do not prevent the start.
  if (row.transport.kind === "stdio")
    await p
      .removeFolders(row.name)
      .catch((cause: unknown) =>
        p.report({ err: cause, server: row.name }, "the folder of a server could not be removed"),
      );
  await p.note(
    "upstream.removed",
    { tenantId: row.tenantId, userId: "system" },
    { server: row.name, origin: "configuration" },
  );
}

function textOf({ updatedAt: _, ...row }: ServerRow): string {
  return canonicalJson(row as unknown as Json);
}

/** Every value is treated as a credential: it may have come from `${env:…}`. */
function inputOf(
  config: DeepReadonly<ServerConfig>,
  folder: string,
): { input: TransportInput; values: Record<string, string> } {
  const values: Record<string, string> = {};
  const sealed = (texts: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(
      Object.entries(texts).map(([name, text]) => {
        if (text === "") return [name, text];
        const credential = credentialName(name);
        values[credential] = text;
        return [name, `\${credential:${credential}}`];
      }),
    );
  if (config.url !== undefined)
    return {
      input: {
        kind: config.type === "sse" ? "sse" : "http",
        url: config.url,
        headers: sealed(config.headers),
        auth: config.auth,
      },
      values,
    };
  const command = typeof config.command === "string" ? [config.command] : (config.command ?? []);
  const input: TransportInput = {
    kind: "stdio",
    argv: [...command, ...config.args],
    cwd: absolute(config.cwd ?? ".", folder),
    env: sealed(config.env),
    isolation: config.isolation,
    folders: config.folders.map((text) => folderOf(text, folder)),
    network: config.network.length === 0 ? "none" : { hosts: config.network },
    localSockets: config.localSockets,
  };
  return { input, values };
}

function folderOf(text: string, folder: string): { path: string; access: "ro" | "rw" } {
  const [, path = text, access = "ro"] = /^(.*):(ro|rw)$/.exec(text) ?? [];
  return { path: absolute(path, folder), access: access === "rw" ? "rw" : "ro" };
}

function absolute(path: string, folder: string): string {
  return path === "~" || path.startsWith("~/")
    ? resolve(homedir(), path.slice(2))
    : resolve(folder, path);
}

/** The operator who wrote the settings, as a caller. */
const operator = (tenantId: string): Caller => ({
  tenantId,
  userId: "system",
  role: "admin",
  roles: [],
  plan: null,
  plans: { tenant: null, user: null, key: null },
  level: "admin",
  scopes: [],
  capsuleId: null,
  keyId: null,
  limits: null,
  via: "anonymous",
});
