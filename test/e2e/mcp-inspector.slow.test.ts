// The official Inspector as an independent client: over HTTP in both eras, and over stdio with and without a server.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";

const ROOT = join(import.meta.dirname, "../..");
const INSPECTOR = join(
  ROOT,
  "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js",
);
const OSTIARY = [process.execPath, join(ROOT, "bin/ostiary.js")];

let app: StartedApp;
let home: string;
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), "ostiary-inspector-"));
  app = await startApp({});
});
afterAll(async () => {
  await app.close();
  rmSync(home, { recursive: true, force: true });
});

/** Runs the Inspector; a non-zero exit rejects. */
async function inspect(target: readonly string[], ...args: string[]): Promise<unknown> {
  const command = [INSPECTOR, "--cli", ...target, ...args, "--format", "json"];
  const { stdout } = await promisify(execFile)(process.execPath, command, {
    env: { PATH: process.env["PATH"], HOME: home },
    timeout: 30_000,
  });
  return JSON.parse(stdout) as unknown;
}

const http = (era: string): string[] => {
  const header = `Authorization: Bearer ${app.adminKey}`;
  return [`${app.url}/mcp`, "--transport", "http", "--header", header, "--protocol-era", era];
};
const stdio = (dataDir: string): string[] => [...OSTIARY, "mcp", "--data-dir", dataDir];

const LIST = ["--method", "tools/list"];
const CALL = ["--method", "tools/call", "--tool-name", "system_echo", "--tool-arg", "text=hi"];

async function listsAndCalls(target: readonly string[]): Promise<void> {
  const list = (await inspect(target, ...LIST)) as { result: { tools: { name: string }[] } };
  expect(list.result.tools.map(({ name }) => name)).toContain("system_echo");
  const call = await inspect(target, ...CALL);
  expect(call).toMatchObject({ result: { structuredContent: { text: "hi" } } });
}

describe("the Inspector", { timeout: 90_000 }, () => {
  test.each(["modern", "legacy"])("lists and calls over HTTP, %s era", (era) =>
    listsAndCalls(http(era)),
  );

  test("finds no schema that other clients could not use", () =>
    expect(inspect(http("modern"), ...LIST, "--strict")).resolves.toBeDefined());

  test("lists and calls over stdio through the running server", async () => {
    await listsAndCalls(stdio(app.dataDir));
    const active = await app.api("GET", "/executions?limit=1");
    expect(JSON.stringify(active.body)).toContain('"system/echo"');
  });

  test("lists and calls over stdio when no server runs", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "ostiary-stdio-"));
    try {
      await listsAndCalls(stdio(dataDir));
    } finally {
      rmSync(dataDir, { recursive: true, force: true });
    }
  });
});
