// Configuration: defaults, then the file, the environment, the flags. Read once, checked as a whole, frozen.
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, parse, resolve } from "node:path";
import type { z } from "zod";
import { ConfigError, fault, refusal, type ConfigFault } from "./faults.ts";
import { configLayout, parseText, variableOf, type Layout, type Leaf } from "./leaves.ts";
import { hasReference, resolveReferences, type ReferenceBase } from "./references.ts";
import { configJsonSchema, configSchema, NOT_AVAILABLE } from "./schema.ts";
import { nearest } from "../util/text/nearest.ts";

export { ConfigError, configJsonSchema };
export type { ConfigFault };

export type Config = DeepReadonly<z.output<typeof configSchema> & { workspace: string }>;

type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T;

/** Where a value came from; `where` is file:line:column, the variable or the flag. */
export interface SettingOrigin {
  readonly source: "default" | "file" | "environment" | "flag";
  readonly where: string;
  /** As written, before references were resolved: safe to show. */
  readonly written: unknown;
}

export interface ConfigSources {
  /** `--config`; else OSTIARY_CONFIG, else `<dataDir>/ostiary.yaml` when it exists. */
  readonly file?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Texts by key, e.g. `{ "server.port": "8080" }`. */
  readonly flags?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  readonly home?: string;
}

export interface LoadedConfig {
  readonly config: Config;
  /** By key. */
  readonly origins: Readonly<Record<string, SettingOrigin>>;
  readonly file: string | null;
  /** Files that settings were read from by reference. */
  readonly secretFiles: readonly string[];
}

interface Setting extends SettingOrigin {
  readonly value: unknown;
  /** Place of each item of a list in a file. */
  readonly items?: readonly string[];
}

/** Throws one ConfigError that lists every fault. */
export async function loadConfig(sources: ConfigSources): Promise<LoadedConfig> {
  const cwd = sources.cwd ?? process.cwd();
  const home = sources.home ?? homedir();
  const layout = configLayout();
  const faults: ConfigFault[] = [];
  const environment = fromEnvironment(layout, sources.env, faults);
  const flags = fromFlags(layout, sources.flags ?? {});

  const found = chooseFile(sources, flags.get("dataDir") ?? environment.get("dataDir"), cwd, home);
  const file = found === null ? null : await fromFile(found.path, layout, faults);
  const fileFolder = found === null ? cwd : dirname(found.path);
  if (found?.implicit && file?.has("dataDir")) {
    const { where } = file.get("dataDir") as Setting;
    faults.push(
      fault(
        where,
        "dataDir",
        "cannot be set in a file that was found through it; use --data-dir or OSTIARY_DATA_DIR",
      ),
    );
  }

  const origins: Record<string, SettingOrigin> = {};
  const values: Record<string, unknown> = {};
  const secretFiles = new Set<string>();
  const onFile = (path: string): void => void secretFiles.add(path);
  for (const [layer, folder] of [
    [file, fileFolder],
    [environment, cwd],
    [flags, cwd],
  ] as const) {
    for (const [key, setting] of layer ?? []) {
      const leaf = layout.leaves.get(key) as Leaf;
      values[key] = check(leaf, setting, { env: sources.env, folder, onFile }, faults);
      if (key === "dataDir" || key === "workspace" || key === "governance")
        values[key] = absolute(values[key], folder, home);
      const { source, where, written } = setting;
      origins[key] = { source, where, written };
    }
  }

  const parsed = configSchema.parse(nest(values));
  const dataDir = absolute(parsed.dataDir, cwd, home) as string;
  const config: Config = {
    ...parsed,
    dataDir,
    workspace: parsed.workspace ?? defaultWorkspace(cwd, home, dataDir),
  };
  checkTogether(config, origins, faults);
  if (faults.length > 0) throw new ConfigError(faults);
  for (const key of layout.leaves.keys())
    origins[key] ??= { source: "default", where: "default", written: valueAt(config, key) };
  return {
    config: deepFreeze(config),
    origins: deepFreeze(origins),
    file: found?.path ?? null,
    secretFiles: [...secretFiles],
  };
}

