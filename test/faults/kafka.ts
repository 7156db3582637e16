// Kafka away under load: no call notices, and afterwards every event is there, in order, repeats with the same id and
// bytes.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore } from "../../src/storage/store/store.ts";
import { compareWithLog } from "../fixtures/delivered.ts";
import { ownKafka, readAll, type OwnKafka } from "../fixtures/kafka.ts";
import type { Report } from "./report.ts";
import { startServer, type FaultServer } from "./server.ts";

const [DOWN_SECONDS, QUICK_SECONDS] = [120, 15];
/** Two events each: about 100 events a second. */
const CALLS_PER_SECOND = 50;
const TOPIC = "audit.events";
const FIRST_LIMIT_MS = 60_000;
const CATCH_UP_LIMIT_MS = 180_000;

export async function kafkaDown(report: Report, { quick = false } = {}): Promise<void> {
  const seconds = quick ? QUICK_SECONDS : DOWN_SECONDS;
  const name = `Kafka down for ${seconds} s under load`;
  const services = join(import.meta.dirname, "../../scripts/services");
  const lib = spawnSync(services, ["build", "kafka"], { encoding: "utf8" }).stdout.trim();
  if (lib === "")
    return report.skip(name, "Kafka cannot be had here (scripts/services build kafka)");
  const folder = mkdtempSync(join(tmpdir(), "ostiary-faults-kafka-"));
  const kafka = await ownKafka(lib);
  try {
    await kafka.start();
    const dataDir = join(folder, "data");
    mkdirSync(dataDir, { mode: 0o700 });
    writeFileSync(join(dataDir, "ostiary.yaml"), `sink: ${kafka.address}/${TOPIC}\n`, {
      mode: 0o600,
    });
    const server = await startServer(dataDir);
    const calls = await outage(server, kafka, seconds, report).finally(() => server.stop());
    const store = await openStore("sqlite:ostiary.db", { dataDir });
    const found = await compareWithLog(store.log, await readAll(kafka.address, TOPIC)).finally(() =>
      store.close(),
    );
    report.result(
      `${name}: calls ${calls}, events sent ${found.logged}, delivered ${found.arrived}, order faults ${found.disordered}, ` +
        `duplicates ${found.repeats} (same id and bytes: ${found.changed === 0 ? "yes" : "no"})`,
      [
        ...found.faults,
        ...(found.logged < 2 * calls ? ["the log has fewer events than the calls made"] : []),
      ],
    );
  } finally {
    await kafka.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Answers how many calls were made; each must have been served. */
async function outage(
  server: FaultServer,
  kafka: OwnKafka,
  seconds: number,
  report: Report,
): Promise<number> {
  const load = startPaced(server);
  try {
    await told(server, "the last was sent", FIRST_LIMIT_MS);
    const before = await readAll(kafka.address, TOPIC);
    report.result(
      `before Kafka goes down: ${before.length} events have arrived`,
      before.length === 0 ? ["none arrived"] : [],
    );
    await kafka.kill();
    await sleep(seconds * 1_000);
    const { ready, sink } = await health(server);
    report.result(
      `while Kafka is down: ready, and /readyz says "${sink}"`,
      ready && sink.includes("not sent on") ? [] : ["it says something else"],
    );
    await kafka.start();
    await sleep(3_000);
  } finally {
    await load.stop();
  }
  const { calls, refused, slowestMs } = load.told();
  report.result(
    `${calls} calls meanwhile were all served, the slowest in ${Math.round(slowestMs)} ms`,
    refused,
  );
  const began = performance.now();
  await told(server, "0 events wait", CATCH_UP_LIMIT_MS);
  console.log(`  caught up ${Math.round(performance.now() - began)} ms after the load ended`);
  return calls;
}

function startPaced(server: FaultServer) {
  const under = new Set<Promise<void>>();
  const refused: string[] = [];
  let [calls, slowestMs] = [0, 0];
  const call = async (n: number): Promise<void> => {
    const began = performance.now();
    try {
      const { status } = await server.mcp("system_echo", { text: `call ${n}` });
      if (status !== 200) refused.push(`call ${n} was answered ${status}`);
    } catch (cause) {
      refused.push(`call ${n} broke: ${String(cause)}`);
    }
    slowestMs = Math.max(slowestMs, performance.now() - began);
  };
  const timer = setInterval(() => {
    const work = call(++calls).finally(() => under.delete(work));
    under.add(work);
  }, 1_000 / CALLS_PER_SECOND);
  return {
    told: () => ({ calls, refused, slowestMs }),
    async stop() {
      clearInterval(timer);
      await Promise.all(under);
    },
  };
}

async function health(server: FaultServer): Promise<{ ready: boolean; sink: string }> {
  const answer = await fetch(`${server.url}/readyz`);
  const { checks } = (await answer.json()) as { checks: { name: string; reason?: string }[] };
  return { ready: answer.ok, sink: checks.find(({ name }) => name === "sink")?.reason ?? "" };
}

/** Until the row of the sink says so, or the time is up: what is then missing shows in the results. */
async function told(server: FaultServer, words: string, ms: number): Promise<void> {
  const end = performance.now() + ms;
  while (!` ${(await health(server)).sink}`.includes(` ${words}`) && performance.now() < end)
    await sleep(50);
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
