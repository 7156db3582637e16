// Finds what only tests use: exports of src/ and packages/ that no other code imports and their own file does not
// use, and methods of exported interfaces that no code calls. A promise that nothing calls does not hold, however
// well it is tested.
import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import ts from "typescript";

const ROOT = resolve(import.meta.dirname, "..");

/** `file name`, or `file interface.method`, and why it stays although only tests use it. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  "src/client/plan.ts createPlanStep": "published as ostiary/plan",
  "src/server/trpc.ts AppRouter": "the type that clients of the tRPC door are written against",
};

const isTest = (file: string): boolean => /(\.(test|suite|child)|\/testing)\.tsx?$/.test(file);
const files = globSync(
  ["{src,bench,scripts,bin}/**/*.{ts,tsx,js}", "packages/*/{src,scripts}/**/*.ts"],
  { cwd: ROOT },
)
  .filter((file) => !isTest(file) && !file.endsWith(".d.ts"))
  .sort();

interface Read {
  readonly file: string;
  readonly source: ts.SourceFile;
}
const sources: Read[] = files.map((file) => ({
  file,
  source: ts.createSourceFile(
    file,
    readFileSync(join(ROOT, file), "utf8"),
    ts.ScriptTarget.Latest,
    true,
  ),
}));

/**
 * `file name` of everything that is imported by name; a file that is imported as a whole has all of its exports used.
 */
const imported = new Set<string>();
const whole = new Set<string>();
/** Names that are read as a property, in any way that can be seen. */
const read = new Set<string>();

for (const { file, source } of sources) visit(file, source);
// What a package exports is its promise to others, whether or not this repository uses it.
for (const manifest of globSync("packages/*/package.json", { cwd: ROOT })) {
  const { exports } = JSON.parse(readFileSync(join(ROOT, manifest), "utf8")) as {
    exports: Readonly<Record<string, string>>;
  };
  for (const target of Object.values(exports)) whole.add(join(dirname(manifest), target));
}

function targetOf(file: string, specifier: ts.Node | undefined): string | null {
  if (!specifier || !ts.isStringLiteralLike(specifier) || !specifier.text.startsWith("."))
    return null;
  return relative(ROOT, resolve(ROOT, dirname(file), specifier.text));
}

function visit(file: string, node: ts.Node): void {
  if (ts.isImportDeclaration(node))
    noteImport(targetOf(file, node.moduleSpecifier), node.importClause);
  else if (ts.isExportDeclaration(node)) noteReexport(targetOf(file, node.moduleSpecifier), node);
  else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
    noteWhole(targetOf(file, node.arguments[0]));
  else if (ts.isNewExpression(node) && node.arguments?.[0]) noteUrl(file, node.arguments[0]);
  else if (ts.isImportTypeNode(node))
    noteWhole(ts.isLiteralTypeNode(node.argument) ? targetOf(file, node.argument.literal) : null);
  noteRead(node);
  ts.forEachChild(node, (child) => visit(file, child));
}

function noteImport(target: string | null, clause: ts.ImportClause | undefined): void {
  if (target === null || !clause) return;
  if (clause.name) imported.add(`${target} default`);
  const bindings = clause.namedBindings;
  if (bindings && ts.isNamespaceImport(bindings)) whole.add(target);
  else
    for (const { name, propertyName } of bindings?.elements ?? [])
      imported.add(`${target} ${(propertyName ?? name).text}`);
}

function noteReexport(target: string | null, { exportClause }: ts.ExportDeclaration): void {
  if (target === null) return;
  if (!exportClause || !ts.isNamedExports(exportClause)) return void whole.add(target);
  for (const { name, propertyName } of exportClause.elements)
    imported.add(`${target} ${(propertyName ?? name).text}`);
}

function noteWhole(target: string | null): void {
  if (target !== null) whole.add(target);
}

/** `new Worker(new URL("./file.ts", import.meta.url))` runs the file. */
function noteUrl(file: string, argument: ts.Node): void {
  noteWhole(targetOf(file, argument));
}

function noteRead(node: ts.Node): void {
  if (ts.isPropertyAccessExpression(node)) read.add(node.name.text);
  else if (ts.isElementAccessExpression(node) && ts.isStringLiteralLike(node.argumentExpression))
    read.add(node.argumentExpression.text);
  else if (ts.isBindingElement(node) && ts.isObjectBindingPattern(node.parent))
    read.add((node.propertyName ?? node.name).getText());
  else if (ts.isStringLiteralLike(node)) read.add(node.text);
}

const found: string[] = [];
const seen = new Set<string>();
for (const { file, source } of sources) {
  if (!/^(src|packages\/[^/]+\/src)\//.test(file)) continue;
  for (const statement of source.statements) {
    if (!isExported(statement)) continue;
    for (const name of namesOf(statement)) checkExport(file, source, name);
    if (ts.isInterfaceDeclaration(statement)) checkMethods(file, statement);
  }
}

function isExported(statement: ts.Statement): boolean {
  return (
    ts.canHaveModifiers(statement) &&
    (ts.getModifiers(statement) ?? []).some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
  );
}

function namesOf(statement: ts.Statement): string[] {
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.flatMap(({ name }) =>
      ts.isIdentifier(name) ? [name.text] : [],
    );
  const { name } = statement as ts.DeclarationStatement;
  return name ? [name.text] : [];
}

function checkExport(file: string, source: ts.SourceFile, name: string): void {
  if (whole.has(file) || imported.has(`${file} ${name}`)) return;
  // Its declaration names it once.
  if (countOf(source, name) > 1) return;
  report(`${file} ${name}`, "is exported, and only tests use it");
}

function countOf(node: ts.Node, name: string): number {
  let count = ts.isIdentifier(node) && node.text === name ? 1 : 0;
  ts.forEachChild(node, (child) => void (count += countOf(child, name)));
  return count;
}

function checkMethods(file: string, { name: owner, members }: ts.InterfaceDeclaration): void {
  for (const member of members) {
    const isMethod =
      ts.isMethodSignature(member) ||
      (ts.isPropertySignature(member) &&
        member.type !== undefined &&
        ts.isFunctionTypeNode(member.type));
    if (!isMethod || !ts.isIdentifier(member.name) || read.has(member.name.text)) continue;
    report(`${file} ${owner.text}.${member.name.text}`, "is offered, and only tests call it");
  }
}

function report(what: string, why: string): void {
  if (!(what in EXCEPTIONS)) found.push(`${what} ${why}`);
  else seen.add(what);
}

for (const what of Object.keys(EXCEPTIONS))
  if (!seen.has(what)) found.push(`${what} is an exception that is not needed any more`);
for (const line of found) console.error(line);
if (found.length > 0) process.exitCode = 1;
else console.log(`nothing in ${files.length} files is used by tests alone`);