function fromEnvironment(
  layout: Layout,
  env: ConfigSources["env"],
  faults: ConfigFault[],
): Map<string, Setting> {
  const settings = new Map<string, Setting>();
  const known = new Set(["OSTIARY_CONFIG"]);
  for (const leaf of layout.leaves.values()) {
    known.add(leaf.env);
    const written = env[leaf.env];
    // Compose files and shells write "not set" as an empty variable.
    if (written !== undefined && written !== "")
      settings.set(leaf.key, {
        source: "environment",
        where: leaf.env,
        written,
        value: parseText(leaf, written),
      });
  }
  for (const name of Object.keys(env)) {
    if (!name.startsWith("OSTIARY_") || name.startsWith("OSTIARY_TEST_") || known.has(name))
      continue;
    const named = [...layout.leaves.values()].find((leaf) => variableOf(leaf.key) === name)?.env;
    const guess = named ?? nearest(name, known);
    faults.push(
      fault(name, "", `unknown variable${guess === null ? "" : `; did you mean ${guess}?`}`),
    );
  }
  return settings;
}

function fromFlags(
  layout: Layout,
  flags: Record<string, string | undefined>,
): Map<string, Setting> {
  const settings = new Map<string, Setting>();
  for (const [key, written] of Object.entries(flags)) {
    const leaf = layout.leaves.get(key);
    if (!leaf) throw new TypeError(`no such setting: ${key}`);
    if (written !== undefined)
      settings.set(key, {
        source: "flag",
        where: leaf.flag ?? key,
        written,
        value: parseText(leaf, written),
      });
  }
  return settings;
}

function chooseFile(
  sources: ConfigSources,
  dataDir: Setting | undefined,
  cwd: string,
  home: string,
): { path: string; implicit: boolean } | null {
  const given = sources.file ?? (sources.env["OSTIARY_CONFIG"] || undefined);
  if (given !== undefined) return { path: absolute(given, cwd, home) as string, implicit: false };
  const folder = absolute(dataDir?.value ?? "~/.ostiary", cwd, home) as string;
  const path = join(folder, "ostiary.yaml");
  return existsSync(path) ? { path, implicit: true } : null;
}

/** The parser is loaded only when there is a file to read. */
async function fromFile(
  path: string,
  layout: Layout,
  faults: ConfigFault[],
): Promise<Map<string, Setting>> {
  const { readConfigFile } = await import("./file.ts");
  const read = readConfigFile(path, layout);
  faults.push(...read.faults);
  const settings = new Map<string, Setting>();
  for (const [key, { value, where, items }] of read.settings)
    settings.set(key, { source: "file", where, written: value, value, items });
  return settings;
}

function check(leaf: Leaf, setting: Setting, base: ReferenceBase, faults: ConfigFault[]): unknown {
  const broken: string[] = [];
  const resolved = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(resolved);
    if (typeof value === "object" && value !== null)
      return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, resolved(part)]));
    if (typeof value !== "string" || !hasReference(value)) return value;
    const answer = resolveReferences(value, base);
    broken.push(...answer.faults);
    return answer.text;
  };
  const value = resolved(setting.value);
  for (const message of broken) faults.push(fault(setting.where, leaf.key, message));
  if (broken.length > 0) return undefined;
  const result = leaf.schema.safeParse(value);
  if (result.success) return available(leaf, setting, result.data, faults);
  for (const issue of result.error.issues) {
    const where = setting.items?.[Number(issue.path[0])] ?? setting.where;
    faults.push(fault(where, leaf.key, refusal(leaf, issue, setting.value)));
  }
  return undefined;
}

