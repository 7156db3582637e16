// package.json: what ships is a dependency, what builds and tests is a development dependency, every version is exact.
import { globSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";
import { publishedManifest } from "../scripts/published-manifest.ts";

const ROOT = join(import.meta.dirname, "..");
const read = (name: string): string => readFileSync(join(ROOT, name), "utf8");

interface Manifest {
  readonly dependencies: Record<string, string>;
  readonly devDependencies: Record<string, string>;
  readonly peerDependencies: Record<string, string>;
  readonly overrides: Record<string, string>;
}
const manifest = JSON.parse(read("package.json")) as Manifest;

/** In the bundle without an import: its files are copied, or another package needs it beside itself. */
const WITHOUT_IMPORT = ["@opentelemetry/api", "@scalar/api-reference", "mermaid"];

test("dependencies are the packages that the product contains", () => {
  const imported = new Set(
    globSync("src/**/*.ts", { cwd: ROOT }).filter(ships).flatMap(packagesOf),
  );
  const optional = Object.keys(manifest.peerDependencies);
  expect(Object.keys(manifest.dependencies).toSorted()).toEqual(
    [...imported, ...WITHOUT_IMPORT].filter((name) => !optional.includes(name)).toSorted(),
  );
});

test("versions are exact", () => {
  const { dependencies, devDependencies, peerDependencies, overrides } = manifest;
  const examples = JSON.parse(read("examples/package.json")) as Manifest;
  const all = {
    ...dependencies,
    ...devDependencies,
    ...peerDependencies,
    ...overrides,
    ...examples.dependencies,
    ...examples.overrides,
  };
  for (const [name, version] of Object.entries(all))
    expect([name, version]).toEqual([name, expect.stringMatching(/^\d+\.\d+\.\d+(-[\w.]+)?$/)]);
});

test("CONTRIBUTING.md has the reason of every override", () => {
  const reasons = [...read("CONTRIBUTING.md").matchAll(/^- override `([^`]+)`: \S/gm)];
  expect(reasons.map(([, name]) => name)).toEqual(Object.keys(manifest.overrides));
});

test("the published manifest installs and runs nothing", () => {
  const published = JSON.parse(publishedManifest(read("package.json"))) as object;
  expect(Object.keys(published).filter((field) => /ependencies$|scripts/i.test(field))).toEqual([
    "peerDependencies",
  ]);
  expect(published).toMatchObject({
    bin: { ostiary: "bin/ostiary.js" },
    engines: { node: ">=24" },
  });
});

test.each(["package-lock.json", "examples/package-lock.json"])("%s names no registry", (file) => {
  expect(read(file)).not.toMatch(/"resolved": "https?:/);
});

function ships(file: string): boolean {
  return !/\.(test|suite|suite\.child)\.ts$/.test(file);
}

/** The names of the packages a file imports, types included. */
function packagesOf(file: string): string[] {
  return ts
    .preProcessFile(read(file), true, true)
    .importedFiles.map(({ fileName }) => fileName)
    .filter((name) => !name.startsWith(".") && !isBuiltin(name))
    .map((name) => name.split("/", name.startsWith("@") ? 2 : 1).join("/"));
}
