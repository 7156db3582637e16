// The real program against a real server: what people type, what they see, what scripts get.
import { execFileSync, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import {
  BIN,
  collect,
  runBin,
  spawnBin,
  type BinOptions,
  type BinResult,
} from "../fixtures/bin.ts";
import { slowTool, type SlowObserver } from "../fixtures/slow-tool.ts";

// Each test starts several processes; a busy machine takes its time.
vi.setConfig({ testTimeout: 90_000 });

const observer: SlowObserver = { runs: [] };
let server: StartedApp;
beforeAll(async () => {
  server = await startApp({ tools: [slowTool(observer)] });
  writeFileSync(join(server.workspace, "notes.txt"), "first\nsecond\n");
});
afterAll(() => server.close());

const cli = (words: string, options: BinOptions = {}): Promise<BinResult> =>
  ostiary(words.split(" "), options);
const ostiary = (args: string[], options: BinOptions = {}): Promise<BinResult> =>
  runBin(args, { ...options, env: { OSTIARY_DATA_DIR: server.dataDir, ...options.env } });

describe("call", () => {
  test("success: the result on stdout, the line for people on stderr, exit 0", async () => {
    const ran = await cli("call system/echo text=hello");
    expect(ran).toMatchObject({ code: 0 });
    expect(JSON.parse(ran.stdout)).toEqual({ text: "hello" });
    expect(ran.stderr).toMatch(/✓ success .* exec_\d+_\w+ {3}\d+ of \d+ stages allowed/);
    expect(ran.stderr).not.toContain("\u001b[");
  });

  test("a text result is printed as it is, so that it can be piped", async () => {
    const ran = await cli("call file/read path=notes.txt");
    expect(ran.stdout).toBe("first\nsecond\n");
    expect(ran.code).toBe(0);
  });

  test("--json: one document with the fields of the API", async () => {
    const ran = await cli("call system/echo text=hello --json");
    expect(ran.json()).toMatchObject({
      success: true,
      status: "success",
      toolName: "system/echo",
      result: { text: "hello" },
      executionId: expect.stringMatching(/^exec_/) as string,
      executionTime: expect.any(Number) as number,
      timestamp: expect.any(String) as string,
      gates: expect.any(Array) as unknown[],
    });
    expect(ran.stderr).toBe("");
  });

  test("values are typed by the schema: numbers, switches, text that looks like a number; := forces JSON", async () => {
    const listed = await ostiary([
      "call",
      "file/list",
      "path=.",
      "maxEntries=1",
      "includeHidden=true",
      "--json",
    ]);
    expect(listed.json().result).toMatchObject({ entries: [{ path: "notes.txt" }] });
    expect((await cli("call echo text=42 --json")).json().result).toEqual({ text: "42" });
    expect((await cli('call system_echo text:="7" --json')).json().result).toEqual({ text: "7" });
    const forced = await cli("call system/echo text:=7 --json");
    expect(forced.code).toBe(2);
    expect(forced.json()).toMatchObject({ code: "BAD_REQUEST", reason: "invalid_arguments" });
  });

  test("--args takes JSON, a file and stdin; pairs win over it", async () => {
    const file = join(server.workspace, "args.json");
    writeFileSync(file, '{"text":"from file"}');
    expect(
      (await ostiary(["call", "echo", "--json", "--args", '{"text":"inline"}'])).json().result.text,
    ).toBe("inline");
    expect(
      (await ostiary(["call", "echo", "--json", "--args", `@${file}`])).json().result.text,
    ).toBe("from file");
    expect(
      (
        await ostiary(["call", "echo", "--json", "--args", "-"], { input: '{"text":"stdin"}' })
      ).json().result.text,
    ).toBe("stdin");
    expect(
      (await ostiary(["call", "echo", "text=pair", "--json", "--args", '{"text":"inline"}'])).json()
        .result.text,
    ).toBe("pair");
    const broken = await ostiary(["call", "echo", "--args", "{"]);
    expect(broken.code).toBe(2);
    expect(broken.stderr).toContain("--args: not valid JSON");
  });

  test("bad arguments: exit 2, each fault with a suggestion", async () => {
    const ran = await cli("call system/echo txt=1");
    expect(ran.code).toBe(2);
    expect(ran.stdout).toBe("");
    expect(ran.stderr).toContain("denied at input   BAD_REQUEST / invalid_arguments");
    expect(ran.stderr).toContain("did you mean text?");
    expect(ran.stderr).toContain("input ⛔");
    const problem = (await cli("call system/echo txt=1 --json")).json();
    expect(problem).toMatchObject({
      status: 400,
      code: "BAD_REQUEST",
      execution_id: expect.stringMatching(/^exec_/) as string,
    });
    expect((await cli("call system/echo oops")).stderr).toContain("expected name=value");
  });

  test("a tool that does not exist for this caller: exit 3, no gates, nothing to explain", async () => {
    const ran = await cli("call nope/nope a=1");
    expect(ran.code).toBe(3);
    expect(ran.stderr).toContain("NOT_FOUND / unknown");
    expect(ran.stderr).not.toContain("explain");
    expect(ran.stderr).not.toContain("gates");
  });

  test("a denial by a stage: exit 3, with the stage, the remedy and the way to an explanation", async () => {
    await cli("users create Viewer --id viewer");
    const made = await ostiary([
      "keys",
      "create",
      "view",
      "--user",
      "viewer",
      "--level",
      "view_only",
      "--scope",
      "agent:execute:safe",
      "--json",
    ]);
    const ran = await cli("call system/echo text=a --key env:VIEW", {
      env: { VIEW: made.json().secret as string },
    });
    expect(ran.code).toBe(3);
    expect(ran.stderr).toContain("denied at level   FORBIDDEN / level_too_low");
    expect(ran.stderr).toMatch(/remedy {3}\S/);
    expect(ran.stderr).toMatch(/explain {2}ostiary explain exec_/);
  });

  test("a tool that fails: exit 1 with its reason", async () => {
    const ran = await cli("call file/read path=absent.txt");
    expect(ran.code).toBe(1);
    expect(ran.stderr).toContain("EXECUTION_FAILED / path_not_found");
    const json = await cli("call file/read path=absent.txt --json");
    expect(json.code).toBe(1);
    expect(json.json()).toMatchObject({ status: "failed", errorCode: "EXECUTION_FAILED" });
  });

  test("a timeout: exit 1, cancelled", async () => {
    const ran = await cli("call system/slow ms=5000 --timeout 1s --json");
    expect(ran.code).toBe(1);
    expect(ran.json()).toMatchObject({
      status: "cancelled",
      cancelReason: "timeout",
      errorCode: "TIMEOUT",
    });
    expect((await cli("call system/slow ms=1 --timeout soon")).code).toBe(2);
  });

  test("--no-wait answers with the id at once; runs show follows it; runs cancel stops it", async () => {
    const started = await cli("call system/slow ms=60000 --no-wait --timeout 5m");
    expect(started.code).toBe(0);
    const id = started.stdout.trim();
    expect(id).toMatch(/^exec_/);
    expect((await cli(`runs show ${id} --json`)).json().execution.status).toBe("running");
    const cancelled = await cli(`runs cancel ${id}`);
    expect(cancelled).toMatchObject({ code: 0 });
    expect((await cli(`runs show ${id} --json`)).json().execution).toMatchObject({
      status: "cancelled",
      cancelReason: "user",
    });
    const again = await cli(`runs cancel ${id} --json`);
    expect(again.code).toBe(1);
    expect(again.json()).toMatchObject({ code: "CONFLICT", reason: "not_running" });
  });

  test("Ctrl-C ends the waiting, not the execution, and says how to cancel it", async () => {
    const before = observer.runs.length;
    const child = spawnBin(["call", "system/slow", "ms=6000", "--timeout", "60s"], {
      env: { OSTIARY_DATA_DIR: server.dataDir },
    });
    const { stderr } = collect(child);
    await expect.poll(() => observer.runs.length, { timeout: 15_000 }).toBe(before + 1);
    await expect.poll(stderr, { timeout: 15_000 }).toContain("Ctrl-C leaves it running");
    child.kill("SIGINT");
    await once(child, "close");
    const run = observer.runs.at(-1);
    expect(child.exitCode).toBe(1);
    expect(stderr()).toContain(`ostiary runs cancel ${run?.executionId}`);
    await expect.poll(() => run?.finishedAt, { timeout: 15_000 }).not.toBeNull();
    expect(run?.abortedAt).toBeNull();
  });

  test("an idempotency key never runs a call twice", async () => {
    const words = "call system/echo text=once --idempotency-key k-1 --json";
    const [first, second] = [await cli(words), await cli(words)];
    expect(second.json().executionId).toBe(first.json().executionId);
  });

  test("--dry-run only explains", async () => {
    const before = observer.runs.length;
    const ran = await cli("call system/slow ms=1 --dry-run --json");
    expect(ran.json()).toMatchObject({ verdict: "allow", tool: "system/slow" });
    expect(observer.runs.length).toBe(before);
  });
});

describe("tools, runs, explain, api", () => {
  test("tools: list by default, filters, search, show by any name", async () => {
    expect((await cli("tools")).stdout).toContain("system/echo");
    const files = (await cli("tools list --category file --json")).json();
    expect(files.categories).toEqual(["file"]);
    expect((await cli("tools search unchanged")).stdout).toMatch(/^system\/echo/m);
    expect((await cli("tools show echo --json")).json().tool.name).toBe("system/echo");
    expect((await cli("tools show system/echo")).stdout).toContain("ostiary call system/echo");
    for (const name of ["nope/nope", "nope"]) {
      const missing = await cli(`tools show ${name}`);
      expect(missing).toMatchObject({ code: 3, stdout: "" });
      expect(missing.stderr).toContain(`Tool '${name}' not found`);
    }
    expect((await cli("tools --category nonsense")).code).toBe(2);
  });

  test("runs list filters and pages", async () => {
    await cli("call system/echo text=a");
    await cli("call system/echo text=b");
    const page = (
      await cli("runs list --tool echo --status success --since 1h --limit 1 --json")
    ).json();
    expect(page.executions).toHaveLength(1);
    expect(page.next).toEqual(expect.any(String));
    const next = (await cli(`runs list --tool echo --limit 1 --after ${page.next} --json`)).json();
    expect(next.executions[0].id).not.toBe(page.executions[0].id);
    expect((await cli("runs list --status odd")).code).toBe(2);
    expect((await cli("runs show exec_1_none")).code).toBe(3);
  });

  test("runs watch streams changes as NDJSON until the one named has ended", async () => {
    const started = await cli("call system/slow ms=60000 --no-wait --timeout 2m");
    const id = started.stdout.trim();
    const child = spawnBin(["runs", "watch", id, "--json"], {
      env: { OSTIARY_DATA_DIR: server.dataDir },
    });
    const { stdout, stderr } = collect(child);
    const closed = once(child, "close");
    await expect.poll(stderr, { timeout: 15_000 }).toContain("watching");
    await cli(`runs cancel ${id}`);
    await closed;
    const lines = stdout()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { event: string; data: object });
    expect(lines.at(-1)).toMatchObject({ event: "tool.execution.cancelled", data: { id } });
    expect(child.exitCode).toBe(0);
    const late = await cli(`runs watch ${id} --json`);
    expect(late.json()).toMatchObject({ event: "tool.execution.cancelled", data: { id } });
    expect((await cli("runs watch exec_1_none")).code).toBe(3);
  });

  test("explain: imagined and past calls, with the exit code the call would have", async () => {
    const allowed = await cli("explain system/echo text=a");
    expect(allowed).toMatchObject({ code: 0 });
    expect(allowed.stdout).toMatch(/^allow {2}system\/echo/);
    const denied = await cli("explain system/echo --json");
    expect(denied.code).toBe(2);
    expect(denied.json()).toMatchObject({ verdict: "deny", wouldChange: [expect.any(String)] });
    const id = (await cli("call system/echo text=a --json")).json().executionId as string;
    expect((await cli(`explain ${id} --json`)).json()).toMatchObject({
      executionId: id,
      verdict: "allow",
    });
    expect((await cli("explain nope/nope")).code).toBe(3);
    expect((await cli(`explain ${id} a=1`)).code).toBe(2);
    expect((await cli("explain system/echo text=a --as cli --json")).json().verdict).toBe("allow");
  });

  test("api: any endpoint with the right key", async () => {
    expect((await cli("api GET whoami")).json().userId).toBe("cli");
    expect((await cli("api GET /api/v1/users")).json().items.length).toBeGreaterThan(1);
    expect((await cli("api GET /healthz")).code).toBe(0);
    const posted = await ostiary([
      "api",
      "POST",
      "executions",
      "--data",
      '{"name":"echo","arguments":{"text":"x"}}',
    ]);
    expect(posted.json().result).toEqual({ text: "x" });
    expect((await cli("api GET nothing --json")).json().code).toBe("NOT_FOUND");
    expect((await cli("api FETCH tools")).code).toBe(2);
  });
});

