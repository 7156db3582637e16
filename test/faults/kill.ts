// kill -9 under load, many times over one data directory: what was acknowledged is there, and nothing hangs.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { ChainReader } from "./chain.ts";
import { check, type Findings, type Span } from "./check.ts";
import { startLoad, type Told } from "./load.ts";
import type { Report } from "./report.ts";
import { end, spawnServer, startServer, type FaultServer } from "./server.ts";

const LONGEST_MS = 800;
const START_LIMIT_MS = 5000;
const FIRST_ANSWER_LIMIT_MS = 10_000;
/** Every so often the restart itself is killed too, in the middle of opening or recovering. */
const KILL_START_EVERY = 5;

interface Round {
  readonly told: readonly Told[];
  readonly span: Span;
  readonly killedAfterMs: number;
}

export async function killUnderLoad(rounds: number, report: Report): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), "ostiary-faults-"));
  const sum = {
    acknowledged: 0,
    missing: 0,
    stuck: 0,
    different: 0,
    broken: 0,
    rows: 0,
    events: 0,
    slowestStartMs: 0,
  };
  try {
    let server = await startServer(dataDir);
    let last: Round | null = null;
    const chain = new ChainReader(dataDir);
    for (let round = 1; round <= rounds; round++) {
      last = await loadAndKill(server, round);
      if (round % KILL_START_EVERY === 0) await killStart(dataDir);
      server = await startServer(dataDir);
      const found = await check(server, last.told, last.span);
      sum.acknowledged += found.acknowledged;
      sum.missing += found.missing.length;
      sum.stuck += found.stuck.length;
      sum.different += found.different.length;
      sum.rows += found.rows;
      sum.slowestStartMs = Math.max(sum.slowestStartMs, server.startMs);
      const broken = chain.read();
      sum.broken += broken.length > 0 ? 1 : 0;
      judge(report, round, { found, last, startMs: server.startMs, broken });
    }
    await server.stop();
    if (last) await control(dataDir, last, report);
    cutChain(dataDir, report);
    sum.events = chain.events;
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
  report.figures("kill", { rounds, ...sum });
  console.log(
    `kill -9 x ${rounds}: acknowledged ${sum.acknowledged}, missing ${sum.missing}, stuck ${sum.stuck}, different ${sum.different}; ` +
      `chain valid ${rounds - sum.broken} of ${rounds} over ${sum.events} events; ${sum.rows} rows, slowest start ${Math.round(sum.slowestStartMs)} ms`,
  );
}

async function loadAndKill(server: FaultServer, round: number): Promise<Round> {
  const from = Date.now();
  const load = startLoad(server, round);
  // The random moment counts from the first answer: a kill before it would prove nothing.
  const limit = performance.now() + FIRST_ANSWER_LIMIT_MS;
  while (load.acknowledged() === 0 && performance.now() < limit) await pause(1);
  const killedAfterMs = Math.random() * LONGEST_MS;
  await pause(killedAfterMs);
  await server.kill();
  const to = Date.now();
  await load.done;
  return { told: load.told, span: { from, to }, killedAfterMs };
}

async function killStart(dataDir: string): Promise<void> {
  const child = spawnServer(dataDir);
  await pause(50 + Math.random() * 350);
  await end(child, "SIGKILL");
}

interface Judged {
  readonly found: Findings;
  readonly last: Round;
  readonly startMs: number;
  readonly broken: readonly string[];
}

function judge(report: Report, round: number, { found, last, startMs, broken }: Judged): void {
  const faults = [
    ...(found.acknowledged === 0 ? ["no call was answered before the kill"] : []),
    ...(startMs < START_LIMIT_MS ? [] : [`the restart took ${Math.round(startMs)} ms`]),
    ...found.missing.map((id) => `${id} was acknowledged and is missing`),
    ...found.stuck.map((id) => `${id} is stuck`),
    ...found.different,
    ...found.wrong,
    ...broken,
  ];
  const line =
    `round ${round}: killed ${Math.round(last.killedAfterMs)} ms after the first answer, restarted in ${Math.round(startMs)} ms; ` +
    `acknowledged ${found.acknowledged}, missing ${found.missing.length}, stuck ${found.stuck.length}; ` +
    `${found.rows} rows, ${found.unheard} of them never answered, ${found.closedAsUnknown} closed as unknown`;
  report.result(line, faults);
}

/** The checker itself is checked: a row that is taken away must be named, and nothing but it. */
async function control(dataDir: string, { told, span }: Round, report: Report): Promise<void> {
  const removed = told.find((one) => one.executionId !== null)?.executionId ?? "";
  const database = new DatabaseSync(join(dataDir, "ostiary.db"));
  database.prepare("DELETE FROM executions WHERE id = ?").run(removed);
  database.close();
  const server = await startServer(dataDir);
  try {
    const { missing } = await check(server, told, span);
    const named = missing.length === 1 && missing[0] === removed;
    report.result(
      "control: a row that was removed is reported as missing",
      named ? [] : [`removed ${removed}, reported ${missing.join(", ") || "nothing"}`],
    );
    await wholeCount(server, dataDir, report);
  } finally {
    await server.stop();
  }
}

/** The reader of the chain is checked too: an event that is taken out, and one that is altered. */
function cutChain(dataDir: string, report: Report): void {
  const file = join(dataDir, "ostiary.db");
  const database = new DatabaseSync(file);
  const row = database.prepare("SELECT max(seq) / 2 AS seq FROM events").get();
  const seq = Number(row?.["seq"]);
  database
    .prepare("UPDATE events SET body = replace(body, '}', ',\"x\":1}') WHERE seq = ?")
    .run(seq);
  database.prepare("DELETE FROM events WHERE seq = ?").run(seq + 3);
  database.close();
  const faults = new ChainReader(dataDir).read();
  const named =
    faults.some((fault) => fault.startsWith(`event ${seq} was changed`)) &&
    faults.some((fault) => fault.startsWith(`event ${seq + 4} follows ${seq + 2}`));
  report.result(
    "control: an event altered and an event removed are named",
    named ? [] : [`found ${faults.join("; ") || "nothing"}`],
  );
}

/** All-time figures against a plain count of the rows; the removed one is counted by the figures still. */
async function wholeCount(server: FaultServer, dataDir: string, report: Report): Promise<void> {
  const { body } = await server.api("GET", "/executions?limit=1");
  const database = new DatabaseSync(join(dataDir, "ostiary.db"), { readOnly: true });
  const row = database
    .prepare("SELECT count(*) AS n FROM executions WHERE user_id = 'owner'")
    .get();
  database.close();
  const [said, counted] = [Number(body["totalCount"]), Number(row?.["n"])];
  report.result(
    `all-time figures say ${said}, the table holds ${counted} and lacks the removed one`,
    said === counted + 1 ? [] : ["they differ"],
  );
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
