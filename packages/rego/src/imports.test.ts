// The package stands alone: what it may import, and what the main entry does not load.
import { globSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import ts from "typescript";
import { describe, expect, test } from "vitest";

interface Import {
  readonly from: string;
  /** A file below src, or the name of a package. */
  readonly to: string;
  /** Loaded with the importing module: neither a type nor import(). */
  readonly isStatic: boolean;
}

const SRC = import.meta.dirname;
const PARSED = new Map(
  globSync("**/*.ts", { cwd: SRC })
    .filter((file) => !/(\.test|(^|\/)testing)\.ts$/.test(file))
    .sort()
    .map((file) => [
      file,
      ts.createSourceFile(file, readFileSync(join(SRC, file), "utf8"), ts.ScriptTarget.ESNext),
    ]),
);
const IMPORTS = [...PARSED].flatMap(([file, source]) => importsOf(file, source));

describe("imports of the package", () => {
  test("nothing but re2js, yaml, and node:crypto in the one file for it", () => {
    const outside = IMPORTS.filter(({ to }) => !PARSED.has(to));
    expect(new Set(outside.map(({ to }) => to))).toEqual(new Set(["re2js", "yaml", "node:crypto"]));
    const ofNode = outside.filter(({ to }) => to.startsWith("node:"));
    expect(new Set(ofNode.map(({ from }) => from))).toEqual(new Set(["node-crypto.ts"]));
  });

  test.each(["index.ts", "browser.ts"])("%s loads no group of built-ins", (entry) => {
    const loaded = loadedBy(entry);
    expect(loaded.size).toBeGreaterThan(50);
    const groups = /^builtins\/(graphql|json-schema|templates|x509)\//;
    expect([...loaded].filter((file) => groups.test(file))).toEqual([]);
  });

  test("the entry for browsers imports nothing late: its bundle is one file", () => {
    const loaded = loadedBy("browser.ts");
    const late = [...loaded].filter((file) => PARSED.get(file)?.text.includes("await import("));
    expect(late).toEqual([]);
  });
});

test("no module keeps state", () => {
  const found = [...PARSED].flatMap(([file, { statements }]) =>
    statements.filter(ts.isVariableStatement).flatMap(({ declarationList }) => {
      const isConst = (declarationList.flags & ts.NodeFlags.Const) !== 0;
      return declarationList.declarations
        .filter(({ initializer }) => !isConst || isEmptyCollection(initializer))
        .map(({ name }) => `${file} ${ts.isIdentifier(name) ? name.text : ""}`);
    }),
  );
  expect(found).toEqual([]);
});

function isEmptyCollection(node: ts.Expression | undefined): boolean {
  return (
    node !== undefined &&
    ts.isNewExpression(node) &&
    ts.isIdentifier(node.expression) &&
    /^(Weak)?(Map|Set)$/.test(node.expression.text) &&
    (node.arguments?.length ?? 0) === 0
  );
}

function loadedBy(entry: string): ReadonlySet<string> {
  const loaded = new Set([entry]);
  for (const file of loaded)
    for (const { from, to, isStatic } of IMPORTS)
      if (from === file && isStatic && PARSED.has(to)) loaded.add(to);
  return loaded;
}

function importsOf(from: string, source: ts.SourceFile): Import[] {
  const found: Import[] = [];
  const add = (specifier: ts.Node | undefined, isStatic: boolean): void => {
    const text = specifier && ts.isStringLiteral(specifier) ? specifier.text : "(computed)";
    const to = text.startsWith(".") ? posix.join(posix.dirname(from), text) : text;
    found.push({ from, to, isStatic });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node))
      add(node.moduleSpecifier, node.importClause?.phaseModifier !== ts.SyntaxKind.TypeKeyword);
    if (ts.isExportDeclaration(node) && node.moduleSpecifier)
      add(node.moduleSpecifier, !node.isTypeOnly);
    if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument))
      add(node.argument.literal, false);
    if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
      add(node.arguments[0], false);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}
