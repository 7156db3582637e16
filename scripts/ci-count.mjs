// Adds up what the steps of .ci/run counted and prints the slowest test files, what failed and the closing line.
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

const total = { passed: 0, failed: 0, skipped: 0 };
const folder = process.argv[2];
/** What failed, printed again at the end, because often only the last lines are read. */
const failures = [];
for (const name of readdirSync(folder).filter((file) => file.endsWith(".log"))) {
  // eslint-disable-next-line no-control-regex -- colours of the test runner
  const text = readFileSync(join(folder, name), "utf8").replaceAll(/\u001b\[[0-9;]*m/g, "");
  const plain = [...text.matchAll(/^(\d+) passed, (\d+) failed, (\d+) skipped$/gm)];
  for (const [, passed, failed, skipped] of plain)
    add(Number(passed), Number(failed), Number(skipped));
  for (const [line] of text.matchAll(/^\s*Tests\s+.*\(\d+\)$/gm)) {
    const count = (word) => Number(new RegExp(`(\\d+) ${word}`).exec(line)?.[1] ?? 0);
    add(count("passed"), count("failed"), count("skipped") + count("todo"));
  }
  for (const [line] of text.matchAll(/^( FAIL |AssertionError|\s*✗ |not ok |.*Caused by: ).*$/gm))
    failures.push(`${name.replace(/\.log$/, "")}: ${line.trim()}`);
}

function add(passed, failed, skipped) {
  total.passed += passed;
  total.failed += failed;
  total.skipped += skipped;
}

const slowest = readdirSync(folder)
  .filter((file) => file.endsWith(".json"))
  .flatMap((file) => testFilesOf(JSON.parse(readFileSync(join(folder, file), "utf8"))))
  .sort((a, b) => b.ms - a.ms)
  .slice(0, 10);
if (slowest.length > 0) console.log("the ten slowest test files:");
for (const { name, ms } of slowest)
  console.log(`  ${(ms / 1000).toFixed(1).padStart(6)} s  ${name}`);

/** Files of a report of vitest; other commands write other reports. */
function testFilesOf(report) {
  return (report.testResults ?? []).map(({ name, startTime, endTime }) => ({
    name: relative(process.cwd(), name),
    ms: endTime - startTime,
  }));
}

for (const line of failures.slice(0, 40)) console.log(line);
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
if (total.passed === 0 || total.failed > 0) process.exitCode = 1;
