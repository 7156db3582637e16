// Nobody's git may run what a tool has put into the workspace: no tool writes a repository's own files, or makes one.
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { agreedAgent, patientGovernance, reasonOf, type Agent } from "../fixtures/agreed.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { git } from "../fixtures/project.ts";

const CAN = existsSync("/usr/bin/git");
const HAS_BOX = CAN && existsSync("/usr/bin/bwrap");
if (!HAS_BOX && process.env["CI"])
  test("git and bubblewrap are installed", () => expect.unreachable());

describe.skipIf(!CAN)("repositories of the workspace", { timeout: 120_000 }, () => {
  let app: StartedApp;
  let agent: Agent;
  let outside: string;
  let canary: string;
  const at = (...names: string[]): string => join(app.workspace, ...names);
  const put = (name: string, text = "x"): void => {
    mkdirSync(join(at(name), ".."), { recursive: true });
    writeFileSync(at(name), text);
  };
  const reason = async (tool: string, args: object): Promise<string> =>
    reasonOf(await agent.call(tool, args));

  beforeAll(async () => {
    app = await startApp({ flags: { governance: patientGovernance() } });
    agent = await agreedAgent(app);
    outside = mkdtempSync(join(tmpdir(), "ostiary-canary-"));
    canary = join(outside, "ran");
    git(app.workspace, "init", "-q");
    put("a.txt");
    git(app.workspace, "add", ".");
    git(app.workspace, "commit", "-qm", "first");
    put("evil.sh", `#!/bin/sh\ntouch ${canary}\n`);
    execFileSync("chmod", ["755", at("evil.sh")]);
    git(app.workspace, "clone", "-q", "--bare", ".", "bare.git");
    put("near/HEAD", "ref: refs/heads/main\n");
    mkdirSync(at("near/objects"));
    mkdirSync(at("other/refs"), { recursive: true });
    put("other/HEAD", "ref: refs/heads/main\n");
    put("linked/commondir", "../bare.git\n");
    symlinkSync(".git", at("way"));
  });
  afterAll(async () => {
    await app.close();
    rmSync(outside, { recursive: true });
  });

  test("A1: the way through a copy of .git and commondir is closed, and git runs nothing", async () => {
    const evil = `[core]\n\trepositoryformatversion = 0\n\tfsmonitor = ${at("evil.sh")}\n`;
    expect(await reason("file/write", { path: "$SCRATCH/cfg", content: evil })).toBe("success");
    expect(await reason("file/write", { path: "$SCRATCH/cd", content: "../x\n" })).toBe("success");
    expect(await reason("file/copy", { from: ".git", to: "x", recursive: true })).toBe(
      "path_forbidden",
    );
    await reason("file/copy", { from: "$SCRATCH/cfg", to: "x/config", overwrite: true });
    expect(await reason("file/copy", { from: "$SCRATCH/cd", to: ".git/commondir" })).toBe(
      "path_forbidden",
    );
    execFileSync("git", ["-c", "safe.directory=*", "status"], { cwd: app.workspace });
    expect(existsSync(canary)).toBe(false);
  });

  const spellings = [
    ".git/commondir",
    ".git/x",
    ".git/modules/m/config",
    ".git/objects/info/alternates",
    ".git/worktrees/w/gitdir",
    "sub/.git",
    "sub/.git/HEAD",
    ".GIT/config",
    "sub/.Git",
    "sub/.git ",
    "sub/.git.",
    "sub/git~1",
    "sub/.g\u200cit",
    "way/x",
    "./sub/../.git/x",
    ".gitmodules",
    ".gitattributes",
  ];
  test.each(spellings)("A1: nobody writes %j", async (path) => {
    put("tree/file.txt");
    for (const [tool, args] of [
      ["file/write", { path, content: "gitdir: x\n" }],
      ["file/copy", { from: "a.txt", to: path }],
      ["file/move", { from: "tree/file.txt", to: path }],
      ["file/copy", { from: "tree", to: path, recursive: true }],
      ["file/mkdir", { path }],
      ["file/edit", { path, oldContent: "a", newContent: "b" }],
      ["web/download", { url: "https://files.example.org/x", path }],
      ["ai/speak", { text: "x", path }],
    ] as const) {
      expect([tool, await reason(tool, args)]).toEqual([tool, "path_forbidden"]);
    }
  });

  test("A1: a bare repository's files are nobody's to write, move, copy or remove", async () => {
    put("plain.txt");
    for (const [tool, args] of [
      ["file/write", { path: "bare.git/config", content: "x" }],
      ["file/write", { path: "bare.git/hooks/pre-commit", content: "x" }],
      ["file/copy", { from: "plain.txt", to: "bare.git/config", overwrite: true }],
      ["file/move", { from: "plain.txt", to: "bare.git/commondir" }],
      ["file/move", { from: "bare.git/config", to: "config" }],
      ["file/move", { from: "bare.git", to: "moved.git" }],
      ["file/copy", { from: "bare.git", to: "copy.git", recursive: true }],
      ["file/mkdir", { path: "bare.git/hooks2" }],
      ["file/delete", { path: "bare.git/config" }],
      ["file/delete", { path: "bare.git", recursive: true }],
    ] as const)
      expect([tool, args, await reason(tool, args)]).toEqual([tool, args, "path_forbidden"]);
    expect(existsSync(at("copy.git"))).toBe(false);
  });

  test("A1: the step that would make a folder a repository is refused", async () => {
    mkdirSync(at("parts/refs/heads"), { recursive: true });
    put("parts/head", "ref: refs/heads/main\n");
    const steps = [
      ["file/mkdir", { path: "near/refs" }],
      ["file/write", { path: "near/refs/heads/main", content: "x", createDirectories: true }],
      ["file/write", { path: "near/commondir", content: "../bare.git" }],
      ["file/write", { path: "near/refs", content: "x" }],
      ["file/move", { from: "parts/refs", to: "near/refs" }],
      ["file/copy", { from: "parts/refs", to: "near/refs", recursive: true }],
      ["file/move", { from: "near/objects", to: "other/objects" }],
      ["file/write", { path: "linked/HEAD", content: "ref: refs/heads/main\n" }],
      ["file/copy", { from: "parts/head", to: "linked/HEAD" }],
      ["file/mkdir", { path: "other/OBJECTS" }],
    ] as const;
    for (const [tool, args] of steps)
      expect([args, await reason(tool, args)]).toEqual([args, "path_forbidden"]);
  });

  test("A1: two steps at once do not complete each other", async () => {
    for (let round = 0; round < 5; round++) {
      put(`race${round}/HEAD`, "ref: refs/heads/main\n");
      await Promise.all(
        ["objects", "refs"].map((name) => reason("file/mkdir", { path: `race${round}/${name}` })),
      );
      expect(
        ["objects", "refs"].filter((name) => existsSync(at(`race${round}`, name))).length,
      ).toBe(1);
    }
  });

  test("A1: a folder that holds a repository is neither moved nor copied", async () => {
    mkdirSync(at("outer"));
    git(at("outer"), "init", "-q");
    mkdirSync(at("outer2"));
    git(at("outer2"), "init", "-q", "--bare", "b");
    for (const from of ["outer", "outer2"])
      for (const tool of ["file/move", "file/copy"])
        expect(
          await reason(tool, {
            from,
            to: "elsewhere",
            ...(tool === "file/copy" && { recursive: true }),
          }),
        ).toBe("path_forbidden");
    expect(existsSync(at("elsewhere"))).toBe(false);
  });

  test("A1: names that only look like it are ordinary files; a repository can be read", async () => {
    for (const path of [
      ".gitignore",
      ".github/workflows/ci.yml",
      "x.git.txt",
      "docs/HEAD",
      "src/objects/a.ts",
      "src/refs/b.ts",
    ])
      expect([
        path,
        await reason("file/write", { path, content: "x", createDirectories: true }),
      ]).toEqual([path, "success"]);
    expect(await reason("file/read", { path: ".git/HEAD" })).toBe("success");
    expect(await reason("file/copy", { from: ".git/HEAD", to: "docs/HEAD2" })).toBe("success");
    expect(await reason("file/move", { from: "docs", to: "docs2" })).toBe("success");
  });

  test.skipIf(!HAS_BOX)("A1: what a program makes is no repository afterwards", async () => {
    const script = [
      "git init -q made; git init -q --bare made2",
      "cp -r .git x",
      "mkdir -p p/q; echo 'gitdir: ../../x' > p/q/.git",
      "mkdir y; echo 'ref: refs/heads/main' > y/HEAD; echo ../bare.git > y/commondir",
      "echo more >> .git/config; echo x > .git/commondir",
      "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x",
      "echo fine > fine.txt",
      "mv bare.git moved.git",
      "exit 0",
    ].join("\n");
    const config = readFileSync(at(".git/config"), "utf8");
    const ran = await agent.call("shell/script", { script });
    expect(ran).toMatchObject({
      status: 200,
      body: { status: "success", result: { exitCode: 0 } },
    });
    expect(ran.body.result.stderr).toContain("[ostiary] not taken over:");
    expect(readFileSync(at("fine.txt"), "utf8")).toBe("fine\n");
    expect(readFileSync(at(".git/config"), "utf8")).toBe(config);
    expect(existsSync(at(".git/commondir"))).toBe(false);
    for (const folder of ["made", "made2", "x", "p/q", "y"])
      if (existsSync(at(folder))) {
        const top = () => git(at(folder), "rev-parse", "--absolute-git-dir").trim();
        expect([folder, top()]).toEqual([
          folder,
          execFileSync("realpath", [at(".git")], { encoding: "utf8" }).trim(),
        ]);
      }
  });
});
