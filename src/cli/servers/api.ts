// HTTP APIs as servers: an OpenAPI document, or single endpoints described on the command line.
import { readFileSync } from "node:fs";
import type { Command } from "commander";
import type { Cli } from "../cli.ts";
import type { Api } from "../client/client.ts";
import { usage } from "../client/fail.ts";
import { given } from "../nouns.ts";
import { approveAll } from "./decide.ts";
import { pathOf, tellTried, printTools, type TriedItem } from "./shapes.ts";

/** Options of `add` that an API has. */
export interface ApiOptions {
  openapi?: string;
  choose?: string[];
  outputs?: boolean;
  header?: string[];
  description?: string;
  dryRun?: boolean;
  approve?: boolean;
  evenWithFindings?: boolean;
  capsule?: string[];
}

interface EndpointOptions {
  name: string;
  method: string;
  url: string;
  description?: string;
  param?: string[];
  body?: string;
  select?: string[];
  maxItems?: number;
}

const each = (text: string, before: string[] = []): string[] => [...before, text];

export function defineApiOptions(add: Command): Command {
  return add
    .option(
      "--openapi <file-or-url>",
      "an HTTP API instead of an MCP server: its OpenAPI 3 document; - for stdin",
    )
    .option(
      "--choose <terms>",
      "with --openapi: getPet,tag:store,method:get,path:/v1; a+b both, !a not; repeatable",
      each,
    )
    .option("--outputs", "with --openapi: also the schemas of answers");
}

export function defineEndpoints(command: Command, cli: Cli): void {
  command
    .command("add-endpoint <server>")
    .description(
      "a single endpoint of an HTTP API as a tool; makes the server where there is none yet",
    )
    .requiredOption("--name <name>", "what the tool is called")
    .requiredOption("--url <url>", "e.g. 'https://api.example.org/pets/{id}?lang=en&page={page}'")
    .option("--method <method>", "GET, POST, …", "GET")
    .option("--description <text>", "what it does, for those who choose a tool")
    .option(
      "--param <name:place[:type]>",
      "place: path, query or header; a ? behind the name: may be left out; repeatable",
      each,
    )
    .option("--body <schema>", "JSON Schema of a JSON body, or the file that holds it")
    .option(
      "--select <pointer>",
      "all that is handed on of an answer, e.g. /items/*/name; repeatable",
      each,
    )
    .option("--max-items <n>", "of every list the first so many", Number)
    .action((server: string, options: EndpointOptions) => addEndpoint(cli, server, options));
}

/** `settings` and `credentials` as `add` read them. */
export async function addApi(
  cli: Cli,
  api: Api,
  name: string,
  target: readonly string[],
  options: ApiOptions,
  more: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { openapi = "", choose, outputs, header, description, dryRun } = options;
  if (target.length > 1)
    throw usage(
      "expected one address at most: where the API lives",
      "ostiary servers add <name> https://api… --openapi file.yaml",
    );
  cli.term.note(`reading ${openapi === "-" ? "stdin" : openapi} …`);
  const body = given({
    openapi: /^https?:\/\//i.test(openapi) ? openapi : textOf(openapi, "--openapi"),
    url: target[0],
    choose: choose
      ?.flatMap((terms) => terms.split(","))
      .map((term) => term.trim())
      .filter((term) => term !== ""),
    headers: header && Object.fromEntries(header.map(headerOf)),
    outputs,
    description,
    dryRun,
    ...more,
  });
  const made = (await api.request<TriedItem>("PUT", pathOf(name, "/api"), { body })).body;
  if (options.approve && !dryRun && made.fault === null) return approveAll(cli, api, made, options);
  printTried(cli, made, dryRun ? "was tried" : "imported", name, dryRun === true);
}

async function addEndpoint(cli: Cli, server: string, options: EndpointOptions): Promise<void> {
  const {
    name,
    method,
    url,
    description = `${method.toUpperCase()} ${url}`,
    param,
    body,
    select,
    maxItems,
  } = options;
  const endpoint = given({
    name,
    method,
    url,
    description,
    parameters: param?.map(parameterOf),
    body: body === undefined ? undefined : { schema: schemaOf(body) },
    select,
    maxItems,
  });
  const api = await cli.connect("admin");
  const { status } = await api.send("GET", pathOf(server));
  const made =
    status === 404
      ? (
          await api.request<TriedItem>("PUT", pathOf(server, "/api"), {
            body: { endpoints: [endpoint] },
          })
        ).body
      : await api.post<TriedItem>(pathOf(server, "/endpoints"), endpoint);
  printTried(cli, made, `has ${name} now`, server, false);
}

function printTried(cli: Cli, made: TriedItem, did: string, name: string, dryRun: boolean): void {
  if (cli.flags.json) {
    cli.term.printJson(made);
    if (made.fault) cli.exitCode = 1;
    return;
  }
  tellTried(cli, made, did);
  printTools(cli, made.tools);
  if (!dryRun && made.tools.some(({ state }) => state === "pending"))
    cli.term.note(
      `   next     nobody can call them yet; read them (ostiary servers show ${name} <tool>), then: ostiary servers approve ${name}`,
    );
}

/** `Name: value`, or `query:NAME: value` for what belongs into the address. */
function headerOf(line: string): [string, string] {
  const [, name, value] = /^(query:[^:\s]+|[^:\s]+)\s*:(.*)$/s.exec(line) ?? [];
  if (name === undefined || value === undefined)
    throw usage(`--header: expected 'Name: value', got ${JSON.stringify(line)}`);
  return [name, value.trim()];
}

/** `page?:query:integer`. */
function parameterOf(text: string): Record<string, unknown> {
  const [, name, optional, place, type = "string"] =
    /^([^:?]+)(\?)?:(path|query|header)(?::([a-z]+))?$/.exec(text) ?? [];
  if (name === undefined)
    throw usage(
      `--param: expected name:place or name:place:type, got ${JSON.stringify(text)}`,
      "place is path, query or header; e.g. page?:query:integer",
    );
  return { name, in: place, required: optional === undefined, schema: { type } };
}

function schemaOf(given: string): unknown {
  const text = given.trimStart().startsWith("{") ? given : textOf(given, "--body");
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw usage("--body: expected a JSON Schema", `e.g. --body '{"type":"object"}'`);
  }
}

function textOf(file: string, flag: string): string {
  try {
    return readFileSync(file === "-" ? 0 : file, "utf8");
  } catch (cause) {
    throw usage(`${flag}: ${file} cannot be read (${(cause as NodeJS.ErrnoException).code ?? ""})`);
  }
}
