// Cancels many running programs at once, children that ignore signals included, and waits until the last process of
// each is gone, seen from outside: by its number on the host.
import { spawn } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { startApp, type StartedApp } from "../test/fixtures/app.ts";
import { pause, percentile, Skipped, type BenchOptions, type Row } from "./row.ts";

const TOKEN = "cancelled-program";
const SCRIPT = `trap '' TERM INT HUP; (trap '' TERM INT HUP; while :; do sleep 1000; done) & while :; do sleep 1000; done`;
const START_LIMIT_MS = 180_000;
const WATCH_MS = 30_000;

interface Running {
  readonly id: string;
  /** On the host. */
  readonly pids: readonly number[];
}

export async function run(options: BenchOptions): Promise<readonly Row[]> {
  if (process.platform !== "linux" || !existsSync("/usr/bin/bwrap"))
    throw new Skipped("bubblewrap is not installed");
  const count = options.quick ? 50 : 500;
  const folder = mkdtempSync(join(tmpdir(), "ostiary-cancel-"));
  const app = await startApp({
    listen: false,
    flags: {
      governance: lenient(folder),
      "execution.maxRunning": "600",
      "rateLimit.enabled": "false",
    },
  });
  try {
    const control = await execute(app, "echo fine").ended;
    if (control.status !== "success") throw new Error(`the control ended as ${control.status}`);
    const jobs = await started(app, count, options);
    const caller = await app.callerOf(app.adminKey);
    const watched = await watch(jobs.map(({ pids }) => pids));
    // All count from the first, so that waiting for one another counts too.
    const began = Date.now();
    await Promise.all(jobs.map(({ id }) => app.doors.engine.cancel(caller, id)));
    const goneAt = await watched.goneAt;
    const times = goneAt.map((at) => (at ?? Number.POSITIVE_INFINITY) - began);
    const left = goneAt.filter((at) => at === null).length;
    return [
      {
        name: `cancel of ${count} running programs: last process gone, p50`,
        value: percentile(times, 50),
        unit: "ms",
        better: "lower",
      },
      {
        name: `cancel of ${count} running programs: last process gone, p99`,
        value: percentile(times, 99),
        unit: "ms",
        target: 500,
        better: "lower",
      },
      { name: "processes left behind", value: left, unit: "jobs", target: 0, better: "lower" },
    ];
  } finally {
    await app.close();
    rmSync(folder, { recursive: true });
  }
}

/** Nobody is asked: the programs are ours. */
function lenient(folder: string): string {
  const governance = join(folder, "governance");
  cpSync(resolve(import.meta.dirname, "../governance"), governance, { recursive: true });
  const file = join(governance, "tools.yaml");
  const text = readFileSync(file, "utf8");
  const changed = text.replace(
    "NORMAL: approval # unless every command",
    "NORMAL: run # unless every command",
  );
  if (changed === text) throw new Error("governance/tools.yaml is not as expected");
  writeFileSync(file, changed);
  return governance;
}

function execute(
  app: StartedApp,
  script: string,
  token = "",
): { ended: Promise<{ status: string }> } {
  const ended = app.callerOf(app.adminKey).then((caller) =>
    app.doors.engine.execute(caller, {
      name: "shell/script",
      arguments: { script, args: [token], timeoutSeconds: 300 },
      timeoutMs: 300_000,
      entry: "rest",
    }),
  );
  return { ended };
}

async function started(app: StartedApp, count: number, { note }: BenchOptions): Promise<Running[]> {
  const all = Array.from({ length: count }, (_, index) =>
    execute(app, SCRIPT, `${TOKEN}-${index}`),
  );
  for (const { ended } of all) ended.catch(() => undefined);
  const until = performance.now() + START_LIMIT_MS;
  for (;;) {
    const trees = treesOf();
    note(`${trees.length} of ${count} run`);
    if (trees.length >= count) {
      const active = app.doors.engine.active(await app.callerOf(app.adminKey));
      return active.map(({ id }, index) => ({ id, pids: trees[index] ?? [] }));
    }
    if (performance.now() > until)
      throw new Error(`only ${trees.length} of ${count} programs started`);
    await pause(1_000);
  }
}

/** The processes of each program: the shell, its child, and what they wait for. */
function treesOf(): number[][] {
  const pids = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
  const children = new Map<number, number[]>();
  const roots: number[] = [];
  for (const pid of pids) {
    const parent = Number(/^PPid:\s+(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0);
    children.set(parent, [...(children.get(parent) ?? []), pid]);
    if (read(`/proc/${pid}/cmdline`).startsWith("/usr/bin/sh\0/job/script.sh\0")) roots.push(pid);
  }
  const below = (pid: number): number[] => [pid, ...(children.get(pid) ?? []).flatMap(below)];
  const tops = roots.filter(
    (pid) => !roots.some((other) => other !== pid && below(other).includes(pid)),
  );
  return tops.map(below).filter((tree) => tree.length >= 4);
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // gone meanwhile
  }
}

/** Looks every 5 ms which processes are left, beside the server so that neither keeps the other waiting. */
const WATCHER = `
const lists = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const goneAt = lists.map(() => null);
const alive = (pid) => { try { process.kill(pid, 0); return true; } catch { return false; } };
const until = Date.now() + ${WATCH_MS};
const look = () => {
  const now = Date.now();
  lists.forEach((pids, index) => { if (goneAt[index] === null && !pids.some(alive)) goneAt[index] = now; });
  if (now > until || goneAt.every((at) => at !== null)) { process.send({ goneAt }); process.disconnect(); }
  else setTimeout(look, 5);
};
process.send("ready");
look();
`;

/** Resolves when it looks; `goneAt` are epoch ms, null for what is left. */
async function watch(
  pids: readonly (readonly number[])[],
): Promise<{ goneAt: Promise<(number | null)[]> }> {
  const child = spawn(process.execPath, ["-e", WATCHER], {
    stdio: ["pipe", "inherit", "inherit", "ipc"],
  });
  child.stdin?.end(JSON.stringify(pids));
  const goneAt = Promise.withResolvers<(number | null)[]>();
  await new Promise<void>((resolve, reject) => {
    child.on("error", reject);
    child.on("message", (message) => {
      if (message === "ready") resolve();
      else goneAt.resolve((message as { goneAt: (number | null)[] }).goneAt);
    });
  });
  return { goneAt: goneAt.promise };
}
