// What a box costs: /bin/true plainly and in a box, turn by turn, so that the machine treats both alike.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSandbox } from "../src/reach/sandbox/sandbox.ts";
import { median, percentile, Skipped, type BenchOptions, type Row } from "./row.ts";

const WARM = 5;

export async function run({ quick }: BenchOptions): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), "ostiary-bench-box-"));
  const sandbox = openSandbox({ folder: join(folder, "own"), path: process.env["PATH"] ?? "" });
  try {
    const { ready, reason, limits } = await sandbox.probed;
    if (!ready) throw new Skipped(reason ?? "no sandbox");
    const job = {
      argv: ["/bin/true"],
      cwd: "/job",
      env: {},
      mounts: [],
      signal: new AbortController().signal,
    };
    const plain: number[] = [];
    const boxed: number[] = [];
    for (let i = 0; i < WARM + (quick ? 40 : 200); i++) {
      const one = await timed(plainly);
      const other = await timed(async () => {
        const { exitCode } = await sandbox.run(job);
        if (exitCode !== 0) throw new Error(`the box ended with ${exitCode}`);
      });
      if (i < WARM) continue;
      plain.push(one);
      boxed.push(other);
    }
    const cost = boxed.map((value, index) => value - (plain[index] ?? 0));
    return [
      { name: "plain spawn of /bin/true, p50", value: median(plain), unit: "ms", better: "lower" },
      {
        name: `the same in a box (${limits}), p50`,
        value: median(boxed),
        unit: "ms",
        better: "lower",
      },
      { name: "the box alone, p50", value: median(cost), unit: "ms", target: 15, better: "lower" },
      { name: "the box alone, p95", value: percentile(cost, 95), unit: "ms", better: "lower" },
    ];
  } finally {
    await sandbox.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function timed(work: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** With pipes, as a program that wants the output would do it. */
function plainly(): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn("/bin/true", { stdio: "pipe" });
    child.once("error", reject);
    child.once("close", () => resolve());
  });
}