/** Refuses what this version cannot do, rather than ignoring it. */
function available(leaf: Leaf, setting: Setting, value: unknown, faults: ConfigFault[]): unknown {
  const row = NOT_AVAILABLE.find(({ key }) => key === leaf.key);
  if (row && JSON.stringify(value) !== JSON.stringify(row.only)) {
    const today = row.only === undefined ? "" : ` (today it is always ${JSON.stringify(row.only)})`;
    faults.push(
      fault(setting.where, leaf.key, `not available in this version: ${row.feature}${today}`),
    );
  }
  return value;
}

/** Rules that concern more than one setting; a setting that is faulty by itself counts as its default. */
function checkTogether(
  config: Config,
  origins: Record<string, SettingOrigin>,
  faults: ConfigFault[],
): void {
  const where = (key: string) => origins[key]?.where ?? "default";
  const { host, authEnabled } = config.server;
  for (const key of ["server.publicUrl", "server.trustedProxies"] as const)
    if (!authEnabled && origins[key])
      faults.push(
        fault(
          where(key),
          key,
          `authentication is off (${where("server.authEnabled")}), so all clients of the proxy would act as the owner; turn it on`,
        ),
      );
  if (!authEnabled && !isLoopback(host)) {
    const key = origins["server.host"] ? "server.host" : "server.authEnabled";
    faults.push(
      fault(
        where(key),
        key,
        `authentication is off (${where("server.authEnabled")}), so only a loopback address may be used, got ${JSON.stringify(host)}; turn it on or listen on 127.0.0.1`,
      ),
    );
  }
  const { defaultTimeoutMs, maxTimeoutMs } = config.execution;
  if (defaultTimeoutMs > maxTimeoutMs && !faults.some(({ key }) => key.startsWith("execution."))) {
    const key = origins["execution.defaultTimeoutMs"]
      ? "execution.defaultTimeoutMs"
      : "execution.maxTimeoutMs";
    faults.push(
      fault(
        where(key),
        key,
        `the default timeout (${defaultTimeoutMs} ms) is longer than execution.maxTimeoutMs (${maxTimeoutMs} ms)`,
      ),
    );
  }
  const { url, secret } = config.approvals.webhook;
  if (
    (url === undefined) !== (secret === undefined) &&
    !faults.some(({ key }) => key.startsWith("approvals.webhook."))
  ) {
    const [given, missing] = url === undefined ? ["secret", "url"] : ["url", "secret"];
    faults.push(
      fault(
        where(`approvals.webhook.${given}`),
        `approvals.webhook.${given}`,
        `needs approvals.webhook.${missing} as well`,
      ),
    );
  }
  if (config.workspace === config.dataDir)
    faults.push(
      fault(
        where("workspace"),
        "workspace",
        "is the data directory, which holds the keys; choose another folder",
      ),
    );
}

export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, "").toLowerCase();
  return name === "localhost" || name === "::1" || /^127(\.\d{1,3}){3}$/.test(name);
}

/** The start folder, unless file tools would then reach a whole home or disk. */
function defaultWorkspace(cwd: string, home: string, dataDir: string): string {
  const above = (folder: string) =>
    folder === cwd || folder.startsWith(cwd.endsWith("/") ? cwd : `${cwd}/`);
  const tooWide = cwd === parse(cwd).root || above(home) || cwd === dataDir;
  return tooWide ? join(dataDir, "workspace") : cwd;
}

function absolute(path: unknown, folder: string, home: string): unknown {
  if (typeof path !== "string") return path;
  if (path === "~" || path.startsWith("~/")) return join(home, path.slice(1));
  return resolve(folder, path);
}

function nest(values: Record<string, unknown>): Record<string, unknown> {
  const top: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(values)) {
    const sections = key.split(".");
    const name = sections.pop() as string;
    let place = top;
    for (const section of sections) place = (place[section] ??= {}) as Record<string, unknown>;
    place[name] = value;
  }
  return top;
}

export function valueAt(config: Config, key: string): unknown {
  let value: unknown = config;
  for (const step of key.split(".")) value = (value as Record<string, unknown>)[step];
  return value;
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) deepFreeze(inner);
  }
  return value;
}
