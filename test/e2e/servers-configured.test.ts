// Servers of the settings: there from the start, changed by the next one, gone when they are no longer written down.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { loadConfig } from "../../src/config/config.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { startMcpUpstream, type McpUpstream } from "../fixtures/mcp-upstream.ts";
import { openHouse } from "../fixtures/open-house.ts";

const EVERYTHING = join(
  import.meta.dirname,
  "../../node_modules/@modelcontextprotocol/server-everything/dist/index.js",
);
const SECRET = "brave-0123456789abcdef-secret";

let upstream: McpUpstream;
let dataDir: string;
let app: StartedApp | null = null;
const start = async (mcpServers: object): Promise<StartedApp> =>
  (app = await startApp({
    dataDir,
    flags: {
      mcpServers: JSON.stringify(mcpServers),
      governance: openHouse(),
      "rateLimit.enabled": "false",
    },
  }));

beforeAll(async () => {
  upstream = await startMcpUpstream();
  dataDir = mkdtempSync(join(tmpdir(), "ostiary-configured-"));
});
afterEach(async () => {
  await app?.stop();
  app = null;
});
afterAll(async () => {
  await upstream.close();
  rmSync(dataDir, { recursive: true, force: true });
});

test(
  "R161 R294: by name with command, args, env and timeout; its secret reaches it alone and is kept sealed",
  { timeout: 60_000 },
  async () => {
    const { api } = await start({
      tools: {
        command: ["node"],
        args: [EVERYTHING],
        env: { BRAVE_API_KEY: SECRET },
        timeout: 120,
        isolation: "none",
      },
      remote: { url: upstream.url, headers: { "X-Api-Key": SECRET }, description: "over there" },
    });
    const { items } = (await api("GET", "/servers")).body;
    expect(items).toMatchObject([
      {
        name: "remote",
        origin: "configuration",
        description: "over there",
        transport: { kind: "http", headers: { "X-Api-Key": "${credential:X_API_KEY}" } },
      },
      {
        name: "tools",
        origin: "configuration",
        settings: { timeoutMs: 120_000 },
        transport: {
          kind: "stdio",
          argv: ["node", EVERYTHING],
          env: { BRAVE_API_KEY: "${credential:BRAVE_API_KEY}" },
        },
      },
    ]);
    expect((await api("POST", "/servers/remote/look", { body: {} })).body).toMatchObject({
      fault: null,
    });
    expect(upstream.asked.at(-1)?.headers["x-api-key"]).toBe(SECRET);
    const looked = await api("POST", "/servers/tools/look", { body: {} });
    expect(looked.body).toMatchObject({ fault: null });
    expect(looked.body.server.tools.pending).toBeGreaterThan(5);
    await api("POST", "/servers/tools/approve", { body: { tools: ["get-env"] } });
    await api("POST", "/servers/remote/approve", { body: {} });
    const { status, result } = (
      await api("POST", "/executions", { body: { name: "tools/get-env" } })
    ).body;
    expect(status).toBe("success");
    const env = JSON.parse(result.$content[0].text) as Record<string, string>;
    expect(env["BRAVE_API_KEY"]).toBe("[masked]");
    expect(
      Object.keys(env).filter(
        (name) => !["BRAVE_API_KEY", "PATH", "HOME", "TMPDIR", "LANG"].includes(name),
      ),
    ).toEqual([]);
    for (const file of ["ostiary.db", "ostiary.db-wal"])
      expect(readFileSync(join(dataDir, file)).includes(SECRET)).toBe(false);
  },
);

test("it is changed where it was written, and nowhere else", async () => {
  const { api } = await start({ remote: { url: upstream.url, timeout: 7 } });
  expect((await api("GET", "/servers/remote")).body).toMatchObject({
    settings: { timeoutMs: 7_000 },
    tools: { approved: 1 },
  });
  for (const [method, body] of [
    ["PATCH", { enabled: false }],
    ["DELETE", undefined],
  ] as const) {
    const answer = await api(method, "/servers/remote", body ? { body } : {});
    expect(answer.body).toMatchObject({
      code: "CONFLICT",
      reason: "stale",
      remedy: expect.stringContaining("mcpServers") as string,
    });
  }
  expect(
    (await api("POST", "/executions", { body: { name: "remote/echo", arguments: { text: "a" } } }))
      .body.status,
  ).toBe("success");
});

test("one that is no longer written down is gone, with its tools and links", async () => {
  const { api } = await start({});
  expect((await api("GET", "/servers")).body.items).toEqual([]);
  expect(
    (await api("POST", "/executions", { body: { name: "remote/echo", arguments: { text: "a" } } }))
      .status,
  ).toBe(404);
  expect(JSON.stringify((await api("GET", "/capsules")).body)).not.toContain("remote/");
});

test("a program that is not there is told of, and everything else starts", async () => {
  const { api } = await start({ gone: { command: "no-such-program-here" } });
  expect((await api("POST", "/servers/gone/look", { body: {} })).body.fault).not.toBeNull();
  expect(
    (await api("POST", "/executions", { body: { name: "system/echo", arguments: { text: "a" } } }))
      .body.status,
  ).toBe("success");
});

test.each([
  [{ Upper: { command: "x" } }, /entry Upper/],
  [{ a: { command: "x", url: "http://127.0.0.1/" } }, /either command or url/],
  [{ a: { url: "ftp://example.com" } }, /mcpServers/],
  [{ a: { command: "x", shell: true } }, /mcpServers/],
])("what does not fit is no start: %j", async (mcpServers, told) => {
  const flags = { mcpServers: JSON.stringify(mcpServers) };
  await expect(loadConfig({ env: {}, flags })).rejects.toThrow(told);
});
