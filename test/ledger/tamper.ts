// Changes exports in every way we know, and expects each change to be found and no honest export to be blamed:
// `npm run test:tamper [-- --count 10000] [-- --untouched 1000] [-- --seed 1] [-- --json file]`
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { pathToFileURL } from "node:url";
import { MUTATIONS } from "./mutate.ts";
import { openWorld, strangersKey, verified, type World } from "./world.ts";

export interface TamperReport {
  readonly kinds: readonly {
    readonly name: string;
    readonly tried: number;
    readonly found: number;
  }[];
  readonly missed: readonly string[];
  readonly untouched: number;
  readonly falseAlarms: readonly string[];
}

export async function tamper(
  count: number,
  untouched: number,
  seed: number,
): Promise<TamperReport> {
  const world = await openWorld();
  try {
    await world.more(6);
    const random = seeded(seed);
    const exports = await baseExports(world);
    await world.more(2);
    const others = await baseExports(world);
    const { app } = world.app;
    const keys = [app.ledger.publicKey];
    const stranger = strangersKey();
    const missed: string[] = [];
    const kinds = Object.entries(MUTATIONS).map(([name, mutation]) => ({
      name,
      ...mutation,
      tried: 0,
      found: 0,
    }));
    for (let tried = 0, turn = 0; tried < count; turn++) {
      const kind = kinds[turn % kinds.length];
      const original = exports[Math.floor(random() * exports.length)];
      const other = others[Math.floor(random() * others.length)];
      if (!kind || !original || !other) throw new Error("nothing to change");
      const changed = kind.mutate(original, { random, stranger, other });
      if (changed === null || changed.equals(original)) continue;
      tried++;
      kind.tried++;
      const verdict = await verified(changed, kind.pinned ? { keys } : {});
      if (verdict.ok) missed.push(`${kind.name} (mutation ${tried}, seed ${seed})`);
      else kind.found++;
    }
    const falseAlarms = await blamed(world, untouched, random, keys);
    return { kinds, missed, untouched, falseAlarms };
  } finally {
    await world.close();
  }
}

/** Both formats, all tenants and one, whole and a stretch. */
async function baseExports(world: World): Promise<Buffer[]> {
  const questions = (["ndjson", "cloudevents"] as const).flatMap((format) => [
    { tenantId: null, format },
    { tenantId: null, format, from: 7 },
    { tenantId: "acme", format },
  ]);
  const made: Buffer[] = [];
  for (const question of questions) made.push(await world.export(question));
  return made;
}

async function blamed(world: World, count: number, random: () => number, keys: readonly string[]) {
  const alarms: string[] = [];
  for (let made = 0; made < count; made++) {
    if (made % 100 === 99) await world.more(1);
    const head = await world.app.app.store.log.head();
    const from = 1 + Math.floor(random() * random() * head);
    const to = from + Math.floor(random() * (head - from + 1));
    const tenantId = [null, null, "acme", "local", "nobody"][Math.floor(random() * 5)] ?? null;
    const format = random() < 0.5 ? "ndjson" : "cloudevents";
    const verdict = await verified(
      await world.export({ tenantId, format, ...(random() < 0.3 ? {} : { from, to }) }),
      { keys },
    );
    if (!verdict.ok)
      alarms.push(`${format} ${tenantId ?? "all"} ${from}-${to}: ${verdict.fault.message}`);
  }
  return alarms;
}

/** mulberry32: the same seed, the same run. */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { values } = parseArgs({
    options: {
      count: { type: "string", default: "10000" },
      untouched: { type: "string", default: "1000" },
      seed: { type: "string", default: "1" },
      json: { type: "string" },
    },
  });
  const report = await tamper(Number(values.count), Number(values.untouched), Number(values.seed));
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(report, null, 2)}\n`);
  for (const { name, tried, found } of report.kinds)
    console.log(`${name.padEnd(48)} ${String(tried).padStart(6)} tried, ${found} found`);
  for (const line of [...report.missed.slice(0, 20), ...report.falseAlarms.slice(0, 20)])
    console.log(`  ${line}`);
  const tried = report.kinds.reduce((sum, kind) => sum + kind.tried, 0);
  console.log(
    `${tried} mutations, ${tried - report.missed.length} found, ${report.missed.length} missed; ${report.untouched} untouched, ${report.falseAlarms.length} false alarms`,
  );
  if (report.missed.length + report.falseAlarms.length > 0) process.exitCode = 1;
}
