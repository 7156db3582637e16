// Every native tool once through the MCP door, with the real program behind it. A tool without a step here is a fault.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { NATIVE_TOOLS } from "../../src/tools/index.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { browserPage } from "../fixtures/browser-examples.ts";
import { canBrowse } from "../fixtures/browser-site.ts";
import { createShop } from "../fixtures/database.ts";
import { openMachine, type FakeMachine } from "../fixtures/machine.ts";
import { openModelServer, PNG, wav, type ModelServer } from "../fixtures/models.ts";
import { openHouse } from "../fixtures/open-house.ts";
import { makeProject } from "../fixtures/project.ts";
import { registryAnswer, REGISTRIES, REGISTRY_RULES } from "../fixtures/registry.ts";
import { openWeb, PUBLIC_ADDRESS, type Web } from "../fixtures/web.ts";
import { modernCall, modernHeaders, post } from "./mcp-clients.ts";

// The answers have the shape that each step asserts.
type Found = any; // eslint-disable-line @typescript-eslint/no-explicit-any

let app: StartedApp;
let web: Web;
let models: ModelServer;
let machine: FakeMachine;
let folder: string;
/** What earlier steps found: sessions, ids. */
const known: Record<string, string> = {};
const called = new Set<string>();

const hasBox = canBrowse();
const WITHOUT_BOX = "bubblewrap or chromium is not installed: `ostiary doctor --fix` installs them";
if (!hasBox && process.env["CI"]) test(WITHOUT_BOX, () => expect.unreachable(WITHOUT_BOX));

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "ostiary-catalogue-"));
  createShop(join(folder, "shop.db"));
  const registry = registryAnswer();
  web = await openWeb({
    answer: (req, res, body) => registry(req, res) || browserPage(req, res, body),
    direct: (address) => address === "127.0.0.1",
  });
  models = await openModelServer();
  machine = openMachine();
  machine.program(
    "journalctl",
    `echo '{"__REALTIME_TIMESTAMP":"${Date.now()}000","MESSAGE":"door opened"}'`,
  );
  app = await startApp({
    egress: web.egress,
    machine,
    flags: {
      governance: openHouse(REGISTRY_RULES),
      databases: JSON.stringify({
        shop: { url: `sqlite:${join(folder, "shop.db")}`, readOnly: false },
      }),
      models: models.config,
      "search.provider": "searxng",
      "search.url": "https://search.example.org/",
      "rateLimit.enabled": "false",
      ...REGISTRIES,
    },
  });
  mkdirSync(join(app.workspace, "src"));
  writeFileSync(join(app.workspace, "README.md"), "# Read me\n\nDoors are kept.\n");
  writeFileSync(join(app.workspace, "src/main.ts"), "export const door = 1;\n");
  writeFileSync(join(app.workspace, "lighthouse.png"), PNG);
  writeFileSync(join(app.workspace, "memo.wav"), wav());
  makeProject(app.workspace);
});
afterAll(async () => {
  await app.close();
  await web.close();
  await models.close();
  machine.close();
  rmSync(folder, { recursive: true });
});

/** Calls a tool over MCP; an answer that is an error is thrown with its text. */
async function call(name: string, args: object = {}): Promise<Found> {
  const wire = name.replace("/", "_");
  if (name.includes("/")) called.add(name);
  const response = await post(app.url, app.adminKey, modernCall(wire, args), modernHeaders(wire));
  const { result, error } = (await response.json()) as Found;
  if (error) throw new Error(`${name}: ${JSON.stringify(error)}`);
  if (result.isError) throw new Error(`${name}: ${result.content[0].text}`);
  return { ...result.structuredContent, $content: result.content };
}

/** `[tool, arguments, what the answer must hold]`, in an order in which each finds what it needs. */
type Step = readonly [string, object | (() => object), object, ((found: Found) => void)?];
const remember = (key: string, field: string) => (found: Found) => void (known[key] = found[field]);

