// What people read of the command line: tables, lists, refusals, help, progress, logs and the first start.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { COMMANDS } from "../../src/cli/commands.ts";
import { EXAMPLES } from "../../src/cli/examples.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import {
  collect,
  runBin,
  spawnInTerminal,
  startServer,
  type BinOptions,
  type BinResult,
  type RunningServer,
} from "../fixtures/bin.ts";
import { slowTool, type SlowObserver } from "../fixtures/slow-tool.ts";

describe("item 16: the command line reads well", { timeout: 60_000 }, () => {
  let folder: string;
  let server: RunningServer;
  const at = (name: string): string => join(folder, name);
  const cli = (args: string[], options: BinOptions = {}): Promise<BinResult> =>
    runBin([...args, "--data-dir", at("data")], { cwd: at("work"), ...options });

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "ostiary-reading-"));
    mkdirSync(at("work"));
    writeFileSync(at("work/notes.txt"), "first\n");
    server = await startServer(["--port", "0", "--data-dir", at("data")], { cwd: at("work") });
    await cli(["call", "file/read", "path=notes.txt"]);
    await cli(["call", "file/read", "path=/etc/passwd"]);
    await cli(["call", "file/read", "path=absent.txt"]);
    await cli(["call", "file/nothing-like-it", "path=x"]);
    await cli(["users", "create", "Ada", "--id", "ada"]);
    await cli(["keys", "create", "laptop", "--user", "ada", "--level", "view_only"]);
  }, 120_000);
  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test.each([
    ["tools", /^TOOL +DESCRIPTION$/],
    ["runs list", /^ID +STARTED +USER +STATUS +TOOK +TOOL +ENDED WITH$/],
    ["history list", /^ID +STARTED +USER +STATUS +TOOK +TOOL +ENDED WITH$/],
    ["history stats", /^BY +NAME +CALLS +SUCCESS +FAILED +CANCELLED/m],
    ["users list", /^ID +NAME +ROLE +PLAN +LEVEL +ROLES$/],
    ["keys list", /^ID +USER +NAME +LEVEL +CAPSULE +PREFIX +EXPIRES +REVOKED +LAST USED$/],
    ["capsules list", /^ID +NAME/],
    ["policy list", /^VERSION +STATE +CREATED +BY +NOTE$/],
    ["audit tail", /^SEQ +AT +ACTION +BY +EXECUTION +DETAILS$/],
    ["config print", /^SETTING +VALUE$/],
    ["budget show", /^WHOSE +PLAN +METRIC +USED +RESERVED +LIMIT +LEFT$/],
    ["plans list", /^PLAN +CALLS\/MINUTE +TOOL_CALLS/],
  ])("the table of `%s` has headers, and --quiet leaves them out", async (line, header) => {
    const { stdout } = await cli(line.split(" "));
    const lines = stdout.split("\n");
    expect(
      lines.some((each) => header.test(each)),
      stdout.slice(0, 300),
    ).toBe(true);
    const quiet = await cli([...line.split(" "), "--quiet"]);
    expect(quiet.stdout.split("\n").some((each) => header.test(each))).toBe(false);
  });

  test("an empty list prints no header", async () => {
    expect((await cli(["runs", "list", "--tool", "file/write"])).stdout).toBe("");
  });

  test("lists say who and at which level", async () => {
    const keys = (await cli(["keys", "list"])).stdout;
    expect(keys).toMatch(/^key_\S+ +ada +laptop +view_only /m);
    expect(keys).toMatch(/^key_admin_1 +owner +admin +admin /m);
    const users = (await cli(["users", "list"])).stdout;
    expect(users).toMatch(/^owner +Owner +admin +.*admin/m);
    expect(users).toMatch(/^ada +Ada +user .*(view_only|execute_\w+)/m);
    expect((await cli(["runs", "list"])).stdout).toMatch(/^exec_\S+ +\S+ +cli +success /m);
  });

  test("a refused call is shown as denied, a failed one as failed", async () => {
    const { stdout, stderr } = await cli(["runs", "list"]);
    expect(stdout).toMatch(/ denied +\S+ ms +file\/read +FORBIDDEN \/ path_forbidden/);
    expect(stdout).toMatch(/ denied +\S+ ms +file\/nothing-like-it +NOT_FOUND \/ unknown/);
    expect(stdout).toMatch(/ failed +\S+ ms +file\/read +EXECUTION_FAILED \/ path_not_found/);
    expect(stderr).toContain("1 success, 3 failed or denied, 0 cancelled");
    const id = / *(exec_\S+) .* denied .*path_forbidden/.exec(stdout)?.[1] ?? "";
    expect((await cli(["runs", "show", id])).stdout).toMatch(/^status +denied$/m);
    expect((await cli(["runs", "show", id, "--json"])).json().execution.status).toBe("failed");
  });

  test("whoami says who the command line is, and with which key", async () => {
    const { stdout, code } = await cli(["whoami"]);
    expect(code).toBe(0);
    for (const line of [/^user +cli$/m, /^level +\S+$/m, /^key +key_cli_1$/m, /^server +http:/m])
      expect(stdout).toMatch(line);
    expect((await cli(["whoami", "--admin"])).stdout).toMatch(/^user +owner$/m);
    expect((await cli(["whoami", "--json"])).json()).toMatchObject({ userId: "cli", via: "key" });
  });

  test.each([
    [["call", "file/raed", "path=notes.txt"], "file/read"],
    [["call", "flie/read", "path=notes.txt"], "file/read"],
    [["tools", "show", "system/ehco"], "system/echo"],
    [["explain", "file/raed", "path=x"], "file/read"],
  ])("%j: did you mean %s?", async (args, meant) => {
    const { code, stderr, stdout } = await cli(args);
    expect(code).toBe(3);
    expect(stderr + stdout).toContain(`did you mean ${meant}?`);
  });

  test("what is not visible to the caller is never proposed", async () => {
    const made = await cli([
      "keys",
      "create",
      "narrow",
      "--user",
      "ada",
      "--capsule",
      "empty",
      "--json",
    ]);
    if (made.code !== 0) await cli(["capsules", "create", "empty", "--id", "empty"]);
    const key = (
      await cli(["keys", "create", "narrow", "--user", "ada", "--capsule", "empty", "--json"])
    ).json() as { secret: string };
    const { stderr } = await cli(["call", "file/raed", "path=x", "--key", "env:NARROW"], {
      env: { NARROW: key.secret },
    });
    expect(stderr).toContain("NOT_FOUND / unknown");
    expect(stderr).not.toContain("did you mean");
  });

  test("remedies are commands of this program, not of the API", async () => {
    expect((await cli(["call", "no/such"])).stderr).toContain("ostiary tools");
    expect((await cli(["runs", "show", "exec_1"])).stderr).toContain("ostiary runs list");
    expect((await cli(["users", "show", "nobody"])).stderr).toContain("ostiary users list");
    expect((await cli(["call", "system/echo"])).stderr).toContain("ostiary tools show system/echo");
    const wrong = await cli(["tools", "--key", "env:WRONG"], { env: { WRONG: "ost_local_wrong" } });
    expect(wrong.stderr).toContain("--key");
    expect(wrong.stderr).not.toContain("Authorization");
  });

  test("every command has examples in its help, and each example is understood", async () => {
    expect(Object.keys(EXAMPLES).sort()).toEqual(COMMANDS.map(({ name }) => name).sort());
    for (const { name } of COMMANDS) {
      const { stdout: help } = await cli([name, "--help"]);
      expect(help, name).toContain("Examples:\n");
      for (const { line } of EXAMPLES[name] ?? []) {
        expect(help).toContain(`ostiary ${line}`);
        const [command = "", second = ""] = line.split(" ");
        expect(command).toBe(name);
        // The verb, where the command has verbs, and each flag must be in the help of the two.
        const isVerb = new RegExp(`^ {2}${second}( |$)`, "m").test(
          help.split("\nCommands:")[1] ?? "",
        );
        if (help.includes("\nCommands:") && second !== "") expect(isVerb, line).toBe(true);
        const flags = line.match(/(?<= )--[a-z][a-z-]*/g) ?? [];
        const { stdout: own } = isVerb ? await cli([name, second, "--help"]) : { stdout: help };
        for (const flag of flags) expect(own.split("\nExamples:")[0], line).toContain(flag);
      }
    }
  });

  test("a start without a terminal does not print the key; the file has it", async () => {
    expect(server.stdout()).not.toContain(readFileSync(at("data/admin.key"), "utf8").trim());
    expect(server.stdout()).toMatch(/Admin key +kept in \S+admin\.key/);
  });

  test("on a terminal the first start shows the key, and log lines are for people", async () => {
    const child = spawnInTerminal(["serve", "--port", "0", "--no-open", "--data-dir", at("tty")], {
      cwd: at("work"),
    });
    const { stdout } = collect(child);
    await expect.poll(() => /^ready (\S+)\r?$/m.exec(stdout())?.[1]).toBeDefined();
    const key = readFileSync(at("tty/admin.key"), "utf8").trim();
    expect(stdout()).toContain(key);
    const refused = await runBin([
      "call",
      "file/read",
      "path=/etc/passwd",
      "--data-dir",
      at("tty"),
    ]);
    expect(refused.code).toBe(3);
    await expect.poll(stdout).toMatch(/\d\d:\d\d:\d\d .*WARN.* +tool_call_blocked/);
    expect(stdout()).not.toMatch(/^\{/m);
    child.kill("SIGTERM");
    await once(child, "close");
  });

  test.runIf(process.getuid?.() === 0)(
    "as root in a large workspace the doctor says the one thing to do",
    async () => {
      const large = at("large");
      for (let folderNo = 0; folderNo < 51; folderNo++) {
        mkdirSync(join(large, String(folderNo)), { recursive: true });
        for (let file = 0; file < 1_000; file++)
          writeFileSync(join(large, String(folderNo), String(file)), "");
      }
      const fix = "OSTIARY_WORKSPACE=<folder> ostiary serve";
      const doctor = await cli(["doctor"], { cwd: large });
      expect(doctor.stdout).toMatch(/! +workspace +\S+large has more than 50000 entries/);
      expect(doctor.stdout).toContain(`fix: start it on a smaller folder: ${fix}`);
      const small = await cli(["doctor"]);
      expect(small.stdout).toMatch(/✓ +workspace +\S+work$/m);
    },
  );

  test("the start says which folder the file tools work in", () => {
    expect(server.stdout()).toMatch(/^ {2}Files +\S+\/work /m);
  });

  test("elsewhere log lines are JSON", () => {
    const lines = server
      .stderr()
      .split("\n")
      .filter((line) => line.includes("tool_call_blocked"));
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) expect(() => JSON.parse(line) as unknown).not.toThrow();
  });
});

