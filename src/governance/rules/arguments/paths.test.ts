// Paths and sizes, judged as the gate asks: by what a tool says it touches.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve, sep } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { testCaller, testTool } from "../../../../test/fixtures/gate.ts";
import { governanceOf, shippedFiles } from "../../../../test/fixtures/governance.ts";
import type { Json, Mode } from "../../../contract/call.ts";
import fileRead from "../../../tools/file/read.ts";
import echo from "../../../tools/system/echo.ts";
import type { Tool, Touch } from "../../../contract/tool.ts";
import type { ArgumentFinding, Governance } from "../governance.ts";

const CORPUS = resolve(
  import.meta.dirname,
  "../../../../../shared/corpora/traversal/traversal.txt",
);
const root = realpathSync(mkdtempSync(join(tmpdir(), "ostiary-paths-")));
afterAll(() => rmSync(root, { recursive: true, force: true }));
const at = (name: string): string => join(root, name);
for (const name of [
  "workspace/sub/file.txt",
  "workspace/.git/config",
  "workspace/conf/app.yaml",
  "workspace/gov/tools.yaml",
  "home/.ssh/id",
  "data/store.db",
  "data/scratch/one/note",
  "outside/secret",
  "shared/pub/a",
  "shared/key.pem",
]) {
  mkdirSync(dirname(at(name)), { recursive: true });
  writeFileSync(at(name), "x");
}
symlinkSync(at("outside"), at("workspace/link-out"));
symlinkSync("sub", at("workspace/link-in"));
symlinkSync("circle", at("workspace/circle"));
symlinkSync(".git/config", at("workspace/settings"));

const PLACES = {
  workspace: at("workspace"),
  home: at("home"),
  dataDir: at("data"),
  configFiles: [at("workspace/conf/app.yaml")],
  governanceDir: at("workspace/gov"),
  scratchOf: (_caller: unknown, sessionId: string) => at(`data/scratch/${sessionId}`),
};
const governed = (change: Record<string, string> = {}): Governance =>
  governanceOf({ ...PLACES, tools: ["system/probe"] }, shippedFiles(change));
const general = governed();
const own = (lines: string): Governance =>
  governed({ "tools: {}": `tools:\n  system/probe:\n${lines}` });

const writer = (
  touches: readonly Touch[] = [{ argument: "/path", kind: "path", access: "write" }],
  change: Partial<Tool> = {},
): Tool => testTool({ touches, effects: "system_write", risk: "dangerous", ...change });
interface Asked {
  governance?: Governance;
  tool?: Tool;
  sessionId?: string | null;
  mode?: Mode;
  rest?: Record<string, Json>;
}
async function judge(
  path: Json,
  {
    governance = general,
    tool = fileRead,
    sessionId = null,
    mode = "NORMAL",
    rest = {},
  }: Asked = {},
): Promise<readonly ArgumentFinding[]> {
  return governance.judgeArguments({
    caller: testCaller(),
    tool,
    arguments: { path, ...rest },
    sessionId,
    mode,
  });
}
const said = async (path: Json, asked?: Asked): Promise<string[]> =>
  (await judge(path, asked)).map(({ kind, reason }) => `${kind} ${reason}`);

test("a tool that touches nothing is answered at once, with the same empty list", () => {
  const subject = {
    caller: testCaller(),
    tool: echo,
    arguments: { text: "/etc/passwd" },
    sessionId: null,
    mode: "NORMAL",
  } as const;
  const first = general.judgeArguments(subject);
  expect(first).toEqual([]);
  expect(general.judgeArguments({ ...subject })).toBe(first);
});

