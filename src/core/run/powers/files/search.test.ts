// One suite for both ways: our engine alone, and ripgrep in the box asked first. The answers are the same.
import { execFileSync } from "node:child_process";
import { chmodSync, linkSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openBench, type Bench } from "../../../../../test/fixtures/tool-bench.ts";
import { AppError, type Fault } from "../../../../contract/errors.ts";
import { openSandbox, type Sandbox } from "../../../../reach/sandbox/sandbox.ts";
import type { FilesPower, SearchQuery, SearchResult } from "../../../../contract/powers/files.ts";
import { filesPower } from "../files.ts";
import { filesThatMatch } from "./ripgrep.ts";
import { rustPattern } from "./rust-pattern.ts";
import { searchThreads } from "./search-threads.ts";

let bench: Bench;
let sandbox: Sandbox;
const threads = searchThreads();
beforeAll(async () => {
  bench = await openBench();
  sandbox = openSandbox({ folder: join(bench.root, "box"), path: process.env["PATH"] ?? "" });
  put("a.txt", "first line\nsecond needle line\nthird\nneedle again needle\n");
  put("src/deep/b.ts", "const needle = 1;\r\nconst Needle = 2;\r\nneedles\r\n");
  put("src/c.ts", "nothing here\n");
  put("unicode.txt", "日本語\nGrüße, ÄPFEL und äpfel\n😀 needle\nK\u212a\n");
  put("words.txt", "foo_bar foo-bar foobar\n$5.00 [x] {y} a\\b\n1-2\n\tend");
  put("latin1.txt", Buffer.from("caf\xe9 needle\n", "latin1"));
  put("binary.bin", Buffer.from("needle\0needle\n"));
  put("long.txt", `${"x".repeat(5_000)}needle${"y".repeat(5_000)}\n`);
  put("large.txt", "needle\n".repeat(2_000));
  put(".hidden/h.txt", "needle\n");
  put(".gitignore", "ignored/\n*.log\n!keep.log\n/only-here.txt\n");
  put("ignored/i.txt", "needle\n");
  put("x.log", "needle\n");
  put("keep.log", "needle\n");
  put("only-here.txt", "needle\n");
  put("src/only-here.txt", "needle\n");
  put("src/.gitignore", "c.ts\n");
  put("name with blanks -x.txt", "needle\n");
  put("-rf", "needle\n");
  symlinkSync("a.txt", join(bench.workspace, "link.txt"));
  symlinkSync(join(bench.root, "outside"), join(bench.workspace, "out"));
  mkdirSync(join(bench.root, "outside"));
  writeFileSync(join(bench.root, "outside/secret.txt"), "needle CANARY\n");
  execFileSync("mkfifo", [join(bench.workspace, "pipe")]);
  for (const folder of [bench.root, bench.workspace]) chmodSync(folder, 0o755);
});
afterAll(async () => {
  await threads.close();
  await sandbox.close();
  await bench.close();
});