const STEPS: Readonly<Record<string, readonly Step[]>> = {
  file: [
    ["file/write", { path: "notes/a.txt", content: "one\ntwo\n" }, { created: true, bytes: 8 }],
    ["file/read", { path: "notes/a.txt" }, { content: "one\ntwo\n", totalLines: 2 }],
    [
      "file/edit",
      { path: "notes/a.txt", oldContent: "two", newContent: "deux" },
      { replacements: 1, applied: true },
    ],
    ["file/list", { path: "notes" }, { total: 1 }],
    ["file/glob", { pattern: "**/*.ts" }, { matches: [{ path: "src/main.ts" }] }],
    [
      "file/search",
      { pattern: "d(eux|oor)", path: "." },
      { truncated: false },
      (found) =>
        expect(found.matches.map(({ path }: Found) => path).sort()).toEqual([
          "notes/a.txt",
          "src/main.ts",
        ]),
    ],
    ["file/stat", { path: "notes/a.txt" }, { exists: true, type: "file" }],
    [
      "file/diff",
      { a: "notes/a.txt", content: "one\ntwo\n" },
      { identical: false, added: 1, removed: 1 },
    ],
    ["file/copy", { from: "notes/a.txt", to: "notes/b.txt" }, { files: 1 }],
    ["file/move", { from: "notes/b.txt", to: "notes/c.txt" }, { overwritten: false }],
    ["file/mkdir", { path: "notes/deep/er" }, { created: true }],
    ["file/delete", { path: "notes/c.txt" }, { type: "file", files: 1 }],
  ],
  system: [
    ["system/info", {}, { name: "ostiary" }],
    ["system/health", { verbose: true }, { status: "ok", mode: "NORMAL" }],
    ["system/metrics", {}, { cpu: { cores: expect.any(Number) as number } }],
    ["system/disk", {}, { path: "." }],
    ["system/process", { pid: process.pid }, { processes: [{ pid: process.pid, running: true }] }],
    ["system/logs", {}, { truncated: false }],
    ["system/env", { names: ["TZ", "HOME"] }, { refused: ["HOME"] }],
    ["system/time", { timezone: "Asia/Tokyo" }, { offset: "+09:00" }],
    ["system/calculator", { expression: "2^10 / 3", precision: 5 }, { result: "341.33" }],
    ["system/echo", { text: "hello" }, { text: "hello" }],
    [
      "system/explain",
      { tool: "shell/exec", arguments: { command: ["ls"] } },
      { tool: "shell/exec", verdict: "allow" },
    ],
    [
      "system/find_tools",
      { query: "read a file", limit: 1 },
      { tools: [{ name: "file_read", category: "file", risk: "safe" }] },
    ],
    [
      "system/run_code",
      { code: "return (await call('system_echo', { text: 'hello' })).text" },
      { result: "hello", calls: [{ name: "system_echo", status: "success" }] },
    ],
    ["system/call_tool", { name: "system_echo", arguments: { text: "hello" } }, { text: "hello" }],
  ],
  memory: [
    [
      "memory/store",
      { key: "target", value: "deploy to staging", tags: ["ops"] },
      { version: 1, created: true },
    ],
    ["memory/retrieve", { key: "target" }, { found: true, value: "deploy to staging" }],
    ["memory/search", { query: "deploy stag*" }, { total: 1, results: [{ key: "target" }] }],
    ["memory/list", {}, { total: 1 }],
    [
      "memory/documentation",
      { query: "approval" },
      {},
      (found) => expect(found.documents.length).toBeGreaterThan(0),
    ],
    ["memory/clear", { namespace: "user", key: "target" }, { removed: 1 }],
  ],
  database: [
    ["database/connections", {}, { connections: [{ name: "shop", kind: "sqlite" }] }],
    [
      "database/tables",
      {},
      {},
      (found) => expect(found.tables.map(({ name }: Found) => name)).toContain("orders"),
    ],
    ["database/schema", { table: "orders" }, { primaryKey: ["id"] }],
    [
      "database/insert",
      { table: "customers", rows: [{ name: "Ada" }], returning: ["name"] },
      { inserted: 1 },
    ],
    [
      "database/update",
      { table: "customers", set: { city: "London" }, where: { name: "Ada" } },
      { updated: 1 },
    ],
    [
      "database/query",
      { query: "select city from customers where name = ?", params: ["Ada"] },
      { rows: [["London"]] },
    ],
    ["database/delete", { table: "customers", where: { name: "Ada" } }, { deleted: 1 }],
  ],
  web: [
    [
      "web/get",
      { url: "https://api.example.org/a.json", query: { q: "x" } },
      { ok: true, status: 200, json: { method: "GET", query: { q: "x" } } },
    ],
    [
      "web/post",
      { url: "https://api.example.org/a.json", body: { a: 1 } },
      { json: { method: "POST", body: '{"a":1}' } },
    ],
    [
      "web/put",
      { url: "https://api.example.org/a.json", body: "text", contentType: "text/plain" },
      { json: { method: "PUT" } },
    ],
    ["web/delete", { url: "https://api.example.org/a.json" }, { json: { method: "DELETE" } }],
    [
      "web/download",
      { url: "https://example.org/robots.txt", path: "robots.txt" },
      { path: "robots.txt", bytes: 14 },
    ],
    [
      "web/search",
      { query: "doors", maxResults: 1 },
      { provider: "searxng", results: [{ rank: 1, title: "About doors" }] },
    ],
  ],
  ai: [
    ["ai/generate", { prompt: "hi" }, { text: "you said: hi" }],
    ["ai/embed", { input: "abc" }, { dimensions: 3 }],
    [
      "ai/classify",
      { text: "thanks", labels: ["praise", "complaint"] },
      { labels: [{ score: 0.75 }, { score: 0.75 }] },
    ],
    [
      "ai/generate_image",
      { prompt: "a cat", path: "cat.png" },
      { images: [{ path: "cat.png", width: 1 }] },
    ],
    ["ai/analyze_image", { image: "lighthouse.png", prompt: "what?" }, { text: "you said: what?" }],
    ["ai/transcribe", { audio: "memo.wav" }, { text: "good morning" }],
    ["ai/speak", { text: "Good morning.", format: "wav" }, { durationSeconds: 1 }],
  ],
  workflow: [
    [
      "workflow/create",
      {
        name: "Greeting",
        steps: [{ id: "hello", tool: "system/echo", input: { text: "hello {{input.name}}" } }],
      },
      { version: 1 },
      remember("workflowId", "workflowId"),
    ],
    [
      "workflow/execute",
      () => ({ workflowId: known["workflowId"], input: { name: "Ada" } }),
      { status: "success", steps: [{ id: "hello", status: "success" }] },
      remember("runId", "runId"),
    ],
    ["workflow/status", () => ({ runId: known["runId"] }), { status: "success" }],
    [
      "workflow/schedule",
      () => ({ workflowId: known["workflowId"], cron: "0 9 * * *", input: { name: "Ada" } }),
      {},
      (found) => expect(found.next).toHaveLength(3),
    ],
    ["workflow/list", {}, { total: 1, workflows: [{ name: "Greeting" }] }],
    [
      "workflow/update_plan",
      {
        goal: "a report",
        phases: [{ name: "Read", description: "read", successCriteria: ["read"] }],
        currentPhaseId: 1,
      },
      { currentPhaseId: 1 },
    ],
    [
      "workflow/advance_phase",
      { phaseId: 1, outcome: "all was read" },
      { completed: 1, done: true },
    ],
  ],
  agent: [
    [
      "agent/spawn",
      { objective: "Say hello to everybody here.", tools: ["system/echo"], wait: true },
      { status: expect.stringMatching(/completed|succeeded|done|success/) as string },
      remember("agentId", "agentId"),
    ],
    [
      "agent/status",
      () => ({ agentId: known["agentId"] }),
      { objective: "Say hello to everybody here." },
    ],
    [
      "agent/stop",
      () => ({ agentId: known["agentId"] }),
      { agentId: expect.any(String) as string },
    ],
    [
      "agent/coordinate",
      { objective: "Compare two greetings and say which is kinder.", agents: ["reader", "judge"] },
      {},
      (found) => expect(found.assignments).toHaveLength(2),
    ],
  ],
};

