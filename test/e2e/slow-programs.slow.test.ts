// Programs that take long before they read their first message, and what is said of those that never come up.
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";

/** Longer than anybody waits for the answer to one question. */
const SLOW_MS = 6_000;

/** Written by hand: what an SDK does about the other era's words is not what is looked at here. */
const PROGRAM = `
const [era, waitMs] = process.argv.slice(2);
const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
const tools = [{ name: "hello", description: "Says hello.", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } }];
const META = "io.modelcontextprotocol/protocolVersion";
const COMMON = {
  "tools/list": () => ({ tools, ...(era === "modern" && { resultType: "complete", ttlMs: 0, cacheScope: "private" }) }),
  "tools/call": () => ({ content: [{ type: "text", text: "hello from " + era }], ...(era === "modern" && { resultType: "complete" }) }),
};
const MODERN = { "server/discover": () => ({ resultType: "complete", supportedVersions: ["2026-07-28"], capabilities: { tools: {} }, ttlMs: 0, cacheScope: "private", _meta: { "io.modelcontextprotocol/serverInfo": { name: "slow", version: "1" } } }), ...COMMON };
const LEGACY = { initialize: () => ({ protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "slow", version: "1" } }), ...COMMON };
const methods = era === "modern" ? MODERN : LEGACY;
let isOpen = false;
function take({ id, method, params }) {
  if (id === undefined) return;
  isOpen ||= method === "initialize";
  if (era === "touchy" && !isOpen) { console.error("expected initialize, got " + method); process.exit(3); }
  if (era === "silent" && !isOpen) return;
  if (era === "modern" && method === "initialize") return say({ id, error: { code: -32022, message: "Unsupported protocol version", data: { supported: ["2026-07-28"], requested: params.protocolVersion } } });
  const run = methods[method];
  say(run ? { id, result: run() } : { id, error: { code: -32601, message: "Method not found" } });
}
console.error("loading models ...");
setTimeout(() => {
  let rest = "";
  process.stdin.on("data", (chunk) => {
    const lines = (rest + chunk).split("\\n");
    rest = lines.pop();
    for (const line of lines) take(JSON.parse(line));
  }).on("end", () => process.exit(0));
}, Number(waitMs));
`;

let app: StartedApp;
let folder: string;
let script: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "ostiary-slow-"));
  chmodSync(folder, 0o755);
  script = join(folder, "slow.cjs");
  writeFileSync(script, PROGRAM);
  app = await startApp();
}, 60_000);
afterAll(async () => {
  await app.close();
  rmSync(folder, { recursive: true, force: true });
});

const add = (name: string, argv: readonly string[], more: object = {}) =>
  app.api("POST", "/servers", {
    body: { name, transport: { kind: "stdio", argv, isolation: "none", ...more } },
  });

const TERMS = { terms: { risk: "safe", effects: "read_only" } };

describe("item 12: a program that starts slowly", { timeout: 120_000, concurrent: true }, () => {
  test.each(["modern", "legacy", "touchy", "silent"])("%s: is reached, and called", async (era) => {
    const name = `slow-${era}`;
    const made = await add(name, ["node", script, era, String(SLOW_MS)]);
    expect(made).toMatchObject({ status: 201, body: { fault: null } });
    expect((await app.api("POST", `/servers/${name}/approve`, { body: TERMS })).status).toBe(200);
    const { body } = await app.api("POST", "/executions", {
      body: { name: `${name}/hello`, arguments: {} },
    });
    expect(JSON.stringify(body)).toContain(`hello from ${era}`);
    const { body: server } = await app.api("GET", `/servers/${name}`);
    expect(server.health).toMatchObject({
      status: "up",
      era: era === "modern" ? "modern" : "legacy",
    });
  });
});

describe("item 12: the program's last words are in the error", { timeout: 120_000 }, () => {
  const CASES: Record<string, [string[], string]> = {
    "of Node": [["node", "-e", 'require("./no-such-module-here")'], "Cannot find module"],
    "of Python": [
      ["python3", "-c", "import no_such_module_here"],
      "No module named 'no_such_module_here'",
    ],
    "of a shell": [["sh", "-c", "echo TOKEN is missing >&2; exit 2"], "TOKEN is missing"],
  };
  test.each(Object.entries(CASES))("%s", async (which, [argv, words]) => {
    const made = await add(`dies-${which.at(-1)}`, argv);
    expect(made.body.fault.message).toContain(words);
  });
});

