// T31: whatever a repository's settings could start must not start; and the facts must be right.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { git } from "../../../test/fixtures/project.ts";
import { openBench, type Bench } from "../../../test/fixtures/tool-bench.ts";
import { readStatus } from "../../util/computations/git-report.ts";
import tool from "./git_status.ts";
import { HAS_BOX } from "../../../test/fixtures/programs.ts";

const CAN = HAS_BOX && existsSync("/usr/bin/git");

describe.skipIf(!CAN)("shell/git_status", { timeout: 60_000 }, () => {
  let bench: Bench;
  let count = 0;
  let folder = "";
  let repo = "";
  const put = (name: string, text: string): void => writeFileSync(join(repo, name), text);
  beforeAll(async () => {
    bench = await openBench();
  });
  afterAll(() => bench.close());
  beforeEach(() => {
    folder = `repo${++count}`;
    repo = join(bench.workspace, folder);
    mkdirSync(repo);
    git(repo, "init", "-q");
    put("a.txt", "one\n");
    put("b c.txt", "two\n");
    git(repo, "add", ".");
    git(repo, "commit", "-qm", "first: ä");
  });

  test("a clean repository", async () => {
    expect(await bench.run(tool, { path: folder })).toEqual({
      branch: "main",
      ahead: 0,
      behind: 0,
      clean: true,
      staged: [],
      unstaged: [],
      untracked: [],
      conflicts: [],
      stash: 0,
      truncated: false,
    });
  });

  test("staged, changed, renamed, untracked, with difference and commits", async () => {
    git(repo, "mv", "a.txt", "d.txt");
    put("b c.txt", "changed\n");
    put("new ä.txt", "x");
    const state = await bench.run(tool, { path: folder, diff: true, log: 5 });
    expect(state).toMatchObject({
      clean: false,
      staged: [{ path: "d.txt", change: "renamed", from: "a.txt" }],
      unstaged: [{ path: "b c.txt", change: "modified" }],
      untracked: ["new ä.txt"],
      commits: [{ author: "Test", subject: "first: ä" }],
    });
    expect(state["diff"]).toContain("+changed");
  });

  test("ahead and behind of an upstream, a stash, a detached head, a conflict", async () => {
    git(repo, "branch", "base");
    git(repo, "branch", "--set-upstream-to=base");
    put("a.txt", "mine\n");
    git(repo, "commit", "-qam", "mine");
    put("a.txt", "later\n");
    git(repo, "stash", "-q");
    expect(await bench.run(tool, { path: folder })).toMatchObject({
      upstream: "base",
      ahead: 1,
      behind: 0,
      stash: 1,
    });
    git(repo, "checkout", "-q", "base");
    put("a.txt", "theirs\n");
    git(repo, "commit", "-qam", "theirs");
    try {
      git(repo, "merge", "main");
    } catch {
      // it stops at the conflict
    }
    expect(await bench.run(tool, { path: folder })).toMatchObject({
      branch: "base",
      conflicts: ["a.txt"],
    });
    git(repo, "reset", "-q", "--hard");
    git(repo, "checkout", "-q", "--detach");
    expect(await bench.run(tool, { path: folder })).toMatchObject({ branch: null });
  });

  test("no repository, no folder, nothing there, somewhere else", async () => {
    mkdirSync(join(bench.workspace, `plain${count}`));
    expect(await bench.fault(tool, { path: `plain${count}` })).toMatchObject({
      reason: "not_a_repository",
      remedy: expect.any(String) as string,
    });
    expect(await bench.fault(tool, { path: `${folder}/a.txt` })).toMatchObject({
      reason: "not_a_directory",
    });
    expect(await bench.fault(tool, { path: "missing" })).toMatchObject({
      reason: "path_not_found",
    });
    expect(await bench.fault(tool, { path: "/etc" })).toMatchObject({ code: "FORBIDDEN" });
  });

  test("a broken repository is told without a crash", async () => {
    put(".git/HEAD", "garbage");
    const fault = await bench.fault(tool, { path: folder });
    expect(["not_a_repository", "repository_unreadable"]).toContain(fault.reason);
    expect(fault.message).not.toContain(bench.root);
  });

  const canary = "touch /tmp/ran /workspace/ran; echo RAN-CANARY; echo RAN-CANARY >&2; cat";
  const attacks: [string, (config: (name: string, value: string) => void) => void][] = [
    ["core.fsmonitor", (config) => config("core.fsmonitor", canary)],
    [
      "core.pager",
      (config) => (
        config("core.pager", canary),
        config("pager.status", canary),
        config("pager.log", canary),
        config("pager.diff", canary)
      ),
    ],
    ["diff.external", (config) => config("diff.external", canary)],
    [
      "a filter by attributes",
      (config) => (
        config("filter.evil.clean", canary),
        config("filter.evil.smudge", canary),
        config("filter.evil.required", "true"),
        put(".gitattributes", "* filter=evil\n")
      ),
    ],
    [
      "a filter process",
      (config) => (config("filter.evil.process", canary), put(".gitattributes", "* filter=evil\n")),
    ],
    [
      "a filter in an included file",
      (config) => (
        config("include.path", "../more.cfg"),
        put("more.cfg", `[filter "in=cl"]\n\tclean = "${canary}"\n`),
        put(".gitattributes", "* filter=in=cl\n")
      ),
    ],
    [
      "textconv and a diff driver",
      (config) => (
        config("diff.evil.textconv", canary),
        config("diff.evil.command", canary),
        put(".gitattributes", "* diff=evil\n")
      ),
    ],
    [
      "a signature program",
      (config) => (config("gpg.program", canary), config("log.showSignature", "true")),
    ],
    [
      "hooks",
      (config) => (
        config("core.hooksPath", "."),
        put("post-index-change", `#!/bin/sh\n${canary}\n`),
        put("fsmonitor-watchman", `#!/bin/sh\n${canary}\n`)
      ),
    ],
    [
      "alternate refs and ssh",
      (config) => (
        config("core.alternateRefsCommand", canary),
        config("core.sshCommand", canary),
        config("credential.helper", `!${canary}`)
      ),
    ],
    [
      "A8: a partial clone whose missing objects are fetched by a program",
      (config) => (
        config("core.repositoryformatversion", "1"),
        config("extensions.partialClone", "origin"),
        config("remote.origin.url", repo),
        config("remote.origin.promisor", "true"),
        config("remote.origin.uploadpack", canary),
        config("protocol.file.allow", "always"),
        config("protocol.ext.allow", "always")
      ),
    ],
    [
      "A8: a promisor over ext::",
      (config) => (
        config("remote.origin.url", `ext::sh -c ${canary.replaceAll(" ", "% ")}`),
        config("remote.origin.promisor", "true"),
        config("protocol.ext.allow", "always"),
        config("protocol.allow", "always")
      ),
    ],
    [
      "A8: includes of every kind",
      (config) => (
        config("includeIf.gitdir:/**.path", "../more.cfg"),
        config("includeIf.onbranch:**.path", "../more.cfg"),
        put("more.cfg", `[core]\n\tfsmonitor = "${canary}"\n[diff]\n\texternal = "${canary}"\n`)
      ),
    ],
    [
      "A8: settings of the worktree",
      (config) => (
        config("extensions.worktreeConfig", "true"),
        put(
          ".git/config.worktree",
          `[core]\n\tfsmonitor = "${canary}"\n[filter "w"]\n\tclean = "${canary}"\n`,
        ),
        put(".gitattributes", "* filter=w\n")
      ),
    ],
    [
      "A8: attributes inside the repository",
      (config) => (
        config("filter.evil.clean", canary),
        config("filter.evil.process", canary),
        put(".git/info/attributes", "* filter=evil diff=evil merge=evil\n"),
        config("diff.evil.textconv", canary),
        config("merge.evil.driver", canary)
      ),
    ],
    [
      "A8: a filter whose name holds everything",
      (config) => (
        config('filter.a.b=c "d\\ e.clean', canary),
        put(".gitattributes", "* filter=a.b=c\n")
      ),
    ],
    [
      "A8: editors, prompts, trailers, tools",
      (config) =>
        [
          "core.editor",
          "sequence.editor",
          "core.askPass",
          "trailer.x.command",
          "trailer.x.cmd",
          "interactive.diffFilter",
          "difftool.x.cmd",
          "mergetool.x.cmd",
          "browser.x.cmd",
          "gpg.ssh.program",
          "gpg.ssh.defaultKeyCommand",
          "sendemail.smtpServer",
          "uploadpack.packObjectsHook",
          "core.gitProxy",
          "remote.origin.receivepack",
          "remote.origin.vcs",
          "pager.config",
          "alias.config",
          "alias.rev-parse",
        ].forEach((name) => config(name, canary)),
    ],
    [
      "A8: submodules that are looked into",
      (config) => (
        config("status.submoduleSummary", "true"),
        config("diff.submodule", "log"),
        config("submodule.recurse", "true"),
        config("diff.ignoreSubmodules", "none")
      ),
    ],
    [
      "A8: housekeeping",
      (config) => (
        config("gc.auto", "1"),
        config("maintenance.auto", "true"),
        config("gc.recentObjectsHook", canary)
      ),
    ],
    [
      "an alias",
      (config) => (config("alias.status", `!${canary}`), config("alias.diff", `!${canary}`)),
    ],
  ];

  test.each(attacks)("%s starts nothing", async (_name, arm) => {
    arm((name, value) => void git(repo, "config", name, value));
    put("a.txt", "changed\n");
    put("ordinary.txt", "x");
    const state = await bench.run(tool, { path: folder, diff: true, log: 5 });
    expect(state).toMatchObject({
      branch: "main",
      unstaged: [{ path: "a.txt", change: "modified" }],
    });
    expect(JSON.stringify(state)).not.toContain("RAN-CANARY\\n");
    expect(existsSync("/tmp/ran")).toBe(false);
    expect(existsSync(join(bench.workspace, "ran"))).toBe(false);
  });

  test("A8: objects that are missing are not fetched, and no program is started for them", async () => {
    git(repo, "config", "core.repositoryformatversion", "1");
    git(repo, "config", "extensions.partialClone", "origin");
    git(repo, "config", "remote.origin.url", `/workspace/${folder}`);
    git(repo, "config", "remote.origin.partialclonefilter", "blob:none");
    git(repo, "config", "protocol.file.allow", "always");
    git(repo, "config", "remote.origin.promisor", "true");
    git(repo, "config", "remote.origin.uploadpack", "echo RAN-CANARY >&2; cat");
    const tree = git(repo, "rev-parse", "HEAD^{tree}").trim();
    rmSync(join(repo, ".git/objects", tree.slice(0, 2), tree.slice(2)), { force: true });
    const fault = await bench.fault(tool, { path: folder, diff: true });
    expect(fault.reason).toBe("repository_unreadable");
    expect(fault.message).not.toContain("RAN-CANARY");
  });

  test("A8: another worktree, a submodule's folder, SHA-256 and a bare look-alike", async () => {
    git(repo, "worktree", "add", "-q", `../tree${count}`, "-b", "other");
    writeFileSync(
      join(bench.workspace, `tree${count}/.git`),
      `gitdir: ../${folder}/.git/worktrees/tree${count}
`,
    );
    expect(await bench.run(tool, { path: `tree${count}` })).toMatchObject({
      branch: "other",
      clean: true,
    });
    mkdirSync(join(repo, "wide"));
    git(join(repo, "wide"), "init", "-q", "--object-format=sha256");
    writeFileSync(join(repo, "wide/x"), "x");
    git(join(repo, "wide"), "add", "x");
    git(join(repo, "wide"), "commit", "-qm", "x");
    expect(await bench.run(tool, { path: `${folder}/wide`, log: 1 })).toMatchObject({
      clean: true,
      commits: [{ hash: expect.stringMatching(/^[0-9a-f]{64}$/) as string }],
    });
    git(bench.workspace, "init", "-q", "--bare", `bare${count}`);
    expect((await bench.fault(tool, { path: `bare${count}` })).reason).toBe("not_a_repository");
  });

  test("control: the same filter runs when git is called plainly", () => {
    git(repo, "config", "filter.evil.clean", `touch ${join(repo, "ran")}; cat`);
    put(".gitattributes", "* filter=evil\n");
    put("a.txt", "changed\n");
    execFileSync("git", ["-c", "safe.directory=*", "diff"], { cwd: repo, stdio: "ignore" });
    expect(existsSync(join(repo, "ran"))).toBe(true);
  });

  test.each([
    "--upload-pack=touch x",
    "-c core.pager=x",
    "--output=/tmp/out",
    "--help",
    "-C/etc",
    "--exec-path=/tmp",
  ])("a folder called %s is a folder, not an option", async (name) => {
    const given = name.replaceAll("/", "_");
    mkdirSync(join(bench.workspace, folder, given), { recursive: true });
    writeFileSync(join(bench.workspace, folder, given, "x"), "x");
    expect(await bench.run(tool, { path: `${folder}/${given}`, log: 1 })).toMatchObject({
      branch: "main",
      untracked: expect.any(Array) as string[],
    });
  });
});

test("names with spaces, and what is in conflict", () => {
  const text =
    "# branch.head x y\0# branch.ab +2 -3\x001 M. N... 100644 100644 100644 1 2 a b c\x00u UU N... 1 2 3 4 5 6 7 in conflict\0! ignored\0";
  expect(readStatus(text)).toMatchObject({
    branch: "x y",
    ahead: 2,
    behind: 3,
    staged: [{ path: "a b c", change: "modified" }],
    conflicts: ["in conflict"],
  });
});
