// The process power on a workspace that belongs to an ordinary user: the folder itself is in the box, no copy.
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { git } from "../../../../test/fixtures/project.ts";
import { openBench, type Bench } from "../../../../test/fixtures/tool-bench.ts";
import { copyTree, type CopyLimits } from "./process/copy.ts";
import { repositoriesIn } from "./process/repositories.ts";
import { JOURNAL, openStaging, placeWorkspace, recoverRuns } from "./process/workspace.ts";
import exec from "../../../tools/shell/exec.ts";
import gitStatus from "../../../tools/shell/git_status.ts";
import echo from "../../../tools/system/echo.ts";
import fetch from "../../../tools/web/fetch.ts";
import type { Tool } from "../../../contract/tool.ts";
import type { ProcessJob, ProcessPower, ProcessResult } from "../../../contract/powers/process.ts";
import { HAS_BOX } from "../../../../test/fixtures/programs.ts";

const CAN = HAS_BOX && process.getuid?.() === 0;
const UID = 12_345;

function powerOf(bench: Bench, tool: Tool | null = exec): ProcessPower {
  const { process: power } = bench.powersFor(["process"], { ...bench.call(), tool });
  if (!power) throw new Error("no power");
  return power;
}

describe.skipIf(!CAN)("a workspace of an ordinary user", { timeout: 60_000 }, () => {
  let bench: Bench;
  const at = (...names: string[]): string => join(bench.workspace, ...names);
  const own = (path: string): void => chownSync(path, UID, UID);
  const put = (name: string, text: string): void => {
    writeFileSync(at(name), text);
    own(at(name));
  };
  const sh = (script: string, job: Partial<ProcessJob> = {}): Promise<ProcessResult> =>
    powerOf(bench).run({ argv: ["sh", "-c", script], workspace: "rw", ...job });

  beforeAll(async () => {
    bench = await openBench({ rules: { "    - $CONFIG\n": '    - $CONFIG\n    - "**/*.pem"\n' } });
    chmodSync(bench.root, 0o711);
    own(bench.workspace);
    for (const folder of [".git", ".git/hooks", "keys"]) {
      mkdirSync(at(folder));
      own(at(folder));
    }
    put("a.txt", "a");
    put(".git/config", "[core]\n");
    put("keys/server.pem", "SECRET");
  });
  afterAll(() => bench.close());

  test("it is written in place, as its owner", async () => {
    const ended = await sh("echo new > made.txt; echo more >> a.txt; rm -f nothing");
    expect(ended).toMatchObject({ exitCode: 0, refused: [], stderr: "" });
    expect(ended.filesWritten.map(({ path }) => path).sort()).toEqual(["a.txt", "made.txt"]);
    expect(statSync(at("made.txt")).uid).toBe(UID);
  });

  test("T36: protected paths cannot be written, replaced or made, existing or not", async () => {
    const tries = [
      "echo x > .git/hooks/pre-commit",
      "echo x >> .git/config",
      "mv .git old",
      "rm -rf .git/hooks",
      "echo x > .env",
      "mkdir .husky",
      "ln -s /tmp .vscode",
      "echo x > .npmrc",
      "mv .git/hooks .git/h2 && mkdir .git/hooks",
      "echo x > .mcp.json",
      "echo x > t && ln t .gitmodules",
    ];
    for (const one of tries) await sh(one);
    expect(readFileSync(at(".git/config"), "utf8")).toBe("[core]\n");
    expect(readdirSync(at(".git/hooks"))).toEqual([]);
    for (const name of [".env", ".husky", ".vscode", ".npmrc", ".mcp.json", ".gitmodules"])
      expect([name, existsSync(at(name))]).toEqual([name, false]);
    expect((await sh("echo no > .git/HEAD2; cat .git/HEAD2")).stdout).toBe("");
  });

  test("T36: what is planted deeper is taken away afterwards and told", async () => {
    const ended = await sh(
      "mkdir -p deep/.git/hooks deep/ok; echo x > deep/.git/hooks/x; echo y > deep/ok/y; echo z > deep/.env",
    );
    expect(ended.refused).toEqual(
      expect.arrayContaining([
        { path: "deep/.git", reason: "path_forbidden" },
        { path: "deep/.env", reason: "path_forbidden" },
      ]),
    );
    expect([
      existsSync(at("deep/.git/hooks")),
      existsSync(at("deep/.env")),
      existsSync(at("deep/ok/y")),
    ]).toEqual([false, false, true]);
  });

  test("T37: setuid and new execute bits are cleared", async () => {
    const ended = await sh("echo x > tool; chmod 6755 tool");
    expect(ended.refused).toEqual([{ path: "tool", reason: "execute_bit" }]);
    expect(statSync(at("tool")).mode & 0o7111).toBe(0);
  });

  test("A1: with more entries than are looked at, nobody works in it: what was not seen would not be protected", async () => {
    const call = { ...bench.call(), tool: exec };
    const { files } = bench.powersFor(["files"], call);
    if (!files) throw new Error("no power");
    const rules = await bench.governance.filesFor(call);
    // Its own: closing it removes all that lies there.
    const staging = openStaging(join(bench.dataDir, "apart"));
    const place = (access: "ro" | "rw", inPlace: number) =>
      placeWorkspace({
        access,
        rules,
        files,
        staging,
        limits: { files: 1_000, bytes: 1e6, inPlace },
        signal: new AbortController().signal,
      });
    for (const access of ["ro", "rw"] as const)
      await expect(place(access, 3)).rejects.toThrow(/more than 3 entries.*nothing was started/);
    for (const access of ["ro", "rw"] as const) {
      const placed = await place(access, 1_000);
      expect(placed.isCopy).toBe(false);
      placed.discard();
    }
    await staging.close();
  });

  test("A1: a note of a run that was cut off while it was written does not keep the server from starting", async () => {
    const dataDir = join(bench.dataDir, "cut-off");
    mkdirSync(join(dataDir, "runs/run-1"), { recursive: true });
    writeFileSync(join(dataDir, "runs/run-1", JOURNAL), '{"root":"/tm');
    expect(await recoverRuns(dataDir)).toEqual([]);
    expect(existsSync(join(dataDir, "runs/run-1"))).toBe(false);
  });

  test("what the rules hide is not there to read", async () => {
    expect((await sh("cat keys/server.pem")).stdout).toBe("");
    expect((await sh("cat keys/server.pem", { workspace: "ro" })).stdout).toBe("");
    expect(readFileSync(at("keys/server.pem"), "utf8")).toBe("SECRET");
  });

  test("read-only is read-only; a copy is thrown away", async () => {
    expect(await sh("echo x > ro.txt", { workspace: "ro" })).toMatchObject({ exitCode: 2 });
    expect(await sh("echo x > copy.txt; cat copy.txt", { workspace: "copy" })).toMatchObject({
      stdout: "x\n",
      filesWritten: [],
    });
    expect(await sh("ls /workspace", { workspace: "none" })).toMatchObject({ stdout: "" });
    expect([existsSync(at("ro.txt")), existsSync(at("copy.txt"))]).toEqual([false, false]);
  });

  test("a job's own files are in its private folder", async () => {
    const ended = await sh("cat /job/note.txt; pwd; echo $HOME", {
      workspace: "none",
      files: { "note.txt": "hi\n" },
    });
    expect(ended.stdout).toBe("hi\n/job\n/job\n");
  });
});

