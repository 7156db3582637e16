// The data directory taken away while the server runs: what it then records nobody could ever read, so it refuses.
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { startServer } from "../fixtures/bin.ts";
import { META } from "./mcp-clients.ts";

/** By then it must be noticed. */
const NOTICED_MS = 1_000;
const LOST = "was removed, moved or replaced while the server runs";
const CALL = { body: { name: "system/echo", arguments: { text: "hi" } } };

const opened: StartedApp[] = [];
afterEach(async () => {
  for (const app of opened.splice(0)) {
    await app.close();
    rmSync(moved(app), { recursive: true, force: true });
  }
});

async function start(dataDir?: string): Promise<StartedApp> {
  const app = await startApp(dataDir === undefined ? {} : { dataDir });
  opened.push(app);
  return app;
}

async function callMcp({ url, adminKey }: StartedApp): Promise<string> {
  const params = { name: "system_echo", arguments: { text: "hi" }, _meta: META };
  const response = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${adminKey}`,
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "system_echo",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
  });
  return response.text();
}

const moved = ({ dataDir }: StartedApp): string => `${dataDir}-moved`;

const WAYS: Record<string, (app: StartedApp) => void> = {
  "the whole directory removed": ({ dataDir }) => rmSync(dataDir, { recursive: true }),
  "the whole directory moved away": (app) => renameSync(app.dataDir, moved(app)),
  "the database removed": ({ dataDir }) => rmSync(join(dataDir, "ostiary.db")),
  "the log file of the database removed": ({ dataDir }) => rmSync(join(dataDir, "ostiary.db-wal")),
  "the database replaced": ({ dataDir }) => {
    writeFileSync(join(dataDir, "other"), "");
    renameSync(join(dataDir, "other"), join(dataDir, "ostiary.db"));
  },
  "the lock removed": ({ dataDir }) => rmSync(join(dataDir, "owner.lock")),
};

describe("item 11: the data directory lost while serving", { timeout: 60_000 }, () => {
  test.each(Object.entries(WAYS))(
    "%s: calls are refused and /readyz says so",
    async (_way, lose) => {
      const app = await start();
      expect((await app.api("POST", "/executions", CALL)).status).toBe(200);
      lose(app);
      await sleep(NOTICED_MS);
      const rest = await app.api("POST", "/executions", CALL);
      expect(rest).toMatchObject({ status: 503, body: { code: "UNAVAILABLE" } });
      expect(JSON.stringify(rest.body)).toContain(LOST);
      expect(await callMcp(app)).toContain(LOST);
      const ready = await fetch(`${app.url}/readyz`);
      expect(ready.status).toBe(503);
      const told = await ready.text();
      expect(told).toContain(LOST);
      expect(told, "anybody may look there").not.toContain(app.dataDir);
      // Changes of any other kind are refused as well.
      const made = await app.api("POST", "/users", { body: { id: "anna", name: "Anna" } });
      expect(made.status).toBe(503);
    },
  );

  test("put back where it was, it is used again, and nothing acknowledged is missing", async () => {
    const app = await start();
    renameSync(app.dataDir, moved(app));
    await sleep(NOTICED_MS);
    expect((await app.api("POST", "/executions", CALL)).status).toBe(503);
    renameSync(moved(app), app.dataDir);
    await sleep(NOTICED_MS);
    const again = await app.api("POST", "/executions", CALL);
    expect(again.status).toBe(200);
    expect((await fetch(`${app.url}/readyz`)).status).toBe(200);
    const { executionId } = again.body as { executionId: string };
    expect((await app.api("GET", `/executions/${executionId}`)).status).toBe(200);
  });

  test("a second server in the new directory is left alone by the first when that stops", async () => {
    const first = await start();
    rmSync(first.dataDir, { recursive: true });
    const second = await start(first.dataDir);
    expect((await second.api("POST", "/executions", CALL)).status).toBe(200);
    await first.stop();
    const owner = join(second.dataDir, "owner.json");
    expect(existsSync(owner), "the second one's address").toBe(true);
    expect(readFileSync(owner, "utf8")).toContain(second.url);
    expect((await second.api("POST", "/executions", CALL)).status).toBe(200);
  });

  test("is told in the server's log with the path, even if nobody calls", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "ostiary-lost-"));
    const server = await startServer(["--no-open", "--port", "0", "--data-dir", dataDir]);
    try {
      rmSync(dataDir, { recursive: true });
      await expect.poll(server.stderr, { timeout: 20_000 }).toContain(`${LOST}: calls`);
      expect(server.stderr()).toContain(dataDir);
    } finally {
      await server.stop();
    }
  });
});
