// Runs OPA's own evaluation cases: npm run conformance:rego -- <folder>
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { runFolder } from "./rego-cases.ts";

const folder = resolve(process.argv[2] ?? "../shared/corpora/opa");
if (!existsSync(folder)) {
  console.error(`skipped: ${folder} is absent`);
  process.exit(1);
}

const outcomes = await runFolder(folder);
for (const outcome of outcomes) {
  if (outcome.status === "failed")
    console.log(`FAILED ${outcome.note} (${outcome.file}): ${outcome.reason}`);
  if (outcome.status === "skipped")
    console.log(`SKIPPED ${outcome.note} (${outcome.file}): ${outcome.reason}`);
}
const count = (status: string): number =>
  outcomes.filter((outcome) => outcome.status === status).length;
if (outcomes.length === 0) console.log(`no cases in ${folder}`);
console.log(
  `${String(count("passed"))} passed, ${String(count("failed"))} failed, ${String(count("skipped"))} skipped`,
);
process.exitCode = outcomes.length === 0 || count("failed") > 0 ? 1 : 0;
