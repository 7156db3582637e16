// What bad servers upstream do to the others: the p99 of quiet callers of a healthy server beside each kind of trouble,
// to that without it, by turns of a few seconds. Servers and callers are processes of their own.
import { constants, setPriority } from "node:os";
import { join } from "node:path";
import { startApp, type StartedApp } from "../test/fixtures/app.ts";
import { BAD } from "../test/fixtures/mcp-upstream.ts";
import { openHouse } from "../test/fixtures/open-house.ts";
import { p99Of, startAsker, type Asker } from "./asker.ts";
import { ROOT, startServer } from "./process.ts";
import { pause, type BenchOptions, type Row } from "./row.ts";

/** Callers that never stop asking the bad one. */
const AT_ONCE = 8;
const [WARM_SECONDS, SECONDS] = [8, 2];

export async function run({ quick, note }: BenchOptions): Promise<readonly Row[]> {
  const turns = quick ? 2 : 6;
  const script = join(ROOT, "bench", "servers", "upstream.ts");
  const [good, bad] = [await startServer("good", [script]), await startServer("bad", [script])];
  // It stands for a machine of its own: what it costs itself is not the question.
  setPriority(bad.pid, constants.priority.PRIORITY_LOW);
  const app = await startApp({ flags: { governance: openHouse(), "rateLimit.enabled": "false" } });
  let asker: Asker | null = null;
  try {
    await added(app, "good", good.port);
    await added(app, "bad", bad.port);
    asker = startAsker(app, "good/echo");
    // The compiler is busy with the first thousands of calls.
    await asker.ask(WARM_SECONDS);
    const rows: Row[] = [];
    for (const kind of Object.keys(BAD)) {
      const [alone, beside]: [number[], number[]] = [[], []];
      let [calls, failed] = [0, 0];
      for (let turn = 0; turn < turns; turn++) {
        alone.push(...(await asker.ask(SECONDS)).times);
        const stop = new AbortController();
        const trouble = hammer(app, `bad/${kind}`, stop.signal);
        await pause(500);
        const asked = await asker.ask(SECONDS);
        beside.push(...asked.times);
        failed += asked.failed;
        stop.abort();
        calls += await trouble;
        await pause(500);
      }
      const [without, with_] = [p99Of(alone), p99Of(beside)];
      note(
        `${kind}: ${calls} calls; p99 of ${alone.length} alone ${without.toFixed(1)}, of ${beside.length} beside it ${with_.toFixed(1)} ms`,
      );
      rows.push({
        name: `${kind}: the healthy one's p99 to that alone`,
        value: with_ / without,
        unit: "x",
        target: 1.5,
        better: "lower",
      });
      rows.push({
        name: `${kind}: healthy calls that failed`,
        value: failed,
        unit: "calls",
        target: 0,
        better: "lower",
      });
    }
    return rows;
  } finally {
    asker?.stop();
    await app.close();
    await Promise.all([good.stop(), bad.stop()]);
  }
}

async function added(app: StartedApp, name: string, port: number): Promise<void> {
  const settings = { timeoutMs: 5_000, breakerResetMs: 1_000 };
  const server = {
    name,
    transport: { kind: "http", url: `http://127.0.0.1:${port}/mcp` },
    settings,
  };
  const made = await app.api("POST", "/servers", { body: server });
  const approved = await app.api("POST", `/servers/${name}/approve`, { body: {} });
  if (made.status !== 201 || approved.status !== 200)
    throw new Error(`${name} was not added: ${JSON.stringify([made.body, approved.body])}`);
}

/** Asks again and again, so that the breaker is tried and opened many times. Answers how many calls that were. */
async function hammer(app: StartedApp, tool: string, signal: AbortSignal): Promise<number> {
  const caller = await app.callerOf(app.adminKey);
  let calls = 0;
  const one = async (): Promise<void> => {
    while (!signal.aborted) {
      await app.doors.engine.execute(caller, {
        name: tool,
        arguments: {},
        timeoutMs: 5_000,
        entry: "rest",
        signal,
      });
      calls++;
      await pause(10);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  return calls;
}