/** With a box, and the last of them with a browser in it. */
const CONFINED: Readonly<Record<string, readonly Step[]>> = {
  drafts: [
    [
      "agent/create_tool",
      {
        name: "file/count_lines",
        description: "Counts the lines of a text.",
        schema: { type: "object", properties: { path: { type: "string" } } },
        config: { kind: "command", command: ["wc", "-l"] },
        tests: [{ input: {}, output: { stdout: "0\n" } }],
      },
      { linkState: "pending_link" },
    ],
  ],
  documents: [
    [
      "file/parse",
      { path: "README.md" },
      { text: expect.stringContaining("Doors are kept.") as string },
    ],
    [
      "web/fetch",
      { url: "https://example.org/articles/doors" },
      {
        status: 200,
        title: "Doors",
        content: expect.stringContaining("A door lets some in") as string,
      },
    ],
  ],
  shell: [
    [
      "shell/exec",
      { command: ["cat", "README.md"] },
      { exitCode: 0, stdout: "# Read me\n\nDoors are kept.\n" },
    ],
    [
      "shell/script",
      { script: "echo $((6*7)) > answer.txt; cat answer.txt", interpreter: "bash" },
      { stdout: "42\n", filesWritten: [{ path: "answer.txt", bytes: 3 }] },
    ],
    [
      "shell/python",
      { script: "import os; print(sum(range(10)), os.getuid() != 0)" },
      { stdout: "45 True\n" },
    ],
    [
      "shell/lint",
      { path: "build.sh", linter: "shellcheck" },
      { linter: "shellcheck" },
      (found) => expect(found.issues.length).toBeGreaterThan(0),
    ],
    ["shell/test", { path: "project", runner: "node" }, { passed: 1, failed: 1, skipped: 1 }],
    ["shell/git_status", { log: 1 }, { branch: "main", commits: [{ subject: "a script" }] }],
    [
      "system/package_install",
      { manager: "npm", name: "left-pad", version: "1.3.0" },
      { name: "left-pad", version: "1.3.0" },
    ],
  ],
  browser: [
    [
      "browser/open",
      { url: "http://browser.example.org/" },
      { title: "Example", status: 200 },
      remember("sessionId", "sessionId"),
    ],
    [
      "browser/observe",
      () => ({ sessionId: known["sessionId"] }),
      { title: "Example" },
      (found) =>
        expect(found.elements).toContainEqual(
          expect.objectContaining({ role: "button", name: "Save" }),
        ),
    ],
    [
      "browser/type",
      () => ({ sessionId: known["sessionId"], selector: 'role=textbox[name="Name"]', text: "Ada" }),
      { typed: 3 },
    ],
    [
      "browser/select",
      () => ({ sessionId: known["sessionId"], selector: "select", label: "Blue" }),
      { selected: [{ label: "Blue" }] },
    ],
    [
      "browser/click",
      () => ({ sessionId: known["sessionId"], selector: 'role=button[name="Save"]' }),
      { clicked: true },
    ],
    [
      "browser/wait",
      () => ({ sessionId: known["sessionId"], type: "selector", value: "h1" }),
      { met: true },
    ],
    [
      "browser/extract",
      () => ({ sessionId: known["sessionId"], selector: "h1" }),
      { data: "Order" },
    ],
    [
      "browser/scroll",
      () => ({ sessionId: known["sessionId"], direction: "bottom" }),
      { atBottom: true },
    ],
    [
      "browser/screenshot",
      () => ({ sessionId: known["sessionId"] }),
      { width: 1280, mime: "image/png" },
      (found) =>
        expect(found.$content).toContainEqual(
          expect.objectContaining({ type: "image", mimeType: "image/png" }),
        ),
    ],
    [
      "browser/tabs",
      () => ({ sessionId: known["sessionId"], action: "list" }),
      { tabs: [{ active: true }] },
    ],
    [
      "browser/navigate",
      () => ({ sessionId: known["sessionId"], action: "reload" }),
      { status: 200 },
    ],
    ["browser/close", () => ({ sessionId: known["sessionId"] }), { closed: true }],
    ["ai/render_diagram", { source: "graph TD; a-->b" }, { mime: "image/svg+xml" }],
  ],
};

