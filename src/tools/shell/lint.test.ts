import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openBench, type Bench } from "../../../test/fixtures/tool-bench.ts";
import { readLint } from "../../util/computations/lint-report.ts";
import lint from "./lint.ts";
import { HAS_BOX } from "../../../test/fixtures/programs.ts";

/**
 * A linter of the workspace that answers in eslint's format, and mends: what counts is how it is found, run and read.
 */
const LINTER = `
const { readFileSync, writeFileSync } = require("node:fs");
const target = process.argv.at(-1);
if (process.argv.at(-2) !== "--") process.exit(2);
const text = readFileSync(target, "utf8");
if (text.includes("CRASH")) { console.error("Oops: config is broken"); process.exit(2); }
const messages = text.split("\\n").flatMap((line, index) => {
  const column = line.indexOf("var ");
  return column < 0 ? [] : [{ ruleId: "no-var", severity: 2, message: "Unexpected var.", line: index + 1, column: column + 1 }];
});
if (process.argv.includes("--fix")) { writeFileSync(target, text.replaceAll("var ", "let ")); messages.length = 0; }
process.stdout.write(JSON.stringify([{ filePath: target, messages }]));
process.exit(messages.length > 0 ? 1 : 0);
`;

describe.skipIf(!HAS_BOX)("shell/lint", { timeout: 60_000 }, () => {
  let bench: Bench;
  const put = (name: string, text: string): void =>
    writeFileSync(join(bench.workspace, name), text);
  beforeAll(async () => {
    bench = await openBench();
    mkdirSync(join(bench.workspace, "js/deep"), { recursive: true });
    mkdirSync(join(bench.workspace, "node_modules/eslint/bin"), { recursive: true });
    put("node_modules/eslint/package.json", '{"name":"eslint","version":"9.8.7"}');
    put("node_modules/eslint/bin/eslint.js", LINTER);
    put("js/eslint.config.js", "export default [];");
    put("js/deep/a.js", "let x;\n  var y;\n");
  });
  afterAll(() => bench.close());

  test.skipIf(!existsSync("/usr/bin/shellcheck"))(
    "shellcheck, by the kind of file; a folder too",
    async () => {
      put("-x y.sh", "#!/bin/sh\necho $1\n");
      const found = await bench.run(lint, { path: "-x y.sh" });
      expect(found).toMatchObject({
        linter: "shellcheck",
        version: expect.stringMatching(/^\d+\.\d+/) as string,
        ok: true,
        counts: { error: 0, warning: 1 },
        issues: [{ path: "-x y.sh", line: 2, column: 6, severity: "warning", rule: "SC2086" }],
        truncated: false,
      });
      expect(await bench.run(lint, { path: ".", linter: "shellcheck" })).toMatchObject({
        counts: { error: 0, warning: 1 },
      });
      put("bad.sh", "#!/bin/sh\nif then\n");
      expect(await bench.run(lint, { path: "bad.sh" })).toMatchObject({ ok: false });
      rmSync(join(bench.workspace, "bad.sh"));
    },
  );

  test("the linter that is configured above the file", async () => {
    const found = await bench.run(lint, { path: "js/deep/a.js" });
    expect(found).toEqual({
      linter: "eslint",
      version: "9.8.7",
      ok: false,
      issues: [
        {
          path: "js/deep/a.js",
          line: 2,
          column: 3,
          severity: "error",
          rule: "no-var",
          message: "Unexpected var.",
        },
      ],
      counts: { error: 1, warning: 0 },
      truncated: false,
    });
  });

  test("without fix nothing can be written; with it the file is mended", async () => {
    expect(readFileSync(join(bench.workspace, "js/deep/a.js"), "utf8")).toContain("var");
    expect(await bench.run(lint, { path: "js/deep/a.js", fix: true })).toMatchObject({
      ok: true,
      fixed: 1,
      issues: [],
    });
    expect(readFileSync(join(bench.workspace, "js/deep/a.js"), "utf8")).toBe("let x;\n  let y;\n");
    expect(bench.notes.at(-1)).toEqual({ filesTouched: ["js/deep/a.js"] });
  });

  test("a linter that is not there, one without configuration, a path that is not there", async () => {
    put("plain.rb", "x");
    put("js/tsconfig.json", "{}");
    put("js/b.ts", "x");
    expect(await bench.fault(lint, { path: "js/b.ts", linter: "tsc" })).toMatchObject({
      reason: "linter_missing",
      remedy: expect.stringContaining("npm install") as string,
    });
    expect(await bench.fault(lint, { path: "js/b.ts", linter: "biome" })).toMatchObject({
      reason: "no_config",
      remedy: expect.stringContaining("biome.json") as string,
    });
    expect(await bench.fault(lint, { path: "plain.rb" })).toMatchObject({ reason: "no_config" });
    expect(await bench.fault(lint, { path: "missing.js" })).toMatchObject({
      reason: "path_not_found",
    });
    expect(await bench.fault(lint, { path: "/etc/passwd" })).toMatchObject({ code: "FORBIDDEN" });
    put("js/c.js", "CRASH");
    expect(await bench.fault(lint, { path: "js/c.js" })).toMatchObject({
      reason: "linter_failed",
      message: expect.stringContaining("config is broken") as string,
    });
  });

  test("a linter that tries to write without being asked to cannot", async () => {
    chmodSync(join(bench.workspace, "js/deep/a.js"), 0o666);
    put(
      "node_modules/eslint/bin/eslint.js",
      `require("node:fs").writeFileSync("/workspace/planted", "x");`,
    );
    await bench.fault(lint, { path: "js/deep/a.js" });
    expect(existsSync(join(bench.workspace, "planted"))).toBe(false);
  });
});

