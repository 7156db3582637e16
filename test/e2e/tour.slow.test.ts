// docs/tour.md, as it stands: every call through the MCP door by an agent, every yes by another person.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { canBrowse, openSite, type Site } from "../fixtures/browser-site.ts";
import { createShop } from "../fixtures/database.ts";
import { git } from "../fixtures/project.ts";
import { governanceWith } from "../fixtures/open-house.ts";
import { modernCall, modernHeaders, post } from "./mcp-clients.ts";

interface Stop {
  readonly tool: string;
  readonly arguments: object;
  /** A person must agree. */
  readonly asks?: true;
  readonly answer: object;
  /** A field of the answer that later calls name as `{{field}}`. */
  readonly keep?: string;
}

const TOUR = readFileSync(resolve(import.meta.dirname, "../../docs/tour.md"), "utf8");
const stops = [...TOUR.matchAll(/^```json tour\n([\s\S]*?)^```$/gm)].map(
  ([, text = ""]) => JSON.parse(text) as Stop,
);

const hasBox = canBrowse();
const WITHOUT_BOX = "bubblewrap or chromium is not installed: `ostiary doctor --fix` installs them";
if (!hasBox && process.env["CI"]) test(WITHOUT_BOX, () => expect.unreachable(WITHOUT_BOX));

let app: StartedApp;
let site: Site;
let folder: string;
let agentKey: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "ostiary-tour-"));
  createShop(join(folder, "shop.db"));
  site = await openSite({ "/": "<!doctype html><title>Doors</title><h1>Doors</h1>" });
  app = await startApp({
    flags: {
      governance: governanceWith({ "private: []": `private: ["127.0.0.1:${site.port}"]` }),
      databases: JSON.stringify({ shop: { url: `sqlite:${join(folder, "shop.db")}` } }),
    },
  });
  makeOrigin();
  const made = await app.api("POST", "/users", {
    body: { id: "agent", name: "agent", role: "user" },
  });
  expect(made.status).toBe(201);
  const key = await app.api("POST", "/keys", {
    body: { userId: "agent", name: "agent", scopes: ["*"], capsuleId: "all", level: "admin" },
  });
  expect(key.status).toBe(201);
  agentKey = key.body.secret as string;
  const granted = await app.api("POST", "/relationships", {
    body: {
      changes: [{ operation: "touch", relationship: "tenant:local#shell_executor@user:agent" }],
    },
  });
  expect(granted.status).toBeLessThan(300);
});
afterAll(async () => {
  await app.close();
  await site.close();
  rmSync(folder, { recursive: true });
});

function makeOrigin(): void {
  const source = join(folder, "source");
  execFileSync("mkdir", ["-p", source]);
  writeFileSync(join(source, "sum.js"), "module.exports = (a, b) => {\n  return a - b;\n};\n");
  writeFileSync(
    join(source, "sum.test.js"),
    'const test = require("node:test");\nconst assert = require("node:assert");\nconst sum = require("./sum.js");\n' +
      'test("adds", () => assert.equal(sum(2, 3), 5));\ntest("knows zero", () => assert.equal(sum(2, 0), 2));\n',
  );
  git(source, "init", "-q");
  git(source, "add", ".");
  git(source, "commit", "-qm", "a sum");
  git(folder, "clone", "-q", source, join(app.workspace, "project"));
}

const structured = async (response: Response): Promise<Record<string, unknown>> => {
  const { result, error } = (await response.json()) as {
    error?: unknown;
    result: {
      isError?: true;
      content: { text: string }[];
      structuredContent: Record<string, unknown>;
    };
  };
  if (error) throw new Error(JSON.stringify(error));
  if (result.isError) throw new Error(result.content[0]?.text);
  return result.structuredContent;
};

async function call({ tool, arguments: args, asks }: Stop): Promise<Record<string, unknown>> {
  const wire = tool.replace("/", "_");
  const asked = post(app.url, agentKey, modernCall(wire, args), modernHeaders(wire));
  if (asks) {
    const pending = async () =>
      (await app.api("GET", "/approvals?state=pending")).body.items as {
        id: string;
        toolName: string;
      }[];
    await expect.poll(async () => (await pending())[0]?.toolName).toBe(tool);
    const [approval] = await pending();
    const said = await app.api("POST", `/approvals/${approval?.id}/approve`, { body: {} });
    expect(said.status).toBe(200);
  }
  return structured(await asked);
}

test.skipIf(!hasBox)("the tour", { timeout: 180_000 }, async () => {
  expect(stops.length).toBeGreaterThan(10);
  const kept: Record<string, string> = { page: `${site.base}/` };
  for (const stop of stops) {
    const text = JSON.stringify(stop.arguments).replaceAll(
      /\{\{(\w+)\}\}/g,
      (_, name: string) => kept[name] ?? "",
    );
    const found = await call({ ...stop, arguments: JSON.parse(text) as object });
    expect(found, stop.tool).toMatchObject(stop.answer);
    if (stop.keep !== undefined) kept[stop.keep] = String(found[stop.keep]);
  }
  const runs = await app.api("GET", "/executions", { key: agentKey });
  expect(runs.body.executions.map(({ status }: { status: string }) => status)).toEqual(
    stops.map(() => "success"),
  );
});
