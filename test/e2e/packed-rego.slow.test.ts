// The Rego package alone: its tarball, installed into an empty folder, evaluates and has types.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { npm } from "../fixtures/tarball.ts";

const ROOT = join(import.meta.dirname, "../..");
const PACKAGE = join(ROOT, "packages/rego");

interface Manifest {
  readonly exports: Readonly<Record<string, unknown>>;
  readonly dependencies: Readonly<Record<string, string>>;
}
const MANIFEST = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8")) as Manifest;

describe("@ostiary/rego, installed from its tarball", { timeout: 60_000 }, () => {
  let folder: string;
  let empty: string;

  const run = (source: string, ...flags: string[]): string =>
    execFileSync(process.execPath, [...flags, "--input-type=module", "-e", source], {
      cwd: empty,
      encoding: "utf8",
    });

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "rego-packed-"));
    empty = join(folder, "empty");
    mkdirSync(empty);
    writeFileSync(join(empty, "package.json"), '{ "private": true }\n');
    // The packages it depends on are packed from this clone: no network.
    const packages = Object.keys(MANIFEST.dependencies).map((name) => join("node_modules", name));
    const tarballs = [
      packRego(folder),
      ...packages.map((path) => pack(join(ROOT, path), folder)),
    ].map((name) => join(folder, name));
    npm(
      ["install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", ...tarballs],
      empty,
    );
  }, 120_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("every entry point loads", () => {
    const entries = Object.keys(MANIFEST.exports).map((entry) => `@ostiary/rego${entry.slice(1)}`);
    const source = `for (const name of ${JSON.stringify(entries)})
      console.log(name, Object.keys(await import(name)).length > 0);`;
    expect(run(source).trim().split("\n")).toEqual(entries.map((name) => `${name} true`));
  });

  test("the example of its README prints what it says", () => {
    const readme = readFileSync(join(empty, "node_modules/@ostiary/rego/README.md"), "utf8");
    const [, example = ""] = /```js\n([^]*?)```/.exec(readme) ?? [];
    expect(example).toContain("// true");
    expect(run(example)).toBe("true\n");
  });

  test("a group of built-ins is loaded only for a policy that mentions it", () => {
    writeFileSync(
      join(empty, "watch.mjs"),
      `import { registerHooks } from "node:module";
       registerHooks({ load(url, context, next) {
         if (url.includes("/builtins/graphql/builtins.js")) console.log("loaded");
         return next(url, context);
       } });`,
    );
    const source = `
      const { load } = await import("@ostiary/rego");
      const answer = async (text) => (await load({ "a.rego": "package a\\n\\n" + text })).policy.evaluate("data.a.x").value;
      console.log(await answer("x := 1"));
      console.log(await answer('x := graphql.schema_is_valid("type Query { a: Int }")'));`;
    expect(run(source, "--import", "./watch.mjs")).toBe("1\nloaded\ntrue\n");
  });

  test("a program in TypeScript compiles against its types", () => {
    writeFileSync(
      join(empty, "use.mts"),
      `import { load, type Value } from "@ostiary/rego";
       import { GRAPHQL } from "@ostiary/rego/graphql";
       import { RegoSet } from "@ostiary/rego/values";
       const loaded = await load({}, { builtins: GRAPHQL });
       export const value: Value | undefined = loaded.ok ? RegoSet.of([1]) : undefined;
       // @ts-expect-error an option that does not exist
       await load({}, { nothing: 1 });`,
    );
    const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
    const flags = ["--noEmit", "--strict", "--module", "nodenext", "--target", "esnext"];
    execFileSync(process.execPath, [tsc, ...flags, "use.mts"], {
      cwd: empty,
      stdio: ["ignore", "inherit", "inherit"],
    });
  });
});

/** As `npm pack` in its folder, but beside it: other tests import the package meanwhile. */
function packRego(folder: string): string {
  const stage = join(folder, "stage");
  mkdirSync(stage);
  for (const name of ["package.json", "README.md", "LICENSE"])
    cpSync(join(PACKAGE, name), join(stage, name));
  const script = (name: string, ...args: string[]): void =>
    void execFileSync(process.execPath, [join(PACKAGE, "scripts", name), ...args], {
      stdio: ["ignore", "ignore", "inherit"],
    });
  script("build.ts", join(stage, "dist"));
  script("manifest.ts", "publish", stage);
  return pack(stage, folder);
}

/** The name of the tarball in `to`. */
function pack(from: string, to: string): string {
  const output = npm(["pack", "--ignore-scripts", "--json", "--pack-destination", to], from);
  const [packed] = JSON.parse(output) as { filename: string }[];
  if (packed === undefined) throw new Error(`npm pack named no file: ${output}`);
  return packed.filename;
}
