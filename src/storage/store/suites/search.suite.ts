// What is looked for by the words of an error, whoever said them first.
import { describe, expect, test } from "vitest";
import type { Ground } from "../store.suite.ts";
import {
  ANN,
  ended,
  endBody,
  event,
  finish,
  ids,
  started,
  startBody,
  T0,
  type Sample,
} from "./samples.suite.ts";
import type { EndBody, FoundRecords, HistoryPage, SearchFilter, Store } from "../store.ts";

interface Failed extends Sample, Partial<Pick<EndBody, "error" | "errorCode" | "errorReason">> {}

const over = ({ error, errorCode, errorReason, ...s }: Failed) => {
  const words = { error, errorCode, errorReason };
  const given = Object.entries(words).filter(([, value]) => value !== undefined);
  return event(s, ended({ status: "failed", ...s }).action, {
    ...endBody({ status: "failed", ...s }),
    ...Object.fromEntries(given),
  });
};
/** Refused calls: one event each. */
const refused = (s: Failed) =>
  event(s, "tool.execution.denied", { ...startBody(s), ...(JSON.parse(over(s).body) as object) });

export function searchSuite(store: () => Store, ground: () => Ground): void {
  const fail = async (...all: Failed[]) =>
    void (await Promise.all(
      all.flatMap((s) => [started(s), over(s)]).map((e) => store().log.append(e)),
    ));
  const search = (
    filter: Partial<SearchFilter>,
    page: HistoryPage = { limit: 50 },
  ): Promise<FoundRecords> => store().executions.search({ ...ANN, ...filter }, page);
  const found = async (errorText: string, filter: Partial<SearchFilter> = {}) =>
    ids((await search({ errorText, ...filter })).rows).join(" ");

  test("everybody's by any filter: in order of arrival, with figures of the ones that fit, in pages", async () => {
    await fail(
      { id: "a", userId: "bob", error: "Disk full" },
      { id: "b", at: T0 + 1, error: "Disk full" },
      { id: "c", at: T0 + 2, error: "Out of memory" },
      { id: "d", at: T0 + 3, error: "Disk full", tenantId: "other" },
    );
    await finish(store(), { id: "e", at: T0 + 4, userId: "bob" }, { id: "f", at: T0 + 5 });
    const of = (filter: Partial<SearchFilter>, page: HistoryPage = { limit: 50 }) =>
      store().executions.search({ tenantId: ANN.tenantId, ...filter }, page);
    const failed = await of({ status: "failed" });
    expect(ids(failed.rows)).toEqual(["c", "b", "a"]);
    expect(failed).toMatchObject({
      searched: 5,
      of: 5,
      next: null,
      figures: { total: 3, failed: 3 },
    });
    expect(ids((await of({ errorText: "disk" })).rows)).toEqual(["b", "a"]);
    expect(ids((await of({ status: "success" })).rows)).toEqual(["f", "e"]);
    const first = await of({ status: "failed" }, { limit: 2 });
    expect([ids(first.rows), first.next?.id]).toEqual([["c", "b"], "b"]);
    const after = first.next ? { after: first.next } : {};
    expect(ids((await of({ status: "failed" }, { limit: 2, ...after })).rows)).toEqual(["a"]);
    expect((await of({ status: "running" })).rows).toEqual([]);
  });

  describe("text in errors", () => {
    test("R186: one that was said before, by anybody, in any group, is found for each alike", async () => {
      await fail({ id: "a", userId: "bob", error: "Disk full" });
      await fail(
        { id: "b", at: T0 + 1, error: "Disk full", ms: 2 },
        { id: "c", at: T0 + 2, error: "Disk full", ms: 4 },
      );
      await fail({
        id: "d",
        at: T0 + 3,
        error: "Disk full",
        status: "cancelled",
        cancelReason: "timeout",
        ms: 6,
      });
      await fail({ id: "e", at: T0 + 4, error: "Disk full", tenantId: "other" });
      await finish(store(), { id: "f", at: T0 + 5 });
      const all = await search({ errorText: "FULL" });
      expect(ids(all.rows)).toEqual(["d", "c", "b"]);
      expect(all.rows.map(({ error }) => error)).toEqual(Array(3).fill("Disk full"));
      expect(all).toMatchObject({
        searched: 3,
        of: 3,
        figures: { total: 3, failed: 2, cancelled: 1, timeout: 1, averageExecutionTime: 4 },
      });
      expect(await found("full", { userId: "bob" })).toBe("a");
    });

    test("R186: with every other filter, also those that no index has", async () => {
      await fail(
        { id: "a", error: "no", errorCode: "NOT_FOUND", toolName: "file/read" },
        { id: "b", at: T0 + 1, error: "no", status: "cancelled" },
        { id: "c", at: T0 + 2, error: "no", errorReason: "because" },
      );
      await store().log.append(refused({ id: "d", at: T0 + 3, error: "no" }));
      expect(await found("no")).toBe("d c b a");
      expect(await found("no", { toolName: "file/read" })).toBe("a");
      expect(await found("no", { category: "system", to: T0 + 2 })).toBe("c b");
      expect(await found("no", { status: "cancelled" })).toBe("b");
      expect(await found("no", { status: "failed" })).toBe("d c a");
      expect(await found("no", { status: "success" })).toBe("");
      expect(await found("no", { status: "running" })).toBe("");
      expect(await found("no", { errorCode: "NOT_FOUND" })).toBe("a");
      expect(await found("no", { sessionId: "s" })).toBe("");
      expect(await found("BECAUSE")).toBe("c");
      expect(await found("not_found")).toBe("a");
    });

    test("R186: within a trace both must fit", async () => {
      const { traceId } = startBody({ id: "" });
      await fail({ id: "a", error: "one" }, { id: "b", at: T0 + 1, error: "two" });
      await finish(store(), { id: "c", at: T0 + 2 });
      expect(await found("one", { traceId })).toBe("a");
      expect(ids((await search({ traceId })).rows)).toEqual(["c", "b", "a"]);
    });

    test("R186: any text can be said, long ones and broken ones too", async () => {
      const long = "x".repeat(600);
      await fail({ id: "a", error: `${long} one` }, { id: "b", at: T0 + 1, error: `${long} two` });
      await fail({ id: "c", at: T0 + 2, error: "nul \0 and half \ud83d", errorReason: null });
      expect(await found("x one")).toBe("a");
      expect(await found("xxx")).toBe("b a");
      expect(await found("and half")).toBe("c");
    });

    test("R186: what others refer to may be archived; rows of earlier releases refer to nothing", async () => {
      await fail({ id: "a", error: "Disk full" });
      await fail(
        { id: "b", at: T0 + 1, error: "Disk full" },
        { id: "c", at: T0 + 2, error: "other" },
      );
      await store().executions.forgetBefore(3);
      await ground().exec("delete from events where seq < 3");
      await fail({ id: "d", at: T0 + 3, error: "Disk full" });
      expect(await search({ errorText: "disk" })).toMatchObject({
        searched: 3,
        figures: { total: 2 },
      });
      expect(await found("disk")).toBe("d b");
      await ground().exec("update executions set error_seq = null");
      expect(await found("disk")).toBe("d b");
      await store().executions.rebuild(() => undefined);
      expect(await found("disk")).toBe("d b");
      expect(await found("other")).toBe("c");
    });

    test("R186: what a failed transaction said is not referred to", async () => {
      await fail({ id: "a", error: "usual" });
      await ground().exec("alter table rollups rename to rollups_away");
      // On SQLite history follows the log and takes it later; elsewhere both are one transaction.
      const isTaken = await store()
        .log.append(refused({ id: "lost", error: "Disk full" }))
        .then(
          () => true,
          () => false,
        );
      expect(isTaken).toBe(store().kind === "sqlite");
      await ground().exec("alter table rollups_away rename to rollups");
      // Takes the number that the lost one would have had.
      await expect
        .poll(
          () =>
            store()
              .log.append(refused({ id: "b", at: T0 + 1, error: "usual" }))
              .catch(() => null),
          { timeout: 20_000 },
        )
        .not.toBeNull();
      await fail({ id: "c", at: T0 + 2, error: "Disk full" });
      await expect.poll(() => found("disk"), { timeout: 20_000 }).toBe(isTaken ? "c lost" : "c");
      expect(await found("usual")).toBe("b a");
    });

    test(
      "R186: of a flood where every text is another one, the newest 10,000 are looked at, and the next page goes on",
      { timeout: 240_000 },
      async () => {
        const flood = Array.from({ length: 10_040 }, (_, i) =>
          refused({ id: `e${i}`, at: T0 + i, error: i < 20 ? `early ${i}` : `late ${i}`, ms: 1 }),
        );
        for (let from = 0; from < flood.length; from += 1_000)
          await Promise.all(flood.slice(from, from + 1_000).map((e) => store().log.append(e)));
        const first = await search({ errorText: "early" }, { limit: 10 });
        expect(first).toMatchObject({
          rows: [],
          searched: 10_000,
          of: 10_040,
          figures: { total: 0 },
          next: { startTime: T0 + 40, id: "e40" },
        });
        const second = await search(
          { errorText: "early" },
          { limit: 10, ...(first.next ? { after: first.next } : {}) },
        );
        expect(second).toMatchObject({ searched: 40, figures: { total: 20 }, next: { id: "e10" } });
        expect(ids(second.rows)).toEqual(Array.from({ length: 10 }, (_, i) => `e${19 - i}`));
        const many = await search({ errorText: "LATE" }, { limit: 10, offset: 9_985 });
        expect(many).toMatchObject({
          figures: { total: 10_000, failed: 10_000, averageExecutionTime: 1 },
          next: { id: "e45" },
        });
        expect(ids(many.rows).at(-1)).toBe("e45");
        // More of a broken hour than is counted at once.
        const all = await store().executions.stats(
          { tenantId: "local", from: T0 + 1, to: T0 + 10_038 },
          { perUser: true },
        );
        expect(all).toMatchObject({
          figures: { total: 10_038, failed: 10_038 },
          users: [{ name: "ann", total: 10_038 }],
        });
        expect(all.durations?.p50).toBeCloseTo(1, 1);
      },
    );
  });
}
