// The checks in the order of the report. They only read; none changes anything.
import { accessSync, chmodSync, constants, statSync } from "node:fs";
import { createServer } from "node:net";
import { isAbsolute, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { portHolder } from "./port-holder.ts";
import type { DoctorFinding } from "./finding.ts";
import type { Place } from "./place.ts";
import { checkPrograms } from "./programs.ts";
import { checkSandbox } from "./sandbox.ts";
import { checkSink } from "./sink.ts";
import { checkWorkspace } from "./workspace.ts";

export type DoctorCheck = (
  place: Place,
) => DoctorFinding | DoctorFinding[] | Promise<DoctorFinding | DoctorFinding[]>;

export const CHECKS: readonly DoctorCheck[] = [
  checkNode,
  checkConfig,
  checkDataDir,
  checkWorkspace,
  checkServer,
  checkStore,
  checkSink,
  checkClock,
  checkPrograms,
  checkSandbox,
];

function checkNode(): DoctorFinding {
  const name = "node";
  const major = Number.parseInt(process.versions.node, 10);
  if (major >= 24) return { name, status: "ok", detail: process.version };
  return {
    name,
    status: "failed",
    detail: `${process.version}, but 24 or newer is needed`,
    fix: "install Node 24 from nodejs.org",
  };
}

function checkConfig({ faults }: Place): DoctorFinding | DoctorFinding[] {
  const name = "configuration";
  if (faults.length === 0) return { name, status: "ok", detail: "valid" };
  return faults.map((detail) => ({ name, status: "failed", detail, fix: "ostiary config check" }));
}

function checkDataDir({ dataDir }: Place): DoctorFinding {
  const name = "data directory";
  let stat;
  try {
    stat = statSync(dataDir);
  } catch {
    return { name, status: "ok", detail: `${dataDir} will be created at the first start` };
  }
  const uid = process.getuid?.();
  if (!stat.isDirectory())
    return {
      name,
      status: "failed",
      detail: `${dataDir} is not a folder`,
      fix: "choose another: --data-dir",
    };
  try {
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch {
    return {
      name,
      status: "failed",
      detail: `${dataDir} is not writable`,
      fix: `sudo chown "$(id -u)" '${dataDir}'`,
    };
  }
  if (uid !== undefined && stat.uid !== uid)
    return {
      name,
      status: "warning",
      detail: `${dataDir} belongs to user ${stat.uid}`,
      fix: `sudo chown "$(id -u)" '${dataDir}'`,
    };
  const mode = stat.mode & 0o777;
  if (process.platform !== "win32" && (mode & 0o077) !== 0) {
    const detail = `${dataDir} can be entered by others (mode ${mode.toString(8)}), and it holds keys`;
    return {
      name,
      status: "failed",
      detail,
      fix: `chmod 700 '${dataDir}'`,
      repair: () => chmodSync(dataDir, 0o700),
    };
  }
  return { name, status: "ok", detail: dataDir };
}

async function checkServer({ owner, config, portGiven, reach }: Place): Promise<DoctorFinding> {
  const name = "server";
  if (owner?.url) {
    const answer = await reach.readiness(owner.url);
    if (answer?.status === 200)
      return { name, status: "ok", detail: `running at ${owner.url} (process ${owner.pid})` };
    return {
      name,
      status: "failed",
      detail: `process ${owner.pid} at ${owner.url} ${answer ? `is not ready (${answer.status})` : "does not answer"}`,
      fix: `kill ${owner.pid} && ostiary serve`,
    };
  }
  if (owner) return { name, status: "ok", detail: `process ${owner.pid} serves stdio` };
  if (!config) return { name, status: "warning", detail: "not running" };
  const { host, port } = config.server;
  if (await isFree(host, port))
    return { name, status: "ok", detail: `not running; port ${port} is free` };
  const holder = await portHolder(port);
  const taken = `port ${port} is taken${holder === null ? "" : ` by ${holder}`}`;
  if (!portGiven)
    return {
      name,
      status: "warning",
      detail: `not running; ${taken}, the next free one would be used`,
    };
  return {
    name,
    status: "failed",
    detail: taken,
    fix: "stop it, or choose another: --port <port>",
  };
}

function isFree(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen(port, host, () => probe.close(() => resolve(true)));
  });
}

async function checkStore({ config, dataDir, owner, reach }: Place): Promise<DoctorFinding> {
  const name = "store";
  if (!config)
    return { name, status: "warning", detail: "not checked: the configuration is not valid" };
  const address = config.store;
  if (!address.startsWith("sqlite:")) return checkAddress(name, new URL(address), reach);
  const file = address.slice("sqlite:".length);
  const path = isAbsolute(file) ? file : join(dataDir, file);
  const size = sizeOf(path);
  if (size === null)
    return { name, status: "ok", detail: "SQLite, will be created at the first start" };
  try {
    using database = new DatabaseSync(path, { readOnly: true, timeout: 2000 });
    database.prepare("SELECT count(*) FROM sqlite_schema").get();
    return {
      name,
      status: "ok",
      detail: `SQLite, ${(size / 1_048_576).toFixed(1)} MB${owner ? ", in use" : ""}`,
    };
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    return {
      name,
      status: "failed",
      detail: `${path} does not open: ${why}`,
      fix: "restore it from a backup, or move it away to start anew",
    };
  }
}

async function checkAddress(
  name: string,
  { hostname: host, port }: URL,
  reach: Place["reach"],
): Promise<DoctorFinding> {
  const at = { host, port: Number(port || 5432) };
  const where = `PostgreSQL at ${at.host}:${at.port}`;
  if (await reach.database(at)) return { name, status: "ok", detail: `${where} answers` };
  return {
    name,
    status: "failed",
    detail: `${where} does not answer`,
    fix: "start it, or correct OSTIARY_STORE",
  };
}

function sizeOf(path: string): number | null {
  try {
    return statSync(path).size;
  } catch {
    return null;
  }
}

/** A clock behind our own last write would date new records before old ones. */
function checkClock({ dataDir }: Place): DoctorFinding {
  const name = "clock";
  const now = Date.now();
  let last = 0;
  for (const file of ["owner.json", "instance.id", "ostiary.db", "ostiary.db-wal"]) {
    try {
      last = Math.max(last, statSync(join(dataDir, file)).mtimeMs);
    } catch {
      continue; // not there yet
    }
  }
  const fix = "set the time: sudo timedatectl set-ntp true";
  if (now < last - 60_000)
    return {
      name,
      status: "failed",
      detail: `${Math.round((last - now) / 1000)} s behind the last write to the data directory`,
      fix,
    };
  if (now < Date.UTC(2025, 0, 1))
    return { name, status: "failed", detail: `says ${new Date(now).toISOString()}`, fix };
  return { name, status: "ok", detail: new Date(now).toISOString() };
}
