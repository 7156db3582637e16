// A1: code on the host through what git reads from the workspace.
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Attack, Case, Target } from "./attack.ts";

const canaryOf = (target: Pick<Target, "workspace">): string =>
  join(target.workspace, "canary-ran");
const evilConfig = (target: Target): string =>
  `[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfsmonitor = "touch ${canaryOf(target)};"\n`;

/** What people do with git, wherever in the workspace. */
async function peopleUseGit(target: Target): Promise<boolean> {
  for (const folder of ["", "x", "sub", "module", "deep/er", "near"]) {
    const cwd = join(target.workspace, folder);
    if (!existsSync(cwd)) continue;
    for (const argv of [["status"], ["log", "-1"], ["diff"]])
      await target.asUser(["git", ...argv], { cwd });
  }
  return existsSync(canaryOf(target));
}

type Step = readonly [tool: string, args: (target: Target) => Record<string, unknown>];

function attempt(name: string, steps: readonly Step[], mustRefuse = steps.length): Case {
  return {
    name,
    async run(target) {
      const done: string[] = [];
      for (const [tool, args] of steps) {
        const { status, body } = await target.call(tool, args(target));
        if (status === 200 && body.status === "success") done.push(tool);
      }
      if (await peopleUseGit(target)) return "git ran the payload on the host";
      if (done.length > steps.length - mustRefuse) return `went through: ${done.join(", ")}`;
      return null;
    },
  };
}

const write = (path: string, content: (target: Target) => string): Step => [
  "file/write",
  (target) => ({ path, content: content(target) }),
];
const copy = (from: string, to: string, more: object = {}): Step => [
  "file/copy",
  () => ({ from, to, ...more }),
];
const scratch = write("$SCRATCH/cfg", evilConfig);

const attack: Attack = {
  item: "A1",
  title: "code on the host through .git",
  async prepare({ workspace, asUser }) {
    const git = (...args: string[]) =>
      asUser(["git", "-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd: workspace });
    await git("init", "-q");
    await asUser(
      [
        "sh",
        "-c",
        "echo one > a.txt; mkdir -p sub deep/er module near/objects; echo 'ref: refs/heads/main' > near/HEAD; ln -s .git way",
      ],
      { cwd: workspace },
    );
    await git("add", "a.txt");
    await git("commit", "-qm", "first");
    await git("clone", "-q", "--bare", ".", "bare.git");
  },
  skip: () => (existsSync("/usr/bin/git") ? null : "git is not installed"),
  control: {
    name: "a file comes to the scratch folder, and a repository can be read",
    async run(target) {
      const written = await target.call("file/write", { path: "$SCRATCH/fine.txt", content: "x" });
      const read = await target.call("file/read", { path: ".git/HEAD" });
      return written.status === 200 && read.status === 200
        ? null
        : `${written.status}, ${read.status}`;
    },
  },
  cases: [
    attempt(
      "a copy of .git with another configuration, and commondir",
      [
        scratch,
        write("$SCRATCH/cd", () => "../x\n"),
        copy(".git", "x", { recursive: true }),
        copy("$SCRATCH/cfg", "x/config", { overwrite: true }),
        copy("$SCRATCH/cd", ".git/commondir"),
      ],
      3,
    ),
    attempt("a .git file that leads elsewhere", [write("sub/.git", () => "gitdir: ../x\n")]),
    attempt(
      "a .git file by a copy",
      [write("$SCRATCH/gf", () => "gitdir: ../bare.git\n"), copy("$SCRATCH/gf", "sub/.git")],
      1,
    ),
    attempt(
      "the configuration of a bare repository",
      [scratch, copy("$SCRATCH/cfg", "bare.git/config", { overwrite: true })],
      1,
    ),
    attempt("the last part of a bare repository", [["file/mkdir", () => ({ path: "near/refs" })]]),
    attempt("the last part by another case", [["file/mkdir", () => ({ path: "near/REFS" })]]),
    attempt(
      "commondir beside HEAD",
      [write("$SCRATCH/c", () => "../bare.git\n"), copy("$SCRATCH/c", "near/commondir")],
      1,
    ),
    attempt(
      "a folder of a submodule",
      [
        ["file/mkdir", () => ({ path: "module/.git" })],
        scratch,
        copy("$SCRATCH/cfg", "module/.git/config"),
      ],
      2,
    ),
    attempt(
      "through a link to .git",
      [
        scratch,
        copy("$SCRATCH/cfg", "way/config", { overwrite: true }),
        copy("$SCRATCH/cfg", "way/commondir"),
      ],
      2,
    ),
    attempt(
      "other spellings of .git",
      [".GIT", ".git ", ".git.", "git~1", ".g\u200cit"].map(
        (name) => ["file/mkdir", () => ({ path: `sub/${name}` })] as const,
      ),
    ),
    attempt("a bare repository under another name", [
      ["file/move", () => ({ from: "bare.git", to: "sub/.git" })],
      copy("bare.git", "x2", { recursive: true }),
    ]),
    attempt(
      "objects from elsewhere",
      [write("$SCRATCH/alt", () => "/tmp\n"), copy("$SCRATCH/alt", ".git/objects/info/alternates")],
      1,
    ),
    attempt(
      "attributes and modules",
      [
        write("$SCRATCH/at", () => "* filter=lfs\n"),
        copy("$SCRATCH/at", ".gitattributes"),
        copy("$SCRATCH/at", ".gitmodules"),
      ],
      2,
    ),
    attempt("the whole of .git moved away", [
      ["file/move", () => ({ from: ".git", to: "x3" })],
      ["file/delete", () => ({ path: ".git", recursive: true })],
    ]),
    attempt("a download into .git", [
      ["web/download", () => ({ url: "https://github.com/x", path: ".git/commondir" })],
      ["ai/speak", () => ({ text: "x", path: "sub/.git" })],
    ]),
  ],
};

export default attack;
