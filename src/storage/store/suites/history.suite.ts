// What history finds and counts, held against a recount of the raw events that shares no code with it.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { CancelReason } from "../../../contract/call.ts";
import type { Ground } from "../store.suite.ts";
import {
  ANN,
  ended,
  endBody,
  event,
  finish,
  HOUR,
  ids,
  started,
  startBody,
  T0,
  type Sample,
} from "./samples.suite.ts";
import { RebuildUnderWay, type HistoryFilter, type Store } from "../store.ts";

const TENANT = { tenantId: "local" };
const USERS = ["ann", "bob", "cy"];
const TOOLS = ["system/echo", "system/time", "file/read"];

interface Told extends Sample {
  sessionId?: string;
  traceId?: string;
  error?: string;
  errorCode?: string;
}

const traceOf = (n: number) => n.toString(16).padStart(32, "a");
const begun = (s: Told) =>
  event(s, "tool.execution.start", {
    ...startBody(s),
    sessionId: s.sessionId ?? null,
    traceId: s.traceId ?? traceOf(0),
  });
const over = (s: Told) =>
  event(s, ended(s).action, {
    ...endBody(s),
    ...(s.error === undefined ? {} : { error: s.error }),
    ...(s.errorCode === undefined ? {} : { errorCode: s.errorCode }),
  });
const record = async (store: Store, ...all: Told[]) =>
  void (await Promise.all(all.flatMap((s) => [begun(s), over(s)]).map((e) => store.log.append(e))));

