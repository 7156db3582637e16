// History over REST and tRPC: filters, paging, figures, and each caller's own rows only.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { conforms, newUser, trpcClient, trpcFailure, until } from "../fixtures/contract.ts";
import { slowTool } from "../fixtures/slow-tool.ts";

interface Listed {
  executions: { id: string; toolName: string; status: string; startTime: string }[];
  totalCount: number;
  limit: number;
  offset: number;
  next: string | null;
  stats: Record<string, number>;
  durations: Record<string, number> | null;
  search?: { searched: number; of: number };
}

interface Part {
  name: string;
  total: number;
  lastStart: string;
}

describe("history", () => {
  let app: StartedApp;
  let ann: string;
  let ben: string;
  let running: string;
  const HOUR = 3_600_000;
  // Two hours before now; each call is a minute after the one before.
  let clock = Date.now() - 2 * HOUR;
  const began = clock;

  const call = async (body: object, key = ann) => {
    clock += 60_000;
    return (await app.api("POST", "/executions", { key, body })).body as { executionId: string };
  };
  const history = async (query: string, key = ann): Promise<Listed> => {
    const { status, body } = await app.api("GET", `/executions${query}`, { key });
    expect(status, JSON.stringify(body)).toBe(200);
    conforms("tools.getToolHistory", body);
    return body as Listed;
  };

  beforeAll(async () => {
    app = await startApp({ tools: [slowTool({ runs: [] })], now: () => clock });
    const tools = ["system/echo", "system/time", "system/slow", "memory/store"];
    await app.api("POST", "/capsules", { body: { id: "hist", name: "hist", capabilities: tools } });
    ann = await newUser(app, "ann", { capsuleId: "hist" });
    ben = await newUser(app, "ben", { capsuleId: "hist" });
    for (let i = 0; i < 5; i++) await call({ name: "system/echo", arguments: { text: `${i}` } });
    await call({ name: "system/time" });
    await call({ name: "system/echo", arguments: { txt: 1 } });
    await call({ name: "no/such" });
    await call({ name: "memory/store", arguments: { key: "k", value: { password: "hunter2" } } });
    const slow = await call({ name: "system/slow", arguments: { ms: 60_000 }, wait: false });
    await app.api("POST", `/executions/${slow.executionId}/cancel`, { key: ann });
    running = (await call({ name: "system/slow", arguments: { ms: 60_000 }, wait: false }))
      .executionId;
    await call({ name: "system/echo", arguments: { text: "ben" } }, ben);
    await call(
      { name: "system/echo", arguments: { text: "s" }, context: { sessionId: "sess-1" } },
      ben,
    );
  });
  afterAll(() => app.close());

  test("R219: newest first with the fields of the record", async () => {
    const { executions, limit, offset } = await history("");
    expect({ limit, offset }).toEqual({ limit: 50, offset: 0 });
    const starts = executions.map((e) => e.startTime);
    expect(starts).toEqual([...starts].sort().reverse());
    expect(executions.at(-1)).toMatchObject({
      toolName: "system/echo",
      category: "system",
      status: "success",
      result: { text: "0" },
      arguments: { text: "0" },
      userId: "ann",
      timeout: expect.any(Number) as number,
      gates: expect.any(Array) as unknown[],
      traceId: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
    });
    expect(await trpcClient(app, ann).tools.getToolHistory.query()).toEqual(await history(""));
  });

  test("R186 R219: filters by tool (any name), category, status and date", async () => {
    expect((await history("?toolName=system/echo")).executions).toHaveLength(6);
    expect((await history("?toolName=system_echo")).executions).toHaveLength(6);
    expect((await history("?toolName=no/such")).executions).toHaveLength(1);
    expect((await history("?toolName=never/used")).executions).toEqual([]);
    expect((await history("?category=memory")).executions).toHaveLength(1);
    expect((await history("?status=success")).executions).toHaveLength(7);
    expect((await history("?status=failed")).executions).toHaveLength(2);
    expect((await history("?status=cancelled")).executions).toHaveLength(1);
    expect((await history("?toolName=system/echo&status=failed")).executions).toHaveLength(1);
    const at = (minutes: number): string => new Date(began + minutes * 60_000).toISOString();
    const { executions } = await history(`?startDate=${at(2)}&endDate=${at(4)}`);
    expect(
      executions.map((e) => (e as unknown as { result: { text: string } }).result.text),
    ).toEqual(["3", "2", "1"]);
    const offset = at(2).replace("Z", "%2B00:00");
    expect((await history(`?startDate=${offset}&endDate=${at(2)}`)).executions).toHaveLength(1);
    const day = at(0).slice(0, 10);
    const whole = await history(
      `?startDate=${day}&endDate=${new Date(clock).toISOString().slice(0, 10)}`,
    );
    expect(whole.executions.length).toBe((await history("")).executions.length);
    const trpc = await trpcClient(app, ann).tools.getToolHistory.query({
      startDate: at(2),
      endDate: at(4),
    });
    expect(trpc.totalCount).toBe(3);
  });

  test("C45: running ones are found when asked for", async () => {
    const { executions, totalCount } = await history("?status=running");
    expect(executions.map((e) => e.id)).toEqual([running]);
    expect(totalCount).toBe(1);
    expect((await history("?status=pending")).executions).toEqual([]);
  });

  test("R187: figures are over the filtered set", async () => {
    const { stats } = await history("?status=success&limit=1");
    expect(stats).toMatchObject({ total: 7, success: 7, failed: 0, cancelled: 0 });
    const all = (await history("")).stats;
    expect(all).toMatchObject({ success: 7, failed: 2, cancelled: 1, timeout: 0 });
    expect(all["averageExecutionTime"]).toBeGreaterThanOrEqual(0);
    expect((await history("?toolName=never/used")).stats).toEqual({
      total: 0,
      success: 0,
      failed: 0,
      cancelled: 0,
      timeout: 0,
      averageExecutionTime: 0,
    });
  });

  test("R219: pages by offset and by cursor, each row once", async () => {
    const all = (await history("")).executions.map((e) => e.id);
    const byOffset: string[] = [];
    for (let offset = 0; offset < all.length; offset += 4) {
      const page = await history(`?limit=4&offset=${offset}`);
      expect(page).toMatchObject({ limit: 4, offset });
      byOffset.push(...page.executions.map((e) => e.id));
    }
    expect(byOffset).toEqual(all);
    const byCursor: string[] = [];
    let next: string | null = "";
    for (let pages = 0; next !== null && pages < 10; pages++) {
      const page: Listed = await history(`?limit=4${next === "" ? "" : `&after=${next}`}`);
      byCursor.push(...page.executions.map((e) => e.id));
      ({ next } = page);
    }
    expect(byCursor).toEqual(all);
  });

  test("R051: another user's executions do not exist", async () => {
    const mine = (await history("")).executions;
    expect(mine.every((e) => (e as unknown as { userId: string }).userId === "ann")).toBe(true);
    const admin = await history("", app.adminKey);
    expect(admin.executions).toEqual([]);
  });

  test("R199: secret-like values are masked", async () => {
    const { executions } = await history("?category=memory");
    expect(JSON.stringify(executions)).not.toContain("hunter2");
  });

  test("R186: by session, error code, trace, and text in the error, each with its own figures", async () => {
    const inSession = await history("?sessionId=sess-1", ben);
    expect(inSession.executions.map((e) => e.toolName)).toEqual(["system/echo"]);
    expect(inSession.stats).toMatchObject({ total: 1, success: 1 });
    expect((await history("?sessionId=sess-1")).executions).toEqual([]);
    expect((await history("?errorCode=NOT_FOUND")).executions.map((e) => e.toolName)).toEqual([
      "no/such",
    ]);
    expect((await history("?errorCode=NOT_FOUND")).stats).toMatchObject({ total: 1, failed: 1 });
    const [one] = (await history("?toolName=system/time")).executions as unknown as {
      traceId: string;
      id: string;
    }[];
    const traced = await history(`?traceId=${one?.traceId}`);
    expect(traced.executions.map((e) => e.id)).toEqual([one?.id]);
    expect((await history(`?traceId=${one?.traceId}`, ben)).executions).toEqual([]);
    const text = await history("?errorText=NO%2FSUCH");
    expect(text.executions.map((e) => e.toolName)).toEqual(["no/such"]);
    expect(text).toMatchObject({ search: { searched: 3, of: 3 }, totalCount: 1, next: null });
    expect(await trpcClient(app, ann).tools.getToolHistory.query({ errorText: "no/such" })).toEqual(
      text,
    );
  });

  test("R187: percentiles of the execution time beside the figures", async () => {
    const { durations } = await history("?status=success");
    expect(durations?.["p50"]).toBeLessThanOrEqual(durations?.["p99"] ?? 0);
    expect(durations?.["p90"]).toBeLessThanOrEqual(durations?.["p95"] ?? 0);
  });

  test("R186 R051: another user's for administrators alone", async () => {
    const foreign = await history("?userId=ann&toolName=system/time", app.adminKey);
    expect(foreign.executions).toEqual((await history("?toolName=system/time")).executions);
    const everybody = await history("?userId=*", app.adminKey);
    expect(
      new Set(everybody.executions.map((e) => (e as unknown as { userId: string }).userId)),
    ).toEqual(new Set(["ann", "ben"]));
    for (const path of [
      "/executions?userId=ben",
      "/executions?userId=*",
      "/history/stats?userId=*",
    ]) {
      const { status, body } = await app.api("GET", path, { key: ann });
      expect([status, body], path).toMatchObject([
        403,
        { code: "FORBIDDEN", reason: "admin_only" },
      ]);
    }
    expect((await history("?userId=ann")).executions).toEqual((await history("")).executions);
  });

  test("everybody's are narrowed by any filter, among the newest 10,000, and paged", async () => {
    const idsOf = (found: { executions: { id: string }[] }): string[] =>
      found.executions.map(({ id }) => id);
    const ofUser = async (query: string): Promise<string[]> =>
      (await Promise.all([history(query), history(query, ben)])).flatMap(idsOf).sort();
    for (const query of [
      "?status=failed",
      "?status=success&toolName=system/echo",
      "?category=memory",
      "?errorText=e",
      "?status=failed&errorText=o",
    ]) {
      const all = await history(`${query}&userId=*`, app.adminKey);
      const expected = await ofUser(query);
      expect(expected.length, query).toBeGreaterThan(0);
      expect(idsOf(all).sort(), query).toEqual(expected);
      expect(all.totalCount, query).toBe(expected.length);
      expect(all.search, query).toMatchObject({ searched: all.search?.of });
    }
    const paged: string[] = [];
    let after = "";
    do {
      const page = await history(`?userId=*&status=success&limit=3${after}`, app.adminKey);
      paged.push(...idsOf(page));
      after = page.next === null ? "" : `&after=${page.next}`;
    } while (after !== "");
    expect(new Set(paged).size).toBe(paged.length);
    expect(paged.sort()).toEqual(await ofUser("?status=success"));
    const [one] = (await history("?status=failed")).executions;
    const { traceId } = one as unknown as { traceId: string };
    expect(idsOf(await history(`?userId=*&traceId=${traceId}`, app.adminKey))).toContain(one?.id);
  });

  test("R188 R189: figures over a date range: per category, per tool, the top ten, and per user", async () => {
    const statsOf = async (query: string, key = ann) => {
      const { status, body } = await app.api("GET", `/history/stats${query}`, { key });
      expect(status, JSON.stringify(body)).toBe(200);
      conforms("history.getHistoryStats", body);
      return body as {
        stats: Record<string, number>;
        tools: Part[];
        categories: Part[];
        users?: Part[];
        mostUsedTools: { tool: string; count: number }[];
      };
    };
    const all = await statsOf("");
    expect(all.stats).toEqual((await history("")).stats);
    expect(all.tools[0]).toMatchObject({ name: "system/echo", total: 6, success: 5, failed: 1 });
    expect(all.categories.map(({ name, total }) => [name, total])).toEqual([
      ["system", 8],
      ["memory", 1],
      ["unknown", 1],
    ]);
    expect(all.mostUsedTools[0]).toEqual({ tool: "system/echo", count: 6 });
    expect(all.users).toBeUndefined();
    const at = (minutes: number): string => new Date(began + minutes * 60_000).toISOString();
    expect(
      (await statsOf(`?startDate=${at(2)}&endDate=${at(6)}`)).tools.map(
        ({ name, total, lastStart }) => [name, total, lastStart],
      ),
    ).toEqual([
      ["system/echo", 4, at(5)],
      ["system/time", 1, at(6)],
    ]);
    const everybody = await statsOf("?userId=*", app.adminKey);
    expect(everybody.users?.map(({ name, total }) => [name, total])).toEqual([
      ["ann", 10],
      ["ben", 2],
    ]);
    expect(await trpcClient(app, ann).history.getHistoryStats.query({})).toEqual(all);
  });

  test("R185: rebuilt from the log by an administrator, while it runs; every figure is as before", async () => {
    const { status } = await app.api("POST", "/history/rebuild", { key: ann });
    expect(status).toBe(403);
    const before = [await history(""), await history("", ben), await history("?status=running")];
    const started = await app.api("POST", "/history/rebuild", { body: {} });
    expect(started.status).toBe(202);
    conforms("history.rebuildHistory", started.body);
    await until(
      async () => (await app.api("GET", "/history/rebuild")).body.state !== "running",
      30_000,
    );
    const { body } = await app.api("GET", "/history/rebuild");
    expect(body).toMatchObject({ state: "done", error: null });
    expect(body.events).toBeGreaterThan(20);
    expect([await history(""), await history("", ben), await history("?status=running")]).toEqual(
      before,
    );
    const told = await app.app.store.log.read(0, 1000);
    expect(told.filter((e) => e.action === "history.rebuilt")).toHaveLength(1);
  });

  test("invalid ranges, dates, limits and cursors are named", async () => {
    const cases: [string, string][] = [
      ["?startDate=2026-02-02T00:00:00Z&endDate=2026-02-01T00:00:00Z", "/endDate"],
      ["?startDate=yesterday", "/startDate"],
      ["?startDate=2026-02-30", "/startDate"],
      ["?endDate=2026-02-01T00:00:00", "/endDate"],
      ["?limit=0", "/limit"],
      ["?limit=101", "/limit"],
      ["?limit=ten", "/limit"],
      ["?offset=-1", "/offset"],
      ["?limit=1&limit=2", "/limit"],
      ["?status=done", "/status"],
      ["?after=xyz", "/after"],
      ["?offset=1&after=xyz", "/after"],
      ["?tool=system/echo", "/tool"],
      ["?traceId=xyz", "/traceId"],
      ["?errorText=", "/errorText"],
    ];
    for (const [query, path] of cases) {
      const { status, body } = await app.api("GET", `/executions${query}`, { key: ann });
      expect(status, query).toBe(400);
      expect(body, query).toMatchObject({ code: "BAD_REQUEST", reason: "invalid_input" });
      expect(
        body.errors.map((e: { path: string }) => e.path),
        query,
      ).toContain(path);
    }
    const failure = await trpcFailure(
      trpcClient(app, ann).tools.getToolHistory.query({
        startDate: "2026-02-02T00:00:00Z",
        endDate: "2026-02-01T00:00:00Z",
      }),
    );
    expect(failure).toMatchObject({ code: "BAD_REQUEST", httpStatus: 400 });
    expect(failure.error.errors).toEqual([{ path: "/endDate", message: "lies before startDate" }]);
  });
});
