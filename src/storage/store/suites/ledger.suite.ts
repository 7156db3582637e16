// The chain of the log, and those who follow it: part of the store's suite.
import { describe, expect, test } from "vitest";
import { ledgerHash, ledgerText, NO_HASH } from "../../../util/record/ledger-line.ts";
import { atOnce, ended, finish, started, T0 } from "./samples.suite.ts";
import type { LedgerRow, Store } from "../store.ts";

/** Recounted from what was read, with nothing of the writer's own. */
function faults(rows: readonly LedgerRow[]): string[] {
  const heads = new Map<string, { n: number; hash: string }>();
  const found: string[] = [];
  for (const row of rows) {
    const { instanceId, n, prevHash, hash } = row;
    if (instanceId === null || n === null || prevHash === null) {
      found.push(`${row.seq} has no place`);
      continue;
    }
    const chain = `${row.tenantId} ${instanceId}`;
    const head = heads.get(chain) ?? { n: 0, hash: NO_HASH };
    if (n !== head.n + 1) found.push(`${row.seq}: ${n} after ${head.n}`);
    if (prevHash !== head.hash) found.push(`${row.seq}: not linked`);
    const digest = ledgerHash(ledgerText({ ...row, instanceId, n, prevHash }));
    if (digest !== hash) found.push(`${row.seq}: another hash`);
    heads.set(chain, { n, hash: digest });
  }
  return found;
}

