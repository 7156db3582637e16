// What `ostiary doctor` looks at: found without a server, also where the configuration does not load.
import type { Place } from "../app/doctor/place.ts";
import type { Cli } from "./cli.ts";
import { findDataDir, liveOwner } from "./client/data-dir.ts";

export async function findPlace(cli: Cli, file: string | undefined): Promise<Place> {
  const { loadConfig, ConfigError } = await import("../config/config.ts");
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