function put(name: string, content: string | Buffer): void {
  const path = join(bench.workspace, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

const QUERY: SearchQuery = {
  pattern: "needle",
  literal: false,
  caseSensitive: true,
  wholeWord: false,
  multiline: false,
  globs: [],
  exclude: [],
  respectIgnore: true,
  includeHidden: false,
  contextBefore: 0,
  contextAfter: 0,
  maxResults: 100,
  maxPerFile: 50,
  maxFileBytes: 5_242_880,
};

const power = (box: Sandbox | null): FilesPower =>
  filesPower({
    rulesFor: (call) => bench.governance.filesFor(call),
    threads,
    sandbox: box,
    narrowFrom: 0,
  })(bench.call(), new AbortController().signal);

const ask = (
  box: Sandbox | null,
  change: Partial<SearchQuery>,
  path = ".",
): Promise<SearchResult> => power(box).search(path, { ...QUERY, ...change });

const places = ({ matches }: SearchResult): string[] =>
  matches.map(({ path, line, column }) => `${path}:${line}:${column}`);

describe.each(["own", "ripgrep"] as const)("%s engine", (engine) => {
  const box = (): Sandbox | null => (engine === "own" ? null : sandbox);

  test("ripgrep can be asked where it is meant to be", async (context) => {
    if (engine === "own") return;
    const found = await filesThatMatch(
      sandbox,
      bench.workspace,
      ["a.txt", "src/c.ts", "-rf", "name with blanks -x.txt"],
      QUERY,
      new AbortController().signal,
    );
    if (!sandbox.status.ready) return context.skip(`no sandbox: ${sandbox.status.reason}`);
    expect([...(found ?? [])].sort()).toEqual(["-rf", "a.txt", "name with blanks -x.txt"]);
  });

  test("lines that match, with their place", async () => {
    const found = await ask(box(), {
      globs: ["*.txt", "*.ts"],
      exclude: ["large.txt", "long.txt"],
    });
    expect(places(found)).toEqual([
      "a.txt:2:8",
      "a.txt:4:1",
      "latin1.txt:1:6",
      "name with blanks -x.txt:1:1",
      "src/deep/b.ts:1:7",
      "src/deep/b.ts:3:1",
      "src/only-here.txt:1:1",
      "unicode.txt:3:4",
    ]);
    expect(found.matches[0]).toEqual({
      path: "a.txt",
      line: 2,
      column: 8,
      text: "second needle line",
      before: [],
      after: [],
    });
    expect(found.matches[4]?.text).toBe("const needle = 1;");
    expect(found.filesSearched).toBe(7);
    expect(found.truncated).toBe(false);
  });

  test("binary, too large, hidden, ignored and linked files are left out, and counted where they are files", async () => {
    const found = await ask(box(), { maxFileBytes: 11_000 });
    expect(found.filesSkipped).toEqual({ binary: 1, tooLarge: 1, denied: 0 });
    const paths = found.files.map(({ path }) => path);
    expect(paths).toContain("keep.log");
    for (const path of [
      "ignored/i.txt",
      "x.log",
      "only-here.txt",
      ".hidden/h.txt",
      "link.txt",
      "out/secret.txt",
      "binary.bin",
    ])
      expect(paths).not.toContain(path);
    expect(JSON.stringify(found)).not.toContain("CANARY");
  });

  test("ignored and hidden ones on request", async () => {
    const paths = async (change: Partial<SearchQuery>) =>
      (await ask(box(), change)).files.map(({ path }) => path);
    expect(await paths({ respectIgnore: false })).toEqual(
      expect.arrayContaining(["ignored/i.txt", "x.log", "only-here.txt"]),
    );
    expect(await paths({ includeHidden: true })).toContain(".hidden/h.txt");
    expect(await paths({ exclude: ["src"] })).not.toContain("src/deep/b.ts");
    expect(await paths({ globs: ["src/**"] })).toEqual(["src/deep/b.ts", "src/only-here.txt"]);
  });

  test.each<[string, Partial<SearchQuery>, string[]]>([
    [
      "case",
      { pattern: "NEEDLE", caseSensitive: false, globs: ["b.ts"] },
      ["src/deep/b.ts:1:7", "src/deep/b.ts:2:7", "src/deep/b.ts:3:1"],
    ],
    ["unicode case", { pattern: "äpfel UND", caseSensitive: false }, ["unicode.txt:2:8"]],
    ["whole words", { pattern: "needle", wholeWord: true, globs: ["b.ts"] }, ["src/deep/b.ts:1:7"]],
    ["ASCII classes", { pattern: "^\\w+$", globs: ["unicode.txt", "b.ts"] }, ["src/deep/b.ts:3:1"]],
    ["characters, not bytes", { pattern: "^.{3}$", globs: ["unicode.txt"] }, ["unicode.txt:1:1"]],
    [
      "negated classes",
      { pattern: "^[^\\d]\\W", globs: ["unicode.txt"] },
      ["unicode.txt:1:1", "unicode.txt:3:1", "unicode.txt:4:1"],
    ],
    [
      "plain text with special characters",
      { pattern: "$5.00 [x] {y} a\\b", literal: true },
      ["words.txt:2:1"],
    ],
    [
      "ends of lines before a carriage return",
      { pattern: "= \\d;$" },
      ["src/deep/b.ts:1:14", "src/deep/b.ts:2:14"],
    ],
    [
      "alternatives and repeats",
      { pattern: "(?:first|third).{0,5}$", globs: ["a.txt"] },
      ["a.txt:1:1", "a.txt:3:1"],
    ],
    [
      "brackets within classes",
      { pattern: "[[\\]{}]\\w[\\]}]", globs: ["words.txt"] },
      ["words.txt:2:7"],
    ],
    ["a range that is none", { pattern: "[1-]-?2", globs: ["words.txt"] }, ["words.txt:3:1"]],
    [
      "named posix classes",
      { pattern: "^[[:blank:]]end", globs: ["words.txt"] },
      ["words.txt:4:1"],
    ],
    ["octal, which only one engine knows", { pattern: "\\141gain" }, ["a.txt:4:8"]],
    ["over lines", { pattern: "line\\nthird", multiline: true }, ["a.txt:2:15"]],
    [
      "anchors over lines",
      { pattern: "^third$", multiline: true, globs: ["a.txt"] },
      ["a.txt:3:1"],
    ],
    ["nothing", { pattern: "absent from all of them" }, []],
  ])("%s", async (_, change, expected) => {
    expect(places(await ask(box(), change))).toEqual(expected);
  });

  test("a match over lines is told whole", async () => {
    const { matches } = await ask(box(), {
      pattern: "needle line\\nthird",
      multiline: true,
      contextBefore: 1,
      contextAfter: 1,
    });
    expect(matches).toEqual([
      {
        path: "a.txt",
        line: 2,
        column: 8,
        text: "second needle line\nthird",
        before: ["first line"],
        after: ["needle again needle"],
      },
    ]);
  });

  test("lines around a match, as far as there are any", async () => {
    const { matches } = await ask(box(), { pattern: "second", contextBefore: 5, contextAfter: 1 });
    expect(matches[0]).toMatchObject({ before: ["first line"], after: ["third"] });
  });

  test("caps: counts go on where matches stop", async () => {
    const found = await ask(box(), { globs: ["large.txt"], maxPerFile: 3 });
    expect([found.matches.length, found.files, found.truncated]).toEqual([
      3,
      [{ path: "large.txt", count: 2_000 }],
      true,
    ]);
    const few = await ask(box(), { maxResults: 2 });
    expect([few.matches.length, few.truncated]).toEqual([2, true]);
    expect(few.files.length).toBeGreaterThan(3);
  });

  test("of a very long line the part around the match", async () => {
    const { matches, truncated } = await ask(box(), { globs: ["long.txt"] });
    expect(matches[0]?.column).toBe(5_001);
    expect(matches[0]?.text).toContain("needle");
    expect(matches[0]?.text.length).toBeLessThanOrEqual(1_000);
    expect(truncated).toBe(true);
  });

  test("one file, by its path; a directory that is none, a path that is not there", async () => {
    expect(places(await ask(box(), {}, "a.txt"))).toEqual(["a.txt:2:8", "a.txt:4:1"]);
    expect(places(await ask(box(), {}, "link.txt"))).toEqual(["a.txt:2:8", "a.txt:4:1"]);
    expect(await faultOf(ask(box(), {}, "missing"))).toMatchObject({ reason: "path_not_found" });
    expect(await faultOf(ask(box(), {}, "out"))).toMatchObject({ reason: "path_not_allowed" });
    expect(await faultOf(ask(box(), {}, "/etc"))).toMatchObject({ reason: "path_forbidden" });
    expect(await faultOf(ask(box(), {}, "pipe"))).toMatchObject({ reason: "not_a_directory" });
  });

  test.each([
    ["a(b", 4],
    ["a)b", 2],
    ["[z-a]", 2],
    ["x**", 2],
    ["(?=x)", 1],
    ["\\1", 1],
    ["*", 1],
  ])("the pattern %s is invalid at %i", async (pattern, at) => {
    const fault = await faultOf(ask(box(), { pattern }));
    expect(fault).toMatchObject({ code: "EXECUTION_FAILED", reason: "pattern_invalid" });
    expect(fault.message).toContain(`character ${at}:`);
  });

  test("a file of somebody else with a second name is denied, not told", async () => {
    if (process.getuid?.() !== 0) return;
    const secret = join(bench.root, "outside/theirs.txt");
    writeFileSync(secret, "needle CANARY\n");
    execFileSync("chown", ["65534", secret]);
    linkSync(secret, join(bench.workspace, "second-name.txt"));
    const found = await ask(box(), {});
    rmSync(join(bench.workspace, "second-name.txt"));
    expect(found.filesSkipped.denied).toBe(1);
    expect(JSON.stringify(found)).not.toContain("CANARY");
  });
});

test("an abort ends a search that would take long, and the next one works", async () => {
  put("slow/heavy.txt", `${"ab".repeat(500_000)}\n`.repeat(4));
  const controller = new AbortController();
  const files = filesPower({ rulesFor: (call) => bench.governance.filesFor(call), threads })(
    bench.call(),
    controller.signal,
  );
  const before = performance.now();
  const running = files.search("slow", { ...QUERY, pattern: "(?:[ab]{1,30}){1,30}[c-z]" });
  setTimeout(() => controller.abort(new Error("stopped")), 200);
  await expect(running).rejects.toThrow("stopped");
  expect(performance.now() - before).toBeLessThan(5_000);
  expect((await ask(null, { globs: ["a.txt"] })).matches).toHaveLength(2);
});

test("patterns that both engines surely read alike are handed on, others are not", () => {
  expect(rustPattern("a\\d[\\w-]\\bx")).toBe("a[0-9][[0-9A-Za-z_]-](?-u:\\b)x");
  expect(rustPattern("\\<\\@")).toBe("<@");
  for (const pattern of ["\\pL", "\\Qx\\E", "(?P<n>x)", "(?U)x", "\\A", "\\141"])
    expect(rustPattern(pattern)).toBeNull();
});

async function faultOf(promise: Promise<unknown>): Promise<Fault> {
  const cause: unknown = await promise.then(
    (value) => new Error(JSON.stringify(value)),
    (error: unknown) => error,
  );
  if (cause instanceof AppError) return cause.fault;
  throw cause;
}