describe("item 16: a long call", { timeout: 60_000 }, () => {
  const observer: SlowObserver = { runs: [] };
  let app: StartedApp;
  beforeAll(async () => {
    app = await startApp({ tools: [slowTool(observer)] });
  });
  afterAll(() => app.close());

  test("shows that it goes on and for how long; a short one says nothing of the kind", async () => {
    const env = { OSTIARY_DATA_DIR: app.dataDir };
    const long = await runBin(["call", "system/slow", "ms=3500"], { env });
    expect(long.stderr).toMatch(
      /^ {3}running for [1-3] s {3}exec_\S+ {3}\(Ctrl-C leaves it running\)$/m,
    );
    expect(long.code).toBe(0);
    const short = await runBin(["call", "system/slow", "ms=1"], { env });
    expect(short.stderr).not.toContain("running for");
  });

  test("on a terminal it is one line that changes and is gone at the end", async () => {
    const child = spawnInTerminal(["call", "system/slow", "ms=3500"], {
      env: { OSTIARY_DATA_DIR: app.dataDir },
    });
    const { stdout } = collect(child);
    await once(child, "close");
    const lines = stdout().split("\r\u001b[K");
    expect(lines.filter((line) => line.includes("running for")).length).toBeGreaterThan(1);
    expect(lines.at(-1)).toContain("✓ success");
  });
});
