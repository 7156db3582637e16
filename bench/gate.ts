// The decision alone, in this process: no door, no record. Then discovery, and the end of many running executions.
import { startApp, type StartedApp } from "../test/fixtures/app.ts";
import { slowTool, type SlowObserver } from "../test/fixtures/slow-tool.ts";
import type { Caller } from "../src/contract/call.ts";
import { type Subject } from "../src/contract/subject.ts";
import { decide, EXECUTE, newTrail } from "../src/core/gate/index.ts";
import { NATIVE_TOOLS } from "../src/tools/index.ts";
import { ECHO_TEXT } from "./requests.ts";
import { median, pause, percentile, type BenchOptions, type Row } from "./row.ts";
import { manyTools } from "./tools.ts";

export async function run(options: BenchOptions): Promise<Row[]> {
  return [
    ...(await stages(options)),
    ...(await discovery(options)),
    ...(await cancellation(options)),
  ];
}

async function stages({ quick }: BenchOptions): Promise<Row[]> {
  const started = await startApp({ listen: false });
  try {
    const { app, doors } = started;
    const powers = app.gate;
    const subject: Subject = {
      caller: await started.callerOf(started.adminKey),
      tool: doors.registry.get("system/echo"),
      requestedName: "system_echo",
      action: "execute",
      id: "exec_1_bench",
      arguments: { text: ECHO_TEXT },
      sessionId: null,
      ip: "127.0.0.1",
      grant: null,
    };
    const times: number[] = [];
    const warm = 20_000;
    for (let i = 0; i < warm + (quick ? 20_000 : 100_000); i++) {
      const trail = newTrail();
      const began = performance.now();
      const refusal = await decide(EXECUTE, subject, powers, trail);
      if (i >= warm) times.push((performance.now() - began) * 1000);
      if (refusal !== null || trail.gates.length !== EXECUTE.length)
        throw new Error("the gate refused");
    }
    const name = `gate, ${EXECUTE.length} stages`;
    return [
      { name: `${name}, p50`, value: median(times), unit: "µs", target: 50, better: "lower" },
      {
        name: `${name}, p99`,
        value: percentile(times, 99),
        unit: "µs",
        target: 300,
        better: "lower",
      },
    ];
  } finally {
    await started.close();
  }
}

/** Cold is the first question a fresh server is asked, warm the same question again. */
async function discovery({ quick }: BenchOptions): Promise<Row[]> {
  const cold: number[] = [];
  const warm: number[] = [];
  const tools = manyTools(200 - NATIVE_TOOLS.length);
  for (let i = 0; i < (quick ? 2 : 5); i++) {
    const started = await startApp({ listen: false, tools });
    try {
      const caller = await started.callerOf(started.adminKey);
      cold.push(await discoverMs(started, caller));
      for (let n = 0; n < 300; n++) {
        const ms = await discoverMs(started, caller);
        if (n >= 100) warm.push(ms);
      }
    } finally {
      await started.close();
    }
  }
  return [
    {
      name: "discovery of 200 tools, cold",
      value: median(cold),
      unit: "ms",
      target: 5,
      better: "lower",
    },
    {
      name: "discovery of 200 tools, warm p50",
      value: median(warm),
      unit: "ms",
      target: 0.2,
      better: "lower",
    },
  ];
}

async function discoverMs({ app }: StartedApp, caller: Caller): Promise<number> {
  const began = performance.now();
  const tools = await app.engine.discover(caller);
  const ms = performance.now() - began;
  if (tools.length !== 200) throw new Error(`discovered ${tools.length} of 200 tools`);
  return ms;
}

const RUNNING = 500;

/** From the first cancel to the handler seen ended and the end recorded, for each of 500. */
async function cancellation({ quick, note }: BenchOptions): Promise<Row[]> {
  const observer: SlowObserver = { runs: [] };
  const flags = { "execution.maxRunning": String(RUNNING) };
  const started = await startApp({ listen: false, tools: [slowTool(observer)], flags });
  const p99s: number[] = [];
  try {
    const { engine } = started.app;
    const caller = await started.callerOf(started.adminKey);
    for (let round = 0; round < (quick ? 2 : 5); round++) {
      const request = {
        name: "system/slow",
        arguments: { ms: 60_000 },
        timeoutMs: 120_000,
        entry: "rest" as const,
      };
      const ids = await Promise.all(
        Array.from(
          { length: RUNNING },
          async () => (await engine.start(caller, request)).executionId,
        ),
      );
      const seen = (round + 1) * RUNNING;
      for (let waited = 0; observer.runs.length < seen && waited < 10_000; waited += 10)
        await pause(10);
      const began = performance.now();
      const times = await Promise.all(
        ids.map(async (id) => {
          await engine.cancel(caller, id);
          return performance.now() - began;
        }),
      );
      p99s.push(percentile(times, 99));
      const ended = observer.runs.filter(
        (run) => run.abortedAt !== null && run.finishedAt !== null,
      );
      if (ended.length !== seen) throw new Error(`${ended.length} of ${seen} handlers have ended`);
    }
    note(`control: ${observer.runs.length} handlers saw the abort and ended`);
  } finally {
    await started.close();
  }
  return [
    {
      name: `cancel of ${RUNNING} running executions, p99`,
      value: median(p99s),
      unit: "ms",
      target: 500,
      better: "lower",
    },
  ];
}
