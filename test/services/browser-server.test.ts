// A server that starts a browser of its own, in the box: Playwright's, with the system's Chromium.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Client } from "@modelcontextprotocol/client";
import { openEgress } from "../../src/reach/egress/guard.ts";
import { openSandbox } from "../../src/reach/sandbox/sandbox.ts";
import type { ServerRow } from "../../src/storage/store/store.ts";
import { removeFolders } from "../../src/reach/upstream/stdio/folder.ts";
import { resolveProgram } from "../../src/reach/upstream/stdio/program.ts";
import { openStdio } from "../../src/reach/upstream/stdio/stdio.ts";

const chromium = process.env["OSTIARY_TEST_CHROMIUM"];
const WHY = "OSTIARY_TEST_CHROMIUM is not set: use `npm run test:services`";
const PROGRAM = "/usr/lib/chromium/chromium";
const FLAGS = [
  "--headless",
  "--isolated",
  "--no-sandbox",
  "--browser",
  "chromium",
  "--executable-path",
  PROGRAM,
];

test.skipIf(chromium === undefined && !process.env["CI"])(
  "a browser server opens a page in the box and tells what is on it",
  async () => {
    if (chromium === undefined) expect.unreachable(WHY);
    const dataDir = mkdtempSync(join(tmpdir(), "ostiary-browser-server-"));
    const sandbox = openSandbox({
      folder: join(dataDir, "sandbox"),
      path: process.env["PATH"] ?? "",
    });
    const egress = openEgress();
    const { argv, folders } = await resolveProgram(
      ["npx", "@playwright/mcp", ...FLAGS],
      join(import.meta.dirname, "../.."),
    );
    const row = {
      name: "browser",
      transport: {
        kind: "stdio",
        argv,
        folders,
        env: {},
        isolation: "sandbox",
        network: "none",
        localSockets: true,
      },
      settings: { maxResultBytes: 1_000_000 },
    } as unknown as ServerRow;
    const credential = {
      id: "none",
      env: () => Promise.resolve({}),
      headers: () => ({}),
      oauth: null,
    };
    const transport = await openStdio(
      row,
      credential,
      { logged: () => undefined, notified: () => undefined },
      {
        sandbox,
        egress,
        dataDir,
        guard: {
          requireApart: () => undefined,
          hold: () => Promise.resolve({ protect: [], release: () => Promise.resolve([]) }),
        },
      },
    );
    const client = new Client({ name: "ostiary", version: "1" });
    await client.connect(transport, { timeout: 120_000 });
    const call = async (name: string, args: Record<string, unknown>): Promise<string> =>
      JSON.stringify(await client.callTool({ name, arguments: args }, { timeout: 180_000 }));
    expect(
      await call("browser_navigate", {
        url: "data:text/html,<title>Boxed</title><h1>Hello from inside</h1>",
      }),
    ).toContain("Boxed");
    expect(await call("browser_snapshot", {})).toContain("Hello from inside");
    expect(await call("browser_navigate", { url: "http://198.51.100.7/" })).toMatch(/ERR_|isError/);
    await client.close();
    await sandbox.close();
    await egress.close();
    await removeFolders("browser", dataDir);
    rmSync(dataDir, { recursive: true, force: true });
  },
  400_000,
);
