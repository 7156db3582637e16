// Jobs that want everything: contained, gone to the last process, and their neighbours still answer.
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openBubblewrap } from "../bubblewrap.ts";
import type { Sandbox, SandboxJob } from "../sandbox.ts";
import { openFolder, tryJob, type Tried } from "../sandbox.suite.ts";
import { findProgram } from "./system.ts";

const path = process.env["PATH"] ?? "";
const PYTHON = "/usr/bin/python3";
const missing = findProgram("bwrap", path) === null || !existsSync(PYTHON);
const MIB = 1_048_576;
/** Of the time that a neighbour needs in peace; the machine of a test is busy anyway. */
const SLOWER_AT_MOST = 20;

describe.skipIf(missing)("T44: bombs", { timeout: 120_000 }, () => {
  let folder: string;
  let sandbox: Sandbox;
  beforeAll(async () => {
    folder = openFolder();
    sandbox = openBubblewrap({ folder: join(folder, "own"), path });
    await sandbox.probed;
  });
  afterAll(async () => {
    await sandbox.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const neighbour = async (): Promise<number> => {
    const began = performance.now();
    expect((await tryJob(sandbox, ["/bin/echo", "here"])).out).toBe("here\n");
    return performance.now() - began;
  };
  const median = (times: readonly number[]): number =>
    [...times].sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
  const measured = async (): Promise<number> => {
    const times: number[] = [];
    for (let i = 0; i < 5; i += 1) times.push(await neighbour());
    return median(times);
  };
  /** Runs for `lastsMs` at most, with neighbours at work; nothing of it is left. */
  async function bomb(
    mark: string,
    argv: readonly string[],
    job: Partial<SandboxJob>,
    lastsMs: number,
  ): Promise<Tried> {
    const peace = await measured();
    const controller = new AbortController();
    const running = tryJob(sandbox, argv, { ...job, signal: controller.signal });
    const timer = setTimeout(() => controller.abort(), lastsMs);
    const during = await measured();
    const result = await running;
    clearTimeout(timer);
    expect(during / peace).toBeLessThan(SLOWER_AT_MOST);
    expect(withWord(mark)).toEqual([]);
    expect(await measured()).toBeGreaterThan(0);
    return result;
  }

  test("a fork bomb", async () => {
    const mark = "BOMB_FORK";
    const code = `import os # ${mark}\nwhile True:\n    try: os.fork()\n    except OSError: pass`;
    const result = await bomb(
      mark,
      [PYTHON, "-c", code],
      { limits: { processes: 64, cpus: 0.5 } },
      5_000,
    );
    expect(result).toMatchObject({ exitCode: null, signal: "SIGKILL" });
  });

  test("ten gigabytes of memory", async () => {
    const mark = "BOMB_MEMORY";
    const code = `x = [] # ${mark}\nfor i in range(10_000): x.append(bytearray(1_048_576))\nprint("ALL")`;
    const result = await bomb(
      mark,
      [PYTHON, "-c", code],
      { limits: { memoryBytes: 128 * MIB } },
      30_000,
    );
    expect(result.out).toBe("");
    if (sandbox.status.limits !== "weak")
      expect(result).toMatchObject({ oom: true, exitCode: 137 });
  });

  test("ten gigabytes of output", async () => {
    const mark = "BOMB_OUTPUT";
    const before = process.memoryUsage().rss;
    const result = await bomb(
      mark,
      ["/bin/sh", "-c", `head -c 10000000000 /dev/zero # ${mark}`],
      {},
      60_000,
    );
    expect(result).toMatchObject({ overflowed: true, signal: "SIGKILL" });
    expect(result.out).toHaveLength(10 * MIB);
    expect(process.memoryUsage().rss - before).toBeLessThan(300 * MIB);
  });

  test("a million files in the scratch folder", async () => {
    const mark = "BOMB_FILES";
    const code = `import os # ${mark}
made = 0
try:
    for i in range(1_000_000):
        os.close(os.open('/tmp/f%d' % i, os.O_CREAT)); made += 1
except OSError: pass
print('MADE', made)`;
    const result = await bomb(
      mark,
      [PYTHON, "-c", code],
      { limits: { memoryBytes: 96 * MIB, cpus: 0.5 } },
      20_000,
    );
    const made = Number(/MADE (\d+)/.exec(result.out)?.[1] ?? 0);
    expect(made).toBeLessThan(1_000_000);
  });

  test("a thousand descriptors and a file without end", async () => {
    const code = `import os, resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
fds = []
try:
    while True: fds.append(os.open('/dev/null', os.O_RDONLY))
except OSError: pass
print(len(fds) < 64); [os.close(fd) for fd in fds]
f = os.open('/job/big', os.O_CREAT | os.O_WRONLY); total = 0
try:
    while True: total += os.write(f, bytes(1_048_576))
except OSError: pass
print(total)`;
    const result = await tryJob(sandbox, [PYTHON, "-c", code], {
      limits: { openFiles: 64, fileBytes: 4 * MIB },
    });
    expect(result.out).toBe(`True\n${4 * MIB}\n`);
  });

  test("R152: cancelled boxes leave no process, no control group and no user taken", async () => {
    const controller = new AbortController();
    const many = Array.from({ length: 20 }, () =>
      tryJob(sandbox, ["/bin/sh", "-c", "sleep 77661 & sleep 77661"], {
        signal: controller.signal,
      }),
    );
    await expect.poll(() => withWord("77661").length, { timeout: 60_000 }).toBeGreaterThan(20);
    controller.abort();
    for (const { signal } of await Promise.all(many)) expect(signal).toBe("SIGKILL");
    expect(withWord("77661")).toEqual([]);
  });
});

/** Processes whose command line holds a word. */
function withWord(word: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        return readFileSync(`/proc/${name}/cmdline`, "utf8").includes(word);
      } catch {
        return false;
      }
    })
    .map(Number);
}