const walk = (steps: Readonly<Record<string, readonly Step[]>>): void => {
  for (const [category, list] of Object.entries(steps))
    describe(category, () => {
      for (const [name, args, expected, check] of list)
        test(name, { timeout: 60_000 }, async () => {
          const found = await call(
            name,
            typeof args === "function" ? (args as () => object)() : args,
          );
          expect(found).toMatchObject(expected);
          check?.(found);
        });
    });
};

walk(STEPS);
describe.skipIf(!hasBox)("in a box", () => walk(CONFINED));

test("R089 agent/ask_user: a person answers", { timeout: 60_000 }, async () => {
  const asking = call("agent/ask_user", {
    question: "Which branch?",
    options: ["main", "next"],
    timeoutSeconds: 30,
  });
  const open = async (): Promise<string | undefined> =>
    (await app.api("GET", "/questions")).body.items?.[0]?.id;
  await expect.poll(open).toBeDefined();
  const answered = await app.api("POST", `/questions/${await open()}/answer`, {
    body: { answer: "main" },
  });
  expect(answered.status).toBeLessThan(300);
  expect(await asking).toMatchObject({ state: "answered", answer: "main" });
});

test("agent/communicate: a running agent hears", { timeout: 60_000 }, async () => {
  models.next.push({
    status: 200,
    body: { choices: [{ message: { content: "thinking" } }] },
    delayMs: 1_500,
  });
  const { agentId } = await call("agent/spawn", {
    objective: "Wait for further instructions, please.",
  });
  expect(await call("agent/communicate", { agentId, message: "Stop now." })).toMatchObject({
    delivered: true,
  });
});

