// The tools that look at the machine: health, metrics, disk, process, logs, env.
import { hostname } from "node:os";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openBench, type Bench } from "../../../test/fixtures/tool-bench.ts";
import { fromProc, fromPs } from "../../core/run/powers/host/processes.ts";
import disk from "./disk.ts";
import env from "./env.ts";
import health from "./health.ts";
import logs from "./logs.ts";
import metrics from "./metrics.ts";
import processes from "./process.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await openBench({
    flags: { "tools.visibleEnv": "TZ,OSTIARY_TEST_SEEN,OSTIARY_TEST_API_KEY" },
  });
});
afterAll(() => bench.close());

test("health: what is well is told only when asked for", async () => {
  expect(await bench.run(health, {})).toEqual({ status: "ok", mode: "NORMAL", checks: [] });
  const { checks } = await bench.run(health, { verbose: true });
  expect(checks).toEqual([
    { name: "store", ok: true, ms: 1 },
    { name: "configuration", ok: true, ms: 0 },
  ]);
});

test("metrics: figures that can be", async () => {
  const found = (await bench.run(metrics, {})) as Record<string, Record<string, number>>;
  for (const part of ["memory", "disk"]) {
    expect(found[part]?.["used"]).toBeGreaterThan(0);
    expect(found[part]?.["used"]).toBeLessThanOrEqual(found[part]?.["total"] ?? 0);
    expect(found[part]?.["percent"]).toBeLessThanOrEqual(100);
  }
  expect(found["cpu"]?.["loadPercent"]).toBeGreaterThanOrEqual(0);
  expect(found["process"]?.["rss"]).toBeGreaterThan(1_000_000);
});

test("disk: the workspace by default, judged like any path", async () => {
  expect(await bench.run(disk, {})).toMatchObject({
    path: ".",
    total: expect.any(Number) as number,
  });
  for (const path of ["/etc", "../outside", "/proc"])
    expect(await bench.fault(disk, { path })).toMatchObject({ code: "FORBIDDEN" });
  expect(await bench.fault(disk, { path: "absent" })).toMatchObject({ reason: "path_not_found" });
});

test("process: by number and by name; what does not run is missing", async () => {
  const own = await bench.run(processes, { pid: process.pid });
  expect(own).toMatchObject({ processes: [{ pid: process.pid, running: true }], missing: [] });
  const name = (own["processes"] as { name: string }[])[0]?.name ?? "";
  const found = await bench.run(processes, { names: [name, "no-such-program"] });
  expect((found["processes"] as { pid: number }[]).map(({ pid }) => pid)).toContain(process.pid);
  expect(found["missing"]).toEqual(["no-such-program"]);
  expect(await bench.run(processes, { pid: 4_194_304 })).toEqual({
    processes: [],
    missing: ["4194304"],
  });
  for (const input of [{}, { names: ["a"], pid: 1 }])
    expect(await bench.fault(processes, input)).toMatchObject({ code: "BAD_REQUEST" });
});

test("process: both ways to ask the system agree", async () => {
  if (process.platform !== "linux") return;
  const [proc, ps] = await Promise.all([fromProc(), fromPs()]);
  const mine = (all: typeof proc) => all.find(({ pid }) => pid === process.pid);
  expect(mine(ps)?.rss).toBeGreaterThan((mine(proc)?.rss ?? 0) / 2);
  const apart = Date.parse(mine(ps)?.startedAt ?? "") - Date.parse(mine(proc)?.startedAt ?? "");
  expect(Math.abs(apart)).toBeLessThan(10_000);
});

const line = (level: number, msg: string, more: object = {}): string =>
  JSON.stringify({ level, time: bench.now - 1_000, app: "ostiary", msg, ...more });

test("logs: by time, severity and text, the newest, without stacks", async () => {
  bench.logRing.add(line(30, "started"));
  bench.logRing.add(
    line(50, "broken", { err: { message: "no luck", stack: "at /secret/place.ts:1" } }),
  );
  bench.logRing.add(line(40, "careful"));
  const of = async (input: object) => {
    const { entries } = await bench.run(logs, { ...input });
    return (entries as { message: string }[]).map(({ message }) => message);
  };
  expect(await of({})).toEqual(["started", 'broken {"error":"no luck"}', "careful"]);
  expect(await of({ level: "warn" })).toHaveLength(2);
  expect(await of({ contains: "START" })).toEqual(["started"]);
  expect(await of({ since: "1s", until: "2s" })).toEqual([]);
  expect(await bench.run(logs, { limit: 1 })).toMatchObject({
    entries: [{ message: "careful", level: "warn", source: "ostiary" }],
    truncated: true,
  });
  expect(await bench.fault(logs, { since: "yesterday-ish" })).toMatchObject({
    code: "BAD_REQUEST",
    errors: [{ path: "/since" }],
  });
});

test("logs: the system's log, or that there is none; never the host's name", async () => {
  const found = await bench
    .run(logs, { source: "system", since: "1d" })
    .catch((cause: unknown) => cause);
  if (found instanceof Error)
    expect(found).toMatchObject({
      fault: { reason: "source_unavailable", remedy: expect.any(String) as string },
    });
  else expect(JSON.stringify(found)).not.toContain(` ${hostname()} `);
});

test("env: listed ones only, secrets masked", async () => {
  process.env["OSTIARY_TEST_SEEN"] = "yes";
  process.env["OSTIARY_TEST_API_KEY"] = "hidden-value";
  const found = await bench.run(env, {
    names: ["OSTIARY_TEST_SEEN", "OSTIARY_TEST_API_KEY", "HOME", "TZ"],
  });
  expect(found).toEqual({
    values: {
      OSTIARY_TEST_SEEN: "yes",
      OSTIARY_TEST_API_KEY: "[masked]",
      TZ: process.env["TZ"] ?? null,
    },
    refused: ["HOME"],
  });
});
