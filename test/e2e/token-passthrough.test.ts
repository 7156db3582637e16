// T1: what a caller proves itself with never leaves: not in a header, a body, an environment or an argument list. Each
// kind of server records all it gets; the server's own token is the control that recording works.
import { mkdtempSync, writeFileSync, chmodSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HAS_BOX } from "../fixtures/programs.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { startMcpUpstream, type McpUpstream } from "../fixtures/mcp-upstream.ts";
import { openHouse } from "../fixtures/open-house.ts";
import { addServer } from "../fixtures/servers.ts";

const TOKEN = "up-9f31c07bd2a84e66a1b9";

let app: StartedApp;
let upstream: McpUpstream;
beforeAll(async () => {
  upstream = await startMcpUpstream();
  app = await startApp({ flags: { governance: openHouse(), "rateLimit.enabled": "false" } });
}, 60_000);
afterAll(async () => {
  await app.close();
  await upstream.close();
});

/** Everything that was recorded, searched for every key there is. */
function expectNoKey(recorded: string): void {
  for (const key of [app.adminKey, app.cliKey]) {
    expect(recorded).not.toContain(key);
    expect(recorded).not.toContain(Buffer.from(key).toString("base64"));
  }
  expect(recorded).toContain(TOKEN); // the control
}

const headers = { authorization: "Bearer ${credential:TOKEN}" };
const credentials = { TOKEN };

describe("T1: the caller's key stays here", { timeout: 60_000 }, () => {
  test("an MCP server over HTTP, through every door", async () => {
    const transport = { kind: "http", url: upstream.url, headers };
    expect(
      (await app.api("POST", "/servers", { body: { name: "rec", transport, credentials } })).status,
    ).toBe(201);
    expect((await app.api("POST", "/servers/rec/approve", { body: {} })).status).toBe(200);
    const args = { text: "hello" };
    for (const key of [app.adminKey, app.cliKey]) {
      const ran = await app.api("POST", "/executions", {
        key,
        body: { name: "rec/echo", arguments: args },
      });
      expect(ran.body).toMatchObject({ status: "success" });
      for (const path of ["/mcp", "/mcp/rec"]) {
        const name = path === "/mcp" ? "rec_echo" : "echo";
        const meta = {
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientCapabilities": {},
        };
        const response = await fetch(`${app.url}${path}`, {
          method: "POST",
          headers: {
            authorization: `Bearer ${key}`,
            "content-type": "application/json",
            accept: "application/json, text/event-stream",
            "mcp-protocol-version": "2026-07-28",
            "mcp-method": "tools/call",
            "mcp-name": name,
            cookie: `session=${key}`,
            "x-api-key": key,
          },
          body: JSON.stringify({
            jsonrpc: "2.0",
            id: 1,
            method: "tools/call",
            params: { name, arguments: args, _meta: meta },
          }),
        });
        expect(await response.text()).toContain("hello");
      }
    }
    expect(upstream.calls("echo")).toBe(6);
    expectNoKey(JSON.stringify(upstream.asked));
  });

  test("R160: an HTTP API", async () => {
    const recorded: string[] = [];
    const api = createServer((req, res) => {
      recorded.push(JSON.stringify([req.url, req.headers]));
      res.writeHead(200, { "content-type": "application/json" }).end('{"ok":true}');
    });
    await new Promise<void>((resolve) => api.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(api.address() as AddressInfo).port}`;
    const openapi = JSON.stringify({
      openapi: "3.1.0",
      info: { title: "t", version: "1" },
      paths: { "/ping": { get: { operationId: "ping", summary: "Ping.", responses: {} } } },
    });
    const made = await app.api("PUT", "/servers/api/api", {
      body: { openapi, url, headers, credentials },
    });
    expect(made.status).toBe(201);
    expect((await app.api("POST", "/servers/api/approve", { body: {} })).status).toBe(200);
    expect(
      (await app.api("POST", "/executions", { body: { name: "api/ping", arguments: {} } })).body,
    ).toMatchObject({ status: "success" });
    api.close();
    expectNoKey(recorded.join("\n"));
  });

  test.skipIf(!HAS_BOX)(
    "R294, T17: a program: its environment is exactly what was given, its arguments too",
    async () => {
      const folder = mkdtempSync(join(tmpdir(), "ostiary-recorder-"));
      chmodSync(folder, 0o755);
      const script = join(folder, "recorder.mjs");
      writeFileSync(script, RECORDER);
      chmodSync(script, 0o644);
      await addServer(app, "prog", {
        kind: "stdio",
        argv: ["node", script],
        env: { UPSTREAM_TOKEN: TOKEN, LEVEL: "2" },
      });
      const ran = await app.api("POST", "/executions", {
        body: { name: "prog/tell", arguments: {} },
      });
      const told =
        (ran.body as { result: { $content: { text: string }[] } }).result.$content[0]?.text ?? "";
      const { env, argv, messages } = JSON.parse(told) as {
        env: Record<string, string>;
        argv: string[];
        messages: string;
      };
      expect(Object.keys(env).sort()).toEqual(
        ["HOME", "LANG", "LEVEL", "PATH", "PWD", "TMPDIR", "UPSTREAM_TOKEN"].filter(
          (name) => name !== "PWD" || "PWD" in env,
        ),
      );
      // The answer is masked on its way out, since the token is known: what the program had is told by its length.
      expect(env["LEVEL"]).toBe("2");
      for (const key of [app.adminKey, app.cliKey])
        expect(JSON.stringify([env, argv, messages])).not.toContain(key);
      expect(messages).toContain("tools/call");
    },
  );
});

/** Speaks the legacy era on stdin and stdout, and tells what it was started with. */
const RECORDER = `
import { createInterface } from "node:readline";
const messages = [];
const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
for await (const line of createInterface({ input: process.stdin })) {
  messages.push(line);
  const { id, method } = JSON.parse(line);
  if (id === undefined) continue;
  if (method === "initialize") say({ id, result: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "recorder", version: "1" } } });
  else if (method === "tools/list") say({ id, result: { tools: [{ name: "tell", description: "Tells all it knows.", inputSchema: { type: "object" } }] } });
  else if (method === "tools/call") say({ id, result: { content: [{ type: "text", text: JSON.stringify({ env: process.env, argv: process.argv, messages: messages.join("\\n") }) }] } });
  else say({ id, error: { code: -32601, message: "Method not found" } });
}
`;