export function ledgerSuite(store: () => Store, another: () => Promise<Store>): void {
  const all = () => store().log.read(0, 10_000);

  describe("the chain", () => {
    test("T50: each event is linked to the one before it of its tenant, without gaps", async () => {
      await finish(store(), { id: "a" }, { id: "b", tenantId: "other" }, { id: "c" });
      await atOnce(200, [store(), store()], (on, i) =>
        on.log.append(started({ id: `x${i}`, tenantId: i % 3 === 0 ? "other" : "local" })),
      );
      const rows = await all();
      expect(rows.length).toBe(206);
      expect(rows.map(({ seq }) => seq)).toEqual(rows.map((_, index) => index + 1));
      expect(faults(rows)).toEqual([]);
      const heads = await store().ledger.heads();
      for (const head of heads) {
        const last = rows.findLast(({ tenantId }) => tenantId === head.tenantId);
        expect(head).toEqual({
          tenantId: last?.tenantId,
          instanceId: last?.instanceId,
          n: last?.n,
          seq: last?.seq,
          hash: last?.hash,
        });
      }
      expect(heads.length).toBe(2);
    });

    test("texts of any kind are hashed as they come back", async () => {
      const body = JSON.stringify({
        text: 'quotes " \\ \u2028 \ud83d\ude00 \ud800 \u0000',
        n: 1e-7,
      });
      await store().log.append({
        ...ended({ id: "a" }),
        action: "config.changed",
        executionId: null,
        actor: 'a"b\\',
        body,
      });
      expect(faults(await all())).toEqual([]);
    });

    test("an event that is refused leaves no gap", async () => {
      const bad = { ...started({ id: "bad" }), actor: undefined as unknown as string };
      const outcomes = await Promise.allSettled([
        store().log.append(started({ id: "a" })),
        store().log.append(bad),
        store().log.append(ended({ id: "a" })),
      ]);
      expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
      expect(faults(await all())).toEqual([]);
    });

    test("it goes on after a restart, and with several writers at once", async () => {
      await store().log.append(started({ id: "a" }));
      const second = await another();
      await atOnce(60, [store(), second], (on, i) => on.log.append(started({ id: `x${i}` })));
      expect((await all()).length).toBe(61);
      expect(faults(await all())).toEqual([]);
    });

    test("one tenant's events can be read alone, in stretches", async () => {
      await finish(store(), { id: "a" }, { id: "b", tenantId: "other" }, { id: "c" });
      const rows = await store().log.read(0, 3, "local");
      expect(rows.map(({ executionId }) => executionId)).toEqual(["a", "a", "c"]);
      const rest = await store().log.read(rows.at(-1)?.seq ?? 0, 3, "local");
      expect(rest.map(({ executionId }) => executionId)).toEqual(["c"]);
    });
  });

  describe("checkpoints and segments", () => {
    test("are kept in order", async () => {
      const row = (n: number, instanceId = "one") => ({
        instanceId,
        n,
        seq: n * 10,
        at: T0,
        line: `line ${n}`,
      });
      for (const made of [row(1), row(2), row(1, "two"), row(3)])
        await store().ledger.addCheckpoint(made);
      expect(await store().ledger.lastCheckpoint("one")).toEqual(row(3));
      expect(await store().ledger.lastCheckpoint("three")).toBeNull();
      expect((await store().ledger.checkpoints(10)).map(({ n }) => n)).toEqual([2, 3]);
      expect((await store().ledger.checkpoints(10, 20)).map(({ n }) => n)).toEqual([2]);
      expect(await store().ledger.lastCheckpoints()).toEqual([row(3), row(1, "two")]);
      await expect(store().ledger.addCheckpoint(row(3))).rejects.toThrow();
    });

    test("an archived beginning is gone from the log, and the chain goes on", async () => {
      await finish(store(), { id: "a" }, { id: "b" });
      const segment = { fromSeq: 1, toSeq: 3, at: T0, file: "1-3.ndjson.gz", manifest: "{}" };
      await store().ledger.archive(segment);
      expect(await store().ledger.segments()).toEqual([segment]);
      expect((await all()).map(({ seq }) => seq)).toEqual([4]);
      expect(await store().log.append(started({ id: "c" }))).toBe(5);
      expect((await all()).map(({ n }) => n)).toEqual([4, 5]);
    });
  });

  describe("cursors", () => {
    test("one server at a time follows, from where the last one was", async () => {
      const { cursors } = store();
      expect(await cursors.seq("sink")).toBeNull();
      expect(await cursors.hold("sink", "one", T0, T0 + 1_000, 7)).toBe(7);
      expect(await cursors.hold("sink", "two", T0 + 500, T0 + 2_000, 0)).toBeNull();
      expect(await cursors.advance("sink", "one", 20)).toBe(true);
      expect(await cursors.advance("sink", "one", 15)).toBe(true);
      expect(await cursors.advance("sink", "two", 99)).toBe(false);
      expect(await cursors.hold("sink", "one", T0 + 900, T0 + 1_500, 0)).toBe(20);
      expect(await cursors.hold("sink", "two", T0 + 1_600, T0 + 3_000, 0)).toBe(20);
      expect(await cursors.advance("sink", "one", 21)).toBe(false);
      await cursors.release("sink", "two");
      expect(await cursors.hold("sink", "one", T0 + 1_700, T0 + 3_000, 0)).toBe(20);
      expect(await cursors.seq("sink")).toBe(20);
    });

    test("keep the log from being archived before they have read it, unless nobody moved them for a month", async () => {
      const { cursors, ledger, log } = store();
      await log.append({
        ...started({ id: "x" }),
        action: "config.changed",
        executionId: null,
        body: "{}",
      });
      expect(await ledger.needed(T0)).toBeNull();
      await cursors.hold("sink", "one", T0, T0 + 1_000, 4);
      await cursors.release("sink", "one");
      expect(await ledger.needed(T0)).toBe(5);
      expect(await ledger.needed(T0 + 31 * 86_400_000)).toBeNull();
    });

    test("of many that try, one holds", async () => {
      const taken = await atOnce(20, [store(), store()], (on, i) =>
        on.cursors.hold("sink", `s${i}`, T0, T0 + 1_000, 0),
      );
      expect(taken.filter((seq) => seq !== null).length).toBe(1);
    });
  });
}
