// The settings as people may see them: what is in effect, where it came from, what it means. Secrets are not shown.
import { valueAt, type LoadedConfig, type SettingOrigin } from "./config.ts";
import { configLayout, type Leaf } from "./leaves.ts";

export interface ShownSetting extends Pick<SettingOrigin, "source" | "where"> {
  /** `server.port` */
  readonly key: string;
  /** Null: not set. */
  readonly value: unknown;
  readonly fallback: unknown;
  readonly secret: boolean;
  readonly description: string;
  /** "a whole number from 0 to 65535" */
  readonly expected: string;
  readonly env: string;
  readonly flag: string | null;
}

const HIDDEN = "••••••";

/** In the order of the schema. */
export function shownSettings({
  config,
  origins,
}: Pick<LoadedConfig, "config" | "origins">): ShownSetting[] {
  return [...configLayout().leaves.values()].map((leaf) => {
    const { key, secret, description, expected, env, flag, fallback } = leaf;
    const { source, where, written } = origins[key] ?? NO_ORIGIN;
    const value = visible(leaf, written, valueAt(config, key));
    const about = { secret, description, expected, env, flag };
    return { key, value, source, where, fallback: fallback ?? null, ...about };
  });
}

const NO_ORIGIN: SettingOrigin = { source: "default", where: "default", written: undefined };

/** A reference is shown as it was written, a secret not at all, an address without its password. */
function visible(
  { secret, kind }: Pick<Leaf, "secret" | "kind">,
  written: unknown,
  value: unknown,
): unknown {
  if (value === undefined) return null;
  // Entries with a secret somewhere: their names, and nothing of what they hold.
  if (secret && kind === "map")
    return Object.fromEntries(Object.keys(value as object).map((name) => [name, HIDDEN]));
  if (JSON.stringify(written ?? "").includes("${")) return written;
  if (secret) return HIDDEN;
  return typeof value === "string"
    ? value.replace(/(:\/\/[^/@:]*):[^@/]*@/, `$1:${HIDDEN}@`)
    : value;
}
