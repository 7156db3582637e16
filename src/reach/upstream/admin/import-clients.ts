// Servers as the configuration files of AI clients write them down: `mcpServers`, or `servers` and `inputs` of VS Code.
import { parse, printParseErrorCode, type ParseError } from "jsonc-parser";
import type { Json, JsonObject } from "../../../contract/call.ts";
import type { FieldFault } from "../../../contract/errors.ts";
import { CATEGORIES } from "../../../contract/tool.ts";
import { credentialName, withoutSecrets } from "../credentials/plain-secrets.ts";
import type { NewServer } from "./server-admin.ts";
import { reveal } from "../scan/hidden.ts";
import { isServerName } from "../definitions/names.ts";

interface ImportedServer extends NewServer {
  /** What it is called in the file. */
  readonly called: string;
  /** Credentials that it refers to and the file gives no value for. */
  readonly needs: readonly string[];
  /** Fields that mean nothing here. */
  readonly ignored: readonly string[];
}

export interface Imported {
  readonly servers: readonly ImportedServer[];
  /** Entries that cannot be taken, each with its place in the file. */
  readonly faults: readonly FieldFault[];
}

const MAX_SERVERS = 200;
const KNOWN = new Set([
  "type",
  "transport",
  "command",
  "args",
  "env",
  "cwd",
  "url",
  "serverUrl",
  "httpUrl",
  "headers",
  "disabled",
  "enabled",
  "description",
]);

/** Comments and trailing commas are taken, as the clients take them. */
export function importServers(text: string): Imported {
  const errors: ParseError[] = [];
  const file = parse(text.replace(/^\ufeff/, ""), errors, { allowTrailingComma: true }) as
    Json | undefined;
  const [error] = errors;
  if (error)
    return refused(
      "",
      `line ${text.slice(0, error.offset).split("\n").length}: ${printParseErrorCode(error.error)}`,
      "expected JSON; comments and trailing commas are fine",
    );
  const found = entriesOf(file);
  if (found === null)
    return refused(
      "",
      'expected an object with "mcpServers" or "servers"',
      "copy the whole configuration of your AI client",
    );
  const all = Object.entries(found.entries);
  if (all.length > MAX_SERVERS)
    return refused(found.path, `it has ${all.length} servers, at most ${MAX_SERVERS} are taken`);
  const servers: ImportedServer[] = [];
  const faults: FieldFault[] = [];
  for (const [called, entry] of all) {
    const path = `${found.path}/${called.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    const made = serverOf(called, entry, path);
    const taken = "name" in made ? servers.find(({ name }) => name === made.name) : undefined;
    if (!("name" in made)) faults.push(made);
    else if (taken)
      faults.push({
        path,
        message: `it would be called ${made.name}, as ${JSON.stringify(taken.called)} is`,
        suggestion: "give it another name",
      });
    else servers.push(made);
  }
  return { servers, faults };
}

function refused(path: string, message: string, suggestion?: string): Imported {
  return { servers: [], faults: [{ path, message, ...(suggestion ? { suggestion } : {}) }] };
}

function entriesOf(file: Json | undefined): { entries: JsonObject; path: string } | null {
  if (!isObject(file)) return null;
  for (const key of ["mcpServers", "servers"])
    if (isObject(file[key])) return { entries: file[key], path: `/${key}` };
  // The settings of VS Code, where they hold servers.
  const { mcp } = file;
  if (isObject(mcp) && isObject(mcp["servers"]))
    return { entries: mcp["servers"], path: "/mcp/servers" };
  const isBare =
    Object.values(file).length > 0 &&
    Object.values(file).every(
      (entry) => isObject(entry) && (entry["command"] !== undefined || entry["url"] !== undefined),
    );
  return isBare ? { entries: file, path: "" } : null;
}

function serverOf(called: string, entry: Json, path: string): ImportedServer | FieldFault {
  const wrong = (field: string, message: string, suggestion?: string): FieldFault => ({
    path: `${path}${field}`,
    message,
    ...(suggestion ? { suggestion } : {}),
  });
  if (!isObject(entry)) return wrong("", "expected an object");
  const name = nameFor(called);
  if (name === null)
    return wrong(
      "",
      `no name can be made of "${reveal(called, "all")}"`,
      "give it a name of letters and digits",
    );
  const url = entry["url"] ?? entry["serverUrl"] ?? entry["httpUrl"];
  const type = entry["type"] ?? entry["transport"];
  const kind = kindOf(type, url !== undefined, entry["command"] !== undefined);
  if (kind === null)
    return wrong(
      "/type",
      `expected stdio, http, streamable-http or sse, got ${JSON.stringify(type ?? null)}`,
    );
  if (kind === "none") return wrong("", 'expected "command" or "url"');
  const rest = {
    called,
    name,
    ...(typeof entry["description"] === "string" ? { description: entry["description"] } : {}),
    ...(entry["disabled"] === true || entry["enabled"] === false ? { enabled: false } : {}),
    ignored: Object.keys(entry).filter((key) => !KNOWN.has(key)),
  };
  const field = kind === "stdio" ? "env" : "headers";
  const given = textsIn(entry[field]);
  if (given === null) return wrong(`/${field}`, "expected an object of texts");
  const texts = Object.fromEntries(
    Object.entries(given).map(([key, text]) => [key, referring(text)]),
  );
  const { texts: kept, secrets } = withoutSecrets(texts, field);
  const needs = [
    ...new Set(
      Object.values(kept).flatMap((text) =>
        [...text.matchAll(/\$\{credential:([A-Z0-9_]+)\}/g)].map(([, one = ""]) => one),
      ),
    ),
  ].filter((one) => secrets[one] === undefined);
  const common = { ...rest, credentials: secrets, needs };
  if (kind !== "stdio") {
    if (typeof url !== "string" || !/^https?:$/.test(URL.parse(url)?.protocol ?? ""))
      return wrong(
        "/url",
        `expected an http:// or https:// address, got ${JSON.stringify(url ?? null)}`,
      );
    if (VARIABLE.test(url))
      return wrong("/url", "it holds a variable", "write its value, or put a secret into a header");
    return { ...common, transport: { kind, url, headers: kept } };
  }
  const { command, args = [], cwd } = entry;
  if (typeof command !== "string" || command.trim() === "")
    return wrong("/command", "expected a program");
  if (!Array.isArray(args) || !args.every((arg) => typeof arg === "string"))
    return wrong("/args", "expected a list of texts");
  if (cwd !== undefined && typeof cwd !== "string") return wrong("/cwd", "expected a text");
  const argv = [command, ...args];
  const open = [...argv, cwd ?? ""].find((word) => VARIABLE.test(word));
  if (open !== undefined)
    return wrong(
      "/args",
      `"${reveal(open)}" holds a variable`,
      "write its value, or give it in env",
    );
  return { ...common, transport: { kind, argv, env: kept, ...(cwd === undefined ? {} : { cwd }) } };
}

