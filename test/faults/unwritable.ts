// A store that takes nothing more: nothing runs, callers are told at once, and it goes on by itself afterwards.
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { ChainReader } from "./chain.ts";
import { check } from "./check.ts";
import type { Told } from "./load.ts";
import type { Report } from "./report.ts";
import { startServer, type Answer, type FaultServer } from "./server.ts";

const ANSWER_LIMIT_MS = 2000;
/** The writer waits 0.7 s for a lock, twice at most. */
const LOCKED_LIMIT_MS = 2_000;
const RECOVERY_LIMIT_MS = 5_000;
/** How long the ledger stays unwritable, and how many callers try meanwhile. */
const LOCKED_MS = 30_000;
const CALLERS = 4;
/** Calls that may still fit into what the log file holds free. */
const MAX_CALLS_UNTIL_FULL = 2000;

export async function storeCannotWrite(report: Report): Promise<void> {
  await onFullDisk(report);
  await startsReadOnly(report);
  await whileLocked(report);
}

/** Breaks the store; answers how to mend it. */
type Break = (dataDir: string) => () => void;

async function onFullDisk(report: Report): Promise<void> {
  const name = "the disk is full";
  await withDisk(report, name, (disk) =>
    breakAndMend(report, {
      name,
      dataDir: join(disk, "data"),
      breakStore: () => fill(disk),
      callers: 1,
      forMs: 5_000,
      limitMs: ANSWER_LIMIT_MS,
    }),
  );
}

async function withDisk(
  report: Report,
  name: string,
  use: (disk: string) => Promise<void>,
): Promise<void> {
  const disk = mkdtempSync(join(tmpdir(), "ostiary-disk-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=16m", "none", disk], { stdio: "ignore" });
  } catch {
    rmSync(disk, { recursive: true, force: true });
    return report.skip(name, "this user may not mount a small disk");
  }
  try {
    await use(disk);
  } finally {
    execFileSync("umount", ["-l", disk]);
    rmSync(disk, { recursive: true, force: true });
  }
}

