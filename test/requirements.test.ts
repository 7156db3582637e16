// The table of requirements against the tests that name them, and against the requirements themselves where they are.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import ts from "typescript";
import { describe, expect, test } from "vitest";
import { REQUIREMENTS, type Requirement } from "./requirements.ts";

const ROOT = join(import.meta.dirname, "..");
const SOURCE = join(ROOT, "../shared/requirements.md");
const ID = /\b[RC]\d{1,3}\b/g;

const known = new Map(REQUIREMENTS.map((requirement) => [requirement.id, requirement]));
/** Test file to the ids in the names of its tests. */
const cited = new Map(testFiles().map((file) => [file, idsIn(file, read(file))]));

describe("the table", () => {
  test("has each number once, in a section, with a short text of its own", () => {
    expect(known.size).toBe(REQUIREMENTS.length);
    const texts = REQUIREMENTS.map(({ text }) => text);
    expect(new Set(texts).size).toBe(texts.length);
    for (const { id, section, text } of REQUIREMENTS) {
      expect(id).toMatch(/^(R\d{3}|C([1-9]|[1-9]\d))$/);
      expect(section).not.toBe("");
      expect([id, text.length > 5 && text.length <= 100]).toEqual([id, true]);
    }
  });

  test("knows every number that a test names", () => {
    const unknown = [...cited].flatMap(([file, ids]) =>
      [...ids].filter((id) => !known.has(id)).map((id) => `${file}: ${id}`),
    );
    expect(unknown).toEqual([]);
  });

  test("calls done only what an existing test names", () => {
    expect(REQUIREMENTS.flatMap(faultsOfDone)).toEqual([]);
  });

  test("says why something is open that tests name already", () => {
    expect(REQUIREMENTS.flatMap(faultsOfOpen)).toEqual([]);
  });

  test.skipIf(!existsSync(SOURCE))("has exactly the numbers of the requirements", () => {
    const asked = idsOfRequirements(readFileSync(SOURCE, "utf8"));
    expect([...asked].filter((id) => !known.has(id))).toEqual([]);
    expect([...known.keys()].filter((id) => !asked.has(id))).toEqual([]);
  });
});

describe("the checks", () => {
  const common = { section: "x", text: "x" };

  test("find a done one without a test, in a file that is missing, or that does not name it", () => {
    const bare: Requirement = { ...common, id: "R001", state: "done", tests: [] };
    expect(faultsOfDone(bare)).toHaveLength(1);
    expect(faultsOfDone({ ...bare, tests: ["src/none.test.ts"] })).toHaveLength(1);
    expect(faultsOfDone({ ...bare, tests: ["src/contract/errors.test.ts"] })).toHaveLength(1);
    expect(faultsOfDone({ ...bare, tests: ["src/tools/registry.test.ts"] })).toEqual([]);
  });

  test("find an open one that tests name and nobody explains", () => {
    const open: Requirement = { ...common, id: "R001", state: "open" };
    expect(faultsOfOpen(open)).toHaveLength(1);
    expect(faultsOfOpen({ ...open, why: "half of it" })).toEqual([]);
    expect(faultsOfOpen({ ...open, id: "R999" })).toEqual([]);
  });

  test("read names of tests only, whatever way they are written", () => {
    const code = `
      it("R001 C2: x", () => { call("R900"); });
      it.each([["R901"]])(\`R002: \${name} R003\`, f);
      test.skipIf(a)("R004", f); // R902
      describe.each(list)("C10", f);
      it.fails.each(a)("R005", f);
      other("R903");
      expect("R904");`;
    expect([...idsIn("x.test.ts", code)]).toEqual([
      "R001",
      "C2",
      "R002",
      "R003",
      "R004",
      "C10",
      "R005",
    ]);
  });
});

function faultsOfDone(requirement: Requirement): string[] {
  if (requirement.state !== "done") return [];
  const { id, tests } = requirement;
  if (tests.length === 0) return [`${id} names no test`];
  return tests
    .filter((file) => !cited.get(file)?.has(id))
    .map((file) => `${id}: no test in ${file} has it in its name`);
}

function faultsOfOpen(requirement: Requirement): string[] {
  if (requirement.state !== "open" || requirement.why) return [];
  const files = [...cited].filter(([, ids]) => ids.has(requirement.id)).map(([file]) => file);
  return files.length === 0
    ? []
    : [`${requirement.id} is open without a reason, yet named in ${files.join(", ")}`];
}

/** Rows of the tables, and the numbers that stand in the text below them. */
function idsOfRequirements(page: string): Set<string> {
  const rows = [...page.matchAll(/^\| ((?:R\d{3}|C\d{1,2})) \|/gm)].map(([, id]) => id ?? "");
  const told = [...page.matchAll(/^(R28\d) class names|\b(R28\d) message texts|\b(R31\d) \(/gm)];
  return new Set([...rows, ...told.flatMap((found) => found.slice(1).filter((id) => id))]);
}

function testFiles(): string[] {
  return ["src", "test"].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.(test|suite)\.ts$/.test(entry.name))
      .map((entry) => posix.relative(ROOT, join(entry.parentPath, entry.name)))
      .filter((file) => file !== "test/requirements.test.ts"),
  );
}

function idsIn(file: string, code: string): Set<string> {
  const ids = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && isTest(node.expression)) {
      const [name] = node.arguments;
      const isName = name && (ts.isStringLiteralLike(name) || ts.isTemplateExpression(name));
      if (isName) for (const [id] of name.getText().matchAll(ID)) ids.add(id);
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, code, ts.ScriptTarget.ESNext, true));
  return ids;
}

/** `it`, `test.skipIf(x)`, `describe.each(list)` and the like. */
function isTest(called: ts.Expression): boolean {
  if (ts.isIdentifier(called)) return ["it", "test", "describe"].includes(called.text);
  if (ts.isPropertyAccessExpression(called) || ts.isCallExpression(called))
    return isTest(called.expression);
  return false;
}

function read(file: string): string {
  return readFileSync(join(ROOT, file), "utf8");
}
