// What hostile programs in boxes do to the neighbours: the p99 of quiet callers beside each bomb, to that without one.
// The neighbours ask from a process of their own, so that both sides of the server are measured.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { openHouse } from "../test/fixtures/open-house.ts";
import { startApp, type StartedApp } from "../test/fixtures/app.ts";
import { neighbours } from "./asker.ts";
import { pause, Skipped, type BenchOptions, type Row } from "./row.ts";

const BOMBS: Readonly<Record<string, { interpreter: string; script: string }>> = {
  "a fork bomb": { interpreter: "bash", script: "bomb() { bomb | bomb & }; bomb; sleep 60" },
  "10 GB of memory": {
    interpreter: "python",
    script:
      "import time\nhold = []\nwhile True:\n    try:\n        hold.append(bytearray(10_000_000))\n    except MemoryError:\n        time.sleep(0.1)",
  },
  "10 GB of output": { interpreter: "sh", script: "yes | head -c 10000000000" },
  "a million files": {
    interpreter: "python",
    script:
      "import os, time\nfor i in range(1_000_000):\n    try:\n        open(f'/tmp/{i}', 'w').close()\n    except OSError:\n        time.sleep(0.1)",
  },
};

export async function run({ quick, note }: BenchOptions): Promise<readonly Row[]> {
  if (process.platform !== "linux" || !existsSync("/usr/bin/bwrap"))
    throw new Skipped("bubblewrap is not installed");
  const seconds = quick ? 5 : 20;
  const app = await startApp({ flags: { governance: openHouse(), "rateLimit.enabled": "false" } });
  try {
    await neighbours(app, 3); // warm
    const before = await neighbours(app, seconds);
    const rows: Row[] = [];
    for (const [name, bomb] of Object.entries(BOMBS)) {
      note(name);
      const stop = new AbortController();
      const bombs = explode(app, bomb, seconds, stop.signal);
      await pause(500);
      const beside = await neighbours(app, seconds);
      stop.abort();
      await bombs;
      rows.push({
        name: `${name}: neighbours' p99 to that without`,
        value: beside.p99 / before.p99,
        unit: "x",
        target: 2,
        better: "lower",
      });
      rows.push({
        name: `${name}: neighbours refused`,
        value: beside.failed,
        unit: "calls",
        target: 0,
        better: "lower",
      });
    }
    const after = await neighbours(app, seconds);
    rows.push({
      name: "afterwards to before",
      value: after.p99 / before.p99,
      unit: "x",
      better: "lower",
    });
    rows.push({
      name: "processes left behind",
      value: leftBehind(),
      unit: "processes",
      target: 0,
      better: "lower",
    });
    return [
      { name: "neighbours' p99 alone", value: before.p99, unit: "ms", better: "lower" },
      ...rows,
    ];
  } finally {
    await app.close();
  }
}

/** One after the other as long as it lasts: what was stopped by its limits comes again. */
async function explode(
  app: StartedApp,
  bomb: { interpreter: string; script: string },
  seconds: number,
  signal: AbortSignal,
): Promise<void> {
  const caller = await app.callerOf(app.adminKey);
  const until = performance.now() + (seconds + 1) * 1_000;
  while (!signal.aborted && performance.now() < until)
    await app.doors.engine.execute(caller, {
      name: "shell/script",
      arguments: { ...bomb, timeoutSeconds: 60 },
      timeoutMs: 60_000,
      entry: "rest",
      signal,
    });
}

/** Programs of ours that still run: their script lies where only a box sees it. */
function leftBehind(): number {
  return readdirSync("/proc").filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      return readFileSync(`/proc/${name}/cmdline`, "utf8").includes("/job/script.");
    } catch {
      return false;
    }
  }).length;
}
