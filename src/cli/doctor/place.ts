import type { Config } from "../../config/config.ts";
import type { Owner } from "../../storage/data-dir.ts";
import type { Cli } from "../cli.ts";
import { findDataDir, liveOwner } from "../client/data-dir.ts";

/** What the checks look at. */
export interface Place {
  readonly dataDir: string;
  readonly owner: Owner | null;
  /** Null when the configuration does not load; then `faults` says why. */
  readonly config: Config | null;
  readonly portGiven: boolean;
  readonly faults: readonly string[];
}

export async function findPlace(cli: Cli, file: string | undefined): Promise<Place> {
  const { loadConfig, ConfigError } = await import("../../config/config.ts");
  try {
    const { config, origins } = await loadConfig({
      file,
      env: cli.env,
      flags: { dataDir: cli.flags.dataDir },
    });
    const portGiven = origins["server.port"]?.source !== "default";
    const { dataDir } = config;
    return { dataDir, owner: liveOwner(dataDir), config, portGiven, faults: [] };
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause;
    const faults = cause.faults.map(
      (f) => `${f.where} ${f.key === "" ? "" : `${f.key}: `}${f.message}`,
    );
    const dataDir = await findDataDir({ ...cli, env: { ...cli.env, OSTIARY_CONFIG: "" } });
    return { dataDir, owner: liveOwner(dataDir), config: null, portGiven: false, faults };
  }
}
