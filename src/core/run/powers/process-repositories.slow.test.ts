// The process power and git repositories that programs make: each must be none once the program has ended.
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, linkSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HAS_BOX } from "../../../../test/fixtures/programs.ts";
import { git } from "../../../../test/fixtures/project.ts";
import { openBench, type Bench } from "../../../../test/fixtures/tool-bench.ts";
import type { ProcessJob, ProcessResult } from "../../../contract/powers/process.ts";
import exec from "../../../tools/shell/exec.ts";
import { repositoriesIn } from "./process/repositories.ts";
import { recoverRuns } from "./process/workspace.ts";

const CAN = HAS_BOX && process.getuid?.() === 0;
const UID = 12_345;

describe.skipIf(!CAN)(
  "A1: repositories in a workspace of an ordinary user",
  { timeout: 60_000 },
  () => {
    let bench: Bench;
    const at = (...names: string[]): string => join(bench.workspace, ...names);
    const sh = (script: string, job: Partial<ProcessJob> = {}): Promise<ProcessResult> => {
      const { process: power } = bench.powersFor(["process"], { ...bench.call(), tool: exec });
      if (!power) throw new Error("no power");
      return power.run({ argv: ["sh", "-c", script], workspace: "rw", ...job });
    };
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