export function historySuite(store: () => Store, ground: () => Ground): void {
  const { list, search, stats, figures } = {
    list: async (f: Partial<HistoryFilter>) =>
      ids(await store().executions.list({ ...ANN, ...f }, { limit: 50 })).join(""),
    search: (f: object, page = { limit: 50 }) => store().executions.search({ ...ANN, ...f }, page),
    stats: (f: Partial<HistoryFilter>) => store().executions.stats({ ...ANN, ...f }),
    figures: (f: Partial<HistoryFilter>) => store().executions.figures({ ...ANN, ...f }),
  };

  describe("history", () => {
    test("R186: by session and by error code, with figures over exactly those", async () => {
      await record(
        store(),
        { id: "a", sessionId: "s1" },
        { id: "b", at: T0 + 1, sessionId: "s1", status: "failed", errorCode: "NOT_FOUND" },
        { id: "c", at: T0 + 2, sessionId: "s2", status: "failed", errorCode: "TIMEOUT", ms: 40 },
        { id: "d", at: T0 + 3, userId: "bob", sessionId: "s1" },
        { id: "e", at: T0 + 4 },
      );
      expect(await list({ sessionId: "s1" })).toBe("ba");
      expect(await list({ sessionId: "s1", status: "success" })).toBe("a");
      expect(await list({ errorCode: "TIMEOUT" })).toBe("c");
      expect(await list({ errorCode: "TIMEOUT", sessionId: "s1" })).toBe("");
      expect(await figures({ sessionId: "s1" })).toMatchObject({ total: 2, success: 1, failed: 1 });
      expect(await figures({ errorCode: "TIMEOUT" })).toMatchObject({
        total: 1,
        failed: 1,
        averageExecutionTime: 40,
      });
      const everybody = await store().executions.stats(
        { ...TENANT, sessionId: "s1" },
        { perUser: true },
      );
      expect(everybody.users.map(({ name, total }) => [name, total])).toEqual([
        ["ann", 2],
        ["bob", 1],
      ]);
    });

    test("R186: by trace, also where another begins alike", async () => {
      const mine = "4bf92f3577b34da6a3ce929d0e0e4736";
      const alike = "4bf92f3577b34da6ffffffffffffffff";
      await record(
        store(),
        { id: "a", traceId: mine },
        { id: "b", at: T0 + 1, traceId: alike },
        { id: "c", at: T0 + 2 },
        { id: "d", at: T0 + 3, traceId: mine, status: "failed" },
        { id: "e", userId: "bob", traceId: mine },
      );
      await store().log.append(begun({ id: "f", at: T0 + 4, traceId: mine }));
      const found = await search({ traceId: mine });
      expect(ids(found.rows)).toEqual(["f", "d", "a"]);
      // Figures are of what has finished.
      expect(found).toMatchObject({ figures: { total: 2, failed: 1 }, next: null });
      expect(ids((await search({ traceId: mine, status: "failed" })).rows)).toEqual(["d"]);
      expect((await search({ traceId: traceOf(77) })).rows).toEqual([]);
    });

    test("R186: text in an error, whatever the letters, and how much was searched", async () => {
      await record(
        store(),
        { id: "a", status: "failed", error: "Disk FULL on Ärmelkanal", ms: 8 },
        { id: "b", at: T0 + 1, status: "failed", error: "no such file" },
        {
          id: "c",
          at: T0 + 2,
          status: "cancelled",
          error: "the disk was full, then cancelled",
          ms: 16,
        },
        { id: "d", at: T0 + 3 },
        { id: "e", at: T0 + 4, status: "failed", error: "other", errorCode: "DISK_FULL" },
      );
      const found = await search({ errorText: "disk" });
      expect(ids(found.rows)).toEqual(["e", "c", "a"]);
      expect(found).toMatchObject({
        searched: 4,
        of: 4,
        next: null,
        figures: { total: 3, failed: 2, cancelled: 1 },
      });
      expect(found.durations?.p99).toBeCloseTo(16, -0.5);
      expect(ids((await search({ errorText: "ÄRMEL" })).rows)).toEqual(["a"]);
      expect(ids((await search({ errorText: "disk", status: "failed", to: T0 + 1 })).rows)).toEqual(
        ["a"],
      );
      expect(ids((await search({ errorText: "100%_" })).rows)).toEqual([]);
    });

    test(
      "R186: a search pages by keyset and offset, each row once",
      { timeout: 120_000 },
      async () => {
        const many = Array.from({ length: 700 }, (_, i): Told => ({
          id: `e${i}`,
          at: T0 + (i >> 2),
          status: "failed",
          error: i % 7 === 0 ? "Rare" : "usual",
        }));
        await record(store(), ...many);
        const whole = ids((await search({ errorText: "rare" }, { limit: 500 })).rows);
        expect(whole).toHaveLength(100);
        const pages: string[] = [];
        let after: { startTime: number; id: string } | null | undefined;
        do {
          const page = await store().executions.search(
            { ...ANN, errorText: "RARE" },
            { limit: 30, ...(after ? { after } : {}) },
          );
          pages.push(...ids(page.rows));
          after = page.next;
        } while (after);
        expect(pages).toEqual(whole);
        const second = await store().executions.search(
          { ...ANN, errorText: "rare" },
          { limit: 30, offset: 30 },
        );
        expect(ids(second.rows)).toEqual(whole.slice(30, 60));
      },
    );

    test(
      "R187 R188 R189: figures, breakdowns and percentiles equal a recount of the events",
      { timeout: 120_000 },
      async () => {
        let run = 0;
        const sample = fc.record({
          userId: fc.constantFrom(...USERS),
          toolName: fc.constantFrom(...TOOLS),
          at: fc
            .oneof(fc.integer({ min: 0, max: 5 * HOUR }), fc.integer({ min: 0, max: 96 * HOUR }))
            .map((ms) => T0 + ms),
          ms: fc.integer({ min: 0, max: 40_000 }).map((quarter) => quarter / 4),
          status: fc.constantFrom("success", "failed", "cancelled", "open"),
          cancelReason: fc.constantFrom<CancelReason>("user", "timeout"),
          sessionId: fc.constantFrom(undefined, "s1", "s2"),
          errorCode: fc.constantFrom("NOT_FOUND", "EXECUTION_FAILED"),
        });
        const time = fc
          .oneof(
            fc.integer({ min: -HOUR, max: 6 * HOUR }),
            fc.integer({ min: 0, max: 100 * HOUR }),
            fc.integer({ min: 0, max: 4 }).map((day) => day * 24 * HOUR),
          )
          .map((ms) => T0 + ms);
        const filter = fc.record(
          {
            userId: fc.constantFrom(...USERS),
            toolName: fc.constantFrom(...TOOLS),
            category: fc.constantFrom("system", "file"),
            status: fc.constantFrom("success", "failed", "cancelled"),
            sessionId: fc.constantFrom("s1", "s2"),
            errorCode: fc.constantFrom("NOT_FOUND", "nothing"),
            from: time,
            to: time,
          },
          { requiredKeys: [] },
        );
        await fc.assert(
          fc.asyncProperty(
            fc.array(sample, { maxLength: 40 }),
            fc.array(filter, { minLength: 3, maxLength: 6 }),
            async (samples, filters) => {
              const tenantId = `tenant${run++}`;
              const all = samples.map(
                ({ status, cancelReason, sessionId, errorCode, ...rest }, i) => ({
                  told: {
                    ...rest,
                    tenantId,
                    id: `${tenantId}-${i}`,
                    ...(sessionId === undefined ? {} : { sessionId }),
                    status: status === "open" ? "success" : status,
                    cancelReason: status === "cancelled" ? cancelReason : null,
                    ...(status === "failed" ? { errorCode } : {}),
                  },
                  isOpen: status === "open",
                }),
              );
              const events = all.flatMap(({ told, isOpen }) => [
                begun(told),
                ...(isOpen ? [] : [over(told)]),
              ]);
              await Promise.all(events.map((e) => store().log.append(e)));
              for (const f of filters)
                expect(
                  await store().executions.stats({ tenantId, ...f }, { perUser: true }),
                ).toEqual(recount(events, f));
            },
          ),
          { numRuns: 40 },
        );
      },
    );

    test("figures by minute, hour and day, by tool of late and by error code equal a recount", async () => {
      const all = Array.from({ length: 240 }, (_, i): Told => ({
        id: `e${i}`,
        at: T0 + 22 * HOUR + i * 77_777,
        userId: USERS[i % 3] ?? "",
        toolName: TOOLS[i % 2] ?? "",
        ms: 1 + (i % 50),
        status: i % 5 === 0 ? "failed" : i % 7 === 0 ? "cancelled" : "success",
        cancelReason: i % 14 === 0 ? "timeout" : null,
        ...(i % 5 === 0 ? { errorCode: i % 10 === 0 ? "TIMEOUT" : "NOT_FOUND" } : {}),
      }));
      await record(store(), ...all);
      await store().log.append(begun({ id: "open", at: T0 + 23 * HOUR }));
      const range = { from: T0 + 23 * HOUR, to: T0 + 26 * HOUR - 1 };
      const inRange = (told: Told, more: Partial<Told>): boolean =>
        (told.at ?? 0) >= range.from &&
        (told.at ?? 0) <= range.to &&
        (more.userId === undefined || more.userId === told.userId) &&
        (more.toolName === undefined || more.toolName === told.toolName);
      const { executions } = store();
      for (const filter of [{}, { userId: "bob" }, { toolName: TOOLS[1] ?? "" }]) {
        const wanted = all.filter((told) => inRange(told, filter));
        for (const [unit, ms] of [["minute", 60_000] as const, ["hour", HOUR] as const]) {
          const told = await executions.series({ ...TENANT, ...filter, ...range }, unit);
          const counts = new Map<number, number>();
          for (const { at = 0 } of wanted) {
            const bucket = Math.floor(at / ms) * ms;
            counts.set(bucket, (counts.get(bucket) ?? 0) + 1);
          }
          expect(told.buckets.map(({ at, figures: of }) => [at, of.total])).toEqual([...counts]);
          expect(told.total.figures).toEqual(
            await executions.figures({ ...TENANT, ...filter, ...range }),
          );
          expect(told.total.durations).toEqual(
            (await executions.stats({ ...TENANT, ...filter, ...range })).durations,
          );
          expect(told.countedFrom).toBe(range.from);
        }
        const errors = await executions.errorCounts({ ...TENANT, ...filter, ...range });
        const failed = wanted.flatMap(({ errorCode }) => errorCode ?? []);
        const counts = new Map(errors.codes.map(({ code, count }) => [code, count]));
        expect([...counts.keys()].sort()).toEqual([...new Set(failed)].sort());
        for (const [code, count] of counts)
          expect([code, count]).toEqual([code, failed.filter((each) => each === code).length]);
      }
      const days = await executions.series({ ...TENANT, from: T0, to: T0 + 48 * HOUR - 1 }, "day");
      const before = all.filter(({ at = 0 }) => at < T0 + 24 * HOUR).length;
      expect(days.buckets.map(({ at, figures: of }) => [at, of.total])).toEqual([
        [T0, before],
        [T0 + 24 * HOUR, all.length - before],
      ]);
      const late = await executions.toolsSince(TENANT, T0 + 24 * HOUR);
      for (const { name, figures: of, durations } of late) {
        const own = all.filter(
          (told) => told.toolName === name && (told.at ?? 0) >= T0 + 24 * HOUR,
        );
        expect([name, of.total]).toEqual([name, own.length]);
        expect(durations?.p95).toBeGreaterThan(0);
      }
      expect(late).toHaveLength(2);
      expect(await executions.toolsSince({ tenantId: "nobody" }, T0)).toEqual([]);
    });

    test("minutes are counted from the newest executions, and say since when", async () => {
      const burst = Array.from({ length: 16_000 }, (_, i): Told => ({
        id: `e${i}`,
        at: T0 + i * 200,
      }));
      await record(store(), ...burst);
      const range = { ...TENANT, from: T0, to: T0 + HOUR - 1 };
      const { buckets, countedFrom } = await store().executions.series(range, "minute");
      expect(countedFrom).toBeGreaterThan(T0);
      expect(countedFrom % 60_000).toBe(0);
      const counted = burst.filter(({ at = 0 }) => at >= countedFrom).length;
      expect(buckets.reduce((sum, { figures: of }) => sum + of.total, 0)).toBe(counted);
      expect(buckets.every(({ at }) => at >= countedFrom)).toBe(true);
      expect(counted).toBeGreaterThan(5_000);
    });

    test(
      "R185: rebuilt from the log alone, whatever was done to the tables",
      { timeout: 60_000 },
      async () => {
        const samples = Array.from({ length: 60 }, (_, i): Told => ({
          id: `e${i}`,
          at: T0 + i * 17 * 60_000,
          userId: USERS[i % 3] ?? "",
          toolName: TOOLS[i % 2] ?? "",
          ms: i / 4,
          status: i % 5 === 0 ? "failed" : i % 7 === 0 ? "cancelled" : "success",
          ...(i % 2 ? { sessionId: "s1" } : {}),
          traceId: traceOf(i % 4),
        }));
        await record(store(), ...samples);
        const held = { id: "held", at: T0 + HOUR };
        await store().log.append(
          event(held, "tool.execution.held", {
            ...startBody(held),
            status: "pending",
            approvalId: "apr_1",
          }),
        );
        await store().log.append(started({ id: "open", at: T0 + 2 * HOUR }));
        await store().log.append(over({ id: "e3", status: "failed" })); // too late to count
        await store().log.append({
          ...started({ id: "x" }),
          action: "key.created",
          executionId: null,
          body: "{}",
        });
        const snapshot = async () => ({
          stats: await store().executions.stats(TENANT, { perUser: true }),
          day: await store().executions.stats({ ...TENANT, from: T0 + 12_345, to: T0 + 14 * HOUR }),
          rows: await Promise.all(
            USERS.map((userId) => store().executions.list({ ...TENANT, userId }, { limit: 100 })),
          ),
          session: ids(await store().executions.list({ ...ANN, sessionId: "s1" }, { limit: 100 })),
          trace: ids((await search({ traceId: traceOf(2) })).rows),
          open: ids(await store().executions.open({ startedBefore: T0 + 99 * HOUR })),
          usage: await store().executions.usage(TENANT),
        });
        const before = await snapshot();
        for (let round = 0; round < 2; round++) {
          await ground().exec("delete from executions where seq % 3 = 0");
          await ground().exec(
            "update executions set status = 'success', user_id = 'eve', trace_key = 1",
          );
          await ground().exec("update rollups set count = count + 7, total_ms = 1, buckets = null");
          await ground().exec("delete from rollups where hour = -1");
          expect(await snapshot()).not.toEqual(before);
          const seen: number[] = [];
          const done = await store().executions.rebuild(({ seq }) => seen.push(seq));
          expect(done).toMatchObject({ events: 123, head: 124, seq: 124 });
          expect(seen.at(-1)).toBe(124);
          expect(await snapshot()).toEqual(before);
        }
        // What it serves now is served by every instance, and grows as ever.
        await finish(store(), { id: "after", at: T0 + 20 * HOUR });
        expect((await figures({})).total).toBe(
          (before.stats.users.find((u) => u.name === "ann")?.total ?? 0) + 1,
        );
      },
    );

    test(
      "R185: calls that go on while history is rebuilt are all in it, each once",
      { timeout: 120_000 },
      async () => {
        await record(
          store(),
          ...Array.from({ length: 1_500 }, (_, i): Told => ({ id: `e${i}`, at: T0 + i })),
        );
        let over = false;
        let calls = 0;
        const caller = async (who: number): Promise<void> => {
          for (let i = 0; !over && i < 2_000; i++) {
            await store().log.append(started({ id: `n${who}-${i}`, at: T0 + HOUR + i }));
            await store().log.append(ended({ id: `n${who}-${i}`, at: T0 + HOUR + i }));
            calls++;
          }
        };
        const callers = [caller(0), caller(1), caller(2)];
        const first = store().executions.rebuild(() => undefined);
        await expect(store().executions.rebuild(() => undefined)).rejects.toThrow(RebuildUnderWay);
        await first.finally(() => (over = true));
        await Promise.all(callers);
        expect((await figures({})).total).toBe(1_500 + calls);
        expect((await stats({ from: T0, to: T0 + 2 * HOUR - 1 })).figures.total).toBe(
          1_500 + calls,
        );
        expect(await store().executions.open({ startedBefore: T0 + 99 * HOUR })).toEqual([]);
      },
    );

    test(
      "C20: what is archived is forgotten row by row, yet stays counted, also after a rebuild",
      { timeout: 60_000 },
      async () => {
        await record(
          store(),
          ...Array.from({ length: 20 }, (_, i): Told => ({
            id: `e${i}`,
            at: T0 + i * HOUR,
            ms: i,
          })),
        );
        await store().log.append(started({ id: "open", at: T0 + 21 * HOUR }));
        await finish(store(), { id: "last", at: T0 + 22 * HOUR });
        const before = await stats({});
        expect(await store().executions.forgetBefore(21)).toBe(10);
        expect(await store().executions.forgetBefore(21)).toBe(0);
        await ground().exec("delete from events where seq < 21");
        expect(ids(await store().executions.list(ANN, { limit: 99 }))).toHaveLength(12);
        expect(await stats({})).toEqual(before);
        await store().executions.rebuild(() => undefined);
        expect(await stats({})).toEqual(before);
        expect(ids(await store().executions.list(ANN, { limit: 99 }))).toHaveLength(12);
        await store().log.append(ended({ id: "open", at: T0 + 21 * HOUR }));
        // Archived, but not forgotten before a crash: the rebuild makes up for it.
        const after = await stats({});
        await ground().exec("delete from events where seq < 31");
        await store().executions.rebuild(() => undefined);
        expect(await stats({})).toEqual(after);
      },
    );
  });
}

