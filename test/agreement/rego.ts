// Our evaluator and a real OPA server on generated policies:
//   scripts/services run opa -- node test/agreement/rego.ts [pairs] [first seed] [disagreements shown]
import { compareWithOpa } from "./rego-compare.ts";

const url = process.env["OSTIARY_TEST_OPA"];
const bin = process.env["OSTIARY_TEST_OPA_BIN"];
const [wanted = 20_000, firstSeed = 1, shown = 20] = process.argv.slice(2).map(Number);
if (url === undefined || bin === undefined) {
  console.error("skipped: OSTIARY_TEST_OPA and OSTIARY_TEST_OPA_BIN are not set");
  process.exit(1);
}

const { compared, kinds, serverOnly, known, disagreed } = await compareWithOpa(
  { url, bin },
  wanted,
  firstSeed,
);
for (const text of disagreed.slice(0, shown)) console.log(`DISAGREED ${text}\n`);
for (const [kind, count] of kinds) console.log(`${kind}: ${count}`);
console.log(`${serverOnly} differ only through the server's index or memory`);
console.log(`${known} differ for a known reason`);
console.log(`${compared} compared, ${disagreed.length} disagreed`);
process.exitCode = disagreed.length > 0 ? 1 : 0;