async function whileLocked(report: Report): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), "ostiary-faults-"));
  const breakStore: Break = () => {
    const holder = new DatabaseSync(join(dataDir, "ostiary.db"));
    holder.exec("BEGIN IMMEDIATE");
    return () => holder.close();
  };
  try {
    await breakAndMend(report, {
      name: `another process holds the write lock for ${LOCKED_MS / 1_000} s`,
      dataDir,
      breakStore,
      callers: CALLERS,
      forMs: LOCKED_MS,
      limitMs: LOCKED_LIMIT_MS,
    });
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

function fill(disk: string): () => void {
  const path = join(disk, "filler");
  const file = openSync(path, "w");
  for (const size of [1 << 16, 1 << 12]) {
    const block = Buffer.alloc(size);
    try {
      while (writeSync(file, block) === size);
    } catch {
      // full: smaller blocks fill the rest
    }
  }
  closeSync(file);
  return () => rmSync(path, { force: true });
}

/** With files open for writing no disk becomes read-only; so this is about a start. */
async function startsReadOnly(report: Report): Promise<void> {
  const name = "a start on a read-only disk";
  await withDisk(report, name, async (disk) => {
    const dataDir = join(disk, "data");
    await (await startServer(dataDir)).stop();
    const remount = (how: string): void =>
      void execFileSync("mount", ["-o", `remount,${how}`, disk]);
    remount("ro");
    const said = await startServer(dataDir).then(
      async (server) => {
        await server.stop();
        return "it started";
      },
      (cause: unknown) => String(cause),
    );
    report.result(
      `${name} is refused in words`,
      /read-only/.test(said) && !/ {4}at /.test(said) ? [] : [said],
    );
    remount("rw");
    await (await startServer(dataDir)).stop();
    report.result(`${name}: starts once the disk can be written`, new ChainReader(dataDir).read());
  });
}

interface Scene {
  readonly name: string;
  readonly dataDir: string;
  readonly breakStore: Break;
  /** How many go on calling for how long while it is broken, and how long each answer may take. */
  readonly callers: number;
  readonly forMs: number;
  readonly limitMs: number;
}

async function breakAndMend(report: Report, scene: Scene): Promise<void> {
  const { name, dataDir, breakStore, callers, forMs, limitMs } = scene;
  const server = await startServer(dataDir);
  const told: Told[] = [];
  const from = Date.now();
  let mend: (() => void) | null = null;
  try {
    await call(server, told, "write");
    mend = breakStore(dataDir);
    for (let n = 0; n < MAX_CALLS_UNTIL_FULL; n++)
      if ((await call(server, told, "write")).status !== 200) break;
    const refused = await callFor(server, told, callers, forMs);
    report.result(
      `${name}: ${refused.length} calls are refused, the slowest after ${Math.round(Math.max(...refused.map((one) => one.ms)))} ms`,
      refused.flatMap((one) => faultOfRefusal(one, limitMs)),
    );
    mend();
    mend = null;
    const recovered = await untilServed(server, told);
    report.result(
      `${name}: served again ${recovered === null ? "never" : `after ${Math.round(recovered)} ms`}, without a restart`,
      recovered === null ? ["still refused"] : [],
    );
    report.result(`${name}: the mode became ${await backToNormal(server)}`, []);
    const found = await check(server, told, { from, to: Date.now() });
    report.result(
      `${name}: acknowledged ${found.acknowledged}, missing ${found.missing.length}, stuck ${found.stuck.length}, ${found.rows} rows`,
      [...found.missing, ...found.stuck, ...found.different, ...found.wrong],
    );
    const ran = await effects(server, told);
    report.result(`${name}: what was refused has not run`, ran);
  } finally {
    mend?.();
    await server.stop();
  }
}

async function callFor(
  server: FaultServer,
  told: Told[],
  callers: number,
  forMs: number,
): Promise<Heard[]> {
  const until = performance.now() + forMs;
  const heard: Heard[] = [];
  const caller = async (): Promise<void> => {
    while (performance.now() < until) {
      heard.push(await call(server, told, heard.length % 2 ? "echo" : "write"));
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return heard;
}

interface Heard extends Answer {
  readonly ms: number;
}

async function call(server: FaultServer, told: Told[], kind: "echo" | "write"): Promise<Heard> {
  const token = `call-${randomUUID()}`;
  const began = performance.now();
  const request =
    kind === "echo"
      ? { name: "system/echo", arguments: { text: token } }
      : { name: "memory/store", arguments: { key: token, value: token } };
  const answer = await server.api("POST", "/executions", request);
  const { executionId, status, result } = answer.body as {
    executionId?: string;
    status?: string;
    result?: unknown;
  };
  const served = answer.status === 200;
  told.push({
    token,
    kind: kind === "echo" ? "echo over MCP" : "write over REST",
    executionId: served ? (executionId ?? null) : null,
    status: served ? (status ?? null) : null,
    result,
  });
  return { ...answer, ms: performance.now() - began };
}

function faultOfRefusal({ status, body, ms }: Heard, limitMs: number): string[] {
  return [
    ...(status === 503 ? [] : [`answered ${status}: ${JSON.stringify(body)}`]),
    ...(ms <= limitMs ? [] : [`answered after ${Math.round(ms)} ms`]),
  ];
}

/** A ledger that failed has lowered the house's limits; a person lifts them. Answers the mode it was. */
async function backToNormal(server: FaultServer): Promise<string> {
  const { body } = await server.api("GET", "/mode");
  await server.api("PUT", "/mode", { mode: "NORMAL", reason: "the store is back" });
  return String(body["mode"]);
}

async function untilServed(server: FaultServer, told: Told[]): Promise<number | null> {
  const began = performance.now();
  while (performance.now() - began < RECOVERY_LIMIT_MS) {
    // Something that only reads: until a person lifts the mode, writes are asked about.
    if ((await call(server, told, "echo")).status === 200) return performance.now() - began;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return null;
}

/** A refused write must not be found. */
async function effects(server: FaultServer, told: readonly Told[]): Promise<string[]> {
  const refused = told.filter((one) => one.executionId === null && one.kind === "write over REST");
  const ran: string[] = [];
  for (const { token } of refused.slice(0, 50)) {
    const request = { name: "memory/retrieve", arguments: { key: token } };
    const { body } = await server.api("POST", "/executions", request);
    if ((body["result"] as { found?: boolean } | undefined)?.found !== false)
      ran.push(`${token} was refused and ran: ${JSON.stringify(body["result"])}`);
  }
  return refused.length === 0 ? ["no write was refused: nothing was shown"] : ran;
}
