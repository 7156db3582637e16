// `npm run bench [-- <part>…] [--json <file>] [--quick] [--profile <folder>] [--source] [--priority]
// [--base <checkout>] [--strict]`: a measurement: a missed target is printed, and fails only with `--strict`.
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { foreignCpu, machineFacts, takePriority } from "./machine.ts";
import { meets, Skipped, type BenchOptions, type Row } from "./row.ts";
import { table } from "./table.ts";

/** In this order; a part whose file is not there is skipped like one whose peer is absent. */
const PARTS = [
  "echo",
  "scale",
  "registry",
  "start",
  "gate",
  "store",
  "rego",
  "sandbox",
  "cancel",
  "bombs",
  "tracing",
  "neighbours",
  "proxied",
  "chat",
  "before",
] as const;

interface PartModule {
  run(options: BenchOptions): Promise<readonly Row[]>;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: "string" },
    quick: { type: "boolean", default: false },
    profile: { type: "string" },
    source: { type: "boolean", default: false },
    priority: { type: "boolean", default: false },
    base: { type: "string" },
    strict: { type: "boolean", default: false },
  },
});
const unknown = positionals.filter((name) => !PARTS.some((part) => part === name));
if (unknown.length > 0) {
  console.error(`unknown part ${unknown.join(", ")}; there are: ${PARTS.join(", ")}`);
  process.exit(2);
}
const options: BenchOptions = {
  quick: values.quick,
  profileDir: values.profile ?? null,
  fromSource: values.source,
  base: values.base ?? null,
  note: (text) => console.error(`  ${text}`),
};

if (values.priority) takePriority();
for (const fact of machineFacts()) console.log(fact);
const rows: Row[] = [];
const failures: string[] = [];
const began = performance.now();
for (const part of PARTS) {
  if (positionals.length > 0 && !positionals.includes(part)) continue;
  console.log(`\n${part}: other processes use ${Math.round(await foreignCpu())} % of all cores`);
  try {
    const found = await loadPart(part).then((module) => module.run(options));
    console.log(table(found));
    rows.push(...found);
  } catch (cause) {
    if (cause instanceof Skipped) console.log(`skipped: ${cause.message}`);
    else failures.push(part);
    if (!(cause instanceof Skipped)) console.error(`${part} failed:`, cause);
  }
}
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(rows, null, 2)}\n`);

const missed = rows.filter((row) => meets(row) === false);
const met = rows.filter((row) => meets(row) === true);
console.log(
  `\n${rows.length} figures in ${Math.round((performance.now() - began) / 1000)} s; ${met.length} targets met, ${missed.length} missed`,
);
for (const row of missed) console.log(`  missed: ${row.name}: ${row.value} ${row.unit}`);
// A part that broke has measured nothing: that is always a failure.
if (failures.length > 0) console.log(`  failed: ${failures.join(", ")}`);
process.exitCode = failures.length > 0 || (values.strict && missed.length > 0) ? 1 : 0;

async function loadPart(name: string): Promise<PartModule> {
  const file = join(import.meta.dirname, `${name}.ts`);
  if (!existsSync(file)) throw new Skipped(`bench/${name}.ts is not there`);
  return (await import(file)) as PartModule;
}
