// `npm run probes [-- 9 16] [-- --json file] [-- --seed 1]`: the checks of the scoreboard that no other command
// makes, each against a server process of its own.
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { openTarget, removeCopies, type OpenTarget } from "../attack/target.ts";
import { meetsTarget, type Figure, type Probe } from "./figure.ts";
import { PROBES } from "./probes/index.ts";
import { NotRun } from "./results.ts";

const LIMIT_MS = 240_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: "string" }, seed: { type: "string", default: "1" } },
});
const seed = Number(values.seed);
const wanted = positionals.length > 0 ? positionals.map(Number) : Object.keys(PROBES).map(Number);

const told: Record<string, Figure | { notRun: string }> = {};
const count = { passed: 0, failed: 0, skipped: 0 };
for (const number of wanted) {
  const load = PROBES[number];
  if (!load) {
    console.error(`no probe ${number}; there are ${Object.keys(PROBES).join(", ")}`);
    process.exit(2);
  }
  const began = performance.now();
  const found = await figureOf(async (context) => (await load()).default(context));
  told[number] = found;
  console.log(`${number}: ${line(found)} (${((performance.now() - began) / 1000).toFixed(1)} s)`);
  for (const fault of "faults" in found ? found.faults.slice(0, 10) : [])
    console.log(`  ✗ ${number}: ${fault}`);
  if ("notRun" in found) count.skipped++;
  else count[meetsTarget(found) ? "passed" : "failed"]++;
}
removeCopies();
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(told, null, 2)}\n`);
console.log(`${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`);
process.exit(count.failed > 0 ? 1 : 0);

function line(found: Figure | { notRun: string }): string {
  if ("notRun" in found) return `not run, ${found.notRun}`;
  const { tried, held, unit, control, figures } = found;
  return `${held} of ${tried} ${unit}, control ${control.held} of ${control.tried}${figures ? `, ${figures}` : ""}`;
}

/** A probe that breaks or finds no end has missed: it says what happened. */
async function figureOf(probe: Probe): Promise<Figure | { notRun: string }> {
  const targets: OpenTarget[] = [];
  const ending = new AbortController();
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(new Error(`no end after ${LIMIT_MS / 1000} s`)),
    LIMIT_MS,
  );
  const open = async (settings: Record<string, string> = {}): Promise<OpenTarget> => {
    const target = await openTarget({ user: "ordinary", seed, settings });
    targets.push(target);
    return target;
  };
  try {
    return await Promise.race([probe({ seed, open, signal: ending.signal }), late.promise]);
  } catch (error) {
    if (error instanceof NotRun) return { notRun: error.message };
    const sentence =
      error instanceof Error
        ? `${error.message} ${(error.stack ?? "").split("\n")[1] ?? ""}`
        : String(error);
    return {
      tried: 1,
      held: 0,
      unit: "runs",
      control: { tried: 0, held: 0 },
      faults: [`the probe broke: ${sentence}`],
    };
  } finally {
    clearTimeout(timer);
    ending.abort();
    for (const target of targets) await target.close();
  }
}
