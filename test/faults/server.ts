// The real server as a process of its own, to be killed; and a small client of its doors.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const ROOT = join(import.meta.dirname, "..", "..");
const START_LIMIT_MS = 30_000;

export interface FaultServer {
  readonly url: string;
  readonly key: string;
  /** From the start of the process to its ready line. */
  readonly startMs: number;
  api(method: string, path: string, body?: unknown): Promise<Answer>;
  mcp(tool: string, args: unknown): Promise<Answer>;
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
  /** SIGTERM; the server drains and leaves. */
  stop(): Promise<void>;
}

export interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export function spawnServer(dataDir: string): ChildProcess {
  const bin = join(ROOT, "bin", "ostiary.js");
  const args = [bin, "serve", "--no-open", "--data-dir", dataDir, "--port", "0"];
  return spawn(process.execPath, args, {
    cwd: ROOT,
    // A store that fails also lowers the house's limits, and it is not those that are tried here.
    env: { ...plainEnv(), RATE_LIMIT_ENABLED: "false" },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** The server refuses OSTIARY_ variables it does not know; the tests' own are not for it. */
function plainEnv(): NodeJS.ProcessEnv {
  const foreign = Object.entries(process.env).filter(([name]) => !name.startsWith("OSTIARY_"));
  return Object.fromEntries(foreign);
}

export async function startServer(dataDir: string): Promise<FaultServer> {
  const began = performance.now();
  const child = spawnServer(dataDir);
  const url = await readyUrl(child);
  const startMs = performance.now() - began;
  const key = readFileSync(join(dataDir, "admin.key"), "utf8").trim();
  const send = async (
    method: string,
    path: string,
    headers: Record<string, string>,
    body?: unknown,
  ): Promise<Answer> => {
    const response = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...headers,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      body: text === "" ? {} : (JSON.parse(text) as Answer["body"]),
    };
  };
  return {
    url,
    key,
    startMs,
    api: (method, path, body) => send(method, `/api/v1${path}`, {}, body),
    mcp: (tool, args) => send("POST", "/mcp", mcpHeaders(tool), mcpCall(tool, args)),
    kill: () => end(child, "SIGKILL"),
    stop: () => end(child, "SIGTERM"),
  };
}

const PREFIX = "io.modelcontextprotocol/";
const MODERN = "2026-07-28";

const mcpHeaders = (tool: string): Record<string, string> => ({
  accept: "application/json, text/event-stream",
  "mcp-protocol-version": MODERN,
  "mcp-method": "tools/call",
  "mcp-name": tool,
});

const mcpCall = (name: string, args: unknown): object => ({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: {
    name,
    arguments: args,
    _meta: { [`${PREFIX}protocolVersion`]: MODERN, [`${PREFIX}clientCapabilities`]: {} },
  },
});

function readyUrl(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    const said: string[] = [];
    const late = setTimeout(() => child.kill("SIGKILL"), START_LIMIT_MS);
    child.once("exit", (code, signal) => {
      clearTimeout(late);
      reject(
        new Error(`the server ended (${code ?? signal}) before it was ready:\n${said.join("\n")}`),
      );
    });
    for (const input of [child.stdout, child.stderr]) {
      if (!input) continue;
      createInterface({ input }).on("line", (line) => {
        if (said.length < 100) said.push(line);
        const url = /^ready (http:\S+)/.exec(line)?.[1];
        if (url === undefined) return;
        clearTimeout(late);
        resolve(url);
      });
    }
  });
}

export async function end(child: ChildProcess, signal: "SIGKILL" | "SIGTERM"): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill(signal);
  const late = setTimeout(() => child.kill("SIGKILL"), 15_000);
  await gone;
  clearTimeout(late);
}
