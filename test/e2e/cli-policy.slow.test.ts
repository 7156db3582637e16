// `ostiary policy …` as people and scripts use it: the real program on real files, without a server.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { runBin, type BinOptions, type BinResult } from "../fixtures/bin.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "policy-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const POLICIES = join(import.meta.dirname, "../../governance/policies");
const GOOD = 'package app\n\ndefault allow := false\n\nallow if input.user == "ada"\n';

function put(files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

const policy = (args: string[], options: BinOptions = {}): Promise<BinResult> =>
  runBin(["policy", ...args], { cwd: folder, ...options });

describe("check", () => {
  test("valid files: exit 0", async () => {
    put({ "a/app.rego": GOOD, "a/b/more.rego": "package more\n\nx := 1\n", "a/notes.txt": "no" });
    expect(await policy(["check", "a"])).toMatchObject({ code: 0, stdout: "✓ 2 files valid\n" });
    const files = [join("a", "app.rego"), join("a", "b", "more.rego")];
    expect((await policy(["check", "a", "--json"])).json()).toEqual({ valid: true, files });
  });

  test("every error with file, line, column, the line itself and a caret; exit 1", async () => {
    put({
      "bad.rego": "package app\n\nallow if {\n\tinput.user ==\n}\n",
      "worse.rego": "packag x",
    });
    const ran = await policy(["check", "bad.rego", "worse.rego"]);
    expect(ran).toMatchObject({ code: 1, stdout: "" });
    const lines = ran.stderr.split("\n");
    expect(lines[0]).toMatch(/^bad\.rego:5:1: rego_parse_error: /);
    expect(lines.slice(1, 3)).toEqual(["    }", "    ^"]);
    expect(ran.stderr).toMatch(/^worse\.rego:1:1: rego_parse_error: .*\n {4}packag x\n {4}\^$/m);
    expect(ran.stderr).toMatch(/✗ 2 errors\n$/);
    const { valid, errors } = (await policy(["check", "bad.rego", "--json"])).json();
    expect(valid).toBe(false);
    expect(errors).toEqual([
      {
        code: "rego_parse_error",
        file: "bad.rego",
        line: 5,
        column: 1,
        message: expect.any(String) as string,
      },
    ]);
  });

  test("compile errors too: unsafe variables, unknown functions, recursion, wrong types", async () => {
    put({
      "unsafe.rego": "package a\n\np if {\n\tx > 1\n}\n",
      "unknown.rego": "package b\n\np := nosuch(1)\n",
      "recursive.rego": "package c\n\np if q\n\nq if p\n",
      "types.rego": 'package d\n\np := 1 + "a"\n',
    });
    const check = async (name: string) => (await policy(["check", name])).stderr;
    expect(await check("unsafe.rego")).toMatch(/^unsafe\.rego:4:2: rego_unsafe_var_error: .*x/);
    expect(await check("unknown.rego")).toMatch(/^unknown\.rego:3:6: rego_type_error: .*nosuch/);
    expect(await check("recursive.rego")).toMatch(/^recursive\.rego:3:1: rego_recursion_error/);
    expect(await check("types.rego")).toMatch(/^types\.rego:3:\d+: rego_type_error/);
  });

  test("a very long line is shown around the column, and control characters stay harmless", async () => {
    put({ "long.rego": `package a\n\nx := [${"1, ".repeat(500)}?]\n` });
    const [, line = "", caret = ""] = (await policy(["check", "long.rego"])).stderr.split("\n");
    expect(line.length).toBeLessThan(130);
    expect(line[caret.indexOf("^")]).toBe("?");
    put({ "escape.rego": 'package a\n\nx := "\u001b[31mred" ?\n' });
    expect((await policy(["check", "escape.rego"])).stderr).not.toContain("\u001b");
  });

  test("what cannot be read is a usage error: exit 2", async () => {
    put({ "empty/readme.md": "nothing", "binary.rego": "" });
    writeFileSync(join(folder, "binary.rego"), Buffer.from([0x70, 0xff, 0xfe]));
    for (const [path, said] of [
      ["absent.rego", "there is no absent.rego"],
      ["empty", "there is no .rego file in empty"],
      ["binary.rego", "binary.rego is not UTF-8 text"],
    ] as const) {
      const ran = await policy(["check", path]);
      expect(ran).toMatchObject({ code: 2, stdout: "", stderr: `error: ${said}\n` });
    }
    expect((await policy(["check"])).code).toBe(2);
    expect((await policy(["chek", "."])).stderr).toContain("did you mean ostiary policy check?");
  });

  test("--v0 reads the old syntax", async () => {
    put({ "old.rego": 'package app\n\nallow {\n\tinput.user == "ada"\n}\n' });
    expect((await policy(["check", "old.rego"])).code).toBe(1);
    expect((await policy(["check", "--v0", "old.rego"])).code).toBe(0);
  });
});

describe("test", () => {
  const TESTS = `package app_test

import data.app

test_ada if app.allow with input.user as "ada"

test_bob if app.allow with input.user as "bob"

test_conflict if one(1) == 2

one(x) := x

one(x) := x + 1

todo_test_later if false
`;

  test("R038: the starter policies pass their tests, every line covered", async () => {
    const ran = await policy(["test", POLICIES, "--coverage"]);
    expect(ran).toMatchObject({ code: 0, stderr: "" });
    expect(ran.stdout).toMatch(/tools_test\.test_tool_user_may_execute: PASS \(/);
    expect(ran.stdout).toMatch(/\nPASS: (\d+)\/\1\ncoverage: 100\.0 %\n$/);
  });

  test("PASS, FAIL with its trace, ERROR and SKIPPED per test; exit 1", async () => {
    put({ "app.rego": GOOD, "app_test.rego": TESTS });
    const ran = await policy(["test", "."]);
    expect(ran.code).toBe(1);
    expect(ran.stdout).toMatch(/^data\.app_test\.test_ada: PASS \([\d.]+ ms\)$/m);
    expect(ran.stdout).toMatch(/^data\.app_test\.test_bob: FAIL .*\n {2}app_test\.rego:7:1$/m);
    expect(ran.stdout).toContain("app.rego:5:10 does not hold");
    expect(ran.stdout).toMatch(/test_conflict: ERROR .*\n.*\n.*eval_conflict_error/);
    expect(ran.stdout).toMatch(/^data\.app_test\.todo_test_later: SKIPPED$/m);
    expect(ran.stdout).toMatch(/PASS: 1\/4\nFAIL: 1\/4\nERROR: 1\/4\nSKIPPED: 1\/4\n$/);
    const json = (await policy(["test", ".", "--json"])).json();
    expect(json).toMatchObject({ passed: 1, failed: 1, errored: 1, skipped: 1 });
    expect(json.tests[1]).toMatchObject({
      name: "test_bob",
      status: "failed",
      trace: expect.any(Array) as string[],
    });
  });

  test("--run chooses, --coverage names the lines not reached, data lies by folder", async () => {
    put({
      "p/app.rego": `${GOOD}\nallow if input.user in data.app_users.names\n`,
      "p/app_users/data.json": '{"names": ["eve"]}',
      "p/app_test.rego": `${TESTS}\ntest_eve if app.allow with input.user as "eve"\n`,
    });
    const ran = await policy(["test", "p", "--run", "test_ada", "--coverage"]);
    expect(ran.code).toBe(0);
    expect(ran.stdout).toContain("PASS: 1/1");
    expect(ran.stdout).toMatch(/app_test\.rego +not covered: .*7/);
    const eve = await policy(["test", "p", "--run", "eve", "--json", "--coverage"]);
    expect(eve.json()).toMatchObject({
      passed: 1,
      failed: 0,
      coverage: { percent: expect.any(Number) as number },
    });
    expect((await policy(["test", "p", "--run", "("])).code).toBe(2);
  });

  test("a folder without a test is a failure, and so is one that does not compile", async () => {
    put({ "app.rego": GOOD });
    const none = await policy(["test", "."]);
    expect(none.code).toBe(1);
    expect(none.stderr).toContain("there is no test in .");
    put({ "bad.rego": "package" });
    expect(await policy(["test", "."])).toMatchObject({ code: 1, stdout: "" });
  });

  test("a test that does not end is stopped", async () => {
    const slow =
      "test_slow if { some a in numbers.range(1, 4000); some b in numbers.range(1, 4000); a * b < 0 }";
    put({ "slow_test.rego": `package slow_test\n\n${slow}\n` });
    const ran = await policy(["test", ".", "--timeout", "200"]);
    expect(ran.code).toBe(1);
    expect(ran.stdout).toContain("eval_cancel_error");
  });
});

describe("eval", () => {
  test("the value on stdout as JSON; undefined is said", async () => {
    put({ "app.rego": GOOD, "input.json": '{"user": "ada"}', "input.yaml": "user: bob\n" });
    const allow = ["eval", "data.app.allow", "--data", "app.rego"];
    expect(await policy([...allow, "--input", "input.json"])).toMatchObject({
      code: 0,
      stdout: "true\n",
      stderr: "",
    });
    expect((await policy([...allow, "--input", "input.yaml"])).stdout).toBe("false\n");
    expect((await policy([...allow, "--input", "-"], { input: '{"user":"ada"}' })).stdout).toBe(
      "true\n",
    );
    expect((await policy(["eval", "data.nope", "-d", "app.rego"])).stdout).toBe("undefined\n");
    expect((await policy(["eval", "1 + 2"])).stdout).toBe("3\n");
    expect((await policy(["eval", "{x | some x in [3, 1, 3]}"])).stdout).toBe("[\n  1,\n  3\n]\n");
  });

  test("--json: every result with value and bindings, numbers with all their digits", async () => {
    const ran = await policy(["eval", "x = [1, 2][i]", "--json"]);
    expect(ran.json().results).toEqual([
      { bindings: { i: 0, x: 1 } },
      { bindings: { i: 1, x: 2 } },
    ]);
    const big = await policy(["eval", "12345678901234567890 * 10", "--json"]);
    expect(big.stdout).toContain('"value": 123456789012345678900');
    const odd = await policy(["eval", '{"__proto__": 1}', "--json"]);
    expect(odd.stdout).toContain('"__proto__": 1');
  });

  test("--explain: what held and what did not, with places", async () => {
    put({ "app.rego": GOOD });
    const args = ["eval", "data.app.allow", "-d", ".", "--input", "-", "--explain"];
    const ran = await policy(args, { input: '{"user":"bob"}' });
    expect(ran.stdout).toMatch(/^false\n\n/);
    expect(ran.stdout).toContain(
      "data.app.allow (app.rego:5:1) undefined: app.rego:5:10 does not hold",
    );
    expect(ran.stdout).toContain("data.app.allow (app.rego:3:1) = false");
    const { explanation } = (await policy([...args, "--json"], { input: "{}" })).json();
    expect(explanation.visits[0]).toMatchObject({ rule: "data.app.allow", failedAt: { line: 5 } });
  });

  test("a bad query, bad input and a conflict are told with their place", async () => {
    put({ "c.rego": "package c\n\np := 1\n\np := 2\n" });
    const query = await policy(["eval", "data.c[", "-d", "c.rego"]);
    expect(query).toMatchObject({ code: 1, stdout: "" });
    expect(query.stderr).toMatch(/^query:1:8: rego_parse_error: .*\n {4}data\.c\[\n {11}\^/);
    const conflict = await policy(["eval", "data.c.p", "-d", "c.rego", "--json"]);
    expect(conflict.code).toBe(1);
    expect(conflict.json()).toMatchObject({
      reason: "eval_conflict_error",
      detail: expect.stringContaining("c.rego:5") as string,
    });
  });

  test("documents are merged by their place, once each", async () => {
    put({ "list.json": "[1]", "no.json": "{" });
    expect(await policy(["eval", "1", "-d", "list.json"])).toMatchObject({ code: 2 });
    expect((await policy(["eval", "input", "-i", "no.json"])).stderr).toMatch(/^error: no\.json: /);
    expect((await policy(["eval", "input", "-i", "gone.json"])).code).toBe(2);
    put({ "d/one.json": '{"a": {"b": 1}}', "d/two.yaml": "a: {c: 2}", "e/x.json": '{"a": 3}' });
    expect((await policy(["eval", "data.a", "-d", "d", "--json"])).json().results[0].value).toEqual(
      { b: 1, c: 2 },
    );
    expect((await policy(["eval", "data.a", "-d", "d", "-d", "e"])).stderr).toContain(
      "gives data.a a second time",
    );
  });

  test("print goes to stderr, the clock and cryptography are there, the network is not", async () => {
    put({
      "p.rego": 'package p\n\nx := y if {\n\tprint("seen", input)\n\ty := crypto.sha256("a")\n}\n',
    });
    const ran = await policy(["eval", "data.p.x", "-d", "p.rego", "-i", "-"], { input: "7" });
    expect(ran).toMatchObject({ code: 0, stderr: "seen 7\n" });
    expect(JSON.parse(ran.stdout)).toMatch(/^[0-9a-f]{64}$/);
    expect((await policy(["eval", "time.now_ns() > 1700000000000000000"])).stdout).toBe("true\n");
    const send = 'http.send({"method": "get", "url": "http://127.0.0.1:9/"})';
    expect((await policy(["eval", send])).stdout).toBe("undefined\n");
    const strict = await policy(["eval", send, "--strict-builtin-errors"]);
    expect(strict).toMatchObject({ code: 1, stdout: "" });
    expect(strict.stderr).toMatch(/^error: .*http\.send/);
  });
});

describe("fmt", () => {
  const ugly = "package   app\nallow   if {\n  input.user==1 }\n";
  const pretty = "package app\n\nallow if {\n\tinput.user == 1\n}\n";

  test("prints, checks and rewrites", async () => {
    put({ "a.rego": ugly, "b.rego": GOOD });
    expect((await policy(["fmt", "a.rego"])).stdout).toBe(pretty);
    expect(await policy(["fmt", "--check", "."])).toMatchObject({ code: 1, stdout: "a.rego\n" });
    expect((await policy(["fmt", "--check", "--json", "."])).json().files).toEqual([
      { file: "a.rego", changed: true },
      { file: "b.rego", changed: false },
    ]);
    expect(await policy(["fmt", "--write", "."])).toMatchObject({ code: 0, stdout: "a.rego\n" });
    expect(readFileSync(join(folder, "a.rego"), "utf8")).toBe(pretty);
    expect(await policy(["fmt", "--check", "."])).toMatchObject({ code: 0, stdout: "" });
    expect((await policy(["fmt", "--check", "--write", "."])).code).toBe(2);
  });

  test("a file that does not parse is told, and nothing is written", async () => {
    put({ "a.rego": ugly, "bad.rego": "package a\n\np if {\n" });
    const ran = await policy(["fmt", "--write", "."]);
    expect(ran.code).toBe(1);
    expect(ran.stderr).toMatch(/^bad\.rego:\d+:\d+: rego_parse_error/);
    expect(readFileSync(join(folder, "a.rego"), "utf8")).toBe(ugly);
  });

  test("the starter policies are formatted", async () => {
    expect(await policy(["fmt", "--check", POLICIES])).toMatchObject({ code: 0, stdout: "" });
  });
});