describe("R096 C11: reading", () => {
  test.each([
    "sub/file.txt",
    "./sub/../sub/file.txt",
    "link-in/file.txt",
    ".",
    "missing/too",
    "~user",
    "$HOMER/x",
    at("workspace/sub"),
    ".git/config",
    "gov/tools.yaml",
    "a..b",
    "...",
  ])("%s is allowed", async (path) => {
    expect(await judge(path)).toEqual([]);
  });

  test.each([
    ["..", "path_not_allowed"],
    ["../outside/secret", "path_not_allowed"],
    ["link-out/secret", "path_not_allowed"],
    ["link-out/absent", "path_not_allowed"],
    ["/", "path_not_allowed"],
    ["../workspace-evil", "path_not_allowed"],
    ["circle", "path_not_allowed"],
    ["~/notes", "path_not_allowed"],
    ["/etc/passwd", "path_forbidden"],
    ["/etc", "path_forbidden"],
    ["~/.ssh/id", "path_forbidden"],
    ["$HOME/.ssh/absent", "path_forbidden"],
    ["${HOME}/.aws", "path_forbidden"],
    ["../data/store.db", "path_forbidden"],
    ["conf/app.yaml", "path_forbidden"],
    ["a\0b", "path_forbidden"],
    ["a\nb", "path_forbidden"],
  ])("%j is refused as %s", async (path, reason) => {
    const [finding, ...more] = await judge(path);
    expect(more).toEqual([]);
    expect(finding).toMatchObject({ kind: "deny", reason, path: "/path", value: path });
    expect(finding?.message).toContain("Path ");
    expect(finding?.suggestion).not.toBe("");
    expect(finding?.rule.at).toMatch(/^(tools\.yaml:\d+|built in)$/);
  });

  test("R100: the finding names the value, the rule and its line", async () => {
    const [finding] = await judge("~/.ssh/id");
    expect(finding).toMatchObject({
      message: "Path ~/.ssh/id is forbidden: $HOME/.ssh",
      rule: { at: expect.stringMatching(/^tools\.yaml:\d+$/) as string, text: "- $HOME/.ssh" },
    });
  });

  test("a path that is no text cannot be judged, so it is refused", async () => {
    for (const value of [7, true, { a: 1 }])
      expect(await said(value)).toEqual(["deny path_forbidden"]);
  });

  test("a list of texts is judged entry by entry, with its pointer", async () => {
    const findings = await judge(["sub/file.txt", "/etc/passwd", 5]);
    expect(findings.map(({ path }) => path)).toEqual(["/path/1", "/path/2"]);
  });

  test("pointers lead into objects, not into prototypes; what is absent is judged as absentMeans", async () => {
    const deep = writer([{ argument: "/options/to~1from", kind: "path", access: "read" }]);
    expect(await said("x", { tool: deep, rest: { options: { "to/from": "/etc" } } })).toEqual([
      "deny path_forbidden",
    ]);
    expect(await said("x", { tool: deep, rest: { options: null } })).toEqual([]);
    expect(
      await said("x", { tool: writer([{ argument: "/constructor/name", kind: "path" }]) }),
    ).toEqual([]);
    const standing = writer([
      { argument: "/folder", kind: "path", access: "read", absentMeans: "/etc" },
    ]);
    expect(await said("x", { tool: standing })).toEqual(["deny path_forbidden"]);
    expect(await said("x", { tool: standing, rest: { folder: "sub" } })).toEqual([]);
  });
});

describe("writing", () => {
  test.each([
    ".git/hooks/post-commit",
    ".git/config",
    "sub/.git/config",
    ".gitmodules",
    ".husky/x",
    ".env",
    ".env.local",
    "sub/.npmrc",
    ".mcp.json",
    ".vscode/settings.json",
    ".claude/x",
    "a.exe",
    "sub/lib.so",
    "gov/tools.yaml",
    "gov/new.yaml",
    "settings",
  ])("%s is forbidden for writing, and may be read", async (path) => {
    const [finding] = await judge(path, { tool: writer() });
    expect(finding).toMatchObject({
      kind: "deny",
      reason: "path_forbidden",
      message: expect.stringContaining("forbidden for writing") as string,
    });
    expect(await judge(path)).toEqual([]);
  });

  test("what is not said to be reading counts as writing", async () => {
    expect(await said(".env", { tool: writer([{ argument: "/path", kind: "path" }]) })).toEqual([
      "deny path_forbidden",
    ]);
  });

  test("a tool of another class that writes is asked about, or refused, as writers are", async () => {
    const download = writer(undefined, { effects: "network", risk: "moderate" });
    expect(await said("x", { tool: download })).toEqual(["ask path_asks"]);
    const never = governed({ "system_write:\n    NORMAL: run": "system_write:\n    NORMAL: no" });
    const [finding] = await judge("x", { tool: download, governance: never });
    expect(finding).toMatchObject({
      kind: "deny",
      reason: "mode_forbids",
      message: '"x" may not be written in mode NORMAL',
      rule: { text: expect.stringContaining("no") as string },
    });
    // A new folder holds no content.
    const touches: Touch[] = [
      { argument: "/path", kind: "path", access: "write", makes: "folder" },
    ];
    const mkdir = writer(touches, { effects: "network", risk: "moderate" });
    expect(await said("x", { tool: mkdir, governance: never })).toEqual([]);
  });

  test("components are compared: envx and .environment differ as they should", async () => {
    expect(await said("env", { tool: writer() })).toEqual([]);
    expect(await said("x.sofa", { tool: writer() })).toEqual([]);
    expect(await said("githooks", { tool: writer() })).toEqual([]);
  });
});