/** Who may call what hangs on it, so it is written down a second time on purpose. */
const RISK_OF = {
  safe: [
    "agent/status",
    "ai/render_diagram",
    "browser/extract",
    "browser/navigate",
    "browser/observe",
    "browser/screenshot",
    "database/connections",
    "database/query",
    "database/schema",
    "database/tables",
    "file/diff",
    "file/glob",
    "file/list",
    "file/parse",
    "file/read",
    "file/search",
    "file/stat",
    "memory/documentation",
    "memory/list",
    "memory/retrieve",
    "memory/search",
    "shell/git_status",
    "shell/lint",
    "system/calculator",
    "system/call_tool",
    "system/disk",
    "system/echo",
    "system/explain",
    "system/find_tools",
    "system/health",
    "system/info",
    "system/metrics",
    "system/process",
    "system/time",
    "web/get",
    "workflow/list",
    "workflow/status",
  ],
  moderate: [
    "agent/communicate",
    "agent/stop",
    "ai/analyze_image",
    "ai/classify",
    "ai/embed",
    "ai/generate",
    "ai/generate_image",
    "ai/speak",
    "ai/transcribe",
    "browser/click",
    "browser/open",
    "browser/scroll",
    "browser/select",
    "browser/tabs",
    "browser/type",
    "browser/wait",
    "file/copy",
    "file/mkdir",
    "memory/store",
    "shell/test",
    "system/env",
    "system/logs",
    "system/run_code",
    "web/download",
    "web/fetch",
    "web/post",
    "web/put",
    "web/search",
    "workflow/advance_phase",
    "workflow/create",
    "workflow/execute",
    "workflow/schedule",
    "workflow/update_plan",
  ],
  dangerous: [
    "agent/ask_user",
    "agent/coordinate",
    "agent/create_tool",
    "agent/spawn",
    "browser/close",
    "database/delete",
    "database/insert",
    "database/update",
    "file/delete",
    "file/edit",
    "file/move",
    "file/write",
    "memory/clear",
    "shell/exec",
    "shell/python",
    "shell/script",
    "system/package_install",
    "web/delete",
  ],
};

test("R062 C7: the risk of every tool", () => {
  for (const [risk, names] of Object.entries(RISK_OF))
    expect(NATIVE_TOOLS.filter((tool) => tool.risk === risk).map(({ name }) => name)).toEqual(
      names,
    );
});

const NAMES_OF_OTHERS: readonly (readonly [string, object, object])[] = [
  ["read_file", { path: "README.md", max_size_mb: 1 }, { totalLines: 3 }],
  ["list_directory", { path: "src" }, { total: 1 }],
  ["write_file", { path: "by-alias.txt", content: "x" }, { created: true }],
  ["delete_file", { path: "by-alias.txt" }, { files: 1 }],
  ["system_metrics_snapshot", {}, { cpu: { cores: expect.any(Number) as number } }],
  ["check_process_health", { pid: process.pid }, { missing: [] }],
  ["read_system_logs", {}, { entries: [{ source: "system", message: "door opened" }] }],
  ["web_search", { query: "doors", maxResults: 1 }, { provider: "searxng" }],
  [
    "http_request",
    { method: "POST", url: "https://api.example.org/a.json", body: {} },
    { json: { method: "POST" } },
  ],
  ["calculator", { expression: "6*7" }, { result: "42" }],
];

test("R267 R269: names that other systems use mean our tools", { timeout: 60_000 }, async () => {
  for (const [name, args, expected] of NAMES_OF_OTHERS)
    expect(await call(name, args), name).toMatchObject(expected);
});

test.skipIf(!hasBox)("R268: also those that run in a box", { timeout: 60_000 }, async () => {
  expect(await call("git_status")).toMatchObject({ branch: "main" });
  expect(await call("run_linter", { path: "build.sh", linter: "shellcheck" })).toMatchObject({
    linter: "shellcheck",
  });
  expect(await call("run_tests", { path: "project", runner: "node" })).toMatchObject({ passed: 1 });
  expect(await call("fetch_url", { url: "https://example.org/articles/doors" })).toMatchObject({
    title: "Doors",
  });
  expect(await call("doc_parser", { path: "README.md" })).toMatchObject({ truncated: false });
});

test("R270: a search leaves by the guard, at the address that was checked", async () => {
  const before = web.dialled.length;
  await call("web/search", { query: "locks", maxResults: 1 });
  expect(web.dialled.slice(before)).toEqual([`${PUBLIC_ADDRESS}:443`]);
});

test("R162 R265 R266 R271: no tool was left out", () => {
  const left = NATIVE_TOOLS.map(({ name }) => name).filter((name) => !called.has(name));
  const confined = new Set(Object.values(CONFINED).flatMap((list) => list.map(([name]) => name)));
  expect(hasBox ? left : left.filter((name) => !confined.has(name))).toEqual([]);
  expect(NATIVE_TOOLS).toHaveLength(88);
});
