import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { createServer as createPort, type AddressInfo } from "node:net";
import { resolve } from "node:path";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { describe, expect, test, vi } from "vitest";
import type { JsonObject } from "../../../contract/call.ts";
import {
  cleanUpAfterEach,
  cleanups,
  listening,
  opened,
  options,
  rowOf,
} from "../connection/connection.suite.ts";

cleanUpAfterEach();

const ROOT = resolve(import.meta.dirname, "../../../..");
const EVERYTHING = resolve(
  ROOT,
  "node_modules/@modelcontextprotocol/server-everything/dist/index.js",
);
const LOOPBACK = resolve(ROOT, "test/conformance/loopback.ts");

function freePort(): Promise<number> {
  return new Promise((found) => {
    const server = createPort().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => found(port));
    });
  });
}

/** The reference server, which listens everywhere unless it is told otherwise. */
async function everything(kind: "streamableHttp" | "sse"): Promise<number> {
  const port = await freePort();
  const child = spawn(process.execPath, ["--import", LOOPBACK, EVERYTHING, kind], {
    env: { PATH: process.env["PATH"], PORT: String(port) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  cleanups.push(() => void child.kill("SIGKILL"));
  await new Promise<void>((ready, failed) => {
    const hear = (chunk: Buffer): void => {
      if (/listening|running|port/i.test(chunk.toString())) ready();
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.once("exit", () => failed(new Error("it ended")));
  });
  return port;
}

describe("server-everything", () => {
  test.each([
    ["streamableHttp", "http", "/mcp"],
    ["sse", "sse", "/sse"],
  ] as const)(
    "over %s is listed, called and closed",
    async (program, kind, path) => {
      const port = await everything(program);
      const row = rowOf(`http://127.0.0.1:${port}${path}`, kind, { timeoutMs: 20_000 });
      const { connection } = await vi.waitFor(() => opened(row), {
        timeout: 20_000,
        interval: 250,
      });
      expect(connection.era).toBe("legacy");
      const list = await connection.request("tools/list", {}, options({ timeoutMs: 20_000 }));
      expect((list["tools"] as JsonObject[]).map(({ name }) => name)).toContain("echo");
      const result = await connection.request(
        "tools/call",
        { name: "echo", arguments: { message: "hi" } },
        options({ timeoutMs: 20_000 }),
      );
      expect(JSON.stringify(result)).toContain("hi");
      await connection.close();
      expect(await connection.ended).toBe("the connection was closed");
    },
    60_000,
  );

  test("over sse: when the program dies, the connection ends and what is in flight fails", async () => {
    const port = await everything("sse");
    const { connection } = await vi.waitFor(
      () => opened(rowOf(`http://127.0.0.1:${port}/sse`, "sse")),
      { timeout: 20_000, interval: 250 },
    );
    const waiting = connection.request(
      "tools/call",
      { name: "trigger-long-running-operation", arguments: { duration: 30, steps: 2 } },
      options({ timeoutMs: 40_000 }),
    );
    const kill = cleanups.shift();
    setTimeout(() => void Promise.resolve(kill?.()).catch(() => undefined), 300);
    await expect(waiting).rejects.toMatchObject({ kind: "closed", dispatched: true });
    expect(await connection.ended).toContain("stream");
  }, 60_000);
});

describe("change notices of a modern server", () => {
  test("are listened for, and again after the stream dropped", async () => {
    const servers = new Set<McpServer>();
    const handler = createMcpHandler(() => {
      const server = new McpServer(
        { name: "changing", version: "1" },
        { capabilities: { tools: { listChanged: true } } },
      );
      server.registerTool("any", { description: "Any" }, () => ({ content: [] }));
      servers.add(server);
      return server;
    });
    const serve = toNodeHandler(handler);
    const http = createServer(
      (req, res) => void serve(req as Parameters<typeof serve>[0], res).catch(() => res.destroy()),
    );
    const { notified } = await opened(rowOf(await listening(http)));
    const heard = (): number =>
      notified.filter(([method]) => method === "notifications/tools/list_changed").length;
    const told = async (count: number): Promise<void> =>
      vi.waitFor(
        () => {
          handler.notify.toolsChanged();
          expect(heard()).toBeGreaterThanOrEqual(count);
        },
        { timeout: 15_000, interval: 200 },
      );
    await told(1);
    http.closeAllConnections();
    await told(heard() + 1);
  }, 40_000);
});