describe("unattended paths", () => {
  const scratch = { tool: writer(), sessionId: "one" };

  test("in NORMAL nobody is asked about writing into the session's scratch folder", async () => {
    const [finding] = await judge(at("data/scratch/one/new.txt"), scratch);
    expect(finding).toMatchObject({
      kind: "waive",
      reason: "unattended_path",
      rule: { text: "- $SCRATCH" },
    });
  });

  test("elsewhere, in other modes and for other classes the question stays", async () => {
    const path = at("data/scratch/one/new.txt");
    expect(await said("sub/new.txt", scratch)).toEqual([]);
    expect(await said(path, { ...scratch, mode: "ALERT" })).toEqual([]);
    expect(
      await said(path, { ...scratch, tool: writer(undefined, { effects: "system_dangerous" }) }),
    ).toEqual([]);
  });

  test("one target outside is enough for the question; a source that is only read is not", async () => {
    const path = at("data/scratch/one/new.txt");
    const move = writer([
      { argument: "/path", kind: "path", access: "write" },
      { argument: "/from", kind: "path", access: "write" },
    ]);
    expect(await said(path, { ...scratch, tool: move, rest: { from: "sub/file.txt" } })).toEqual(
      [],
    );
    expect(await said(path, { ...scratch, tool: move, rest: { from: path } })).toEqual([
      "waive unattended_path",
      "waive unattended_path",
    ]);
    const copy = writer([
      { argument: "/path", kind: "path", access: "write" },
      { argument: "/from", kind: "path", access: "read" },
    ]);
    expect(await said(path, { ...scratch, tool: copy, rest: { from: "sub/file.txt" } })).toEqual([
      "waive unattended_path",
    ]);
  });

  test("another session's folder and the rest of the data stay forbidden", async () => {
    expect(await said(at("data/scratch/two/x"), scratch)).toEqual(["deny path_forbidden"]);
    expect(await said(at("data/scratch/one/x"), { tool: writer() })).toEqual([
      "deny path_forbidden",
    ]);
    expect(await said(at("data/store.db"), scratch)).toEqual(["deny path_forbidden"]);
  });
});

describe("R099: rules of one tool", () => {
  const tool = testTool({ touches: [{ argument: "/path", kind: "path", access: "read" }] });

  test("allowed_paths replace, forbidden_paths add", async () => {
    const governance = own(
      `    allowed_paths: [${at("shared")}]\n    forbidden_paths: ["**/*.pem"]`,
    );
    expect(await said(at("shared/pub/a"), { governance, tool })).toEqual([]);
    expect(await said(at("shared/key.pem"), { governance, tool })).toEqual(["deny path_forbidden"]);
    expect(await said("sub/file.txt", { governance, tool })).toEqual(["deny path_not_allowed"]);
    expect(await said("sub/file.txt", { governance })).toEqual([]);
  });

  test("globs in allowed paths: * stays within a name, and all below is meant", async () => {
    const governance = own(`    allowed_paths: [${at("shared")}/p*]`);
    expect(await said(at("shared/pub/a"), { governance, tool })).toEqual([]);
    expect(await said(at("shared/key.pem"), { governance, tool })).toEqual([
      "deny path_not_allowed",
    ]);
    expect(await said(at("shared"), { governance, tool })).toEqual(["deny path_not_allowed"]);
  });

  test("nothing that is allowed opens the server's own data", async () => {
    const governance = own("    allowed_paths: [$DATA_DIR, /]");
    expect(await said(at("data/store.db"), { governance, tool })).toEqual(["deny path_forbidden"]);
    expect(await said(at("outside/secret"), { governance, tool })).toEqual([]);
  });

  test("touches of a file join those of the tool", async () => {
    const governance = own("    touches: [{ argument: /other, kind: path, access: read }]");
    const rest = { other: "/etc/passwd" };
    expect(await said("/etc/hosts", { governance, tool, rest })).toEqual([
      "deny path_forbidden",
      "deny path_forbidden",
    ]);
  });

  test("unattended_paths replace the general ones", async () => {
    const governance = own("    unattended_paths: [$WORKSPACE/sub]");
    const change = { governance, tool: writer(), sessionId: "one" };
    expect(await said("sub/x", change)).toEqual(["waive unattended_path"]);
    expect(await said(at("data/scratch/one/x"), change)).toEqual([]);
  });
});

