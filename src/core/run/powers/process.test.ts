// The process power on a workspace that belongs to an ordinary user: the folder itself is in the box, no copy.
import {
  chmodSync,
  chownSync,
  existsSync,
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
import { openBench, type Bench } from "../../../../test/fixtures/tool-bench.ts";
import { copyTree, type CopyLimits } from "./process/copy.ts";
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
