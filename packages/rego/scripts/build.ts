// Builds dist/ (or the folder named): JavaScript and types of every module, and the entry for browsers as one file.
import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { bundleRego } from "./browser-bundle.ts";

const PACKAGE = join(import.meta.dirname, "..");
const dist = resolve(process.argv[2] ?? join(PACKAGE, "dist"));

rmSync(dist, { recursive: true, force: true });
const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");
execFileSync(
  process.execPath,
  [tsc, "--project", join(PACKAGE, "tsconfig.build.json"), "--outDir", dist],
  { stdio: "inherit" },
);
// In place of the module that tsc wrote: a page imports it as it is, without a bundler.
writeFileSync(join(dist, "browser.js"), await bundleRego());
