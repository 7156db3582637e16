// Servers are added by an address or a command line, or taken over from the file of an AI client.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import { usage } from "../client/fail.ts";
import { given } from "../nouns.ts";
import { row } from "../output/render.ts";
import { addApi, defineApiOptions, defineEndpoints, type ApiOptions } from "./api.ts";
import { approveAll } from "./decide.ts";
import { credentialValues } from "./secret.ts";
import { tellTried, printTools, type FaultItem, type TriedItem } from "./shapes.ts";

interface AddOptions extends ApiOptions {
  header?: string[];
  env?: string[];
  isolate?: string;
  folder?: string[];
  network?: string[];
  localSockets?: boolean;
  sse?: boolean;
  oauth?: boolean;
  description?: string;
  credential?: string[];
  perUser?: boolean;
  timeout?: number;
  dryRun?: boolean;
  approve?: boolean;
  evenWithFindings?: boolean;
  capsule?: string[];
}

interface ImportAnswer {
  readonly servers: readonly {
    readonly name: string;
    readonly called: string;
    readonly tried: TriedItem | null;
    readonly fault: FaultItem | null;
    readonly needs: readonly string[];
    readonly ignored: readonly string[];
  }[];
  readonly faults: readonly {
    readonly path: string;
    readonly message: string;
    readonly suggestion?: string;
  }[];
}

const each = (text: string, before: string[] = []): string[] => [...before, text];

export function defineAdding(command: Command, cli: Cli): void {
  defineApiOptions(command.command("add <name> [target...]"))
    .description("add a server: an address, or -- and a command line; its tools wait for approval")
    .usage("<name> (<url> | -- <program> [arguments…] | [url] --openapi <file-or-url>) [options]")
    .option(
      "--header <line>",
      "sent with every request, e.g. 'Authorization: Bearer ${credential:TOKEN}'; repeatable",
      each,
    )
    .option(
      "--env <NAME=value>",
      "a variable of the program; ${credential:NAME} for secrets; repeatable",
      each,
    )
    .option("--isolate <how>", "sandbox (the default), or none: outside of any box")
    .option(
      "--folder <path[:rw]>",
      "a folder the program may see, read-only unless :rw; repeatable",
      each,
    )
    .option(
      "--network <host>",
      "a host the program may reach; '*' for any public one; repeatable",
      each,
    )
    .option("--local-sockets", "unix sockets of its own, which a browser needs")
    .option("--sse", "the HTTP transport of 2024")
    .option("--oauth", "it wants a login, as MCP describes it")
    .option("--description <text>", "what it is for")
    .option(
      "--credential <NAME[=ref]>",
      "a secret, asked for or read from stdin, or by reference (env:NAME, file:PATH); repeatable",
      each,
    )
    .option("--per-user", "each user stores a credential of their own")
    .option("--timeout <seconds>", "time limit of its calls (1 to 300)", Number)
    .option("--dry-run", "connect and list, keep nothing")
    .option("--approve", "approve all its tools with the proposed terms at once")
    .option("--even-with-findings", "with --approve: also where a finding is a danger")
    .option("--capsule <id>", "with --approve: the capsule that gets them; repeatable", each)
    .action((name: string, target: string[], options: AddOptions) =>
      add(cli, name, target, options),
    );
  defineEndpoints(command, cli);
  command
    .command("import <file>")
    .description("add the servers of an AI client's configuration (mcpServers JSON); - for stdin")
    .option("--only <name>", "of these alone; repeatable", each)
    .option(
      "--folder <path[:rw]>",
      "a folder its programs may see, read-only unless :rw; repeatable",
      each,
    )
    .option(
      "--network <host>",
      "a host its programs may reach, e.g. registry.npmjs.org for npx -y; repeatable",
      each,
    )
    .option("--dry-run", "connect and list, keep nothing")
    .action((file: string, options: ImportOptions) => importFile(cli, file, options));
}

async function add(
  cli: Cli,
  name: string,
  target: readonly string[],
  options: AddOptions,
): Promise<void> {
  if (options.timeout !== undefined && !(options.timeout >= 1 && options.timeout <= 300))
    throw usage("--timeout: expected 1 to 300 seconds");
  const transport = options.openapi === undefined ? transportOf(target, options) : null;
  const api = await cli.connect("admin");
  const credentials = await credentialValues(cli, options.credential ?? []);
  const settings = given({
    timeoutMs: options.timeout === undefined ? undefined : Math.round(options.timeout * 1000),
    credentials: options.perUser ? "user" : undefined,
  });
  if (transport === null) return addApi(cli, api, name, target, options, { settings, credentials });
  cli.term.note(`connecting to ${name} …`);
  const made = await api.post<TriedItem>(
    "servers",
    given({
      name,
      description: options.description,
      transport,
      settings,
      credentials,
      dryRun: options.dryRun,
    }),
  );
  if (options.approve && !options.dryRun && made.fault === null)
    return approveAll(cli, api, made, options);
  if (cli.flags.json) {
    cli.term.printJson(made);
    if (made.fault) cli.exitCode = 1;
    return;
  }
  tellTried(cli, made, options.dryRun ? "was tried" : "added");
  printTools(cli, made.tools);
  if (!options.dryRun && made.tools.some(({ state }) => state === "pending"))
    cli.term.note(
      `   next     nobody can call them yet; read them (ostiary servers show ${name} <tool>), then: ostiary servers approve ${name}`,
    );
}

