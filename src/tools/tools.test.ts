// Walks the folder and every tool: what holds for one holds for all.
import { readdirSync, readFileSync } from "node:fs";
import { join, posix, relative } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import ts from "typescript";
import { describe, expect, test } from "vitest";
import { toolsPage } from "../../scripts/tools-docs.ts";
import type { Json, JsonObject } from "../contract/call.ts";
import { NATIVE_TOOLS } from "./index.ts";
import { CATEGORIES, EFFECTS, RISKS } from "../contract/tool.ts";
import { PASSES_ON } from "./examples.suite.ts";

const FOLDER = import.meta.dirname;
const FILES = readdirSync(FOLDER, { recursive: true, withFileTypes: true })
  .filter(
    (entry) => entry.isFile() && entry.parentPath !== FOLDER && !entry.name.endsWith(".test.ts"),
  )
  .map((entry) => relative(FOLDER, join(entry.parentPath, entry.name)).replaceAll("\\", "/"));
/** What the tools of one category share; everything else is a tool. */
const isShared = (file: string): boolean => /^[a-z]+\/shared\//.test(file);
const SOURCES = FILES.filter((file) => !isShared(file));

const ajv = new Ajv2020({ strict: true, allErrors: true });

test("every file is listed, and every listed tool has its file", () => {
  const listed = NATIVE_TOOLS.map((tool) => `${tool.name}.ts`);
  expect(listed).toEqual(SOURCES.toSorted());
});

test("docs/tools.md is what `node scripts/tools-docs.ts` writes", async () => {
  const page = readFileSync(join(FOLDER, "../../docs/tools.md"), "utf8");
  expect(page).toBe(await toolsPage());
});

test("every file exports the tool that its path names", async () => {
  for (const source of SOURCES) {
    const module = (await import(/* @vite-ignore */ join(FOLDER, source))) as {
      default?: { name?: string };
    };
    expect(`${module.default?.name}.ts`).toBe(source);
  }
});

test("names, wire names and aliases are all different", () => {
  const names = NATIVE_TOOLS.flatMap((tool) => [tool.name, tool.wireName, ...tool.aliases]);
  expect(new Set(names).size).toBe(names.length);
});

test.each(FILES)("%s uses only the contract, pure helpers and zod", (file) => {
  expect(reached(readFileSync(join(FOLDER, file), "utf8"), file)).toEqual([]);
});

test("the check of the sources sees what it must", () => {
  const bad = {
    'import { readFile } from "node:fs";': "node:fs",
    'import "../../core/run/powers/files.ts";': "../../core/run/powers/files.ts",
    'import { AppError } from "../../contract/errors.ts";': "../../contract/errors.ts",
    'import { a } from "../../util/../core/run/index.ts";': "../../util/../core/run/index.ts",
    'import { a } from "../file/shared/a.ts";': "../file/shared/a.ts",
    'import other from "./other.ts";': "./other.ts",
    'export * from "fs";': "fs",
    'const fs = await import("node:fs");': "import()",
    "const fs = await import(name);": "import()",
    'const fs = require("fs");': "require",
    "const home = process.env.HOME;": "process",
    'globalThis["fetch"]("x");': "globalThis",
    "const f = fetch; f(1);": "fetch",
    'eval("1");': "eval",
    'new Function("return 1")();': "Function",
    '(() => 1).constructor("return 1")();': "constructor",
    "const here = import.meta.url;": "import.meta",
    "const { fetch } = x; fetch(1);": "fetch",
    "globalThis.fetch(1);": "globalThis",
    "run(({ fetch }) => 1, fetch);": "fetch",
    "const run = (process = 1) => 2; process.exit();": "process",
  };
  for (const [code, name] of Object.entries(bad))
    expect([code, reached(code)]).toEqual([code, expect.arrayContaining([name])]);
  for (const good of [
    'import type { Json } from "../../contract/call.ts"; const process1 = "eval(fetch)";',
    "const run = (_i, { process, fetch: get }) => get(process.run({ process: 1 }).process);",
  ])
    expect([good, reached(good)]).toEqual([good, []]);
});