describe.skipIf(!CAN)("a workspace of root's", { timeout: 60_000 }, () => {
  test("no copy is left behind", async () => {
    const copies = (): string[] =>
      readdirSync(tmpdir()).filter((name) => name.startsWith("ostiary-runs-"));
    const bench = await openBench();
    const before = new Set(copies());
    writeFileSync(join(bench.workspace, "canary.txt"), "x");
    await powerOf(bench).run({ argv: ["true"], workspace: "rw" });
    const [own] = copies().filter(
      (name) =>
        !before.has(name) &&
        readFileSync(join(bench.dataDir, "runs/elsewhere"), "utf8").endsWith(name),
    );
    expect(own).toBeDefined();
    await bench.close();
    expect(existsSync(join(tmpdir(), own ?? ""))).toBe(false);
  });
});

test("one that is too large to copy is refused with the way out, before anything is copied", async () => {
  const [from, to] = ["from-", "to-"].map((name) => mkdtempSync(join(tmpdir(), name))) as [
    string,
    string,
  ];
  for (let file = 0; file < 12; file++) writeFileSync(join(from, String(file)), "12345");
  const copy = (limits: CopyLimits) =>
    copyTree(from, to, {
      user: null,
      limits,
      mayRead: () => true,
      signal: new AbortController().signal,
    });
  const refused = {
    fault: {
      reason: "workspace_too_large",
      remedy: expect.stringContaining("OSTIARY_WORKSPACE=<folder>") as string,
    },
  };
  await expect(copy({ files: 11, bytes: 1_000 })).rejects.toMatchObject(refused);
  await expect(copy({ files: 12, bytes: 59 })).rejects.toMatchObject(refused);
  expect(readdirSync(to)).toEqual([]);
  expect((await copy({ files: 12, bytes: 60 })).size).toBe(12);
  for (const folder of [from, to]) rmSync(folder, { recursive: true });
});