describe("formats", () => {
  test("tsc", () => {
    expect(
      readLint("tsc", "src/a.ts(3,7): error TS2322: Type 'x' is not\nnoise\n", "/workspace"),
    ).toEqual([
      {
        path: "src/a.ts",
        line: 3,
        column: 7,
        severity: "error",
        rule: "TS2322",
        message: "Type 'x' is not",
      },
    ]);
  });

  test("ruff", () => {
    const text = JSON.stringify([
      {
        code: "F401",
        filename: "/workspace/a.py",
        location: { row: 1, column: 8 },
        message: "unused",
      },
      {
        code: null,
        filename: "/workspace/b.py",
        location: { row: 2, column: 1 },
        message: "SyntaxError",
      },
    ]);
    expect(readLint("ruff", text, "/workspace")).toMatchObject([
      { path: "a.py", rule: "F401", severity: "warning" },
      { path: "b.py", rule: "syntax", severity: "error" },
    ]);
  });

  test("mypy", () => {
    expect(
      readLint(
        "mypy",
        "a.py:1:5: error: Bad type [arg-type]\na.py:2: note: See\nb.py:4: error: No name\n",
        "/workspace",
      ),
    ).toEqual([
      {
        path: "a.py",
        line: 1,
        column: 5,
        severity: "error",
        rule: "arg-type",
        message: "Bad type",
      },
      { path: "b.py", line: 4, column: 1, severity: "error", rule: "mypy", message: "No name" },
    ]);
  });

  test("biome", () => {
    expect(
      readLint(
        "biome",
        "::error title=lint/style/useConst,file=src/a.ts,line=3,endLine=3,col=5,endColumn=9::Use const.\n",
        "/workspace",
      ),
    ).toEqual([
      {
        path: "src/a.ts",
        line: 3,
        column: 5,
        severity: "error",
        rule: "lint/style/useConst",
        message: "Use const.",
      },
    ]);
  });

  test("what is no report is no list of issues", () => {
    for (const linter of ["eslint", "ruff", "shellcheck"] as const)
      for (const text of ["", "oops", "{}", "7"]) expect(readLint(linter, text, "/w")).toBeNull();
  });
});
