// Prints how much of the requirements is done, per section; `--open` also lists what is open, and why.
import { REQUIREMENTS } from "../test/requirements.ts";

const showOpen = process.argv.includes("--open");
const sections = Map.groupBy(REQUIREMENTS, ({ section }) => section);
const width = Math.max(...[...sections.keys()].map((section) => section.length));

for (const [section, rows] of sections) {
  console.log(`${section.padEnd(width)}  ${counts(rows)}`);
  if (!showOpen) continue;
  for (const row of rows) {
    if (row.state === "done") continue;
    console.log(`  ${row.id.padEnd(4)} ${row.text}${row.why === undefined ? "" : ` (${row.why})`}`);
  }
}
console.log(counts(REQUIREMENTS));

function counts(rows: typeof REQUIREMENTS): string {
  const done = rows.filter(({ state }) => state === "done").length;
  return `${done} done, ${rows.length - done} open`;
}