describe("users, keys, capsules", () => {
  test("a user, a capsule and a key that holds it; edit, rotate, revoke", async () => {
    expect((await cli("users create Ann --id ann --plan team --json")).json()).toMatchObject({
      id: "ann",
      plan: "team",
      role: "user",
    });
    expect((await cli("users create Ann --id ann")).code).toBe(1);
    expect(
      (await cli("users edit ann --roles tool_user reader --plan none --json")).json(),
    ).toMatchObject({ roles: ["tool_user", "reader"], plan: null });
    expect((await cli("users edit ann")).code).toBe(2);
    expect((await cli("users show ann")).stdout).toMatch(/^id +ann$/m);
    expect((await cli("users list")).stdout).toContain("ann");

    await cli("capsules create Small --id small --tools system/echo");
    expect(
      (await cli("capsules edit small --add system/time --remove system/echo --json")).json(),
    ).toMatchObject({ version: 2, capabilities: ["system/time"] });
    expect(
      (await cli("capsules list --json")).json().items.map((c: { id: string }) => c.id),
    ).toContain("small");

    const made = await cli(
      "keys create laptop --user ann --capsule small --scope agent:execute:safe --level execute_basic --expires 30d",
    );
    const secret = made.stdout.trim();
    expect(secret).toMatch(/^ost_/);
    const env = { ANN: secret };
    expect(
      (await cli("tools --key env:ANN --json", { env }))
        .json()
        .tools.map((t: { name: string }) => t.name),
    ).toEqual(["system/time"]);

    const listed = (await cli("keys list --user ann --json")).json().items as { id: string }[];
    expect(listed).toHaveLength(1);
    const id = listed[0]?.id ?? "";
    expect(JSON.stringify(listed)).not.toContain(secret);
    const rotated = await cli(`keys rotate ${id} --overlap 0 --json`);
    expect(rotated.json().secret).toMatch(/^ost_/);
    expect((await cli("tools --key env:ANN", { env })).code).toBe(3);

    const other = rotated.json().id as string;
    const unasked = await cli(`keys revoke ${other}`);
    expect(unasked.code).toBe(2);
    expect(unasked.stderr).toContain("--yes");
    expect((await cli(`keys revoke ${other} --yes --json`)).json().revokedAt).toEqual(
      expect.any(String),
    );
    expect(
      (await cli("tools --key env:NEW", { env: { NEW: rotated.json().secret as string } })).code,
    ).toBe(3);
  });

  test("the cli key may not administer", async () => {
    const ran = await cli(`users list --key file:${join(server.dataDir, "cli.key")} --json`);
    expect(ran.code).toBe(3);
    expect(ran.json()).toMatchObject({ code: "FORBIDDEN", reason: "admin_only" });
  });
});

