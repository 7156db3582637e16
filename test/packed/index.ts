// The end-to-end tests that start the real program, against the tarball installed into an empty folder.
// `npm run test:packed -- <files>` runs only these; without files all that use the fixture, `--list` names those of
// them that run whole against it: they need not run against the sources as well.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { installTarball, packTarball } from "../fixtures/tarball.ts";

const ROOT = join(import.meta.dirname, "../..");
const E2E = join(ROOT, "test/e2e");

/** Build and pack by themselves. */
const OWN_PACKAGE = new Set(["bundle.slow.test.ts", "packed.slow.test.ts"]);

const given = process.argv.slice(2);
if (given.includes("--list")) {
  for (const file of startingTheProgram())
    if (!readFileSync(file, "utf8").includes("OSTIARY_TEST_PROGRAM"))
      console.log(relative(ROOT, file));
  process.exit();
}
const files = given.some((word) => !word.startsWith("-"))
  ? given
  : [...given, ...startingTheProgram()];
const folder = mkdtempSync(join(tmpdir(), "ostiary-packed-"));
try {
  const program = installTarball(packTarball(folder), join(folder, "empty"));
  console.log(`${program}: ${process.version}, ${files.length} files`);
  const { status } = spawnSync(
    process.execPath,
    [join(ROOT, "node_modules/vitest/vitest.mjs"), "run", ...files],
    {
      cwd: ROOT,
      env: { ...process.env, OSTIARY_TEST_PROGRAM: program },
      stdio: "inherit",
    },
  );
  process.exitCode = status ?? 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function startingTheProgram(): string[] {
  return readdirSync(E2E)
    .filter((name) => name.endsWith(".test.ts") && !OWN_PACKAGE.has(name))
    .map((name) => join(E2E, name))
    .filter((file) => readFileSync(file, "utf8").includes("fixtures/bin.ts"));
}
