// `node bench/profile.ts <file.cpuprofile>`: where the time went, by function and by file, idle left out.
import { readFileSync } from "node:fs";
import { ROOT } from "./process.ts";

interface Profile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { functionName: string; url: string; lineNumber: number };
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

const TOP = 45;
const [file] = process.argv.slice(2);
if (file === undefined) {
  console.error("usage: node bench/profile.ts <file.cpuprofile>");
  process.exit(2);
}
const profile = JSON.parse(readFileSync(file, "utf8")) as Profile;
const frames = new Map(profile.nodes.map((node) => [node.id, node.callFrame]));
const byFunction = new Map<string, number>();
const byFile = new Map<string, number>();
let busyUs = 0;
for (const [index, id] of profile.samples.entries()) {
  const frame = frames.get(id);
  const us = profile.timeDeltas[index] ?? 0;
  if (!frame || frame.functionName === "(idle)") continue;
  busyUs += us;
  const place = frame.url.replace(`file://${ROOT}/`, "").replace(/^.*node_modules\//, "");
  const name = frame.functionName || "(anonymous)";
  add(byFunction, `${name}  ${place}:${frame.lineNumber + 1}`, us);
  add(byFile, place || name, us);
}
console.log(`${(busyUs / 1e6).toFixed(2)} s busy`);
print("by file", byFile);
print("by function", byFunction);

function add(sums: Map<string, number>, key: string, us: number): void {
  sums.set(key, (sums.get(key) ?? 0) + us);
}

function print(title: string, sums: ReadonlyMap<string, number>): void {
  console.log(`\n${title}`);
  const sorted = [...sums].sort((a, b) => b[1] - a[1]).slice(0, TOP);
  for (const [key, us] of sorted)
    console.log(`${((100 * us) / busyUs).toFixed(1).padStart(6)} %  ${key}`);
}