describe("which server, which key", () => {
  test("without a running owner: exit 1 and how to start one", async () => {
    const ran = await runBin(["tools", "--data-dir", join(server.workspace, "none")]);
    expect(ran.code).toBe(1);
    expect(ran.stderr).toContain("start one: ostiary serve");
    const json = await runBin(["tools", "--json", "--data-dir", join(server.workspace, "none")]);
    expect(json.json()).toMatchObject({ code: "UNAVAILABLE", reason: "not_running" });
  });

  test("--server and --key name another server; our own key never goes to it", async () => {
    const env = { OSTIARY_DATA_DIR: join(server.workspace, "none") };
    const ran = await cli(`tools --server ${server.url} --key file:${server.dataDir}/cli.key`, {
      env,
    });
    expect(ran.code).toBe(0);
    const withoutKey = await cli("tools --server http://127.0.0.1:9");
    expect(withoutKey.code).toBe(2);
    expect(withoutKey.stderr).toContain("--key");
    const nobody = await cli("tools --server http://127.0.0.1:9 --key env:K", { env: { K: "k" } });
    expect(nobody.code).toBe(1);
    expect((await cli("tools --key env:MISSING")).code).toBe(2);
  });

  test("a wrong key: exit 3", async () => {
    const ran = await cli("tools --key env:K --json", { env: { K: "ost_local_wrong" } });
    expect(ran.code).toBe(3);
    expect(ran.json()).toMatchObject({ code: "UNAUTHORIZED" });
  });
});

