// stat, diff, glob and search: what they answer and what they refuse. How search finds is the suite of the power.
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openBench, type Bench } from "../../../test/fixtures/tool-bench.ts";
import type { JsonObject } from "../../contract/call.ts";
import diff from "./diff.ts";
import glob from "./glob.ts";
import search from "./search.ts";
import stat from "./stat.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
  put("a.txt", "one\ntwo\nthree\n", 1_000);
  put("b.txt", "one\n2\nthree\n", 3_000);
  put("src/main.ts", "export const needle = 1;\n", 2_000);
  put("src/deep/x.tsx", "needle\n", 5_000);
  put("bin", Buffer.from([0, 1]), 100);
  put(".hidden/h.ts", "x", 100);
  put(".gitignore", "dist/\n*.tmp\n", 100);
  put("dist/out.ts", "needle", 100);
  put("x.tmp", "x", 100);
  symlinkSync("a.txt", join(bench.workspace, "link"));
  symlinkSync("/etc/passwd", join(bench.workspace, "out"));
  execFileSync("mkfifo", [join(bench.workspace, "pipe")]);
});
afterAll(() => bench.close());

function put(name: string, content: string | Buffer, seconds: number): void {
  const path = join(bench.workspace, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  utimesSync(path, seconds, seconds);
}

describe("stat", () => {
  test("a file, with its checksum on request", async () => {
    chmodSync(join(bench.workspace, "a.txt"), 0o640);
    const facts = {
      path: "a.txt",
      exists: true,
      type: "file",
      sizeBytes: 14,
      modified: "1970-01-01T00:16:40.000Z",
      mode: "0640",
      mime: "text/plain",
      created: expect.any(String) as string,
    };
    expect(await bench.run(stat, { path: "a.txt" })).toEqual(facts);
    expect(await bench.run(stat, { path: "a.txt", hash: true })).toEqual({
      ...facts,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    });
    expect(await bench.run(stat, { path: "bin", hash: true })).toMatchObject({
      mime: "application/octet-stream",
    });
    expect(await bench.run(stat, { path: "bin" })).not.toHaveProperty("mime");
  });

  test("directories, links and other things are told as what they are", async () => {
    expect(await bench.run(stat, { path: "." })).toMatchObject({ path: ".", type: "dir" });
    expect(await bench.run(stat, { path: "src/" })).toMatchObject({ path: "src", type: "dir" });
    expect(await bench.run(stat, { path: "link", hash: true })).toMatchObject({
      path: "link",
      type: "link",
      target: "a.txt",
    });
    expect(await bench.run(stat, { path: "out" })).toMatchObject({
      type: "link",
      target: "/etc/passwd",
    });
    expect(await bench.run(stat, { path: "pipe" })).toMatchObject({ type: "other" });
  });

  test("what is absent is an answer; what is refused is none", async () => {
    for (const path of ["absent", "absent/below", "a.txt/below"])
      expect(await bench.run(stat, { path })).toEqual({ path, exists: false });
    expect(await bench.fault(stat, { path: "../x" })).toMatchObject({ reason: "path_not_allowed" });
    expect(await bench.fault(stat, { path: "out/below" })).toMatchObject({ code: "FORBIDDEN" });
    expect(await bench.fault(stat, { path: "/etc/passwd" })).toMatchObject({
      reason: "path_forbidden",
    });
  });
});

describe("diff", () => {
  test("two files", async () => {
    expect(await bench.run(diff, { a: "a.txt", b: "b.txt" })).toEqual({
      identical: false,
      diff: "--- a.txt\n+++ b.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three",
      added: 1,
      removed: 1,
      truncated: false,
    });
    expect(await bench.run(diff, { a: "a.txt", b: "link" })).toEqual({
      identical: true,
      diff: "",
      added: 0,
      removed: 0,
      truncated: false,
    });
  });

  test("a text instead; context; line ends at the end; blanks", async () => {
    expect(
      (await bench.run(diff, { a: "a.txt", content: "one\ntwo\n3\n", context: 0 }))["diff"],
    ).toBe("--- a.txt\n+++ content\n@@ -3,1 +3,1 @@\n-three\n+3");
    expect(
      (await bench.run(diff, { a: "a.txt", content: "one\ntwo\nthree", context: 0 }))["diff"],
    ).toContain("\\ No newline at end of file");
    expect(
      await bench.run(diff, {
        a: "a.txt",
        content: " one\ntwo \nth  ree\n",
        ignoreWhitespace: true,
      }),
    ).toMatchObject({ added: 1, removed: 1 });
    expect(
      await bench.run(diff, { a: "a.txt", content: "  one\n\ttwo\nthree", ignoreWhitespace: true }),
    ).toMatchObject({ identical: true });
    expect(await bench.run(diff, { a: "a.txt", content: "" })).toMatchObject({
      added: 0,
      removed: 3,
    });
  });

  test("patch understands it", async () => {
    const before = Array.from({ length: 60 }, (_, line) => `line ${line}`).join("\n") + "\n";
    const after = before
      .replace("line 3\n", "")
      .replace("line 30\n", "thirty\nmore\n")
      .replace("line 59\n", "line 59");
    put("p.txt", before, 1);
    const output = await bench.run(diff, { a: "p.txt", content: after });
    const patched = execFileSync("patch", ["-s", "-o", "-", join(bench.workspace, "p.txt")], {
      input: `${output["diff"] as string}\n`,
    });
    expect(patched.toString()).toBe(after);
  });

  test("both or neither, binary files, long diffs", async () => {
    for (const input of [{ a: "a.txt" }, { a: "a.txt", b: "b.txt", content: "" }])
      expect(await bench.fault(diff, input)).toMatchObject({
        code: "BAD_REQUEST",
        reason: "invalid_arguments",
      });
    expect(await bench.fault(diff, { a: "bin", content: "" })).toMatchObject({
      reason: "binary_file",
    });
    expect(await bench.fault(diff, { a: "a.txt", b: "bin" })).toMatchObject({
      reason: "binary_file",
    });
    expect(await bench.fault(diff, { a: "a.txt", b: "absent" })).toMatchObject({
      reason: "path_not_found",
    });
    expect(await bench.fault(diff, { a: "src", content: "" })).toMatchObject({
      reason: "not_a_file",
    });
    expect(await bench.fault(diff, { a: "out", content: "" })).toMatchObject({
      reason: "path_forbidden",
    });
    const long = await bench.run(diff, { a: "a.txt", content: "x\n".repeat(20_000) });
    expect(long).toMatchObject({ truncated: true, added: 20_000 });
    expect((long["diff"] as string).length).toBeLessThan(500_000);
  });
});

describe("glob", () => {
  const names = async (input: JsonObject): Promise<string[]> =>
    ((await bench.run(glob, input))["matches"] as { path: string }[]).map(({ path }) => path);

  test("by name, by path, alternatives, all but; newest first", async () => {
    expect(await names({ pattern: "*.{ts,tsx}" })).toEqual(["src/deep/x.tsx", "src/main.ts"]);
    expect(await names({ pattern: "src/*.ts" })).toEqual(["src/main.ts"]);
    expect(await names({ pattern: "**/*.tsx", path: "src" })).toEqual(["src/deep/x.tsx"]);
    expect(await names({ pattern: "!*.txt", path: "src" })).toEqual([
      "src/deep/x.tsx",
      "src/main.ts",
    ]);
    expect((await bench.run(glob, { pattern: "a.txt" }))["matches"]).toEqual([
      { path: "a.txt", sizeBytes: 14, modified: "1970-01-01T00:16:40.000Z" },
    ]);
  });

  test("ignored and hidden files on request, links never", async () => {
    expect(await names({ pattern: "*.tmp" })).toEqual([]);
    expect(await names({ pattern: "*.tmp", respectIgnore: false })).toEqual(["x.tmp"]);
    expect(await names({ pattern: "*.ts" })).not.toContain(".hidden/h.ts");
    expect(await names({ pattern: "*.ts", includeHidden: true })).toContain(".hidden/h.ts");
    expect(await names({ pattern: ".hidden/*" })).toEqual([".hidden/h.ts"]);
    expect(await names({ pattern: "link" })).toEqual([]);
  });

  test("caps", async () => {
    expect(await bench.run(glob, { pattern: "*.txt", maxResults: 1 })).toMatchObject({
      matches: [{ path: expect.any(String) as string }],
      truncated: true,
    });
  });

  test.each([
    ["[ab", 1],
    ["a{b", 2],
    ["a}b", 2],
    ["../x", 1],
    ["/etc/*", 1],
    ["a\u0000b", 2],
  ])("%j is invalid at %i", async (pattern, at) => {
    const fault = await bench.fault(glob, { pattern });
    expect(fault).toMatchObject({ code: "EXECUTION_FAILED", reason: "pattern_invalid" });
    expect(fault.message).toContain(`character ${at}:`);
  });

  test("where it may not look", async () => {
    expect(await bench.fault(glob, { pattern: "*", path: ".." })).toMatchObject({
      reason: "path_not_allowed",
    });
    expect(await bench.fault(glob, { pattern: "*", path: "a.txt" })).toMatchObject({
      reason: "not_a_directory",
    });
    expect(await bench.fault(glob, { pattern: "*", path: "absent" })).toMatchObject({
      reason: "path_not_found",
    });
  });
});

describe("search", () => {
  test("matches, files or counts", async () => {
    const matches = await bench.run(search, { pattern: "needle", path: "." });
    expect(matches["matches"]).toEqual([
      { path: "src/deep/x.tsx", line: 1, column: 1, text: "needle", before: [], after: [] },
      {
        path: "src/main.ts",
        line: 1,
        column: 14,
        text: "export const needle = 1;",
        before: [],
        after: [],
      },
    ]);
    expect(matches).toMatchObject({
      filesSkipped: { binary: 1, tooLarge: 0, denied: 0 },
      truncated: false,
    });
    const files = await bench.run(search, {
      pattern: "needle",
      path: ".",
      output: "files",
      maxResults: 1,
    });
    expect(files).toMatchObject({ files: [{ path: "src/deep/x.tsx", count: 1 }], truncated: true });
    expect(
      await bench.run(search, { pattern: "needle", path: "src/main.ts", output: "counts" }),
    ).toMatchObject({ files: [{ path: "src/main.ts", count: 1 }], truncated: false });
  });

  test("what cannot be searched for or in", async () => {
    expect(await bench.fault(search, { pattern: "a(", path: "." })).toMatchObject({
      reason: "pattern_invalid",
    });
    expect(await bench.fault(search, { pattern: "a", path: ".", glob: ["[a"] })).toMatchObject({
      reason: "pattern_invalid",
    });
    expect(await bench.fault(search, { pattern: "a", path: ".", exclude: ["/x"] })).toMatchObject({
      reason: "pattern_invalid",
    });
    expect(await bench.fault(search, { pattern: "a", path: "../" })).toMatchObject({
      reason: "path_not_allowed",
    });
    expect(await bench.fault(search, { pattern: "a", path: "out" })).toMatchObject({
      reason: "path_forbidden",
    });
  });
});
