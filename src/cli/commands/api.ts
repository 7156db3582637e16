import type { Command } from "commander";
import { readFileSync } from "node:fs";
import type { Cli } from "../cli.ts";
import { problemOf } from "../client/client.ts";
import { usage } from "../client/fail.ts";

const ADMIN = /^(\/api\/v1\/)?(users|keys|capsules|relationships|webhooks)(\/|\?|$)/;

export function define(command: Command, cli: Cli): void {
  command
    .usage("<METHOD> <path> [options]")
    .argument("<method>", "GET, POST, PATCH, PUT or DELETE")
    .argument("<path>", "tools lies under /api/v1/; with a leading slash it is taken as it stands")
    .option("--data <json>", "body as JSON, @file, or - for stdin")
    .action(async (method: string, path: string, options: { data?: string }) => {
      const verb = method.toUpperCase();
      if (!/^(GET|HEAD|POST|PATCH|PUT|DELETE)$/.test(verb))
        throw usage(`unknown method ${JSON.stringify(method)}`, "GET, POST, PATCH, PUT or DELETE");
      const body = options.data === undefined ? undefined : readData(options.data);
      const api = await cli.connect(ADMIN.test(path) ? "admin" : "caller");
      const response = await api.send(verb, path, body === undefined ? {} : { body });
      const text = await response.text();
      if (!response.ok) throw problemOf(response, asJson(text));
      const json = asJson(text);
      if (json === undefined) cli.stdout.write(text);
      else cli.term.printJson(json);
    });
}

function readData(data: string): unknown {
  const text =
    data === "-"
      ? readFileSync(0, "utf8")
      : data.startsWith("@")
        ? readFileSync(data.slice(1), "utf8")
        : data;
  const value = asJson(text);
  if (value === undefined) throw usage("--data: not valid JSON");
  return value;
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
