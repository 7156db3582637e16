// npm run corpora:given: every list of ../shared/corpora that a kind exists for, each in a process of its own. `--
// --json file` also writes what came of each.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";

const FOLDER = resolve(import.meta.dirname, "../../../shared/corpora");
const LISTS: readonly (readonly [kind: string, file: string])[] = [
  ["traversal", "traversal/traversal.txt"],
  ["command-injection", "command-injection/command-injection.txt"],
  ["ssrf", "ssrf/ssrf.txt"],
  ["sql-injection", "sql-injection/sql-injection.txt"],
  ["naughty-strings", "naughty-strings/blns.json"],
  ["url", "url/urltestdata.json"],
  ["url", "url/toascii.json"],
  ["secrets", "secrets/secrets.json"],
];

const { values } = parseArgs({ options: { json: { type: "string" } } });
const folder = mkdtempSync(join(tmpdir(), "ostiary-corpora-"));
const results: unknown[] = [];
const count = { passed: 0, failed: 0, skipped: 0 };
for (const [kind, name] of LISTS) {
  const file = join(FOLDER, name);
  if (!existsSync(file)) {
    console.log(`skipped: ${relative(process.cwd(), file)} is absent`);
    count.skipped++;
    continue;
  }
  const told = join(folder, `${results.length}.json`);
  const { status } = spawnSync(
    process.execPath,
    [join(import.meta.dirname, "index.ts"), kind, file, "--json", told],
    { stdio: "inherit" },
  );
  results.push(
    existsSync(told) ? JSON.parse(readFileSync(told, "utf8")) : { kind, file, broken: true },
  );
  if (status === 0) count.passed++;
  else count.failed++;
}
rmSync(folder, { recursive: true, force: true });
if (values.json !== undefined)
  writeFileSync(values.json, `${JSON.stringify({ results }, null, 2)}\n`);
console.log(`${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`);
process.exitCode = count.failed > 0 ? 1 : 0;
