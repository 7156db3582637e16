// What connecting one client would change, before anything is.
import { existsSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { nearest } from "../../util/text/nearest.ts";
import type { Cli } from "../cli.ts";
import { findDataDir } from "../client/data-dir.ts";
import { usage } from "../client/fail.ts";
import {
  CLIENTS,
  type Address,
  type Client,
  type ClientMachine,
  type Scope,
} from "../../util/ai-clients/clients.ts";
import type { ConfigFile } from "./edit.ts";
import { receiptsOf, type Receipts } from "./receipt.ts";

export interface ClientPlace extends ConfigFile {
  readonly client: Client;
  readonly scope: Scope;
  readonly receipts: Receipts;
  readonly dataDir: string;
}

export const KEY_VARIABLE = "OSTIARY_KEY";

export function machineOf(cli: Pick<Cli, "env">): ClientMachine {
  return {
    platform: process.platform,
    home: cli.env["HOME"] || homedir(),
    env: cli.env,
    cwd: process.cwd(),
  };
}

export function clientCalled(id: string): Client {
  const found = CLIENTS.find((client) => client.id === id);
  if (found) return found;
  const ids = CLIENTS.map((client) => client.id);
  const close = nearest(id, ids);
  throw usage(
    `there is no client ${JSON.stringify(id)} here`,
    close ? `did you mean ${close}?` : `one of ${ids.join(", ")}`,
  );
}

export async function placeOf(cli: Cli, id: string, scope: Scope): Promise<ClientPlace> {
  const client = clientCalled(id);
  const path = client.file(machineOf(cli), scope);
  if (path === null)
    throw usage(`${client.title} has no configuration of a ${scope}`, "leave out --scope");
  const dataDir = await findDataDir(cli);
  return {
    client,
    scope,
    path,
    dataDir,
    receipts: receiptsOf(dataDir, id, scope === "user" ? "user" : path),
  };
}

/** Those whose folder or file is there. */
export function installed(machine: ClientMachine): readonly Client[] {
  const files = (client: Client): string[] => [
    client.folder(machine),
    client.file(machine, "user") ?? "",
  ];
  return CLIENTS.filter((client) => files(client).some((path) => existsSync(path)));
}

/** A file that others share refers to a variable, where its client can; else the key stands in it. */
export function addressOf(
  { client, scope, receipts, dataDir }: ClientPlace,
  url: string,
  key: string,
  cli: Pick<Cli, "flags">,
): Address & { readonly isReferred: boolean } {
  const isReferred = scope === "project" && client.variable !== null;
  const value = isReferred && client.variable ? client.variable(KEY_VARIABLE) : key;
  const where = cli.flags.server === undefined ? ["--data-dir", dataDir] : ["--server", url];
  const program =
    process.argv[1] === undefined ? ["ostiary"] : [process.execPath, realpathSync(process.argv[1])];
  return {
    url: `${url}/mcp`,
    authorization: `Bearer ${value}`,
    command: [...program, "mcp", ...where, "--key", `file:${receipts.keyFile}`],
    isReferred,
  };
}
