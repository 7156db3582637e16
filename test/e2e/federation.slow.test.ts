// Servers nobody here wrote, each added with one command, their tools called through us by clients nobody here wrote.
import { chmodSync, chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { runBin } from "../fixtures/bin.ts";
import { CLIENTS } from "../fixtures/mcp-clients.ts";
import { openHouse } from "../fixtures/open-house.ts";
import { HAS_BOX } from "../fixtures/programs.ts";

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const MODULES = join(import.meta.dirname, "../../node_modules");
/** The program itself: what lies in /usr/bin is a script that wants settings of the host. */
const CHROMIUM =
  ["/usr/lib/chromium/chromium", "/usr/lib/chromium-browser/chromium-browser"].find((path) =>
    existsSync(path),
  ) ?? null;
const NO_BOX = process.platform !== "linux" || !HAS_BOX;
/** A user that a sandbox may run as: what belongs to root is nobody's in there. */
const SOMEBODY = 1_000;

let app: StartedApp;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "ostiary-federation-"));
  writeFileSync(join(folder, "note.txt"), "kept in a file");
  chmodSync(folder, 0o755);
  if (process.getuid?.() === 0)
    for (const path of [folder, join(folder, "note.txt")]) chownSync(path, SOMEBODY, SOMEBODY);
  app = await startApp({ flags: { governance: openHouse(), "rateLimit.enabled": "false" } });
});
afterAll(async () => {
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Peer {
  readonly options: (folder: string) => readonly string[];
  readonly program: (folder: string) => readonly string[];
  readonly tool: string;
  readonly args: (folder: string) => Record<string, unknown>;
  readonly answers: string;
  readonly skip?: boolean;
}

const script = (path: string, ...args: string[]): string[] => [
  "node",
  join(MODULES, path),
  ...args,
];

const PEERS: Readonly<Record<string, Peer>> = {
  everything: {
    options: () => [],
    program: () => script("@modelcontextprotocol/server-everything/dist/index.js"),
    tool: "everything_echo",
    args: () => ({ message: "through the door" }),
    answers: "Echo: through the door",
  },
  files: {
    options: (root) => ["--folder", `${root}:rw`],
    program: (root) => script("@modelcontextprotocol/server-filesystem/dist/index.js", root),
    tool: "files_read_text_file",
    args: (root) => ({ path: join(root, "note.txt") }),
    answers: "kept in a file",
  },
  notes: {
    options: () => ["--env", "MEMORY_FILE_PATH=/job/memory.jsonl"],
    program: () => script("@modelcontextprotocol/server-memory/dist/index.js"),
    tool: "notes_create_entities",
    args: () => ({
      entities: [{ name: "door", entityType: "thing", observations: ["it is open"] }],
    }),
    answers: "",
  },
  thinking: {
    options: () => [],
    program: () => script("@modelcontextprotocol/server-sequential-thinking/dist/index.js"),
    tool: "thinking_sequentialthinking",
    args: () => ({ thought: "one", nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 }),
    answers: "thoughtHistoryLength",
  },
  browser1: {
    options: () => ["--local-sockets"],
    program: () =>
      script(
        "@playwright/mcp/cli.js",
        "--headless",
        "--no-sandbox",
        "--isolated",
        "--executable-path",
        CHROMIUM ?? "",
      ),
    tool: "browser1_browser_navigate",
    args: () => ({ url: "data:text/html,<title>Behind the door</title><h1>Hello</h1>" }),
    answers: "Behind the door",
    skip: CHROMIUM === null,
  },
};

const ostiary = (...args: string[]) =>
  runBin(args, { env: { OSTIARY_DATA_DIR: app.dataDir }, cwd: folder });

describe.skipIf(NO_BOX).each(Object.entries(PEERS))("R161, R230: %s", (name, peer) => {
  test.skipIf(peer.skip === true)("is added and approved with one command", async () => {
    const added = await ostiary(
      "servers",
      "add",
      name,
      ...peer.options(folder),
      "--approve",
      "--",
      ...peer.program(folder),
    );
    expect([added.code, added.code === 0 ? "" : added.stderr]).toEqual([0, ""]);
    const shown = await ostiary("servers", "list", "--json");
    expect(JSON.stringify(shown.json())).toContain(`"name":"${name}"`);
  });

  test.skipIf(peer.skip === true).each(Object.keys(CLIENTS))("is called by %s", async (client) => {
    const call = CLIENTS[client]?.({ url: `${app.url}/mcp`, key: app.adminKey, home: folder });
    expect(await call?.(peer.tool, peer.args(folder))).toContain(peer.answers);
  });

  test.skipIf(peer.skip === true)("every call of it is on record, with its server", async () => {
    const { body } = await app.api(
      "GET",
      `/executions?toolName=${encodeURIComponent(`${name}/${peer.tool.slice(name.length + 1)}`)}&limit=20`,
    );
    const found = (body as { executions: { status: string }[] }).executions;
    expect(found.filter(({ status }) => status === "success").length).toBe(
      Object.keys(CLIENTS).length,
    );
  });
});

test.skipIf(NO_BOX)(
  "what one server wrote is there after it was restarted, and nobody else has it",
  async () => {
    expect((await ostiary("servers", "restart", "notes")).code).toBe(0);
    const graph = await app.api("POST", "/executions", {
      body: { name: "notes/read_graph", arguments: {} },
    });
    expect(JSON.stringify(graph.body)).toContain("it is open");
  },
);

test.skipIf(NO_BOX)("the command line shows what a tool of a server said", async () => {
  const ran = await ostiary("call", "everything/echo", "message=hi");
  expect([ran.code, ran.stdout]).toEqual([0, "Echo: hi\n"]);
});
