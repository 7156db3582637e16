// The record through the real store: what is durable, what is masked, what a crash leaves, what streams.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../../../test/fixtures/app.ts";
import { slowTool } from "../../../test/fixtures/slow-tool.ts";
import type { Caller, Call, Outcome } from "../../contract/call.ts";
import type { LogEvent, StartBody } from "../../storage/store/store.ts";
import { createMasker } from "../../util/secrets/masker.ts";
import { mainThread } from "../../util/async/time-slices.ts";
import { createRecorder } from "./index.ts";
import { createLive, type LiveEvent } from "./live.ts";
import { createRecent } from "./recent.ts";
import { closeStale } from "./recover.ts";

let app: StartedApp;
let admin: Caller;
let cli: Caller;

beforeAll(async () => {
  app = await startApp({ tools: [slowTool({ runs: [] })], listen: false });
  admin = await app.callerOf(app.adminKey);
  cli = await app.callerOf(app.cliKey);
});
afterAll(() => app.close());

const echo = (caller: Caller, text = "x", more: object = {}): Promise<Outcome> =>
  app.app.engine.execute(caller, {
    name: "system/echo",
    arguments: { text, ...more },
    entry: "rest",
  });

const TAGGED = /^\[masked:[0-9a-f]{12}\]$/;

describe("history", () => {
  test("R199: values of secret-like fields are masked before they are stored", async () => {
    const { executionId } = await echo(cli, "plain", {
      password: "hunter2",
      nested: [{ apiKey: "abc" }],
    });
    const stored = await app.doors.history.get(cli, executionId);
    expect(stored?.arguments).toEqual({
      text: "plain",
      password: expect.stringMatching(TAGGED),
      nested: [{ apiKey: expect.stringMatching(TAGGED) }],
    });
    expect(
      JSON.stringify(await app.app.store.log.since(0, { tenantId: "local", actor: "cli" }, 100)),
    ).not.toContain("hunter2");
  });

  test("R186: pages by cursor are stable, and a forged cursor is a clear fault", async () => {
    for (let i = 0; i < 5; i++) await echo(cli, `page ${i}`);
    const first = await app.doors.history.list(cli, {
      limit: 2,
      toolName: "system/echo",
      status: "success",
    });
    await echo(cli, "in between");
    const second = await app.doors.history.list(cli, {
      limit: 2,
      toolName: "system/echo",
      status: "success",
      after: first.next ?? "",
    });
    const texts = [...first.executions, ...second.executions].map((row) => row.arguments["text"]);
    expect(texts).toEqual(["page 4", "page 3", "page 2", "page 1"]);
    await expect(
      app.doors.history.list(cli, { limit: 2, after: "nonsense" }),
    ).rejects.toMatchObject({ fault: { code: "BAD_REQUEST", errors: [{ path: "/after" }] } });
    const last = await app.doors.history.list(cli, { limit: 100, offset: 0 });
    expect(last.next).toBeNull();
  });

  test("R051 R187: figures and use count the caller's own; the tool's count everybody's", async () => {
    const mine = (await app.doors.history.usage(cli, "system/echo"))[0]?.total ?? 0;
    await echo(admin);
    await echo(cli);
    expect((await app.doors.history.usage(cli, "system/echo"))[0]?.total).toBe(mine + 1);
    expect(
      (await app.doors.history.toolUsage(cli, "system/echo"))[0]?.total,
    ).toBeGreaterThanOrEqual(mine + 2);
    expect(await app.doors.history.usage(cli)).not.toEqual([]);
    expect(await app.doors.history.toolUsage(cli)).not.toEqual([]);
  });
});