describe("usage", () => {
  test("unknown commands, verbs and flags: exit 2 with the nearest one", async () => {
    for (const [words, guess] of [
      ["tols", "did you mean ostiary tools?"],
      ["keys lst", "did you mean ostiary keys list?"],
      ["tools shwo", "did you mean ostiary tools show?"],
      ["serve --prot 1", "did you mean --port?"],
      ["call system/echo --jsn", "did you mean --json?"],
      ["keys", "one of create, list"],
      ["call", "missing required argument"],
    ] as const) {
      const ran = await cli(words);
      expect(ran.code, words).toBe(2);
      expect(ran.stderr, words).toContain(guess);
    }
    const json = await cli("tols --json");
    expect(json.json()).toMatchObject({ code: "BAD_REQUEST", reason: "usage" });
  });

  test("help and version, for the program and for every command", async () => {
    const help = await cli("--help");
    expect(help).toMatchObject({ code: 0 });
    for (const name of [
      "serve",
      "mcp",
      "call",
      "tools",
      "explain",
      "runs",
      "keys",
      "users",
      "capsules",
      "config",
      "doctor",
      "open",
      "completion",
      "api",
      "version",
    ]) {
      expect(help.stdout).toContain(`  ${name} `);
      const own = await cli(`${name} --help`);
      expect(own.code, name).toBe(0);
      expect(own.stdout, name).toContain(`Usage: ostiary ${name}`);
    }
    expect((await cli("--version")).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect((await cli("version --json")).json()).toMatchObject({ node: process.version });
  });

  test("the installed program is the same one", async () => {
    expect((await cli("--version", { program: BIN })).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  test("an older Node is told so in one line", async () => {
    const fake = join(server.workspace, "fake.cjs");
    writeFileSync(
      fake,
      'Object.defineProperty(process,"versions",{value:{...process.versions,node:"20.20.2"}});Object.defineProperty(process,"version",{value:"v20.20.2"});',
    );
    const ran = await cli("version", { program: BIN, nodeArgs: ["--require", fake] });
    expect(ran).toMatchObject({ code: 1, stdout: "" });
    expect(ran.stderr).toBe("ostiary needs Node >= 24; this is v20.20.2\n");
    const system = "/usr/bin/node";
    const old =
      existsSync(system) && /^v(1\d|2[0-3])\./.test(execFileSync(system, ["--version"]).toString());
    if (old) {
      const real = await cli("version", { program: BIN, node: system });
      expect(real.code).toBe(1);
      expect(real.stderr).toMatch(/^ostiary needs Node >= 24; this is v\d+\.\d+\.\d+\n$/);
    }
  });
});

describe("config, doctor, completion, open", () => {
  test("config print --origin says where each value came from and shows no secret", async () => {
    const file = join(server.workspace, "print.yaml");
    writeFileSync(file, "server:\n  port: 4321\nstore: postgres://u:${env:PW}@h/d\n");
    const env = {
      PW: "s3cret-pw",
      OSTIARY_ADMIN_KEY: "a-very-secret-admin-key-0123456789",
      MCP_HOST: "localhost",
    };
    const ran = await cli(`config print --origin --config ${file}`, { env });
    expect(ran.stdout).toMatch(/^server\.port +4321 +file .*print\.yaml:2:9$/m);
    expect(ran.stdout).toMatch(/^server\.host +localhost +environment MCP_HOST$/m);
    expect(ran.stdout).toMatch(/^server\.fastPath +true +default$/m);
    expect(ran.stdout).not.toMatch(/s3cret|a-very-secret/);
    const json = (await cli(`config print --origin --json --config ${file}`, { env })).json();
    expect(json["server.port"]).toEqual({ value: 4321, source: "file", where: `${file}:2:9` });
    expect((await cli("config print --json")).json().server.port).toBe(3100);
  });

  test("config check: exit 0, or 1 with every fault; config schema is JSON Schema", async () => {
    expect((await cli("config check")).code).toBe(0);
    const file = join(server.workspace, "bad.yaml");
    writeFileSync(file, "server: { prot: 1 }\nlog: { level: loud }\n");
    const ran = await cli(`config check --config ${file}`);
    expect(ran.code).toBe(1);
    expect(ran.stderr).toContain("did you mean server.port?");
    expect(ran.stderr).toContain("bad.yaml:2:15");
    expect((await cli("config schema")).json().properties.server.type).toBe("object");
  });

  test("doctor --json: the checks as data; missing programs are no failure", async () => {
    const ran = await cli("doctor --json");
    const { ok, checks } = ran.json() as {
      ok: boolean;
      checks: { name: string; status: string }[];
    };
    expect(ok).toBe(true);
    expect(ran.code).toBe(0);
    const names = checks.map(({ name }) => name);
    for (const name of [
      "node",
      "configuration",
      "data directory",
      "server",
      "store",
      "clock",
      "git",
    ])
      expect(names).toContain(name);
  });

  test("doctor names what is wrong, and --fix repairs it", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "ostiary-doctor-"));
    try {
      spawnSync("chmod", ["755", dataDir]);
      const env = { OSTIARY_DATA_DIR: dataDir, PATH: "/nonexistent" };
      const sick = await runBin(["doctor"], { env });
      expect(sick.code).toBe(1);
      expect(sick.stdout).toContain(`fix: chmod 700 '${dataDir}'`);
      expect((await runBin(["doctor", "--fix"], { env })).code).toBe(2);
      const fixed = await runBin(["doctor", "--fix", "--yes", "--json"], { env });
      expect(fixed.code).toBe(0);
    } finally {
      rmSync(dataDir, { recursive: true, force: true });
    }
  });

  test("completion scripts are accepted by their shells and know every command", async () => {
    const bash = await cli("completion bash");
    const checked = spawnSync("bash", ["-n"], { input: bash.stdout });
    expect(checked.status).toBe(0);
    const words = spawnSync("bash", [
      "-c",
      `${bash.stdout}\nCOMP_WORDS=(ostiary keys re); COMP_CWORD=2; _ostiary; echo "\${COMPREPLY[*]}"`,
    ]);
    expect(words.stdout.toString().trim()).toBe("revoke");
    for (const shell of ["zsh", "fish"]) {
      const script = (await cli(`completion ${shell}`)).stdout;
      expect(script).toContain("capsules");
      if (spawnSync(shell, ["--version"]).status === 0)
        expect(spawnSync(shell, ["-n"], { input: script }).status).toBe(0);
    }
    expect((await cli("completion tcsh")).code).toBe(2);
  });

  test("open prints the link where no browser can be opened", async () => {
    const link = (await cli("open")).stdout.trim();
    expect(link.startsWith(`${server.url}/?t=`)).toBe(true);
    const signedIn = await fetch(link, { redirect: "manual" });
    expect(signedIn.headers.get("set-cookie")).toContain("HttpOnly");
    expect((await fetch(link, { redirect: "manual" })).status).toBe(401);
    expect((await cli("open exec_1_a")).stdout).toBe(`${server.url}/x/exec_1_a\n`);
    expect((await cli("open nonsense")).code).toBe(2);
  });

  test("a reader that has seen enough is no failure", () => {
    const { stderr } = spawnSync(
      "bash",
      ["-c", `"${process.execPath}" "${BIN}" config schema | head -1`],
      { env: { PATH: process.env["PATH"] ?? "", HOME: tmpdir() } },
    );
    expect(stderr.toString()).toBe("");
  });
});

describe("mcp over stdio", () => {
  const initialize = {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "test", version: "1" },
    },
  };
  const messages = [
    initialize,
    { jsonrpc: "2.0", method: "notifications/initialized" },
    {
      jsonrpc: "2.0",
      id: 2,
      method: "tools/call",
      params: { name: "system_echo", arguments: { text: "over stdio" } },
    },
  ];
  const input = messages.map((message) => `${JSON.stringify(message)}\n`).join("");

  const answers = (ran: BinResult) =>
    ran.stdout
      .trim()
      .split("\n")
      .map(
        (line) =>
          JSON.parse(line) as {
            id?: number;
            result?: { structuredContent?: unknown; serverInfo?: { name: string } };
          },
      );

  test("with an owner it bridges to it: the call is in the owner's history", async () => {
    const ran = await cli("mcp", { input });
    expect(ran.code).toBe(0);
    const [hello, called] = [1, 2].map((id) => answers(ran).find((each) => each.id === id));
    expect(hello?.result?.serverInfo?.name).toBe("ostiary");
    expect(called?.result?.structuredContent).toMatchObject({ text: "over stdio" });
    const newest = (await cli("runs list --limit 1 --json")).json().executions[0];
    expect(newest).toMatchObject({ toolName: "system/echo", entry: "mcp" });
  });

  test("without an owner it runs the engine itself, and only messages reach stdout", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "ostiary-mcp-"));
    try {
      const ran = await runBin(["mcp", "--data-dir", dataDir], { input });
      expect(ran.code).toBe(0);
      expect(answers(ran).find((each) => each.id === 2)?.result?.structuredContent).toMatchObject({
        text: "over stdio",
      });
      expect(existsSync(join(dataDir, "owner.json"))).toBe(false);
    } finally {
      rmSync(dataDir, { recursive: true, force: true });
    }
  });
});
