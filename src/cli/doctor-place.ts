// What `ostiary doctor` checks: found without a server, also where the configuration does not load.
import { connect } from "node:net";
import type { Place, Readiness, DoctorReach } from "../app/doctor/place.ts";
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
    return {
      dataDir,
      owner: liveOwner(dataDir),
      config,
      portGiven,
      faults: [],
      reach: OVER_THE_NETWORK,
    };
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause;
    const faults = cause.faults.map(
      (f) => `${f.where} ${f.key === "" ? "" : `${f.key}: `}${f.message}`,
    );
    const dataDir = await findDataDir({ ...cli, env: { ...cli.env, OSTIARY_CONFIG: "" } });
    return {
      dataDir,
      owner: liveOwner(dataDir),
      config: null,
      portGiven: false,
      faults,
      reach: OVER_THE_NETWORK,
    };
  }
}

const LIMIT_MS = 3_000;

const OVER_THE_NETWORK: DoctorReach = {
  async readiness(url) {
    try {
      const answer = await fetch(new URL("/readyz", url), {
        signal: AbortSignal.timeout(LIMIT_MS),
      });
      const { checks = [] } = (await answer.json()) as Partial<Readiness>;
      return { status: answer.status, checks };
    } catch {
      return null;
    }
  },
  database: ({ host, port }) =>
    new Promise((resolve) => {
      const socket = connect({ host, port, timeout: LIMIT_MS });
      const end = (answers: boolean): void => {
        socket.destroy();
        resolve(answers);
      };
      socket.once("connect", () => end(true));
      socket.once("error", () => end(false)).once("timeout", () => end(false));
    }),
};