describe("the memory window", () => {
  test("R185: answers as the store does, and the oldest leave first", async () => {
    const recent = createRecent(2); // the start and the end of two
    const events = async (id: string) =>
      (await app.app.store.log.since(0, { tenantId: "local", actor: "cli" }, 10_000)).filter(
        (event) => event.executionId === id,
      );
    const done = await echo(cli, "window", { unknown: 1 });
    const ok = await echo(cli, "window");
    for (const id of [done.executionId, ok.executionId]) {
      for (const event of await events(id)) recent.add({ seq: event.seq, event });
    }
    const { audit: _audit, ...seen } = { audit: null, ...recent.get(ok.executionId) };
    expect(seen).toEqual(await app.app.store.executions.get(ok.executionId));
    expect(recent.get(done.executionId)).toMatchObject({
      status: "failed",
      errorReason: "unknown_parameter",
    });
    const [start] = await events(ok.executionId);
    const add = (executionId: string): void =>
      void (start && recent.add({ seq: 1, event: { ...start, executionId } }));
    add("exec_1_new");
    expect(recent.get("exec_1_new")).toBeNull();
    expect(recent.get(ok.executionId)).not.toBeNull();
    add("exec_1_newer");
    expect(recent.get(done.executionId)).toBeNull();
    expect(recent.get(ok.executionId)).not.toBeNull();
    add("exec_1_newest");
    expect(recent.get(ok.executionId)).toBeNull();
    createRecent(0).add({ seq: 1, event: start as LogEvent });
  });

  test("R185: what is larger than usual leaves room for fewer, and spoils none", async () => {
    const recent = createRecent(4); // eight events of 16 KiB on average
    const { executionId } = await echo(cli, "window", { unknown: 1 });
    const since = await app.app.store.log.since(0, { tenantId: "local", actor: "cli" }, 10_000);
    const refused = since.find((event) => event.executionId === executionId) as LogEvent;
    const add = (id: string, size: number): void => {
      const body = JSON.stringify({
        ...(JSON.parse(refused.body) as object),
        error: "ä".repeat(size),
      });
      recent.add({ seq: 1, event: { ...refused, executionId: id, body } });
    };
    const kept = (): string => [..."abcdefghi"].filter((id) => recent.get(id) !== null).join("");
    for (const id of "abcde") add(id, 10_000);
    expect(kept()).toBe("abcde");
    add("f", 25_000); // no room behind: over the first three
    expect(kept()).toBe("def");
    expect(recent.get("d")?.error).toBe("ä".repeat(10_000));
    for (const id of "ghi") add(id, 1);
    expect(kept()).toBe("efghi");
    add("h", 70_000);
    expect(kept()).toBe("efghi");
  });
});

describe("recovery", () => {
  const openRow = async (startTime: number, instanceId: string): Promise<string> => {
    const id = `exec_${startTime}_left${Math.random().toString(36).slice(2)}`;
    const body: StartBody = {
      toolName: "system/slow",
      requestedName: "system/slow",
      category: "system",
      status: "running",
      arguments: {},
      argumentsCut: null,
      startTime,
      timeout: 30_000,
      userId: "cli",
      tenantId: "local",
      capsuleId: "starter",
      keyId: null,
      sessionId: null,
      metadata: null,
      idempotencyKey: null,
      traceId: "t",
      spanId: "s",
      toolVersion: null,
      toolPin: null,
      runner: "native",
      entry: "rest",
      instanceId,
      gates: [],
      approvalId: null,
      budget: {},
      reserved: false,
      mode: "NORMAL",
      roles: [],
    };
    const event: LogEvent = {
      tenantId: "local",
      at: startTime,
      action: "tool.execution.start",
      actor: "cli",
      executionId: id,
      body: JSON.stringify(body),
    };
    await app.app.store.log.append(event);
    return id;
  };

  test("R125: an execution over every deadline is closed as OUTCOME_UNKNOWN; a young and an active one are not", async () => {
    const now = Date.now();
    const stale = await openRow(now - 900_000, "inst_gone");
    const young = await openRow(now - 1_000, "inst_gone");
    const ours = await openRow(now - 900_000, "inst_here");
    const powers = { store: app.app.store, now: () => now, onRecorded: () => undefined };
    expect(await closeStale(powers, 420_000, (id) => id === ours)).toBe(1);
    expect(await app.doors.history.get(cli, stale)).toMatchObject({
      status: "failed",
      errorCode: "OUTCOME_UNKNOWN",
      errorReason: "stale",
    });
    expect(await app.doors.history.get(cli, young)).toMatchObject({ status: "running" });
    expect(await app.doors.history.get(cli, ours)).toMatchObject({ status: "running" });
  });

  test("design §1.6: what this instance left open is closed at its next start", async () => {
    const first = await startApp({ tools: [slowTool({ runs: [] })], listen: false });
    const left = await startLeftOpen(first);
    await first.stop();
    const second = await startApp({ dataDir: first.dataDir, listen: false });
    const owner = await second.callerOf(second.adminKey);
    expect(await second.doors.history.get(owner, left)).toMatchObject({
      status: "failed",
      errorCode: "OUTCOME_UNKNOWN",
      errorReason: "crashed",
    });
    await second.close();
  });

  const startLeftOpen = async (started: StartedApp): Promise<string> => {
    const id = `exec_${Date.now()}_crashed`;
    const body = {
      toolName: "system/echo",
      category: "system",
      status: "running",
      arguments: {},
      startTime: Date.now(),
      timeout: 1_000,
      userId: "owner",
      tenantId: "local",
      instanceId: started.app.dataDir.instanceId,
      gates: [],
    };
    await started.app.store.log.append({
      tenantId: "local",
      at: Date.now(),
      action: "tool.execution.start",
      actor: "owner",
      executionId: id,
      body: JSON.stringify(body),
    });
    return id;
  };
});