const EACH = NATIVE_TOOLS.map((tool) => [tool.name, tool] as const);
describe.each(EACH)("%s", (_name, tool) => {
  test("declares what governance needs", () => {
    expect(CATEGORIES).toContain(tool.category);
    expect(RISKS).toContain(tool.risk);
    expect(EFFECTS).toContain(tool.effects);
    expect(tool.timeoutMs).toBeGreaterThanOrEqual(1_000);
    expect(tool.timeoutMs).toBeLessThanOrEqual(300_000);
    expect(tool.description.length).toBeGreaterThan(40);
    expect(tool.examples.length).toBeGreaterThan(0);
    expect(Object.isFrozen(tool.inputSchema)).toBe(true);
  });

  test("closed schemas, bounded strings and lists, described parameters", () => {
    expect(tool.outputSchema === null).toBe(PASSES_ON.includes(tool.name));
    for (const schema of [tool.inputSchema, tool.outputSchema].filter((one) => one !== null)) {
      expect(schema["type"]).toBe("object");
      // An object of somebody else's making (the arguments of another tool) says how large it may be.
      for (const object of parts(schema).filter((part) => part["type"] === "object"))
        if (object["additionalProperties"] !== false)
          expect(object).toHaveProperty("maxProperties");
      expect(schema["additionalProperties"]).toBe(false);
      // Interfaces of models refuse a tool list for one of these at the top.
      for (const keyword of ["oneOf", "anyOf", "allOf"]) expect(schema).not.toHaveProperty(keyword);
    }
    for (const part of parts(tool.inputSchema)) {
      const isListed = "enum" in part || "const" in part;
      if (part["type"] === "string" && !isListed) expect(part).toHaveProperty("maxLength");
      if (part["type"] === "array") expect(part).toHaveProperty("maxItems");
    }
    for (const [name, property] of Object.entries(tool.inputSchema["properties"] ?? {}))
      expect([name, (property as JsonObject)["description"]]).toEqual([name, expect.any(String)]);
  });

  test("an unknown parameter does not fit", () => {
    const input = ajv.compile(tool.inputSchema);
    expect(input({ ...tool.examples[0], surprise: 1 })).toBe(false);
  });
});

/** A schema and every schema inside it. */
function parts(schema: Json): JsonObject[] {
  if (typeof schema !== "object" || schema === null) return [];
  if (Array.isArray(schema)) return (schema as readonly Json[]).flatMap(parts);
  const object = schema as JsonObject;
  return [object, ...Object.values(object).flatMap(parts)];
}

const ALLOWED_IMPORT = /^(?:zod|contract\/tool\.ts|util\/(?:[a-z-]+\/)?[a-z-]+\.ts)$/;
const ALLOWED_TYPES = ["call", "errors", "powers"].map((name) => `contract/${name}.ts`);
const FORBIDDEN_NAMES = new Set([
  "process",
  "globalThis",
  "global",
  "fetch",
  "eval",
  "Function",
  "constructor",
  "require",
  "module",
  "WebSocket",
  "EventSource",
  "XMLHttpRequest",
  "Worker",
  "WebAssembly",
  "setTimeout",
  "setInterval",
  "setImmediate",
]);

/** May the file of a tool, or one that tools share, import this? */
function isAllowed(file: string, specifier: string, typeOnly: boolean): boolean {
  const target = specifier.startsWith(".")
    ? posix.join("tools", posix.dirname(file), specifier)
    : specifier;
  const shared = `tools/${file.split("/", 1)[0]}/shared/`;
  return (
    ALLOWED_IMPORT.test(target) ||
    target.startsWith(shared) ||
    (typeOnly && ALLOWED_TYPES.includes(target))
  );
}

/** Everything a source reaches for that is not given to it. `file` is its path below the folder of tools. */
function reached(source: string, file = "system/tool.ts"): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) {
      const name =
        node.moduleSpecifier && ts.isStringLiteral(node.moduleSpecifier)
          ? node.moduleSpecifier.text
          : null;
      const typeOnly =
        ts.isImportDeclaration(node) &&
        node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword;
      if (name !== null && !isAllowed(file, name, typeOnly)) found.push(name);
    }
    if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
      found.push("import()");
    if (ts.isMetaProperty(node)) found.push("import.meta");
    if (ts.isIdentifier(node) && FORBIDDEN_NAMES.has(node.text) && !isOwnName(node))
      found.push(node.text);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("tool.ts", source, ts.ScriptTarget.ESNext, true));
  return found;
}

/** A field of the same name, or a power that came in as a parameter. */
function isOwnName(name: ts.Identifier): boolean {
  const { parent } = name;
  if (name.text === "constructor") return false;
  if ((ts.isPropertyAssignment(parent) || ts.isPropertySignature(parent)) && parent.name === name)
    return true;
  if (ts.isPropertyAccessExpression(parent) && parent.name === name)
    return !(ts.isIdentifier(parent.expression) && FORBIDDEN_NAMES.has(parent.expression.text));
  if (ts.isBindingElement(parent) && parent.propertyName === name) return true;
  for (let scope: ts.Node = parent; scope.parent !== undefined; scope = scope.parent)
    if (ts.isFunctionLike(scope) && scope.parameters.some((one) => binds(one.name, name.text)))
      return true;
  return false;
}

function binds(bound: ts.BindingName, text: string): boolean {
  if (ts.isIdentifier(bound)) return bound.text === text;
  return bound.elements.some((one) => ts.isBindingElement(one) && binds(one.name, text));
}
