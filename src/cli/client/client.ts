// The way to the server: its address, the right key, and REST over HTTP.
import { join } from "node:path";
import type { Cli } from "../cli.ts";
import { findDataDir, liveOwner, readKey } from "./data-dir.ts";
import type { CliError } from "./fail.ts";
import { failed, refused, usage, type CliProblem } from "./fail.ts";

export interface ClientRequest {
  readonly query?: Readonly<
    Record<string, string | number | boolean | readonly string[] | undefined>
  >;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export interface ApiAnswer<T> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: T;
}

export interface Api {
  readonly url: string;
  readonly key: string;
  /** A path without a leading slash lies under /api/v1/. Throws the server's problem as a CliError. */
  request<T = unknown>(
    method: string,
    path: string,
    request?: ClientRequest,
  ): Promise<ApiAnswer<T>>;
  get<T = unknown>(path: string, query?: ClientRequest["query"]): Promise<T>;
  post<T = unknown>(path: string, body: unknown): Promise<T>;
  /** The answer as it comes, for streams and for `api`. */
  send(method: string, path: string, request?: ClientRequest): Promise<Response>;
}

/** `reader`: the administrator's key where there is one, for what administrators see more of. */
export type Need = "caller" | "admin" | "reader";

export async function connect(cli: Cli, need: Need): Promise<Api> {
  const dataDir = await findDataDir(cli);
  const owner = liveOwner(dataDir);
  const ownUrl = trimmed(owner?.url);
  const url = trimmed(cli.flags.server) ?? ownUrl;
  if (url === undefined) {
    const why = owner
      ? `Process ${owner.pid} serves ${dataDir} on stdio only.`
      : `No server is running on ${dataDir}.`;
    throw failed(
      "not_running",
      why,
      "start one: ostiary serve (or name another: --server <url> --key <ref>)",
    );
  }
  if (!URL.canParse(url)) throw usage(`--server: expected a URL, got ${JSON.stringify(url)}`);
  // A key of this machine must not be sent to a server that was only named on the command line.
  if (cli.flags.key === undefined && url !== ownUrl)
    throw usage(
      "--server names a server whose key is not known here",
      "add --key env:NAME or --key file:PATH",
    );
  const given = cli.flags.key;
  const key = given === undefined ? await ownKey(dataDir, need, cli) : byReference(given, cli);
  return openApi(url, key, cli);
}

const trimmed = (url: string | null | undefined) => url?.replace(/\/+$/, "");

async function ownKey(dataDir: string, need: Need, cli: Cli): Promise<string> {
  const admin = need === "caller" ? null : await adminKey(dataDir, cli);
  if (admin !== null) return admin;
  const path = join(dataDir, need === "admin" ? "admin.key" : "cli.key");
  const key = need === "admin" ? null : readKey(path);
  if (key !== null) return key;
  const preset = "set OSTIARY_ADMIN_KEY here as it is set for the server, or name the key";
  const remedy = need === "admin" ? preset : "name one";
  const why = need === "admin" ? "; it was preset for the server, or another instance made it" : "";
  const how = "--key env:NAME or --key file:PATH";
  throw failed("no_key", `There is no key at ${path}${why}.`, `${remedy}: ${how}`);
}

/** From the environment, the data directory, or the settings: wherever the server has it from. */
async function adminKey(dataDir: string, cli: Cli): Promise<string | null> {
  const preset = cli.env["OSTIARY_ADMIN_KEY"];
  if (preset) return byReference(preset, cli);
  const kept = readKey(join(dataDir, "admin.key"));
  if (kept !== null) return kept;
  const { loadConfig } = await import("../../config/config.ts");
  // Settings that cannot be read here are the server's to complain about; here there is simply no key.
  const read = loadConfig({ env: cli.env, flags: { dataDir } }).catch(() => null);
  return (await read)?.config.adminKey ?? null;
}

/** `env:NAME`, `file:PATH`, the same inside `${…}`, or the key itself. */
export function byReference(ref: string, cli: Pick<Cli, "env">): string {
  const inner = /^\$\{(.*)\}$/.exec(ref)?.[1] ?? ref;
  const [, kind, name = ""] = /^(env|file):(.+)$/s.exec(inner) ?? [];
  if (kind === undefined) return ref;
  const key = kind === "env" ? cli.env[name] : readKey(name);
  if (!key)
    throw usage(
      `--key: ${kind === "env" ? `the variable ${name} is not set` : `the file ${name} is missing or empty`}`,
    );
  return key;
}

export function openApi(url: string, key: string, cli: Pick<Cli, "term">): Api {
  const send: Api["send"] = async (method, path, request = {}) => {
    const target = new URL(path.startsWith("/") ? path : `/api/v1/${path}`, url);
    for (const [name, value] of Object.entries(request.query ?? {})) {
      const values = Array.isArray(value) ? (value as readonly string[]) : [value as string];
      for (const each of values)
        if (each !== undefined) target.searchParams.append(name, String(each));
    }
    try {
      const response = await fetch(target, {
        method,
        headers: {
          authorization: `Bearer ${key}`,
          accept: "application/json",
          ...(request.body === undefined ? {} : { "content-type": "application/json" }),
          ...request.headers,
        },
        ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
        ...(request.signal ? { signal: request.signal } : {}),
      });
      cli.term.trace(
        `${method} ${target.href} ${response.status} ${response.headers.get("request-id") ?? ""}`,
      );
      return response;
    } catch (cause) {
      if (request.signal?.aborted) throw cause;
      const { code } = ((cause as Error).cause ?? {}) as NodeJS.ErrnoException;
      throw failed(
        "unreachable",
        `The server at ${url} does not answer (${code ?? String(cause)}).`,
        "is it running? start it: ostiary serve",
      );
    }
  };
  const request: Api["request"] = async (method, path, options) => {
    const response = await send(method, path, options);
    const body = await readBody(response);
    if (!response.ok) throw problemOf(response, body);
    return { status: response.status, headers: response.headers, body: body as never };
  };
  return {
    url,
    key,
    send,
    request,
    get: async (path, query) =>
      (await request("GET", path, query === undefined ? {} : { query })).body as never,
    post: async (path, body) => (await request("POST", path, { body })).body as never,
  };
}

async function readBody(response: Response): Promise<unknown> {
  const text = await response.text();
  if (text === "") return null;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

export function problemOf(response: Response, body: unknown): CliError {
  if (typeof body === "object" && body !== null && "code" in body)
    return refused(body as CliProblem);
  return failed(
    "not_ostiary",
    `${response.url} answered ${response.status} without a problem object.`,
    "is this the address of an Ostiary server?",
  );
}