describe("the live stream", () => {
  const collect = async (stream: AsyncIterable<LiveEvent>, count: number): Promise<LiveEvent[]> => {
    const events: LiveEvent[] = [];
    for await (const event of stream) if (events.push(event) === count) break;
    return events;
  };

  test("tells the owner of start and end, in order, and nobody else", async () => {
    const stop = new AbortController();
    const mine = collect(app.doors.live.subscribe(cli, { signal: stop.signal }), 2);
    const others = collect(app.doors.live.subscribe(admin, { signal: stop.signal }), 1);
    await new Promise((resolve) => setImmediate(resolve));
    const { executionId } = await echo(cli, "live");
    const [start, end] = await mine;
    expect(JSON.parse(start?.data ?? "{}")).toMatchObject({
      id: executionId,
      toolName: "system/echo",
      status: "running",
    });
    expect(end).toMatchObject({ event: "tool.execution.complete" });
    expect((end?.id ?? 0) > (start?.id ?? 0)).toBe(true);
    stop.abort();
    expect(await others).toEqual([]);
  });

  test("resumes after the last event seen, nothing missing and nothing twice", async () => {
    const before = await app.app.store.log.head();
    const ids = [];
    for (let i = 0; i < 3; i++) ids.push((await echo(cli, `resume ${i}`)).executionId);
    const stop = new AbortController();
    const seen = collect(app.doors.live.subscribe(cli, { after: before, signal: stop.signal }), 8);
    await new Promise((resolve) => setTimeout(resolve, 20));
    ids.push((await echo(cli, "resume live")).executionId);
    const events = await seen;
    expect(new Set(events.map((event) => event.id)).size).toBe(8);
    expect([
      ...new Set(events.map((event) => (JSON.parse(event.data) as { id: string }).id)),
    ]).toEqual(ids);
  });

  test("cuts off a reader that lags too far behind", async () => {
    const live = createLive(app.app.store.log);
    const stop = new AbortController();
    const stream = live.subscribe(cli, { signal: stop.signal })[Symbol.asyncIterator]();
    const first = stream.next();
    const event: LogEvent = {
      tenantId: "local",
      at: 0,
      action: "tool.execution.start",
      actor: "cli",
      executionId: "exec_1_x",
      body: "{}",
    };
    for (let seq = 1; seq <= 1_500; seq++) live.publish({ seq, event });
    expect((await first).value).toMatchObject({ id: 1 });
    let count = 1;
    while (!(await stream.next()).done) count++;
    expect(count).toBeLessThan(1_100);
    live.publish({ seq: 2_000, event: { ...event, executionId: null } });
  });
});

describe("a store that cannot write", () => {
  test("L06: refuses with 503 and says which engine", async () => {
    const failed: string[] = [];
    const recorder = createRecorder({
      log: {
        append: () => Promise.reject(new Error("no space")),
        since: () => Promise.resolve([]),
        read: () => Promise.resolve([]),
        head: () => Promise.resolve(0),
      },
      results: { put: () => Promise.resolve() },
      limits: {
        arguments: 65_536,
        result: 65_536,
        unknownTool: 2_048,
        fetched: { perUser: 0, total: 0 },
      },
      instanceId: "inst_1",
      now: Date.now,
      mode: () => "NORMAL",
      budget: { amounts: () => ({}), isReserved: () => false, settle: () => ({}) },
      masker: createMasker({ key: new Uint8Array(32) }),
      turns: mainThread,
      onFailed: (cause) => failed.push(String(cause)),
      onRecorded: () => undefined,
    });
    const call = {
      id: "exec_1_x",
      caller: cli,
      tool: null,
      requestedName: "x",
      arguments: {},
      trace: {},
      metadata: null,
      grant: null,
    } as unknown as Call;
    await expect(recorder.begin(call, [], "running")).rejects.toMatchObject({
      fault: { code: "UNAVAILABLE", reason: "engine_unavailable" },
    });
    expect(failed).toEqual(["Error: no space"]);
  });
});
