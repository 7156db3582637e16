// Adds up what the steps of .ci/run counted and prints the closing line.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const total = { passed: 0, failed: 0, skipped: 0 };
const folder = process.argv[2];
/** What failed, told once more at the end: whoever sees only the last lines must see it. */
const told = [];
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
    told.push(`${name.replace(/\.log$/, "")}: ${line.trim()}`);
}

function add(passed, failed, skipped) {
  total.passed += passed;
  total.failed += failed;
  total.skipped += skipped;
}

for (const line of told.slice(0, 40)) console.log(line);
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
if (total.passed === 0 || total.failed > 0) process.exitCode = 1;
