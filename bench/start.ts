// The built bundle as a user meets it: how long until it is ready, how much memory it holds at rest.
import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { haveBundle, startBundle, tempDir } from "./governed.ts";
import { ROOT, rssOf } from "./process.ts";
import { median, pause, Skipped, type BenchOptions, type Row } from "./row.ts";

export async function run(options: BenchOptions): Promise<Row[]> {
  if (!haveBundle(options)) throw new Skipped("start and memory are those of the built bundle");
  const dataDir = tempDir();
  const times = options.quick ? 5 : 11;
  const rows: Row[] = [];
  try {
    const first = await startBundle(dataDir);
    rows.push({
      name: "first start to ready line, new data directory",
      value: first.startMs,
      unit: "ms",
      better: "lower",
    });
    await first.stop();
    const starts: number[] = [];
    let rss: number | null = null;
    for (let i = 0; i < times; i++) {
      const server = await startBundle(dataDir);
      starts.push(server.startMs);
      if (i === times - 1) {
        await pause(options.quick ? 1500 : 5000);
        rss = rssOf(server.pid);
      }
      await server.stop();
    }
    options.note(`starts, ms: ${starts.map(Math.round).join(" ")}`);
    rows.push({
      name: "start to ready line, existing data directory",
      value: median(starts),
      unit: "ms",
      target: 700,
      better: "lower",
    });
    if (rss !== null)
      rows.push({ name: "idle RSS", value: rss, unit: "MB", target: 120, better: "lower" });
    rows.push({
      name: "ostiary --help",
      value: helpMs(times),
      unit: "ms",
      target: 150,
      better: "lower",
    });
    return rows;
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

function helpMs(times: number): number {
  const samples = Array.from({ length: times }, () => {
    const began = performance.now();
    execFileSync(process.execPath, [join(ROOT, "bin", "ostiary.js"), "--help"], {
      stdio: "ignore",
    });
    return performance.now() - began;
  });
  return median(samples);
}