describe("R098: sizes", () => {
  const small = "    max_file_size_mb: 0.001";
  const reader = testTool({ touches: [{ argument: "/path", kind: "path", access: "read" }] });

  test("a file that is too large is refused after resolving; folders and absent files are not measured", async () => {
    writeFileSync(at("workspace/large"), "x".repeat(1_049));
    writeFileSync(at("workspace/fitting"), "x".repeat(1_048));
    const [finding] = await judge("large", { governance: own(small), tool: reader });
    expect(finding).toMatchObject({
      kind: "deny",
      reason: "size_exceeded",
      value: "1049 bytes",
      rule: { text: "max_file_size_mb: 0.001" },
    });
    for (const path of ["fitting", ".", "absent"])
      expect(await said(path, { governance: own(small), tool: reader })).toEqual([]);
  });

  test("text to be written is measured in bytes, anything else as JSON", async () => {
    const tool = testTool({ touches: [{ argument: "/content", kind: "text" }] });
    const change = { governance: own(small), tool };
    expect(await said("", { ...change, rest: { content: "é".repeat(525) } })).toEqual([
      "deny size_exceeded",
    ]);
    expect(await said("", { ...change, rest: { content: "é".repeat(524) } })).toEqual([]);
    expect(await said("", { ...change, rest: { content: { a: "x".repeat(1_100) } } })).toEqual([
      "deny size_exceeded",
    ]);
    expect(await said("", { tool, rest: { content: "x".repeat(10_485_761) } })).toEqual([
      "deny size_exceeded",
    ]);
  });
});

test("a workspace that does not exist yet may become a link", async () => {
  const governance = governanceOf({ ...PLACES, workspace: at("later") });
  expect(await said("file.txt", { governance })).toEqual([]);
  symlinkSync(at("workspace/sub"), at("later"));
  expect(await said("file.txt", { governance })).toEqual([]);
  expect(await said(at("workspace/sub/file.txt"), { governance })).toEqual([]);
  expect(await said("../.git", { governance })).toEqual(["deny path_not_allowed"]);
});

test("case is folded where it is said so", async () => {
  const folded = governanceOf({ ...PLACES, caseInsensitive: true });
  expect(await said("~/.SSH/id", { governance: folded })).toEqual(["deny path_forbidden"]);
  expect(await said(".GIT/CONFIG", { governance: folded, tool: writer() })).toEqual([
    "deny path_forbidden",
  ]);
  const plain = governanceOf({ ...PLACES, caseInsensitive: false });
  expect(await said(".ENV", { governance: plain, tool: writer() })).toEqual([]);
  // Built in, wherever the workspace lies.
  expect(await said(".GIT/CONFIG", { governance: plain, tool: writer() })).toEqual([
    "deny path_forbidden",
  ]);
});

describe("T30: the traversal corpus", () => {
  /** Once percent-decoded, as leniently as a careless server would. */
  const decode = (text: string): string => {
    const bytes = Buffer.from(text, "utf8").toString("latin1");
    const raw = bytes.replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
    return Buffer.from(raw, "latin1").toString("utf8");
  };
  /** Where Node itself says the path leads: independent of the judge. */
  const leadsOut = (path: string): boolean => {
    const wanted = resolve(PLACES.workspace, path);
    return wanted !== PLACES.workspace && !wanted.startsWith(PLACES.workspace + sep);
  };

  test.skipIf(!existsSync(CORPUS))(
    "no line that leads out of the roots passes, raw or decoded",
    { timeout: 120_000 },
    async () => {
      const lines = readFileSync(CORPUS, "utf8")
        .split("\n")
        .filter((line) => line !== "" && !line.startsWith("#"));
      const counts = { lines: lines.length, judged: 0, leadOut: 0, refused: 0 };
      const passed: string[] = [];
      for (const line of lines) {
        for (const path of new Set([
          line,
          decode(line),
          decode(decode(line)),
          line.replaceAll("\\", "/"),
        ])) {
          const isRefused = (await judge(path)).some(({ kind }) => kind === "deny");
          counts.judged++;
          if (isRefused) counts.refused++;
          if (!leadsOut(path)) continue;
          counts.leadOut++;
          if (!isRefused) passed.push(path);
        }
      }
      console.info(`traversal corpus: ${JSON.stringify(counts)}, passed outside: ${passed.length}`);
      expect(passed).toEqual([]);
      expect(counts.leadOut).toBeGreaterThan(1_000);
      expect(await judge("sub/file.txt")).toEqual([]);
    },
  );
});
