// Every attack against a fresh server of its own, as root and as an ordinary user, two at a time but for those that
// measure time:
// `npm run attack [-- A1 B9] [-- --user root|ordinary] [-- --json file] [-- --seed 1]`
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import type { ServerUser } from "./attack.ts";
import { ATTACKS } from "./list.ts";
import { allHeld, runAttack, tableOf, totalsOf, type Result } from "./runner.ts";
import { cannotRunAs, programFor } from "./target.ts";

const CASE_LIMIT_MS = 60_000;
/** Most cases wait more than they compute. */
const AT_ONCE = 2;
const USERS: readonly ServerUser[] = ["root", "ordinary"];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    user: { type: "string" },
    json: { type: "string" },
    seed: { type: "string", default: "1" },
    minutes: { type: "string", default: "40" },
  },
});
const seed = wholeNumber("--seed", values.seed);
const until = performance.now() + wholeNumber("--minutes", values.minutes) * 60_000;
const users = USERS.filter((user) => values.user === undefined || values.user === user);
if (users.length === 0) refuse(`--user: expected ${USERS.join(" or ")}, got ${values.user}`);

const attacks = await Promise.all(ATTACKS.map(async (load) => (await load()).default));
const unknown = positionals.filter((name) => !attacks.some(({ item }) => item === name));
if (unknown.length > 0)
  refuse(`no attack on ${unknown.join(", ")}; there are ${items(attacks).join(", ")}`);
const chosen = attacks.filter(({ item }) => positionals.length === 0 || positionals.includes(item));

console.log(`seed ${seed}, Node ${process.version}`);
for (const user of users)
  if (cannotRunAs(user) === null && programFor(user).copied)
    console.log(`${user}: cannot read the sources; runs the bundle of them from a copy`);
const pairs = users.flatMap((user) => chosen.map((attack) => ({ attack, user })));
const ended = new Map<object, Result>();
await runAll(
  pairs.filter(({ attack }) => !attack.alone),
  AT_ONCE,
);
await runAll(
  pairs.filter(({ attack }) => attack.alone),
  1,
);
const results = pairs.flatMap((pair) => ended.get(pair) ?? []);

console.log(`\n${tableOf(results)}\n`);
if (values.json !== undefined)
  writeFileSync(values.json, `${JSON.stringify({ seed, results }, null, 2)}\n`);
const { passed, failed, skipped } = totalsOf(results);
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
// A server that does not end must not keep this process.
process.exit(allHeld(results) ? 0 : 1);

async function runAll(waiting: typeof pairs, atOnce: number): Promise<void> {
  const lane = async (): Promise<void> => {
    for (let pair = waiting.shift(); pair; pair = waiting.shift()) {
      const { attack, user } = pair;
      const result = await runAttack(attack, { user, seed, caseLimitMs: CASE_LIMIT_MS, until });
      ended.set(pair, result);
      tell(result);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}

/** At once: a run that is cut off has then said what it found. */
function tell({ item, user, tried, held, skipped, seconds, failures }: Result): void {
  const outcome = skipped === null ? `${held} of ${tried} held` : `not run, ${skipped}`;
  console.log(`${item} as ${user}: ${outcome} (${seconds.toFixed(1)} s)`);
  for (const { name, sentence } of failures)
    console.log(`✗ ${item} as ${user}: ${name}: ${sentence}`);
}

function items(all: readonly { readonly item: string }[]): string[] {
  return [...new Set(all.map(({ item }) => item))];
}

function wholeNumber(option: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1)
    refuse(`${option}: expected a whole number from 1, got ${text}`);
  return value;
}

function refuse(message: string): never {
  console.error(message);
  process.exit(2);
}
