import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openBench, type Bench } from "../../../test/fixtures/tool-bench.ts";
import { readTests } from "../../util/computations/test-report.ts";
import tool from "./test.ts";
import { HAS_BOX } from "../../../test/fixtures/programs.ts";

const HAS_GO = ["/usr/local/bin/go", "/usr/bin/go"].some(existsSync);

describe.skipIf(!HAS_BOX)("shell/test", { timeout: 120_000 }, () => {
  let bench: Bench;
  const put = (name: string, text: string): void => {
    mkdirSync(join(bench.workspace, name, ".."), { recursive: true });
    writeFileSync(join(bench.workspace, name), text);
  };
  beforeAll(async () => {
    bench = await openBench();
    put(
      "app/sum.test.js",
      `const test = require("node:test"); const assert = require("node:assert"); const fs = require("node:fs");
test("adds & <more>", () => assert.equal(1 + 1, 2));
test("is wrong", () => { fs.writeFileSync("left-behind", "x"); assert.equal(1 + 1, 3, "one & one < three"); });
test("waits", { skip: true }, () => {});`,
    );
    put("empty/readme.md", "nothing");
    put("named/package.json", '{"devDependencies":{"vitest":"5"}}');
    put("py/test_it.py", "def test_it(): pass\n");
  });
  afterAll(() => bench.close());

  test("tests of Node are found, run and counted; what they write does not stay", async () => {
    const found = await bench.run(tool, { path: "app" });
    expect(found).toMatchObject({
      runner: "node",
      passed: 1,
      failed: 1,
      skipped: 1,
      exitCode: 1,
      truncated: false,
      failures: [
        { name: "is wrong", message: expect.stringContaining("one & one < three") as string },
      ],
    });
    expect(existsSync(join(bench.workspace, "app/left-behind"))).toBe(false);
    expect(bench.progress.length).toBeGreaterThan(0);
  });

  test("a filter is a pattern of names, whatever it looks like", async () => {
    expect(await bench.run(tool, { path: "app", filter: "adds" })).toMatchObject({
      passed: 1,
      failed: 0,
    });
    expect(
      await bench.fault(tool, { path: "app", filter: "--eval=1; touch x $(id)" }),
    ).toMatchObject({ reason: "no_tests" });
    expect(
      await bench.fault(tool, { path: "app", runner: "cargo", filter: "--config=x" }),
    ).toMatchObject({ code: "BAD_REQUEST" });
  });

  test("no tests, no runner, no folder", async () => {
    expect(await bench.fault(tool, { path: "empty" })).toMatchObject({ reason: "no_tests" });
    expect(await bench.fault(tool, { path: "empty", runner: "node" })).toMatchObject({
      reason: "no_tests",
    });
    expect(await bench.fault(tool, { path: "named" })).toMatchObject({
      reason: "runner_missing",
      remedy: expect.stringContaining("vitest") as string,
    });
    expect(await bench.fault(tool, { path: "missing" })).toMatchObject({
      reason: "path_not_found",
    });
    expect(await bench.fault(tool, { path: "app/sum.test.js" })).toMatchObject({
      reason: "not_a_directory",
    });
    expect(await bench.fault(tool, { path: "../.." })).toMatchObject({ code: "FORBIDDEN" });
  });

  test("pytest, where it is installed", async () => {
    const found = await bench
      .run(tool, { path: "py" })
      .catch((cause: unknown) => (cause as { fault: object }).fault);
    expect([{ runner: "pytest", passed: 1 }, { reason: "runner_missing" }]).toContainEqual(
      expect.objectContaining(pick(found)),
    );
  });

  test.skipIf(!HAS_GO)("go", async () => {
    put("go/go.mod", "module x\n\ngo 1.20\n");
    put(
      "go/x_test.go",
      'package x\n\nimport "testing"\n\nfunc TestA(t *testing.T) {}\nfunc TestB(t *testing.T) { t.Fatal("no") }\n',
    );
    expect(await bench.run(tool, { path: "go" })).toMatchObject({
      runner: "go",
      passed: 1,
      failed: 1,
    });
  });

  test("tests that never end are stopped", async () => {
    put(
      "slow/slow.test.js",
      'require("node:test")("waits", () => new Promise((r) => setTimeout(r, 60000)));',
    );
    expect(await bench.run(tool, { path: "slow", timeoutSeconds: 5 })).toMatchObject({
      exitCode: -1,
      passed: 0,
    });
    expect(bench.notes.at(-1)).toEqual({ timedOut: true, limitMs: 5_000 });
  });
});