function transportOf(target: readonly string[], o: AddOptions): Record<string, unknown> {
  const [first = ""] = target;
  if (target.length === 0)
    throw usage(
      "an address or a program is missing",
      "ostiary servers add <name> https://…/mcp, or: ostiary servers add <name> -- node server.js",
    );
  if (target.length === 1 && /^https?:\/\//i.test(first)) {
    for (const [flag, value] of Object.entries({
      "--env": o.env,
      "--isolate": o.isolate,
      "--folder": o.folder,
      "--network": o.network,
      "--local-sockets": o.localSockets,
    }))
      if (value !== undefined) throw usage(`${flag} is for programs, got the address ${first}`);
    return given({
      kind: o.sse ? "sse" : "http",
      url: first,
      headers: o.header && Object.fromEntries(o.header.map(headerOf)),
      auth: o.oauth ? "oauth" : undefined,
    });
  }
  for (const [flag, value] of Object.entries({
    "--header": o.header,
    "--sse": o.sse,
    "--oauth": o.oauth,
  }))
    if (value !== undefined)
      throw usage(
        `${flag} is for addresses, got a program`,
        "give programs variables: --env NAME=value",
      );
  return given({
    kind: "stdio",
    argv: target,
    cwd: process.cwd(),
    env: o.env && Object.fromEntries(o.env.map(variableOf)),
    isolation:
      o.isolate === undefined || o.isolate === "sandbox" || o.isolate === "none"
        ? o.isolate
        : wrongIsolation(o.isolate),
    folders: o.folder?.map(folderOf),
    network: o.network && { hosts: o.network },
    localSockets: o.localSockets,
  });
}

function wrongIsolation(got: string): never {
  throw usage(`--isolate: expected sandbox or none, got ${JSON.stringify(got)}`);
}

function headerOf(line: string): [string, string] {
  const at = line.indexOf(":");
  if (at < 1) throw usage(`--header: expected 'Name: value', got ${JSON.stringify(line)}`);
  return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
}

function variableOf(pair: string): [string, string] {
  const at = pair.indexOf("=");
  if (at < 1) throw usage(`--env: expected NAME=value, got ${JSON.stringify(pair)}`);
  return [pair.slice(0, at), pair.slice(at + 1)];
}

function folderOf(text: string): { path: string; access: "ro" | "rw" } {
  const [, path = text, access = "ro"] = /^(.*):(ro|rw)$/.exec(text) ?? [];
  return { path: resolve(path), access: access === "rw" ? "rw" : "ro" };
}

type ImportOptions = Pick<AddOptions, "folder" | "network" | "dryRun"> & { only?: string[] };

async function importFile(
  cli: Cli,
  file: string,
  { only, folder, network, dryRun }: ImportOptions,
): Promise<void> {
  let text: string;
  try {
    text = readFileSync(file === "-" ? 0 : file, "utf8");
  } catch (cause) {
    throw usage(`${file} cannot be read (${(cause as NodeJS.ErrnoException).code ?? ""})`);
  }
  const api = await cli.connect("admin");
  const done = await api.post<ImportAnswer>(
    "servers/import",
    given({ text, only, folders: folder?.map(folderOf), network, dryRun }),
  );
  if (done.faults.length > 0 || done.servers.some(({ fault, tried }) => fault ?? tried?.fault))
    cli.exitCode = 1;
  if (cli.flags.json) return cli.term.printJson(done);
  for (const { name, called, tried, fault, needs, ignored } of done.servers) {
    const did = dryRun ? "was tried" : "added";
    if (tried) tellTried(cli, tried, called === name ? did : `(${called}) ${did}`);
    else
      for (const line of [
        `${cli.term.err.red("✗")} ${name} was not added`,
        ...row("why", fault?.message),
        ...row("remedy", fault?.remedy),
      ])
        cli.term.warn(line);
    for (const need of needs)
      cli.term.note(`   needs    ostiary servers credential ${name} ${need}`);
    if (ignored.length > 0) cli.term.note(`   ignored  ${ignored.join(", ")}`);
    if (tried) cli.term.print(name);
  }
  for (const { path, message, suggestion } of done.faults)
    for (const line of [
      `${cli.term.err.red("✗")} ${path || "/"}: ${message}`,
      ...row("remedy", suggestion),
    ])
      cli.term.warn(line);
  if (done.servers.length + done.faults.length === 0) cli.term.note("there is no server in it");
}
