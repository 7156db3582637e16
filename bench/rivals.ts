// Proxies of others in front of the same tool as a program, each as its own documentation starts it.
import { spawn } from "node:child_process";
import { connect, createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { ROOT, stopChild, type BenchServer } from "./process.ts";
import { pause } from "./row.ts";

export interface Rival extends BenchServer {
  /** Of the session that a handshake opened; null where none is needed. */
  readonly session: string | null;
}

/** Several of them would listen on every interface. */
const LOOPBACK = ["--import", join(ROOT, "test", "conformance", "loopback.ts")];
const ECHO = join(ROOT, "bench", "servers", "stdio-echo.ts");
const READY_MS = 30_000;

export async function startMcpProxy(): Promise<Rival> {
  const port = await freePort();
  const bin = join(ROOT, "node_modules", "mcp-proxy", "dist", "bin", "mcp-proxy.mjs");
  const server = await startRival("mcp-proxy", port, [
    ...LOOPBACK,
    bin,
    "--port",
    String(port),
    "--host",
    "127.0.0.1",
    "--server",
    "stream",
    "--",
    process.execPath,
    ECHO,
  ]);
  return { ...server, session: null };
}

export async function startSupergateway(): Promise<Rival> {
  const port = await freePort();
  const bin = join(ROOT, "node_modules", "supergateway", "dist", "index.js");
  const server = await startRival("supergateway", port, [
    ...LOOPBACK,
    bin,
    "--stdio",
    `${process.execPath} ${ECHO}`,
    "--outputTransport",
    "streamableHttp",
    "--stateful",
    "--port",
    String(port),
    "--logLevel",
    "none",
  ]);
  return { ...server, session: await opened(port) };
}

/** They do not report reliably when they are ready, so we try until they answer. */
async function startRival(
  name: string,
  port: number,
  args: readonly string[],
): Promise<BenchServer> {
  const began = performance.now();
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio: "ignore" });
  while (!(await isOpen(port))) {
    if (child.exitCode !== null || performance.now() - began > READY_MS)
      throw new Error(`${name} did not start`);
    await pause(100);
  }
  return {
    name,
    pid: child.pid ?? 0,
    port,
    key: null,
    hello: {},
    startMs: performance.now() - began,
    stop: () => stopChild(child),
  };
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port });
    const end = (open: boolean): void => {
      socket.destroy();
      resolve(open);
    };
    socket.once("connect", () => end(true)).once("error", () => end(false));
  });
}

async function opened(port: number): Promise<string> {
  const ends = performance.now() + READY_MS;
  for (;;) {
    const session = await handshake(port).catch(() => null);
    if (session !== null) return session;
    if (performance.now() > ends) throw new Error("no session was opened in time");
    await pause(200);
  }
}

async function handshake(port: number): Promise<string | null> {
  const post = (body: object, headers: Record<string, string>): Promise<Response> =>
    fetch(`http://127.0.0.1:${port}/mcp`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: "2.0", ...body }),
    });
  const params = {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "bench", version: "1.0.0" },
  };
  const answer = await post({ id: 1, method: "initialize", params }, {});
  await answer.text();
  const session = answer.headers.get("mcp-session-id");
  if (session === null) return null;
  const headers = { "mcp-session-id": session, "mcp-protocol-version": "2025-11-25" };
  await (await post({ method: "notifications/initialized" }, headers)).text();
  return session;
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
