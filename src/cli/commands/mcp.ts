import type { Command } from "commander";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { App } from "../../app/app.ts";
import type { LoadedConfig } from "../../config/config.ts";
import type { Owner } from "../../storage/data-dir.ts";
import type { Place } from "../../server/stdio/bridge.ts";
import { AppError } from "../../contract/errors.ts";
import type { Cli } from "../cli.ts";
import { byReference } from "../client/client.ts";
import { findDataDir, liveOwner, readKey } from "../client/data-dir.ts";
import { failed } from "../client/fail.ts";
import { openApp } from "../open-app.ts";

/** How long a process may take that owns the data directory and is still starting, or still ending. */
const OWNER_MS = 45_000;
const LOOK_EVERY_MS = 100;

export function define(command: Command, cli: Cli): void {
  command
    .option("--config <file>", "configuration file, when the engine runs in this process")
    .action(async (options: { config?: string }) => {
      const dataDir = await findDataDir(cli);
      if (cli.flags.server !== undefined || liveOwner(dataDir)?.url) return bridgeToServer(cli);
      const load = async (): Promise<LoadedConfig> => {
        const { loadConfig } = await import("../../config/config.ts");
        const flags = { dataDir: cli.flags.dataDir };
        return loadConfig({ file: options.config, env: cli.env, flags });
      };
      const found = await ownerOrApp(dataDir, load, null);
      if ("app" in found) return serveApp(cli, found.app);
      if (found.owner.url) return bridgeToServer(cli);
      return joinOwner(cli, dataDir, found.owner, load);
    });
}

async function bridgeToServer(cli: Cli): Promise<void> {
  const api = await cli.connect();
  const { bridgeStdio } = await import("../../server/stdio/bridge.ts");
  const { stdin: input, stdout: output } = cli;
  await bridgeStdio({ url: `${api.url}/mcp`, key: api.key, input, output });
}

type Found = { readonly owner: Owner } | { readonly app: App };

/**
 * The process that owns the data directory, or else the engine in this one. The lock decides, not what a file says:
 * `gone` is an owner that does not answer any more.
 */
async function ownerOrApp(
  dataDir: string,
  load: () => Promise<LoadedConfig>,
  gone: string | null,
): Promise<Found> {
  for (const until = performance.now() + OWNER_MS; ; await sleep(LOOK_EVERY_MS)) {
    const owner = liveOwner(dataDir);
    if (owner && (owner.url ?? owner.socket) && owner.startedAt !== gone) return { owner };
    try {
      return { app: await openApp(await load()) };
    } catch (cause) {
      if (!isInUse(cause) || performance.now() > until) throw cause;
    }
  }
}

const isInUse = (cause: unknown): boolean =>
  cause instanceof AppError && cause.code === "CONFLICT" && cause.fault.reason === "already_exists";

/** The client of another process's engine, with its own key; this process takes over when that one ends. */
async function joinOwner(
  cli: Cli,
  dataDir: string,
  first: Owner,
  load: () => Promise<LoadedConfig>,
): Promise<void> {
  const { bridgeStdio } = await import("../../server/stdio/bridge.ts");
  const { stdin: input, stdout: output } = cli;
  let owner = first;
  let own: App | null = null;
  const relocate = async (): Promise<Place> => {
    const found = await ownerOrApp(dataDir, load, owner.startedAt);
    if ("app" in found) {
      own = found.app;
      stopOnSignal(cli);
      await own.listenLocally();
      cli.term.note(
        "the process that owned the data directory has ended; this process continues its work",
      );
    }
    owner = liveOwner(dataDir) ?? owner;
    return placeOf(owner);
  };
  try {
    const key = keyFor(cli, dataDir);
    await bridgeStdio({ ...placeOf(owner), key, relocate, input, output });
  } finally {
    await (own as App | null)?.close();
    cli.stdin.destroy();
  }
}

const placeOf = ({ url, socket }: Owner): Place =>
  url === null
    ? { url: "http://localhost/mcp", socketPath: socket ?? undefined }
    : { url: `${url}/mcp` };

function keyFor(cli: Cli, dataDir: string): string {
  const path = join(dataDir, "cli.key");
  const key = cli.flags.key === undefined ? readKey(path) : byReference(cli.flags.key, cli);
  if (key !== null) return key;
  throw failed(
    "no_key",
    `There is no key at ${path}.`,
    "name one: --key env:NAME or --key file:PATH",
  );
}

/** Without an owner the engine runs here, for this one client; nothing but messages may reach stdout. */
export async function serveOwnStdio(cli: Cli, loaded: LoadedConfig): Promise<void> {
  return serveApp(cli, await openApp(loaded));
}

async function serveApp(cli: Cli, app: App): Promise<void> {
  const { serveStdioDoor } = await import("../../server/stdio/stdio.ts");
  try {
    const authorization = `Bearer ${keyFor(cli, app.dataDir.path)}`;
    const caller = await app.doors.identity.identify({ authorization, cookie: undefined });
    stopOnSignal(cli);
    await app.listenLocally().catch((cause: unknown) => {
      cli.term.warn(`! no other ostiary mcp can join this one: ${String(cause)}`);
    });
    await serveStdioDoor(app.doors, caller, { input: cli.stdin, output: cli.stdout });
  } finally {
    await app.close();
    cli.stdin.destroy();
  }
}

function stopOnSignal(cli: Cli): void {
  const stop = () => void cli.stdin.destroy();
  process.once("SIGTERM", stop).once("SIGINT", stop).once("SIGHUP", stop);
}