const PYTHON = "/usr/bin/python3";
const HAS_BOX = existsSync("/usr/bin/bwrap") && existsSync(PYTHON);

/** Serves only with a module that its own environment has. */
const PYTHON_SERVER = `
import json, sys
import only_here
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message: continue
    result = {"initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "py", "version": "1"}}, "tools/list": {"tools": [{"name": only_here.NAME, "inputSchema": {"type": "object"}}]}}.get(message["method"])
    answer = {"result": result} if result else {"error": {"code": -32601, "message": "Method not found"}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
`;

describe.skipIf(!HAS_BOX)(
  "item 12: Python in a virtual environment, in the sandbox",
  { timeout: 120_000 },
  () => {
    let venv: string;
    beforeAll(() => {
      // An interpreter beside the system's, as uv and pyenv have theirs.
      const base = join(folder, "base");
      mkdirSync(join(base, "bin"), { recursive: true });
      mkdirSync(join(base, "lib"));
      const version = execFileSync(
        PYTHON,
        ["-c", "import sys; print('python%d.%d' % sys.version_info[:2])"],
        { encoding: "utf8" },
      ).trim();
      cpSync(realpathSync(PYTHON), join(base, "bin", "python3"));
      symlinkSync(`/usr/lib/${version}`, join(base, "lib", version));
      venv = join(folder, "env");
      execFileSync(join(base, "bin", "python3"), ["-m", "venv", "--without-pip", venv]);
      writeFileSync(join(venv, "lib", version, "site-packages", "only_here.py"), 'NAME = "found"');
      const command = join(venv, "bin", "serve-it");
      writeFileSync(command, `#!${join(venv, "bin", "python")}\n${PYTHON_SERVER}`);
      chmodSync(command, 0o755);
      writeFileSync(join(folder, "server.py"), PYTHON_SERVER);
    });
    const SANDBOX = { isolation: "sandbox" };
    const found = {
      status: 201,
      body: { fault: null, tools: [{ name: expect.stringMatching(/found$/) as string }] },
    };

    test("by the interpreter of the environment", async () => {
      expect(
        await add("py-a", [join(venv, "bin", "python"), join(folder, "server.py")], SANDBOX),
      ).toMatchObject(found);
    });

    test("by a command of the environment", async () => {
      expect(await add("py-b", [join(venv, "bin", "serve-it")], SANDBOX)).toMatchObject(found);
    });

    test("by another interpreter: what is missing is named, and what to do about it", async () => {
      const { body } = await add("py-c", [PYTHON, join(folder, "server.py")], SANDBOX);
      expect(body.fault.message).toContain("No module named 'only_here'");
      expect(body.fault.remedy).toContain("virtual environment");
    });

    test("a file that it may not see, a host that it may not reach: the option is named", async () => {
      const closed = join(folder, "elsewhere.txt");
      writeFileSync(closed, "");
      const file = await add("py-d", [PYTHON, "-c", `open("${closed}")`], SANDBOX);
      expect(file.body.fault.message).toContain("No such file or directory");
      expect(file.body.fault.remedy).toContain("--folder");
      const host = await add(
        "py-e",
        [PYTHON, "-c", 'import urllib.request; urllib.request.urlopen("http://example.com")'],
        SANDBOX,
      );
      expect(host.body.fault.remedy).toContain("--network");
    });
  },
);

describe("item 12: npx -y in an import", { timeout: 120_000 }, () => {
  const text = JSON.stringify({
    mcpServers: { fetched: { command: "npx", args: ["-y", "@example/no-such-server"] } },
  });

  test("a package that is not installed: the message names the option", async () => {
    const { body } = await app.api("POST", "/servers/import", { body: { text } });
    const [{ fault }] = body.servers as [{ fault: { message: string; remedy: string } }];
    expect(fault.message).toContain("is not installed");
    expect(fault.remedy).toContain("--network registry.npmjs.org");
  });

  test("the option makes an import of it possible", async () => {
    const network = ["registry.npmjs.org"];
    // Not connected to at once: whether the registry answers is not looked at here.
    const off = text.replace('"command"', '"disabled":true,"command"');
    const { status, body } = await app.api("POST", "/servers/import", {
      body: { text: off, network },
    });
    expect(status).toBe(200);
    const [{ tried }] = body.servers as [{ tried: { server: { transport: object } } | null }];
    expect(JSON.stringify(tried)).toContain('"hosts":["registry.npmjs.org"]');
  });
});