type Raw = Record<string, never>;

/** From the events alone: first end of each execution, filtered and summed the plain way. */
function recount(
  events: readonly { action: string; executionId: string | null; body: string }[],
  f: Partial<HistoryFilter>,
) {
  const of = (kind: boolean) =>
    new Map(
      events
        .filter(({ action }) => (action === "tool.execution.start") === kind)
        .map((e) => [e.executionId, JSON.parse(e.body) as Raw]),
    );
  const [starts, ends] = [of(true), of(false)];
  const rows = [...ends].flatMap(([id, end]) => {
    const s = starts.get(id) as unknown as {
      userId: string;
      toolName: string;
      category: string;
      sessionId: string | null;
      startTime: number;
    };
    const e = end as unknown as {
      status: string;
      cancelReason: string | null;
      errorCode: string | null;
      executionTime: number;
    };
    const row = { ...s, ...e, sessionId: s.sessionId };
    const fits = (
      ["userId", "toolName", "category", "status", "sessionId", "errorCode"] as const
    ).every((k) => f[k] === undefined || f[k] === row[k]);
    return fits && row.startTime >= (f.from ?? -Infinity) && row.startTime <= (f.to ?? Infinity)
      ? [row]
      : [];
  });
  const sum = (some: typeof rows) => {
    const n = (status: string, reason?: string) =>
      some.filter((r) => r.status === status && (reason === undefined || r.cancelReason === reason))
        .length;
    const mean =
      some.length === 0 ? 0 : some.reduce((ms, r) => ms + r.executionTime, 0) / some.length;
    return {
      total: some.length,
      success: n("success"),
      failed: n("failed"),
      cancelled: n("cancelled"),
      timeout: n("cancelled", "timeout"),
      averageExecutionTime: Math.round(mean * 100) / 100,
    };
  };
  const by = (key: "toolName" | "category" | "userId") =>
    [...Map.groupBy(rows, (r) => r[key])]
      .map(([name, some]) => ({
        ...sum(some),
        name,
        lastStart: Math.max(...some.map((r) => r.startTime)),
      }))
      .sort((a, b) => b.total - a.total || (a.name < b.name ? -1 : 1));
  const took = rows.map((r) => r.executionTime).sort((a, b) => a - b);
  const near = (share: number) => {
    const exact = took[Math.ceil(share * took.length) - 1] ?? NaN;
    return expect.toSatisfy(
      (found: number) => Math.abs(found - exact) <= Math.max(exact * 0.05, 0.001),
    ) as number;
  };
  return {
    figures: sum(rows),
    durations:
      rows.length === 0
        ? null
        : { p50: near(0.5), p90: near(0.9), p95: near(0.95), p99: near(0.99) },
    tools: by("toolName"),
    categories: by("category"),
    users: by("userId"),
  };
}
