// How long a registry of many tools takes to load: the first time, when every definition is written, and later.
import { rmSync } from "node:fs";
import { openStore } from "../src/storage/store/store.ts";
import { openRegistry } from "../src/tools/registry.ts";
import { tempDir } from "./governed.ts";
import type { Row } from "./row.ts";
import { manyTools } from "./tools.ts";

const LOADS = 7;
/** Asked for: 200 tools in 100 ms. */
const TARGETS: Readonly<Record<number, { target?: number }>> = { 200: { target: 100 }, 1000: {} };

export async function run(): Promise<Row[]> {
  const rows: Row[] = [];
  for (const [count, goal] of Object.entries(TARGETS)) {
    const { first, later } = await loads(Number(count));
    const row = (when: string, times: readonly number[]): Row => ({
      name: `registry of ${count} tools, ${when} load, best of ${LOADS}`,
      // What it needs by itself: whatever else the machine does only adds to that.
      value: Math.min(...times),
      unit: "ms",
      better: "lower",
      ...goal,
    });
    rows.push(row("first", first), row("later", later));
  }
  return rows;
}

async function loads(count: number): Promise<{ first: number[]; later: number[] }> {
  const tools = manyTools(count);
  const times = { first: [] as number[], later: [] as number[] };
  for (let i = 0; i < LOADS; i++) {
    const dataDir = tempDir();
    const store = await openStore("sqlite:ostiary.db", { dataDir });
    await store.ping(); // the writer thread is up: its start belongs to the start of the server
    for (const list of [times.first, times.later]) {
      const began = performance.now();
      const registry = await openRegistry(store, tools);
      list.push(performance.now() - began);
      const { totalTools } = registry.stats();
      if (totalTools !== count) throw new Error(`${totalTools} of ${count} tools were loaded`);
    }
    await store.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
  return times;
}
