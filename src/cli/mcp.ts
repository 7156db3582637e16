import type { Command } from "commander";
import { join } from "node:path";
import type { LoadedConfig } from "../config.ts";
import type { Cli } from "./cli.ts";
import { byReference } from "./client.ts";
import { findDataDir, liveOwner, readKey } from "./data-dir.ts";
import { failed } from "./fail.ts";
import { openApp } from "./open-app.ts";

export function define(command: Command, cli: Cli): void {
  command
    .option("--config <file>", "configuration file, when the engine runs in this process")
    .action(async (options: { config?: string }) => {
      const running = cli.flags.server !== undefined || liveOwner(await findDataDir(cli))?.url;
      if (running) {
        const api = await cli.connect();
        const { bridgeStdio } = await import("../entry/stdio-bridge.ts");
        await bridgeStdio({
          url: `${api.url}/mcp`,
          key: api.key,
          input: cli.stdin,
          output: cli.stdout,
        });
      } else {
        const { loadConfig } = await import("../config.ts");
        const loaded = await loadConfig({
          file: options.config,
          env: cli.env,
          flags: { dataDir: cli.flags.dataDir },
        });
        await serveOwnStdio(cli, loaded);
      }
    });
}

/** Without an owner the engine runs here, for this one client; nothing but messages may reach stdout. */
export async function serveOwnStdio(cli: Cli, loaded: LoadedConfig): Promise<void> {
  const { serveStdioDoor } = await import("../entry/stdio.ts");
  const app = await openApp(loaded);
  try {
    const path = join(loaded.config.dataDir, "cli.key");
    const key = cli.flags.key === undefined ? readKey(path) : byReference(cli.flags.key, cli);
    if (key === null)
      throw failed(
        "no_key",
        `There is no key at ${path}.`,
        "name one: --key env:NAME or --key file:PATH",
      );
    const caller = await app.doors.identity.identify({
      authorization: `Bearer ${key}`,
      cookie: undefined,
    });
    const stop = () => void cli.stdin.destroy();
    process.once("SIGTERM", stop).once("SIGINT", stop).once("SIGHUP", stop);
    await serveStdioDoor(app.doors, caller, { input: cli.stdin, output: cli.stdout });
  } finally {
    await app.close();
    cli.stdin.destroy();
  }
}
