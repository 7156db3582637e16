import type { Command } from "commander";
import { homedir } from "node:os";
import { join } from "node:path";
import type { App } from "../../app/app.ts";
import type { Config } from "../../config/config.ts";
import type { Cli } from "../cli.ts";
import { failed } from "../client/fail.ts";
import { keepMemoryLow } from "../memory.ts";
import { openApp } from "../open-app.ts";
import { portHolder } from "../../app/doctor/port-holder.ts";
import { untilSignal } from "../signals.ts";

interface ServeOptions {
  port?: string;
  host?: string;
  config?: string;
  open: boolean;
}

export function define(command: Command, cli: Cli): void {
  command
    .option("--port <port>", "port to listen on (MCP_PORT, default 3100 or the next free one)")
    .option("--host <address>", "address to listen on (MCP_HOST, default 127.0.0.1)")
    .option("--config <file>", "configuration file (OSTIARY_CONFIG)")
    .option("--no-open", "do not open the console in a browser at first start")
    .action((options: ServeOptions) => serve(cli, options));
}

async function serve(cli: Cli, options: ServeOptions): Promise<void> {
  const { loadConfig, isLoopback } = await import("../../config/config.ts");
  const loaded = await loadConfig({
    file: options.config,
    env: cli.env,
    flags: { dataDir: cli.flags.dataDir, "server.port": options.port, "server.host": options.host },
  });
  const { config, origins } = loaded;
  cli.keepsRunning = true;
  if (config.server.transport === "stdio") {
    const { serveOwnStdio } = await import("./mcp.ts");
    return serveOwnStdio(cli, loaded);
  }
  const app = await openApp(loaded);
  try {
    const exactPort = origins["server.port"]?.source !== "default";
    const url = await listen(app, config, exactPort);
    if (!isLoopback(config.server.host) && !config.server.publicUrl?.startsWith("https:"))
      cli.term.warn(
        `! ${url} can be reached from outside and is not encrypted; put a TLS proxy in front`,
      );
    // Before "ready" is printed: the program that starts us may stop us at once.
    const stopped = untilSignal(
      () => app.close(),
      (text) => cli.term.note(text),
    );
    await announce(cli, app, config, { url, open: options.open });
    keepMemoryLow(() => app.engine.activeCount() === 0);
    await stopped;
  } catch (cause) {
    await app.close();
    throw cause;
  }
}

async function listen(app: App, config: Config, exactPort: boolean): Promise<string> {
  try {
    return await app.listen({ exactPort });
  } catch (cause) {
    const { host, port } = config.server;
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "EADDRINUSE") {
      const holder = await portHolder(port);
      throw failed(
        "port_taken",
        `Port ${port} is taken${holder === null ? "" : ` by ${holder}`}.`,
        "stop it, or choose another: --port <port>",
      );
    }
    if (code === "EACCES")
      throw failed(
        "port_refused",
        `Port ${port} may not be used by this user.`,
        "choose one above 1023: --port <port>",
      );
    if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND")
      throw failed(
        "no_such_address",
        `${host} is no address of this machine.`,
        "choose another: --host <address>",
      );
    throw cause;
  }
}

async function announce(
  cli: Cli,
  app: App,
  config: Config,
  { url, open }: { url: string; open: boolean },
): Promise<void> {
  const { term } = cli;
  const keyFile = join(config.dataDir, "admin.key");
  const login = await app.loginUrl();
  const shown = app.doors.settings.baseUrl;
  if (cli.flags.json) {
    return term.printJson({
      ready: url,
      console: login,
      mcp: `${shown}/mcp`,
      api: `${shown}/docs`,
      adminKey: cli.stdout.isTTY ? app.newAdminKey : null,
      adminKeyFile: keyFile,
      dataDir: config.dataDir,
      store: app.storeKind,
      tools: app.toolCount,
    });
  }
  if (!cli.flags.quiet)
    for (const line of banner(app, config, { url, login, keyFile, isSeen: cli.stdout.isTTY }))
      term.print(line);
  if (open && app.newAdminKey !== null && term.interactive && !cli.flags.quiet) {
    const { openBrowser } = await import("../browser.ts");
    openBrowser(login, cli.env);
  }
  term.print(`ready ${url}`);
}

const STORES = { sqlite: "SQLite", postgres: "PostgreSQL" } as const;

function banner(
  app: App,
  config: Config,
  { url, login, keyFile, isSeen }: { url: string; login: string; keyFile: string; isSeen: boolean },
): string[] {
  const { port } = config.server;
  const shown = app.doors.settings.baseUrl;
  const moved = port !== 0 && Number(new URL(url).port || 80) !== port;
  const created = app.dataDir.created ? ", created" : "";
  const auth = config.server.authEnabled
    ? []
    : ["  Auth      off: everyone who reaches this address acts as the owner"];
  return [
    `  Console   ${login}          (this link works once, for 15 minutes)`,
    `  MCP       ${shown}/mcp`,
    `  API       ${shown}/docs`,
    ...(app.newAdminKey === null ? [] : [keyLine(app.newAdminKey, homely(keyFile), isSeen)]),
    `  ✓ data in ${homely(config.dataDir)} (${STORES[app.storeKind]}${created})   ✓ ${app.toolCount} tools`,
    `  Files     ${homely(config.workspace)}   (OSTIARY_WORKSPACE names another folder)`,
    ...(moved ? [`  Port      ${port} is taken, so this is the next free one`] : []),
    ...auth,
    `  Mode      ${modeLine(app)}`,
    "  Next      ostiary call system/echo text=hello   ·   ostiary connect claude-code | cursor | vscode | …",
  ];
}

/** Output that is no terminal ends up in files and other people's logs: there the key is not printed. */
function keyLine(key: string, file: string, isSeen: boolean): string {
  return isSeen
    ? `  Admin key ${key}     shown once · kept in ${file} (0600)`
    : `  Admin key kept in ${file} (0600)`;
}

function modeLine(app: App): string {
  const { mode, reason } = app.doors.mode.current();
  return mode === "NORMAL"
    ? "NORMAL   safe tools run · dangerous tools ask · forbidden paths and addresses never"
    : `${mode}   ${app.doors.governance.describe(mode)} (${reason}); switch with: ostiary mode`;
}

function homely(path: string): string {
  const home = homedir();
  return path === home || path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}
