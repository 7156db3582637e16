// What is shipped: the bundle alone, with no node_modules anywhere near it.
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BIN, runBin, startServer } from "../fixtures/bin.ts";

const ROOT = join(import.meta.dirname, "../..");
let folder: string;
let program: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "ostiary-bundle-"));
  program = join(folder, "bin/ostiary.js");
  execFileSync(process.execPath, [join(ROOT, "scripts/build.ts"), join(folder, "dist")]);
  cpSync(BIN, program);
  cpSync(join(ROOT, "package.json"), join(folder, "package.json"));
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("it starts, runs a governed call over every part, serves its reference, and stops", async () => {
  const dataDir = join(folder, "data");
  const server = await startServer(["--data-dir", dataDir, "--port", "0"], { program });
  try {
    const called = await runBin(["call", "system/echo", "text=bundled", "--data-dir", dataDir, "--json"], { program }); // prettier-ignore
    expect(called.json()).toMatchObject({ status: "success", result: { text: "bundled" } });
    const authorization = `Bearer ${readFileSync(join(dataDir, "admin.key"), "utf8").trim()}`;
    for (const path of ["/docs/scalar.js", "/openapi.json", "/metrics", "/readyz"])
      expect((await fetch(server.url + path, { headers: { authorization } })).status, path).toBe(200); // prettier-ignore
    const hello = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } } }; // prettier-ignore
    const spoken = await runBin(["mcp", "--data-dir", dataDir], { program, input: `${JSON.stringify(hello)}\n` }); // prettier-ignore
    expect(JSON.parse(spoken.stdout)).toMatchObject({
      result: { serverInfo: { name: "ostiary" } },
    });
  } finally {
    expect(await server.stop()).toBe(0);
  }
  // The sources read what the bundle wrote.
  const again = await startServer(["--data-dir", dataDir, "--port", "0"]);
  expect(await again.stop()).toBe(0);
}, 60_000);

test("help, configuration with a file, and doctor work from it", async () => {
  expect((await runBin(["--help"], { program })).code).toBe(0);
  expect((await runBin(["config", "check"], { program })).code).toBe(0);
  const version = (await runBin(["version", "--json"], { program })).json() as { build: string };
  expect(version.build).toBe("bundle");
  expect((await runBin(["doctor", "--json", "--data-dir", join(folder, "none")], { program })).json().ok).toBe(true); // prettier-ignore
});