/** `${env:X}`, `${input:x}`, `${X}` and `${X:-otherwise}`, as the clients fill them in. */
const VARIABLE = /\$\{(?:(?:env|input):)?([A-Za-z_][\w.-]*)(?::-[^}]*)?\}/;

/** What a client would ask for or take from its own environment is a credential here: both are its user's. */
function referring(text: string): string {
  return text.replace(
    new RegExp(VARIABLE, "g"),
    (_, name: string) => `\${credential:${credentialName(name)}}`,
  );
}

function kindOf(
  type: Json | undefined,
  hasUrl: boolean,
  hasCommand: boolean,
): "stdio" | "http" | "sse" | "none" | null {
  if (type === undefined) return hasUrl ? "http" : hasCommand ? "stdio" : "none";
  if (type === "stdio" || type === "sse") return type;
  return typeof type === "string" && /^(?:http|streamable[-_]?http)$/i.test(type) ? "http" : null;
}

/** `My Files` => my-files. */
function nameFor(called: string): string | null {
  const plain = called
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, "-")
    .replace(/^[^a-z]+|[-_]+$/g, "")
    .slice(0, 32);
  const name = (CATEGORIES as readonly string[]).includes(plain) ? `${plain}-server` : plain;
  return isServerName(name) ? name : null;
}

function textsIn(value: Json | undefined): Readonly<Record<string, string>> | null {
  if (value === undefined || value === null) return {};
  if (!isObject(value)) return null;
  const entries = Object.entries(value).map(
    ([key, text]) =>
      [key, typeof text === "number" || typeof text === "boolean" ? String(text) : text] as const,
  );
  return entries.every((entry): entry is readonly [string, string] => typeof entry[1] === "string")
    ? Object.fromEntries(entries)
    : null;
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
