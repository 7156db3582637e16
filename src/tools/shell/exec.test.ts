import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openBench, type Bench } from "../../../test/fixtures/tool-bench.ts";
import exec from "./exec.ts";
import { HAS_BOX } from "../../../test/fixtures/programs.ts";

describe.skipIf(!HAS_BOX)("shell/exec", { timeout: 60_000 }, () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench();
    writeFileSync(join(bench.workspace, "a.txt"), "one\ntwo\n");
    mkdirSync(join(bench.workspace, "sub"));
    writeFileSync(join(bench.workspace, "sub/b.txt"), "b");
  });
  afterAll(() => bench.close());
  const run = (input: Parameters<Bench["run"]>[1]) => bench.run(exec, input);
  const fault = (input: Parameters<Bench["run"]>[1]) => bench.fault(exec, input);

  test("a program runs with its arguments as they are", async () => {
    const args = ["a b", "$HOME", "`id`", "; touch x", "*", "", "-n", "ä€😀", "a\nb"];
    const { stdout, exitCode } = await run({ command: ["printf", "[%s]\n", ...args] });
    expect({ stdout, exitCode }).toEqual({
      stdout: args.map((arg) => `[${arg}]\n`).join(""),
      exitCode: 0,
    });
  });

  test("a text is split into words", async () => {
    expect(await run({ command: `printf '%s|' "a b" c\\ d` })).toMatchObject({
      stdout: "a b|c d|",
    });
  });

  test("what only a shell could do is refused with the way out", async () => {
    for (const command of [
      "ls | wc",
      "ls; id",
      "ls & id",
      "ls > x",
      "cat < a.txt",
      "echo $(id)",
      "echo `id`",
      "echo $HOME",
      "ls *",
    ])
      expect(await fault({ command })).toMatchObject({
        code: "EXECUTION_FAILED",
        reason: "shell_syntax",
        remedy: expect.stringContaining("shell/script") as string,
      });
    expect(existsSync(join(bench.workspace, "x"))).toBe(false);
  });

  test("a non-zero exit is a result, as is a signal", async () => {
    expect(await run({ command: ["sh", "-c", "echo out; echo err >&2; exit 3"] })).toMatchObject({
      stdout: "out\n",
      stderr: "err\n",
      exitCode: 3,
      timedOut: false,
    });
    const killed = await run({ command: ["sh", "-c", "kill -9 $$"] });
    expect([killed["exitCode"], killed["signal"]]).toEqual(
      expect.arrayContaining([expect.anything()]),
    );
    expect(killed["exitCode"]).not.toBe(0);
  });

  test("a program that does not exist is named, with or without a path", async () => {
    for (const command of [["no-such-program"], ["./no-such"], ["/usr/bin/no-such"], ["sub"], [""]])
      expect(["command_not_found", "permission_denied", "invalid_arguments"]).toContain(
        (await fault({ command })).reason,
      );
    expect(await fault({ command: ["no-such-program"] })).toMatchObject({
      reason: "command_not_found",
      message: expect.stringContaining("no-such-program") as string,
    });
  });

  test("it starts in the folder that is named, which must be one of the workspace", async () => {
    expect(await run({ command: ["pwd"], cwd: "sub" })).toMatchObject({
      stdout: "/workspace/sub\n",
    });
    expect(await fault({ command: ["pwd"], cwd: "../.." })).toMatchObject({ code: "FORBIDDEN" });
    expect(await fault({ command: ["pwd"], cwd: "/etc" })).toMatchObject({ code: "FORBIDDEN" });
    for (const cwd of ["missing", "a.txt"])
      expect((await fault({ command: ["pwd"], cwd })).reason).toMatch(
        /path_not_found|not_a_directory/,
      );
  });

  test("T43: the environment holds what was given and nothing of the server's", async () => {
    process.env["OSTIARY_CANARY"] = "secret-canary";
    const { stdout } = await run({
      command: ["env"],
      env: { GREETING: "hi", TZ: "Europe/Vienna" },
    });
    delete process.env["OSTIARY_CANARY"];
    const names = (stdout as string)
      .trim()
      .split("\n")
      .map((line) => line.split("=", 1)[0])
      .sort();
    expect(names).toEqual(["GREETING", "HOME", "LANG", "PATH", "PWD", "TERM", "TMPDIR", "TZ"]);
    expect(stdout).toContain("GREETING=hi\n");
    expect(stdout).toContain("TZ=Europe/Vienna\n");
    expect(stdout).not.toContain("canary");
  });

  test("variables that change what programs do are refused", async () => {
    for (const name of [
      "PATH",
      "LD_PRELOAD",
      "NODE_OPTIONS",
      "PYTHONPATH",
      "GIT_DIR",
      "BASH_ENV",
      "IFS",
      "https_proxy",
      "HOME",
    ])
      expect(await fault({ command: ["env"], env: { [name]: "x" } })).toMatchObject({
        code: "FORBIDDEN",
        reason: "env_forbidden",
      });
  });

  test("stdin is given", async () => {
    expect(await run({ command: ["wc", "-c"], stdin: "x".repeat(100_000) })).toMatchObject({
      stdout: "100000\n",
    });
  });

  test("R142 R151 R153: its time is up: killed with what it said so far", async () => {
    const ended = await run({
      command: ["sh", "-c", "trap '' TERM; echo begun; sleep 60"],
      timeoutSeconds: 1,
    });
    expect(ended).toMatchObject({
      stdout: "begun\n",
      exitCode: -1,
      timedOut: true,
      stderr: expect.stringContaining("its time was up") as string,
    });
    expect(bench.notes.at(-1)).toMatchObject({ timedOut: true, limitMs: 1_000 });
  });

  test("a cancel ends it with what it said so far", async () => {
    const controller = new AbortController();
    const running = bench.run(
      exec,
      { command: ["sh", "-c", "echo begun; sleep 60"] },
      { signal: controller.signal },
    );
    setTimeout(() => controller.abort("user"), 700);
    expect(await running).toMatchObject({ exitCode: -1, timedOut: false });
  });

  test("long output is cut on a character and kept whole", async () => {
    const ended = await run({ command: ["sh", "-c", "yes äöü | head -c 70000"] });
    expect(ended).toMatchObject({
      truncated: true,
      exitCode: 0,
      overflowPath: expect.any(String) as string,
    });
    const stdout = ended["stdout"] as string;
    expect(Buffer.byteLength(stdout)).toBeLessThanOrEqual(51_200);
    expect(Buffer.byteLength(stdout)).toBeGreaterThan(51_190);
    expect(stdout).not.toContain("\ufffd");
    const files = bench.powersFor(["files"], bench.call()).files;
    const kept = await files?.read(ended["overflowPath"] as string, { maxBytes: 1_000_000 });
    expect(kept?.sizeBytes).toBe(70_000);
  });

  test("endless output is stopped", async () => {
    const ended = await run({ command: ["yes"] });
    expect(ended).toMatchObject({
      truncated: true,
      exitCode: -1,
      stderr: expect.stringContaining("wrote more than") as string,
    });
  });

  test("what is not UTF-8 does no harm", async () => {
    expect(await run({ command: ["printf", "a\\377b"] })).toMatchObject({ stdout: "a\ufffdb" });
  });

  test("R154: too much memory is told", async () => {
    const ended = await run({ command: ["python3", "-c", "x = 'a' * (2 * 1024 ** 3)"] });
    expect(ended["exitCode"]).not.toBe(0);
    expect(ended["oom"] === true || /MemoryError|Killed/.test(ended["stderr"] as string)).toBe(
      true,
    );
  });

  test("NUL and too long arguments are refused", async () => {
    expect(await fault({ command: ["echo", "a\0b"] })).toMatchObject({ code: "BAD_REQUEST" });
    expect(
      await fault({ command: ["true", ...Array.from({ length: 190 }, () => "x".repeat(60_000))] }),
    ).toMatchObject({ code: "BAD_REQUEST", reason: "invalid_arguments" });
  });

  test("only the workspace is seen: no home, no data of the server, no path of the host", async () => {
    const { stdout } = await run({
      command: [
        "sh",
        "-c",
        `cat /proc/mounts; ls -d ${bench.root} ${bench.dataDir} /root /home /var /work 2>/dev/null; ls /`,
      ],
    });
    expect(stdout).not.toContain(bench.root);
    expect(stdout).not.toContain("/root");
    expect((stdout as string).split("\n")).not.toContain("home");
  });

  test("T36: protected paths are refused and told, the rest is taken over", async () => {
    const ended = await run({
      command: [
        "sh",
        "-c",
        "mkdir -p .git/hooks .husky; echo x > .git/hooks/pre-commit; echo x > .env; echo x > .husky/run; echo ok > made.txt; echo more >> a.txt",
      ],
    });
    expect(ended["stderr"]).toContain("not taken over: .git/hooks/pre-commit (path_forbidden)");
    expect(
      ["made.txt", ".env", ".husky", ".git/hooks"].map((name) =>
        existsSync(join(bench.workspace, name)),
      ),
    ).toEqual([true, false, false, false]);
    expect(readFileSync(join(bench.workspace, "a.txt"), "utf8")).toBe("one\ntwo\nmore\n");
    expect(bench.notes.at(-1)).toMatchObject({
      filesTouched: expect.arrayContaining(["made.txt", "a.txt"]) as string[],
    });
  });

  test("T37: links, pipes and bits that a program plants are not taken over", async () => {
    const ended = await run({
      command: [
        "sh",
        "-c",
        "ln -s /etc/passwd link; mkfifo pipe; echo x > run.sh; chmod 4755 run.sh; ln run.sh hard",
      ],
    });
    // Names of one file of its own become files of their own.
    expect(statSync(join(bench.workspace, "hard")).nlink).toBe(1);
    for (const name of ["link", "pipe"]) {
      expect(ended["stderr"]).toContain(`not taken over: ${name}`);
      expect(existsSync(join(bench.workspace, name))).toBe(false);
    }
    await run({ command: ["sh", "-c", "echo y > tool.sh; chmod 6755 tool.sh"] });
    expect(statSync(join(bench.workspace, "tool.sh")).mode & 0o7111).toBe(0);
  });

  test("a file that could be executed stays so; what the caller may not read is not there", async () => {
    writeFileSync(join(bench.workspace, "go.sh"), "#!/bin/sh\necho went\n");
    chmodSync(join(bench.workspace, "go.sh"), 0o755);
    symlinkSync("/etc/hostname", join(bench.workspace, "out"));
    expect(await run({ command: ["./go.sh"] })).toMatchObject({ stdout: "went\n" });
    await run({ command: ["sh", "-c", "echo 'echo again' >> go.sh"] });
    expect(statSync(join(bench.workspace, "go.sh")).mode & 0o111).toBe(0o111);
    expect(await run({ command: ["cat", "out"] })).toMatchObject({ exitCode: 1 });
  });

  test("two at once do not undo each other; what both changed is a conflict", async () => {
    writeFileSync(join(bench.workspace, "shared.txt"), "0");
    const slow = run({
      command: ["sh", "-c", "sleep 2; echo slow > slow.txt; echo slow > shared.txt"],
    });
    await new Promise((resolve) => setTimeout(resolve, 600));
    await run({ command: ["sh", "-c", "echo fast > fast.txt; echo fast > shared.txt"] });
    const ended = await slow;
    expect(ended["stderr"]).toContain("not taken over: shared.txt (changed_meanwhile)");
    expect(
      ["slow.txt", "fast.txt", "shared.txt"].map((name) =>
        readFileSync(join(bench.workspace, name), "utf8"),
      ),
    ).toEqual(["slow\n", "fast\n", "fast\n"]);
  });

  test("removing is taken over too, but not of what is protected", async () => {
    mkdirSync(join(bench.workspace, "gone/deep"), { recursive: true });
    writeFileSync(join(bench.workspace, "gone/deep/file"), "x");
    mkdirSync(join(bench.workspace, ".vscode"));
    writeFileSync(join(bench.workspace, ".vscode/settings.json"), "{}");
    await run({ command: ["rm", "-r", "gone", ".vscode"] });
    expect(existsSync(join(bench.workspace, "gone"))).toBe(false);
    expect(existsSync(join(bench.workspace, ".vscode/settings.json"))).toBe(true);
  });
});

test("T38 C34 R150: without a sandbox nothing runs", async () => {
  const path = process.env["PATH"];
  process.env["PATH"] = "/nowhere";
  const bench = await openBench();
  process.env["PATH"] = path;
  expect(await bench.fault(exec, { command: ["touch", "x"] })).toMatchObject({
    code: "UNAVAILABLE",
    reason: "sandbox_unavailable",
    remedy: expect.any(String) as string,
  });
  expect(existsSync(join(bench.workspace, "x"))).toBe(false);
  await bench.close();
});