function pick(found: object): object {
  return "reason" in found
    ? { reason: found.reason }
    : {
        runner: (found as { runner: string }).runner,
        passed: (found as { passed: number }).passed,
      };
}

describe("formats", () => {
  test("vitest, as it really writes", { timeout: 60_000 }, () => {
    const folder = mkdtempSync(join(resolve("node_modules"), ".report-"));
    writeFileSync(
      join(folder, "a.test.mjs"),
      'import { test, expect } from "vitest";\ntest("good", () => {});\ntest("bad", () => expect(1).toBe(2));\ntest.skip("later", () => {});\n',
    );
    const report = join(folder, "report.json");
    try {
      execFileSync(
        process.execPath,
        [
          resolve("node_modules/vitest/vitest.mjs"),
          "run",
          "--root",
          folder,
          "--reporter=json",
          `--outputFile=${report}`,
        ],
        { stdio: "ignore" },
      );
    } catch {
      // one of the tests fails
    }
    const found = readTests("vitest", readFileSync(report, "utf8"));
    rmSync(folder, { recursive: true });
    expect(found).toMatchObject({
      passed: 1,
      failed: 1,
      skipped: 1,
      failures: [
        {
          name: "bad",
          file: expect.stringContaining("a.test.mjs") as string,
          message: expect.stringContaining("expected 1 to be 2") as string,
        },
      ],
    });
  });

  test("a file that cannot be loaded counts as a failure", () => {
    const text = JSON.stringify({
      testResults: [
        {
          name: "/workspace/x.test.ts",
          status: "failed",
          message: "cannot load",
          assertionResults: [],
        },
      ],
    });
    expect(readTests("jest", text)).toEqual({
      passed: 0,
      failed: 1,
      skipped: 0,
      failures: [
        { name: "/workspace/x.test.ts", file: "/workspace/x.test.ts", message: "cannot load" },
      ],
    });
  });

  test("pytest's JUnit", () => {
    const text = `<?xml version="1.0"?><testsuites><testsuite name="pytest"><testcase classname="test_a" name="test_ok" time="0"/><testcase classname="test_a" name="test_no"><failure message="assert 1 == 2">def test():&#10;&gt; assert</failure></testcase><testcase classname="test_a" name="test_later"><skipped message="x"/></testcase></testsuite></testsuites>`;
    expect(readTests("pytest", text)).toEqual({
      passed: 1,
      failed: 1,
      skipped: 1,
      failures: [{ name: "test_a test_no", message: "assert 1 == 2\ndef test():\n> assert" }],
    });
  });

  test("go's events, and a package that does not build", () => {
    const events = [
      { Action: "pass", Package: "x", Test: "A" },
      { Action: "output", Package: "x", Test: "B", Output: "no\n" },
      { Action: "fail", Package: "x", Test: "B" },
      { Action: "fail", Package: "x" },
      { Action: "output", Package: "y", Output: "syntax error" },
      { Action: "fail", Package: "y" },
    ];
    expect(readTests("go", events.map((one) => JSON.stringify(one)).join("\n"))).toEqual({
      passed: 1,
      failed: 2,
      skipped: 0,
      failures: [
        { name: "x B", message: "no\n" },
        { name: "y", message: "syntax error" },
      ],
    });
  });

  test("cargo's text", () => {
    const text =
      "test a ... ok\ntest m::b ... FAILED\n\n---- m::b stdout ----\npanicked\n\ntest result: FAILED. 1 passed; 1 failed; 2 ignored; 0 measured\n";
    expect(readTests("cargo", text)).toEqual({
      passed: 1,
      failed: 1,
      skipped: 2,
      failures: [{ name: "m::b", message: "---- m::b stdout ----\npanicked" }],
    });
  });

  test("what is no report is none", () => {
    for (const runner of ["vitest", "jest", "node", "pytest", "go", "cargo"] as const)
      expect(readTests(runner, "oops")).toBeNull();
  });
});