test("T38: a job can have no more than the profile its tool was judged by", async () => {
  const bench = await openBench();
  const refused: [Tool | null, Partial<ProcessJob>][] = [
    [null, { workspace: "none" }],
    [echo, { workspace: "none" }],
    [gitStatus, { workspace: "rw" }],
    [gitStatus, { workspace: "ro", network: true }],
    [exec, { workspace: "rw", network: true }],
    [fetch, { workspace: "ro" }],
  ];
  for (const [tool, job] of refused)
    await expect(
      powerOf(bench, tool).run({ argv: ["true"], workspace: "none", ...job }),
    ).rejects.toThrow(/asked for a workspace/);
  // The same call once its arguments have raised the profile: only then is the box asked for.
  const raised = bench.governance.asGoverned(exec, { command: ["true"], network: true });
  const ran = await powerOf(bench, raised)
    .run({ argv: ["true"], workspace: "rw", network: true })
    .catch((cause: unknown) => cause);
  expect(String(ran)).not.toContain("asked for a workspace");
  await bench.close();
});

describe.skipIf(!CAN)(
  "A1: repositories in a workspace of an ordinary user",
  { timeout: 60_000 },
  () => {
    let bench: Bench;
    const at = (...names: string[]): string => join(bench.workspace, ...names);
    const sh = (script: string, job: Partial<ProcessJob> = {}): Promise<ProcessResult> =>
      powerOf(bench).run({ argv: ["sh", "-c", script], workspace: "rw", ...job });
    /** Where git finds itself, from a folder; null: in no repository. */
    const repositoryOf = (folder: string): string | null => {
      const found = spawnSync(
        "git",
        ["-c", "safe.directory=*", "rev-parse", "--absolute-git-dir"],
        { cwd: at(folder), encoding: "utf8" },
      );
      return found.status === 0 ? found.stdout.trim() : null;
    };
    beforeAll(async () => {
      bench = await openBench({
        rules: { "    - $CONFIG\n": '    - $CONFIG\n    - "**/*.pem"\n' },
      });
      chmodSync(bench.root, 0o711);
      for (const [folder, ...more] of [["sub"], ["sub/inner"], ["old.git", "--bare"]] as const) {
        mkdirSync(at(folder), { recursive: true });
        if (folder !== "sub") git(at(folder), "init", "-q", ...more);
      }
      writeFileSync(at("sub/file"), "x");
      mkdirSync(at("module"));
      linkSync(at("sub/inner/.git/config"), at("another-name"));
      writeFileSync(at(".gitmodules"), '[submodule "m"]\n\tpath = module\n\turl = ../m\n');
      spawnSync("chown", ["-R", `${UID}:${UID}`, bench.workspace]);
    });
    afterAll(() => bench.close());

    test("A1: those that are there stay as they are, by whatever name or way", async () => {
      const config = readFileSync(at("sub/inner/.git/config"), "utf8");
      const bare = readFileSync(at("old.git/config"), "utf8");
      for (const one of [
        "echo x >> sub/inner/.git/config",
        "echo x > sub/inner/.git/commondir",
        "mv sub/inner/.git sub/inner/g",
        "mv sub/inner sub/i2",
        "mv sub s2",
        "rm -rf sub/inner/.git",
        "echo x >> old.git/config",
        "mkdir -p old.git/hooks; echo x > old.git/hooks/h",
        "mv old.git new.git",
        "echo x >> another-name",
        "ln sub/inner/.git/config c && echo x >> c",
        "ln -s sub/inner/.git l; echo x > l/commondir",
      ])
        await sh(one);
      expect(readFileSync(at("sub/inner/.git/config"), "utf8")).toBe(config);
      expect(readFileSync(at("old.git/config"), "utf8")).toBe(bare);
      for (const name of ["sub/inner/.git/commondir", "old.git/hooks/h", "sub/i2", "s2", "new.git"])
        expect([name, existsSync(at(name))]).toEqual([name, false]);
    });

    test("A1: none can be made where git would find it from the top, even while the program runs", async () => {
      const ran = await sh(
        "mkdir -p .git module/.git; echo x > .git/HEAD; echo x > module/.git/HEAD; git init -q .; git init -q module; ls -A .git module/.git",
      );
      expect(ran.stdout).toBe(".git:\n\nmodule/.git:\n");
      expect([existsSync(at(".git")), existsSync(at("module/.git"))]).toEqual([false, false]);
    });

    const makes: [string, string, string][] = [
      ["git init", "git init -q r1", "r1"],
      ["a bare one", "git init -q --bare r2", "r2"],
      ["a copy of one", "cp -r sub/inner/.git r3", "r3"],
      ["a file that leads to one", "mkdir r4; echo 'gitdir: ../old.git' > r4/.git", "r4"],
      ["a link that leads to one", "mkdir r5; ln -s ../old.git r5/.git", "r5"],
      ["HEAD and commondir", "mkdir r6; cp old.git/HEAD r6; echo ../old.git > r6/commondir", "r6"],
      [
        "parts that are links",
        "mkdir r7; cp old.git/HEAD r7; ln -s ../old.git/objects ../old.git/refs r7",
        "r7",
      ],
      ["one inside another", "git init -q r8; git init -q r8/.git/x", "r8/nowhere"],
      ["one in a folder that cannot be listed", "git init -q r9; chmod 111 r9", "r9"],
      ["one in a folder that cannot be written", "git init -q r10; chmod 555 r10", "r10"],
      [
        "one behind many files",
        "mkdir r11; i=0; while [ $i -lt 3000 ]; do : > r11/$i; i=$((i+1)); done; git init -q r11/z",
        "r11/z",
      ],
      ["one in a folder of a name that is hidden from callers", "git init -q r13.pem", "r13.pem"],
      ["one that is clean but for its time", "git init -q r12; exec sleep 60", "r12"],
    ];
    test.each(makes)(
      "A1: %s is no repository once the program has ended",
      async (_name, script, folder) => {
        const ended = await sh(script, script.includes("sleep") ? { timeoutMs: 1_500 } : {});
        expect(ended.refused.length).toBeGreaterThan(0);
        expect(ended.stderr).toContain("[ostiary] not taken over:");
        if (existsSync(at(folder))) expect(repositoryOf(folder)).toBe(null);
        const left = [...(await repositoriesIn(bench.workspace, () => true))].sort();
        expect(left).toEqual(["old.git", "sub/inner/.git"]);
      },
    );

    test("A1: one that lies deeper than anybody looks", async () => {
      const ended = await sh(
        "i=0; while [ $i -lt 400 ]; do mkdir d; cd d; i=$((i+1)); done; git init -q r",
      );
      expect(ended.refused.length).toBeGreaterThan(1);
      expect([...(await repositoriesIn(bench.workspace, () => true))].sort()).toEqual([
        "old.git",
        "sub/inner/.git",
      ]);
    });

    test("A1: what a run made that a crash cut off is disarmed at the next start", async () => {
      mkdirSync(join(bench.dataDir, "runs/run-left"), { recursive: true });
      const note = { root: bench.workspace, repositories: ["old.git", "sub/inner/.git"] };
      writeFileSync(join(bench.dataDir, "runs/run-left/repositories.json"), JSON.stringify(note));
      git(bench.workspace, "init", "-q", "left");
      expect(await recoverRuns(bench.dataDir)).toEqual([at("left/.git")]);
      expect(repositoryOf("left")).toBe(null);
      expect(existsSync(join(bench.dataDir, "runs/run-left"))).toBe(false);
    });

    test("A1: an ordinary program finds and leaves everything as it is", async () => {
      const ended = await sh(
        "cd sub/inner && git status --porcelain && echo y > ../file2 && mkdir -p ../objects ../refs && cat ../file",
      );
      expect(ended).toMatchObject({ exitCode: 0, refused: [], stdout: "x" });
      expect(repositoryOf("sub/inner")).toBe(at("sub/inner/.git"));
    });
  },
);
