// What every store must do. An implementation's test is a dozen lines that give this suite a database of its own.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CAPSULE_DEFAULTS } from "../../contract/agent-config.ts";
import type { CancelReason, Status } from "../../contract/call.ts";
import { agentRecordsSuite } from "./suites/agent-records.suite.ts";
import { approvalsSuite } from "./suites/approvals.suite.ts";
import { documentsSuite } from "./suites/documents.suite.ts";
import { migrationsFor } from "./migrations/index.ts";
import {
  ANN,
  atOnce,
  ended,
  endBody,
  event,
  finish,
  HOUR,
  ids,
  NONE,
  started,
  startBody,
  T0,
  type Sample,
} from "./suites/samples.suite.ts";
import {
  AlreadyExists,
  openStore,
  type CapsuleRow,
  type HistoryFilter,
  type KeyRow,
  type LogEvent,
  type Store,
  type StoredTool,
  type UserRow,
} from "./store.ts";
import { historySuite } from "./suites/history.suite.ts";
import { ledgerSuite } from "./suites/ledger.suite.ts";
import { searchSuite } from "./suites/search.suite.ts";
import { usageSuite } from "./suites/usage.suite.ts";
import { programsSuite } from "./suites/programs.suite.ts";
import { upstreamSuite } from "./suites/upstream.suite.ts";
import { webhooksSuite } from "./suites/webhooks.suite.ts";
import { conversationsSuite } from "./suites/conversations.suite.ts";
import { toolDraftsSuite } from "./suites/tool-drafts.suite.ts";
import { workItemsSuite } from "./suites/work-items.suite.ts";
import { workSuite } from "./suites/work.suite.ts";
import { workflowsSuite } from "./suites/workflows.suite.ts";

/** An empty database, and a way to meddle with it behind the store's back. */
export interface Ground {
  readonly address: string;
  readonly dataDir: string;
  exec(sql: string): Promise<void>;
  dispose(): Promise<void>;
}

export function storeSuite(name: string, prepare: () => Promise<Ground>): void {
  describe(name, () => {
    let ground: Ground;
    let store: Store;
    const open: Store[] = [];
    const another = async () => {
      const made = await openStore(ground.address, { dataDir: ground.dataDir });
      open.push(made);
      return made;
    };
    beforeEach(async () => {
      ground = await prepare();
      store = await another();
    });
    afterEach(async () => {
      for (const made of open.splice(0)) await made.close();
      await ground.dispose();
    });

    describe("log", () => {
      test("an event gets the next number and comes back unchanged", async () => {
        expect(await store.log.head()).toBe(0);
        const e = started({ id: "a" });
        expect(await store.log.append(e)).toBe(1);
        expect(await store.log.append(ended({ id: "a" }))).toBe(2);
        expect(await store.log.head()).toBe(2);
        const [first] = await store.log.since(0, { tenantId: "local", actor: "ann" }, 10);
        expect(first).toEqual({ ...e, seq: 1 });
      });

      test("since answers one user's executions only, oldest first, up to the limit", async () => {
        await finish(
          store,
          { id: "a" },
          { id: "b", userId: "bob" },
          { id: "c", tenantId: "other" },
          { id: "d" },
        );
        await store.log.append({
          ...started({ id: "x" }),
          action: "key.created",
          executionId: null,
          body: "{}",
        });
        const ann = { tenantId: "local", actor: "ann" };
        const all = await store.log.since(0, ann, 100);
        expect(all.map((e) => e.executionId)).toEqual(["a", "a", "d", "d"]);
        expect(all.map((e) => e.seq)).toEqual(all.map((e) => e.seq).toSorted((a, b) => a - b));
        expect(await store.log.since(all[1]?.seq ?? 0, ann, 1)).toEqual([all[2]]);
        expect(await store.log.since(await store.log.head(), ann, 10)).toEqual([]);
      });

      test("since also answers actions of the tenant and of the house, whoever did them", async () => {
        const event = (action: LogEvent["action"], tenantId: string): LogEvent => ({
          tenantId,
          at: T0,
          action,
          actor: "bob",
          executionId: null,
          body: "{}",
        });
        await store.log.append(event("approval.requested", "local"));
        await store.log.append(event("approval.requested", "other"));
        await store.log.append(event("mode.changed", "other"));
        await store.log.append(event("key.created", "local"));
        const told = await store.log.since(
          0,
          {
            tenantId: "local",
            actor: "ann",
            tenantActions: ["approval.requested"],
            anyTenantActions: ["mode.changed"],
          },
          10,
        );
        expect(told.map((e) => e.seq)).toEqual([1, 3]);
      });

      test("1,000 parallel appends are all there, in the order of the calls", async () => {
        const all = Array.from({ length: 1000 }, (_, i) => started({ id: `e${i}`, at: T0 + i }));
        const seqs = await Promise.all(all.map((e) => store.log.append(e)));
        expect(seqs).toEqual(all.map((_, i) => i + 1));
        const back = await store.log.since(0, { tenantId: "local", actor: "ann" }, 2000);
        expect(back.map((e) => e.executionId)).toEqual(all.map((e) => e.executionId));
        expect((await store.executions.open({ instanceId: "one" })).length).toBe(1000);
      });

      test("an event that makes no sense is refused alone; its neighbours stay", async () => {
        const bad = { ...started({ id: "bad" }), body: '{"toolName":1}' };
        const nul = { ...started({ id: "nul" }), actor: "a\0b" };
        const results = await Promise.allSettled(
          [started({ id: "a" }), bad, nul, started({ id: "b" })].map((e) => store.log.append(e)),
        );
        expect(results.map((r) => r.status)).toEqual([
          "fulfilled",
          "rejected",
          "rejected",
          "fulfilled",
        ]);
        expect(await store.log.head()).toBe(2);
        expect(await store.executions.get("bad")).toBeNull();
      });

      test("when the log cannot be written every append rejects, and it works again afterwards", async () => {
        await store.log.append(started({ id: "before" }));
        await ground.exec("alter table events rename to events_gone");
        const results = await Promise.allSettled(
          ["a", "b", "c"].map((id) => store.log.append(started({ id }))),
        );
        for (const r of results) {
          expect(r.status).toBe("rejected");
          if (r.status === "rejected")
            expect(String(r.reason)).toMatch(/the store cannot be written/);
        }
        await expect(store.log.append(started({ id: "d" }))).rejects.toMatchObject({
          fault: { code: "UNAVAILABLE", reason: "engine_unavailable" },
        });
        await expect(store.ping()).rejects.toThrow();
        await ground.exec("alter table events_gone rename to events");
        expect(await store.log.append(started({ id: "after" }))).toBe(2);
        expect(await store.executions.get("a")).toBeNull();
        expect((await store.executions.get("after"))?.status).toBe("running");
      });

      test("a closed store refuses, and everything is there when it is opened again", async () => {
        const last = store.log.append(started({ id: "last" }));
        await Promise.all([last, store.close()]);
        await expect(store.log.append(started({ id: "late" }))).rejects.toThrow(/closed/);
        const reopened = await another();
        expect((await reopened.executions.get("last"))?.id).toBe("last");
        expect(await reopened.log.append(ended({ id: "last" }))).toBe(2);
      });

      test("R198: what was acknowledged survives kill -9", { timeout: 60_000 }, async () => {
        await store.close();
        for (let round = 0; round < 3; round++) {
          const acknowledged = await killedWhileAppending(ground, round);
          expect(acknowledged.length).toBeGreaterThan(50);
          const after = await another();
          const all = await after.log.since(0, { tenantId: "local", actor: `child${round}` }, 1e6);
          const there = new Set(all.map((e) => `${e.executionId} ${e.seq}`));
          expect(acknowledged.filter((line) => !there.has(line))).toEqual([]);
          const figures = await after.executions.figures({ ...ANN, userId: `child${round}` });
          const ends = all.filter((e) => e.action === "tool.execution.complete").length;
          expect(figures.total).toBe(ends);
          await after.close();
        }
      });
    });

    describe("executions", () => {
      test("a record joins its start and its end", async () => {
        const s: Sample = { id: "a", ms: 12.5 };
        await store.log.append(started(s));
        expect(await store.executions.get("a")).toEqual({
          ...startBody(s),
          id: "a",
          status: "running",
          endTime: null,
          executionTime: null,
          result: null,
          resultCut: null,
          error: null,
          errorCode: null,
          errorReason: null,
          remedy: null,
          cancelReason: null,
          resultMetadata: null,
        });
        await store.log.append(ended(s));
        expect(await store.executions.get("a")).toEqual({
          ...startBody(s),
          id: "a",
          status: "success",
          endTime: T0 + 13,
          executionTime: 12.5,
          result: { text: "done" },
          resultCut: null,
          error: null,
          errorCode: null,
          errorReason: null,
          remedy: null,
          cancelReason: null,
          resultMetadata: { from: "runner" },
        });
        expect(await store.executions.get("unknown")).toBeNull();
      });

      test("a denied call is start and end in one event, and counts as failed", async () => {
        const s: Sample = { id: "a", status: "failed", ms: 0 };
        const body = { ...startBody(s), ...endBody(s), metadata: { from: "caller" } };
        await store.log.append(event(s, "tool.execution.denied", body));
        expect(await store.executions.get("a")).toMatchObject({
          status: "failed",
          errorCode: "EXECUTION_FAILED",
          metadata: { from: "caller" },
          resultMetadata: null,
        });
        expect(await store.executions.figures(ANN)).toMatchObject({ total: 1, failed: 1 });
      });

      test.each([
        ["in one group", true],
        ["one after the other", false],
      ])("the first terminal status wins, %s", async (_, together) => {
        const first: Sample = { id: "a", status: "cancelled", cancelReason: "timeout", ms: 30 };
        const late: Sample = { id: "a", status: "success", ms: 99 };
        const events = [started(first), ended(first), ended(late), started(first)];
        if (together) await Promise.all(events.map((e) => store.log.append(e)));
        else for (const e of events) await store.log.append(e);
        expect(await store.executions.get("a")).toMatchObject({
          status: "cancelled",
          cancelReason: "timeout",
          executionTime: 30,
          result: null,
        });
        expect(await store.log.head()).toBe(4);
        expect(await store.executions.figures(ANN)).toEqual({
          ...NONE,
          total: 1,
          cancelled: 1,
          timeout: 1,
          averageExecutionTime: 30,
        });
      });

      test("a held call is pending, then starts", async () => {
        const s: Sample = { id: "a" };
        await store.log.append(
          event(s, "tool.execution.held", { ...startBody(s), status: "pending" }),
        );
        expect((await store.executions.get("a"))?.status).toBe("pending");
        expect((await store.executions.figures({ ...ANN, status: "pending" })).total).toBe(1);
        await store.log.append(started(s));
        expect((await store.executions.get("a"))?.status).toBe("running");
        await store.log.append(ended(s));
        expect((await store.executions.list(ANN, { limit: 10 })).length).toBe(1);
        expect((await store.executions.figures(ANN)).total).toBe(1);
      });

      test("an end without a start stays in the log and changes nothing else", async () => {
        expect(await store.log.append(ended({ id: "ghost" }))).toBe(1);
        expect(await store.executions.get("ghost")).toBeNull();
        expect(await store.executions.figures(ANN)).toEqual(NONE);
      });

      test("open rows of an instance, or of any that started before a time", async () => {
        await store.log.append(started({ id: "a", at: T0 }));
        await store.log.append(started({ id: "b", at: T0 + 10, instanceId: "two" }));
        await finish(store, { id: "c", at: T0 - 10 });
        expect(ids(await store.executions.open({ instanceId: "one" }))).toEqual(["a"]);
        expect(ids(await store.executions.open({ startedBefore: T0 + 10 }))).toEqual(["a"]);
        expect(ids(await store.executions.open({ startedBefore: T0 + 11 }))).toEqual(["b", "a"]);
      });

      test("list: newest first, ties by the order of the log, each filter", async () => {
        await finish(
          store,
          { id: "z", at: T0 },
          { id: "y", at: T0 },
          { id: "x", at: T0 + HOUR, toolName: "file/read", status: "failed" },
          { id: "w", at: T0 + 2 * HOUR, toolName: "file/list", status: "cancelled" },
          { id: "v", at: T0 + 3 * HOUR, userId: "bob" },
          { id: "u", at: T0 + 3 * HOUR, tenantId: "other" },
        );
        await store.log.append(started({ id: "t", at: T0 + 4 * HOUR }));
        const list = async (f: Partial<HistoryFilter>) =>
          ids(await store.executions.list({ ...ANN, ...f }, { limit: 10 })).join("");
        expect(await list({})).toBe("twxyz");
        expect(await list({ toolName: "system/echo" })).toBe("tyz");
        expect(await list({ category: "file" })).toBe("wx");
        expect(await list({ status: "success" })).toBe("yz");
        expect(await list({ status: "failed", category: "file" })).toBe("x");
        expect(await list({ status: "running" })).toBe("t");
        expect(await list({ from: T0, to: T0 + HOUR })).toBe("xyz");
        expect(await list({ from: T0 + 1, to: T0 + HOUR - 1 })).toBe("");
        expect(await list({ from: T0 + HOUR, toolName: "system/echo" })).toBe("t");
      });

      test("paging by keyset and offset covers every row once, also while rows are added", async () => {
        const many = Array.from({ length: 57 }, (_, i) => ({ id: `e${i}`, at: T0 + (i >> 2) }));
        await finish(store, ...many);
        const whole = ids(await store.executions.list(ANN, { limit: 100 }));
        expect(whole.length).toBe(57);
        const byOffset: string[] = [];
        for (let offset = 0; offset < 60; offset += 10)
          byOffset.push(...ids(await store.executions.list(ANN, { limit: 10, offset })));
        expect(byOffset).toEqual(whole);
        const seen: string[] = [];
        let after: { startTime: number; id: string } | undefined;
        for (let page = 0; page < 10; page++) {
          const rows = await store.executions.list(ANN, { limit: 10, ...(after && { after }) });
          seen.push(...ids(rows));
          const last = rows.at(-1);
          if (last) after = { startTime: last.startTime, id: last.id };
          await finish(store, { id: `new${page}`, at: T0 + HOUR + page });
        }
        expect(seen).toEqual(whole);
        const unknown = { startTime: T0 + 3, id: "nobody" };
        const older = ids(await store.executions.list(ANN, { limit: 100, after: unknown }));
        expect(older.toSorted()).toEqual(
          many
            .filter((s) => s.at < T0 + 3)
            .map((s) => s.id)
            .toSorted(),
        );
      });

      test.each([7, 90])(
        "pages of a category with %i tools are those of all rows, sorted and cut",
        async (tools) => {
          const STATUSES = ["success", "failed", "cancelled"] as const;
          const made = Array.from({ length: 150 }, (_, i) => ({
            id: `m${i}`,
            at: T0 + ((i * 37) % 50),
            toolName: `${i % 3 ? "file" : "system"}/t${i % tools}`,
            status: STATUSES[i % 7] ?? "success",
          }));
          await finish(store, ...made);
          const open = { id: "open", at: T0 + 20, toolName: "file/new" };
          await store.log.append(started(open));
          // The log has them in the order they were made.
          const sorted = [...made, open]
            .map((row, i) => ({ ...row, i }))
            .filter(({ toolName }) => toolName.startsWith("file/"))
            .sort((a, b) => b.at - a.at || b.i - a.i)
            .map(({ id }) => id);
          const file = { ...ANN, category: "file" };
          expect(ids(await store.executions.list(file, { limit: 500 }))).toEqual(sorted);
          expect(ids(await store.executions.list(file, { limit: 20, offset: 30 }))).toEqual(
            sorted.slice(30, 50),
          );
          const after = {
            startTime: made.find(({ id }) => id === sorted[40])?.at ?? open.at,
            id: sorted[40] ?? "",
          };
          expect(ids(await store.executions.list(file, { limit: 9, after }))).toEqual(
            sorted.slice(41, 50),
          );
          const range = await store.executions.list(
            { ...file, from: T0 + 10, to: T0 + 12 },
            { limit: 500 },
          );
          expect(range.length).toBeGreaterThan(3);
          expect(range.every(({ startTime }) => startTime >= T0 + 10 && startTime <= T0 + 12)).toBe(
            true,
          );
          expect(
            (await store.executions.figures({ ...file, from: T0 + 10, to: T0 + 12 })).total,
          ).toBe(range.length);
        },
      );

      test("usage per tool, of a user and of the tenant", async () => {
        await finish(
          store,
          { id: "a", ms: 10 },
          { id: "b", ms: 20, at: T0 + HOUR, status: "failed" },
          { id: "c", userId: "bob", ms: 60, at: T0 + 5 * HOUR },
          { id: "d", toolName: "file/read", status: "cancelled", cancelReason: "timeout", ms: 1 },
        );
        const echo = { toolName: "system/echo", category: "system" };
        const read = {
          ...NONE,
          toolName: "file/read",
          category: "file",
          total: 1,
          cancelled: 1,
          timeout: 1,
          averageExecutionTime: 1,
          lastStart: T0,
        };
        expect(await store.executions.usage({ tenantId: "local" })).toEqual([
          {
            ...NONE,
            ...echo,
            total: 3,
            success: 2,
            failed: 1,
            averageExecutionTime: 30,
            lastStart: T0 + 5 * HOUR,
          },
          read,
        ]);
        expect(await store.executions.usage({ ...ANN, toolName: "system/echo" })).toEqual([
          {
            ...NONE,
            ...echo,
            total: 2,
            success: 1,
            failed: 1,
            averageExecutionTime: 15,
            lastStart: T0 + HOUR,
          },
        ]);
        expect(await store.executions.usage({ tenantId: "nobody" })).toEqual([]);
      });

      test("figures equal a naive count, whatever the filter", { timeout: 60_000 }, async () => {
        let run = 0;
        const sample = fc.record({
          toolName: fc.constantFrom("system/echo", "system/time", "file/read"),
          at: fc
            .oneof(fc.integer({ min: 0, max: 6 * HOUR }), fc.integer({ min: 0, max: 96 * HOUR }))
            .map((ms) => T0 + ms),
          ms: fc.integer({ min: 0, max: 4000 }).map((quarter) => quarter / 4),
          status: fc.constantFrom("success", "failed", "cancelled", "open"),
          cancelReason: fc.constantFrom<CancelReason>("user", "timeout", "shutdown"),
        });
        const time = fc.oneof(
          fc.integer({ min: -HOUR, max: 7 * HOUR }),
          fc.integer({ min: -HOUR, max: 100 * HOUR }),
          fc.integer({ min: 0, max: 4 }).map((day) => day * 24 * HOUR),
          fc.integer({ min: 0, max: 6 }).map((hour) => hour * HOUR),
          fc.integer({ min: 0, max: 6 }).map((hour) => hour * HOUR - 1),
        );
        const filter = fc.record(
          {
            toolName: fc.constantFrom("system/echo", "file/read"),
            category: fc.constantFrom("system", "file"),
            status: fc.constantFrom<Status>("pending", "running", "success", "failed", "cancelled"),
            from: time.map((ms) => T0 + ms),
            to: time.map((ms) => T0 + ms),
          },
          { requiredKeys: [] },
        );
        await fc.assert(
          fc.asyncProperty(
            fc.array(sample, { maxLength: 30 }),
            fc.array(filter, { minLength: 3, maxLength: 8 }),
            async (samples, filters) => {
              const userId = `user${run++}`;
              const rows = samples.map(
                ({ status, cancelReason, ...rest }, i): Sample & { open: boolean } => ({
                  ...rest,
                  id: `${userId}-${i}`,
                  userId,
                  open: status === "open",
                  status: status === "open" ? "success" : status,
                  cancelReason: status === "cancelled" ? cancelReason : null,
                }),
              );
              await Promise.all(
                rows
                  .flatMap((s) => [started(s), ...(s.open ? [] : [ended(s)])])
                  .map((e) => store.log.append(e)),
              );
              for (const f of filters)
                expect(await store.executions.figures({ ...ANN, userId, ...f })).toEqual(
                  naive(rows, f),
                );
            },
          ),
          { numRuns: 60 },
        );
      });
    });

    describe("idempotency", () => {
      const row = { scope: "local/ann", key: "k", requestHash: "h1", executionId: "e1", at: T0 };

      test("a reservation is given back by its own execution only", async () => {
        await store.idempotency.reserve(row);
        await store.idempotency.release({ ...row, executionId: "e2" });
        expect(await store.idempotency.find(row.scope, row.key, T0)).not.toBeNull();
        await store.idempotency.release(row);
        expect(await store.idempotency.find(row.scope, row.key, T0)).toBeNull();
        expect(await store.idempotency.reserve({ ...row, executionId: "e3" })).toBeNull();
      });

      test("the first reservation holds for 24 hours", async () => {
        expect(await store.idempotency.find(row.scope, row.key, T0)).toBeNull();
        expect(await store.idempotency.reserve(row)).toBeNull();
        const earlier = { requestHash: "h1", executionId: "e1" };
        const second = { ...row, requestHash: "h2", executionId: "e2" };
        expect(await store.idempotency.reserve({ ...second, at: T0 + 24 * HOUR - 1 })).toEqual(
          earlier,
        );
        expect(await store.idempotency.find(row.scope, row.key, T0 + 24 * HOUR - 1)).toEqual(
          earlier,
        );
        expect(await store.idempotency.find(row.scope, row.key, T0 + 24 * HOUR)).toBeNull();
        expect(await store.idempotency.reserve({ ...second, scope: "other" })).toBeNull();
        expect(await store.idempotency.reserve({ ...second, at: T0 + 24 * HOUR })).toBeNull();
        expect(await store.idempotency.find(row.scope, row.key, T0 + 24 * HOUR)).toEqual({
          requestHash: "h2",
          executionId: "e2",
        });
      });

      test("old reservations are swept as new ones come", async () => {
        await store.idempotency.reserve(row);
        await Promise.all(
          Array.from({ length: 600 }, (_, i) =>
            store.idempotency.reserve({ ...row, key: `k${i}`, at: T0 + 25 * HOUR }),
          ),
        );
        expect(await store.idempotency.find(row.scope, row.key, T0)).toBeNull();
        expect(await store.idempotency.find(row.scope, "k0", T0 + 26 * HOUR)).not.toBeNull();
      });

      test("of 50 at once exactly one gets it, and the others learn whose it is", async () => {
        const stores: [Store, Store] = [store, await another()];
        const answers = await atOnce(50, stores, (s, i) =>
          s.idempotency.reserve({ ...row, executionId: `e${i}` }),
        );
        expect(answers.filter((a) => a === null).length).toBe(1);
        const winner = `e${answers.indexOf(null)}`;
        expect(new Set(answers.filter((a) => a).map((a) => a?.executionId))).toEqual(
          new Set([winner]),
        );
      });
    });

    describe("tenants and users", () => {
      const ann: UserRow = {
        id: "ann",
        tenantId: "local",
        name: "Ann",
        role: "admin",
        roles: ["tool_user"],
        plan: null,
        preferences: {},
        createdAt: T0,
      };

      test("ensure keeps what is there", async () => {
        expect(await store.tenants.get("local")).toBeNull();
        await store.tenants.ensure({ id: "local", name: "Local", plan: "team", createdAt: T0 });
        await store.tenants.ensure({ id: "local", name: "Other", plan: null, createdAt: T0 });
        expect(await store.tenants.get("local")).toEqual({
          id: "local",
          name: "Local",
          plan: "team",
        });
        expect(await store.tenants.update("local", { plan: null })).toMatchObject({ plan: null });
        expect(await store.tenants.get("local")).toMatchObject({ name: "Local", plan: null });
        expect(await store.tenants.update("none", { plan: "free" })).toBeNull();
      });

      test("create, get, change, list", async () => {
        await store.users.create(ann);
        expect(await store.users.get("ann")).toEqual(ann);
        await expect(store.users.create(ann)).rejects.toEqual(new AlreadyExists("user"));
        const changed = { ...ann, roles: ["a", "b"], plan: "free" } as const;
        expect(await store.users.update("ann", { roles: ["a", "b"], plan: "free" })).toEqual(
          changed,
        );
        expect(await store.users.update("ann", {})).toEqual(changed);
        const preferences = { theme: "dark", home: { page: 3 } };
        expect(await store.users.update("ann", { preferences })).toEqual({
          ...changed,
          preferences,
        });
        expect(await store.users.get("ann")).toEqual({ ...changed, preferences });
        expect(await store.users.update("nobody", { name: "x" })).toBeNull();
        expect(await store.users.get("nobody")).toBeNull();
        for (const id of ["d", "b", "c"]) await store.users.create({ ...ann, id });
        await store.users.create({ ...ann, id: "e", tenantId: "other" });
        const page = await store.users.list("local", { limit: 2 });
        expect(page.map((u) => u.id)).toEqual(["ann", "b"]);
        expect(
          (await store.users.list("local", { limit: 9, after: "b" })).map((u) => u.id),
        ).toEqual(["c", "d"]);
      });
    });

    describe("keys", () => {
      const key: KeyRow = {
        id: "k1",
        tenantId: "local",
        userId: "ann",
        name: "laptop",
        prefix: "ost_abcd",
        salt: "s",
        hash: "h",
        scopes: ["*"],
        level: "admin",
        capsuleId: "all",
        createdAt: T0,
        expiresAt: null,
        revokedAt: null,
        lastUsedAt: null,
        limits: null,
      };

      test("create, find, list", async () => {
        await store.keys.create(key);
        expect(await store.keys.get("k1")).toEqual(key);
        expect(await store.keys.get("k9")).toBeNull();
        await expect(store.keys.create(key)).rejects.toThrow(AlreadyExists);
        const second = {
          ...key,
          id: "k2",
          userId: "bob",
          level: null,
          capsuleId: null,
          limits: { perMinute: 5, perDay: 100 },
        };
        await store.keys.create(second);
        expect(await store.keys.byPrefix("ost_abcd")).toEqual([key, second]);
        expect(await store.keys.byPrefix("ost_none")).toEqual([]);
        expect(await store.keys.list("local", { limit: 9 })).toEqual([key, second]);
        expect(await store.keys.list("local", { limit: 1, after: "k1" })).toEqual([second]);
        expect(await store.keys.list("local", { limit: 9, userId: "bob" })).toEqual([second]);
        expect(await store.keys.list("other", { limit: 9 })).toEqual([]);
      });

      test("item 1: limits are replaced, and nothing else", async () => {
        await store.keys.create(key);
        const limits = { plan: "free", perMinute: 5 } as const;
        expect(await store.keys.update("k1", { limits })).toEqual({ ...key, limits });
        expect(await store.keys.get("k1")).toEqual({ ...key, limits });
        expect(await store.keys.update("k1", { limits: null })).toEqual(key);
        expect(await store.keys.update("k9", { limits })).toBeNull();
      });

      test("revoked once, touched forwards only, expiry brought nearer only", async () => {
        await store.keys.create(key);
        const revokes = await Promise.all([1, 2, 3].map((at) => store.keys.revoke("k1", T0 + at)));
        expect(revokes.filter(Boolean).length).toBe(1);
        expect(await store.keys.revoke("k9", T0)).toBe(false);
        await store.keys.touch([
          { id: "k1", at: T0 + 9 },
          { id: "k9", at: T0 },
        ]);
        await store.keys.touch([{ id: "k1", at: T0 + 5 }]);
        await store.keys.touch([]);
        await store.keys.expire("k1", T0 + 100);
        await store.keys.expire("k1", T0 + 200);
        expect(await store.keys.get("k1")).toMatchObject({
          lastUsedAt: T0 + 9,
          expiresAt: T0 + 100,
        });
      });
    });

    describe("capsules", () => {
      const capsule: CapsuleRow = {
        id: "c1",
        tenantId: "local",
        name: "starter",
        version: 1,
        parent: null,
        status: "active",
        isDefault: true,
        capabilities: ["system/time", "system/echo"],
        listing: "full",
        ...CAPSULE_DEFAULTS,
        createdAt: T0,
        updatedAt: T0,
      };

      test("create, get, list, change", async () => {
        await store.capsules.create(capsule);
        expect(await store.capsules.get("c1")).toEqual(capsule);
        expect(await store.capsules.defaultOf("local")).toEqual(capsule);
        expect(await store.capsules.defaultOf("other")).toBeNull();
        await expect(store.capsules.create(capsule)).rejects.toThrow("capsule already exists");
        expect(await store.capsules.defaultOf("local")).toEqual(capsule);
        const all = { ...capsule, id: "c2", name: "all", isDefault: false, capabilities: ["*"] };
        await store.capsules.create(all);
        expect(await store.capsules.list("local", { limit: 9 })).toEqual([capsule, all]);
        expect(await store.capsules.list("local", { limit: 9, after: "c1" })).toEqual([all]);
        const names = Array.from({ length: 1200 }, (_, i) => `cat/t${1200 - i}`);
        const changed = await store.capsules.update("c2", {
          capabilities: names,
          status: "draft",
          listing: "search",
          updatedAt: T0 + 1,
        });
        expect(changed).toEqual({
          ...all,
          version: 2,
          parent: 1,
          status: "draft",
          listing: "search",
          capabilities: names,
          updatedAt: T0 + 1,
        });
        expect(await store.capsules.update("c9", { name: "x", updatedAt: T0 })).toBeNull();
      });

      test("there is one default; a new one takes it from the former", async () => {
        await store.capsules.create(capsule);
        for (const id of ["c2", "c3", "c4", "c5"])
          await store.capsules.create({ ...capsule, id, isDefault: false });
        await store.capsules.create({ ...capsule, id: "x", tenantId: "other" });
        const stores: [Store, Store] = [store, await another()];
        await atOnce(4, stores, (s, i) =>
          s.capsules.update(`c${i + 2}`, { isDefault: true, updatedAt: T0 + i }),
        );
        const rows = await store.capsules.list("local", { limit: 9 });
        expect(rows.filter((row) => row.isDefault).length).toBe(1);
        expect((await store.capsules.defaultOf("other"))?.id).toBe("x");
      });

      test("changes of two instances are both counted", async () => {
        await store.capsules.create(capsule);
        const stores: [Store, Store] = [store, await another()];
        await atOnce(20, stores, (s, i) => s.capsules.update("c1", { updatedAt: T0 + i }));
        expect((await store.capsules.get("c1"))?.version).toBe(21);
        const versions = await store.capsules.versions("c1", { limit: 99 });
        expect(versions.map(({ version }) => version)).toEqual(
          Array.from({ length: 21 }, (_, i) => 21 - i),
        );
        expect(versions.filter(({ status }) => status === "active").length).toBe(1);
      });
    });

    describe("capabilities", () => {
      const tool = (name: string, pin: string): StoredTool => ({
        id: name,
        name,
        wireName: name.replace("/", "_"),
        displayName: name,
        description: `It's "${name}"`,
        category: name.split("/")[0] ?? "",
        provider: "native",
        inputSchema: { type: "object" },
        outputSchema: null,
        risk: "safe",
        effects: "read_only",
        requiresApproval: false,
        requiresSandbox: false,
        sandbox: null,
        escalations: [],
        cacheable: false,
        timeoutMs: 1000,
        rateLimitPerHour: null,
        tags: ["a"],
        version: "1.0.0",
        requiredPermissions: [],
        deprecated: null,
        aliases: [],
        examples: [],
        idempotent: true,
        openWorld: false,
        enabled: true,
        linkState: "linked",
        touches: [],
        meters: [],
        route: null,
        pin,
      });

      test("saved by name; every definition stays under its pin", async () => {
        const v1 = tool("system/echo", "p1");
        const v2 = { ...tool("system/echo", "p2"), description: "new" };
        const other = tool("file/read", "p3");
        await store.capabilities.save([v1, other], T0);
        await store.capabilities.save([v2], T0 + 1);
        await store.capabilities.save([], T0 + 2);
        const all = await store.capabilities.all();
        expect(all).toMatchObject([other, v2]);
        expect(all.every((t) => (t as { native?: unknown }).native === null)).toBe(true);
        expect(await store.capabilities.definition("p1")).toMatchObject(v1);
        expect(await store.capabilities.definition("p2")).toMatchObject(v2);
        expect(await store.capabilities.definition("p9")).toBeNull();
      });

      test("R009: a name keeps its id and its first day; a new pin is a change", async () => {
        const { save, record, setEnabled } = store.capabilities;
        await save([tool("system/echo", "p1"), tool("system/time", "p2")], T0);
        const first = await record("system/echo");
        expect(first).toEqual({
          id: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/) as string,
          createdAt: T0,
          updatedAt: T0,
        });
        await save([{ ...tool("system/echo", "p1"), tags: ["b"] }], T0 + 1);
        await setEnabled("system/echo", false);
        expect(await record("system/echo")).toEqual(first);
        await save([tool("system/echo", "p9")], T0 + 2);
        expect(await record("system/echo")).toEqual({ ...first, updatedAt: T0 + 2 });
        expect((await record("system/time"))?.id).not.toBe(first?.id);
        expect(await record("no/such")).toBeNull();
      });

      test("disabled, enabled, removed", async () => {
        await store.capabilities.save([tool("system/echo", "p1")], T0);
        expect(await store.capabilities.setEnabled("system/echo", false)).toBe(true);
        expect((await store.capabilities.all())[0]?.enabled).toBe(false);
        expect(await store.capabilities.setEnabled("no/such", false)).toBe(false);
        expect(await store.capabilities.remove("system/echo")).toBe(true);
        expect(await store.capabilities.remove("system/echo")).toBe(false);
        expect(await store.capabilities.all()).toEqual([]);
        expect(await store.capabilities.definition("p1")).not.toBeNull();
      });

      test("1,000 tools are saved in one go", async () => {
        await store.capabilities.save(
          Array.from({ length: 1000 }, (_, i) => tool(`cat/t${i}`, `p${i}`)),
          T0,
        );
        expect((await store.capabilities.all()).length).toBe(1000);
      });
    });

    describe("memory", () => {
      const row = {
        tenantId: "local",
        namespace: "ann",
        key: "k",
        value: { a: [1, null, "x"] },
        tags: ["t"],
        at: T0,
        expiresAt: null,
      };
      const read = (now: number) => store.memory.get("local", "ann", "k", now);

      test("put raises the version, get answers the newest", async () => {
        expect(await read(T0)).toBeNull();
        expect(await store.memory.put(row)).toEqual({ version: 1, created: true });
        expect(await store.memory.put({ ...row, value: "two", at: T0 + 1 })).toEqual({
          version: 2,
          created: false,
        });
        expect(await read(T0)).toEqual({
          key: "k",
          value: "two",
          tags: ["t"],
          version: 2,
          updatedAt: T0 + 1,
          expiresAt: null,
        });
        expect(await store.memory.get("other", "ann", "k", T0)).toBeNull();
        expect(await store.memory.get("local", "bob", "k", T0)).toBeNull();
      });

      test("ifVersion writes only on the version it names; 0 means absent", async () => {
        expect(await store.memory.put({ ...row, ifVersion: 1 })).toBeNull();
        expect(await store.memory.put({ ...row, ifVersion: 0 })).toEqual({
          version: 1,
          created: true,
        });
        expect(await store.memory.put({ ...row, ifVersion: 0 })).toBeNull();
        expect(await store.memory.put({ ...row, ifVersion: 2 })).toBeNull();
        expect(await store.memory.put({ ...row, ifVersion: 1 })).toEqual({
          version: 2,
          created: false,
        });
      });

      test("what has expired is absent, and its versions go on", async () => {
        await store.memory.put({ ...row, expiresAt: T0 + 10 });
        expect(await read(T0 + 9)).not.toBeNull();
        expect(await read(T0 + 10)).toBeNull();
        expect(await store.memory.put({ ...row, at: T0 + 10, ifVersion: 1 })).toBeNull();
        expect(await store.memory.put({ ...row, at: T0 + 10, ifVersion: 0 })).toEqual({
          version: 2,
          created: true,
        });
        expect(await store.memory.put({ ...row, at: T0 + 11 })).toEqual({
          version: 3,
          created: false,
        });
      });

      test("50 writers at once lose no update; with ifVersion exactly one wins", async () => {
        const stores: [Store, Store] = [store, await another()];
        const puts = (extra: object) =>
          atOnce(50, stores, (s) => s.memory.put({ ...row, ...extra }));
        const versions = (await puts({})).map((r) => r?.version ?? 0);
        expect(versions.toSorted((a, b) => a - b)).toEqual(versions.map((_, i) => i + 1));
        expect((await puts({ ifVersion: 50 })).filter((r) => r !== null).length).toBe(1);
      });

      test("a key that cannot be stored unchanged is refused", async () => {
        await expect(store.memory.put({ ...row, key: "a\0b" })).rejects.toThrow(/NUL/);
        await expect(store.memory.put({ ...row, key: "a\ud800" })).rejects.toThrow(/surrogate/);
      });
    });

    documentsSuite(() => store, another);
    approvalsSuite(() => store, another);
    usageSuite(() => store, another);
    ledgerSuite(() => store, another);
    historySuite(
      () => store,
      () => ground,
    );
    searchSuite(
      () => store,
      () => ground,
    );
    workSuite(() => store, another);
    toolDraftsSuite(() => store, another);
    programsSuite(() => store, another);
    workflowsSuite(() => store, another);
    workItemsSuite(() => store, another);
    conversationsSuite(() => store, another);
    webhooksSuite(() => store);
    agentRecordsSuite(() => store, another);
    upstreamSuite(() => store);

    describe("facts", () => {
      test("get, set, put if absent, take", async () => {
        expect(await store.facts.get("f")).toBeNull();
        expect(await store.facts.putIfAbsent("f", "1")).toBe("1");
        expect(await store.facts.putIfAbsent("f", "2")).toBe("1");
        await store.facts.set("f", "3");
        expect(await store.facts.get("f")).toBe("3");
        expect(await store.facts.take("f")).toBe("3");
        expect(await store.facts.take("f")).toBeNull();
      });

      test("replace writes only over what it expects; of 50 at once exactly one does", async () => {
        expect(await store.facts.replace("r", "0", "1")).toBe(false);
        expect(await store.facts.replace("r", null, "1")).toBe(true);
        expect(await store.facts.replace("r", null, "2")).toBe(false);
        expect(await store.facts.replace("r", "1", "2")).toBe(true);
        const stores: [Store, Store] = [store, await another()];
        const written = await atOnce(50, stores, (s, i) => s.facts.replace("r", "2", `v${i}`));
        expect(written.filter(Boolean)).toHaveLength(1);
      });

      test("of 50 at once exactly one puts and exactly one takes", async () => {
        const stores: [Store, Store] = [store, await another()];
        const stored = await atOnce(50, stores, (s, i) => s.facts.putIfAbsent("f", `v${i}`));
        expect(new Set(stored).size).toBe(1);
        const taken = await atOnce(50, stores, (s) => s.facts.take("f"));
        expect(taken.filter((v) => v !== null)).toEqual([stored[0]]);
      });
    });

    test("two instances write at once: every event once, no lost counts", async () => {
      const stores: [Store, Store] = [store, await another()];
      const write = (i: number) => {
        const s = { id: `e${i}`, ms: 4, at: T0 + i };
        const to = stores[i % 2] ?? store;
        // The end also arrives at the other instance, as when a cancel crosses a finish.
        return to.log
          .append(started(s))
          .then(() => Promise.all(stores.map((one) => one.log.append(ended(s)))));
      };
      const seqs = await Promise.all(Array.from({ length: 200 }, (_, i) => write(i)));
      expect(new Set(seqs.flat()).size).toBe(400);
      expect(await store.log.head()).toBe(600);
      expect(await store.executions.figures(ANN)).toEqual({
        ...NONE,
        total: 200,
        success: 200,
        averageExecutionTime: 4,
      });
      expect(await store.executions.open({ instanceId: "one" })).toEqual([]);
    });

    test(
      "processes that start at once on an empty database migrate it once",
      { timeout: 60_000 },
      async () => {
        await store.close();
        await ground.dispose();
        ground = await prepare();
        const codes = await Promise.all(
          [1, 2, 3].map(async () => {
            const child = spawn(process.execPath, [script, ground.address, ground.dataDir], {
              stdio: "inherit",
            });
            return (await once(child, "exit"))[0] as number;
          }),
        );
        expect(codes).toEqual([0, 0, 0]);
        await (await another()).ping();
      },
    );

    test("a database of the first release is brought up to date, and what it holds reads on", async () => {
      const { kind } = store;
      await store.close();
      await ground.dispose();
      ground = await prepare();
      const [first] = migrationsFor(kind);
      await ground.exec(
        "create table migrations (id integer primary key, name text not null, checksum text not null, applied_at bigint not null)",
      );
      await ground.exec((first?.statements ?? []).join(";\n"));
      await ground.exec(`insert into migrations values (1, 'initial', '${first?.checksum}', 0)`);
      await ground.exec(
        `insert into keys values ('k1', 'local', 'ann', 'laptop', 'p', 's', 'h', '[]', null, null, 0, null, null, null)`,
      );
      const {
        approvalId: _a,
        budget: _b,
        reserved: _r,
        mode: _m,
        roles: _o,
        ...old
      } = startBody({ id: "a" });
      await ground.exec(
        `insert into events values (1, 'local', ${T0}, 'tool.execution.start', 'ann', 'a', null, null, '${JSON.stringify(old)}')`,
      );
      await ground.exec(
        `insert into executions values (1, 'a', 'local', 'ann', 'system/echo', 'system', 'running', null, ${T0}, null, null, 30000, 'one', 1, null)`,
      );
      const migrated = await another();
      expect((await migrated.keys.get("k1"))?.limits).toBeNull();
      expect(await migrated.executions.get("a")).toMatchObject({
        status: "running",
        approvalId: null,
        budget: {},
        reserved: false,
        mode: "NORMAL",
        roles: [],
      });
      expect(ids(await migrated.executions.open({ instanceId: "one" }))).toEqual(["a"]);
      await migrated.log.append(ended({ id: "a" }));
      expect((await migrated.executions.get("a"))?.status).toBe("success");
    });

    /** A database as it was before the migration `name`. */
    async function groundBefore(name: string): Promise<void> {
      const { kind } = store;
      await store.close();
      await ground.dispose();
      ground = await prepare();
      await ground.exec(
        "create table migrations (id integer primary key, name text not null, checksum text not null, applied_at bigint not null)",
      );
      for (const { id, name: of, checksum, statements } of migrationsFor(kind)) {
        if (of === name) return;
        await ground.exec(statements.join(";\n"));
        await ground.exec(`insert into migrations values (${id}, '${of}', '${checksum}', 0)`);
      }
    }

    test("drafts of a release that did not check them are kept as rejected", async () => {
      await groundBefore("tool-drafts");
      const body = JSON.stringify({ name: "system/old", description: "An old one." });
      await ground.exec(
        `insert into capabilities (id, name, pin, enabled, body) values ('u', 'system/old', 'p', 1, '${body}')`,
      );
      await ground.exec(
        `insert into tool_drafts values ('system/old', 'local', 'ann', '1.0.0', 'p', '{"kind":"http"}', 'safe', ${T0})`,
      );
      const { toolDrafts } = await another();
      expect(await toolDrafts.versions("system/old")).toMatchObject([
        {
          number: 1,
          state: "rejected",
          definition: { description: "An old one." },
          program: { kind: "http" },
          tests: [],
          reason: expect.stringContaining("draft it again") as string,
        },
      ]);
    });

    test("runs and schedules of the release before leases read on: none has rights of its own, all times are kept", async () => {
      await groundBefore("durable");
      await ground.exec(
        `insert into workflow_runs values ('run_1', 'local', 'ann', 'wfl_1', 1, 'exec_1', 'one', 'running', '{}', '[]', null, null, ${T0}, null)`,
      );
      await ground.exec(
        `insert into schedules values ('sch_1', 'local', 'ann', null, 'wfl_1', '* * * * *', 'UTC', 1, '{}', ${T0}, 0, null, null, null, ${T0}, null, null, null)`,
      );
      const migrated = await another();
      const [run] = await migrated.runs.open({ instanceId: "one" });
      expect(run).toMatchObject({ id: "run_1", fence: 0, mandate: null, startKey: null });
      expect((await migrated.runs.claim("run_1", "two"))?.fence).toBe(1);
      expect(await migrated.schedules.find("sch_1")).toMatchObject({
        nextAt: T0,
        catchUp: "once",
        overlap: "skip",
        mandate: null,
      });
      expect(await migrated.schedules.enabled()).toEqual(["sch_1"]);
    });

    test("ping answers while the store is open", async () => {
      await store.ping();
      await store.close();
      await expect(store.ping()).rejects.toThrow();
    });
  });
}

function naive(rows: readonly (Sample & { open: boolean })[], f: Partial<HistoryFilter>) {
  const set = rows.filter((s) => {
    const { toolName, category, startTime } = startBody(s);
    const status = s.open ? "running" : s.status;
    return (
      (f.toolName ?? toolName) === toolName &&
      (f.category ?? category) === category &&
      (f.status ?? status) === status &&
      startTime >= (f.from ?? -Infinity) &&
      startTime <= (f.to ?? Infinity)
    );
  });
  if (f.status === "pending" || f.status === "running") return { ...NONE, total: set.length };
  const done = set.filter((s) => !s.open);
  const count = (status: string) => done.filter((s) => s.status === status).length;
  const sum = done.reduce((ms, s) => ms + (s.ms ?? 0), 0);
  return {
    total: done.length,
    success: count("success"),
    failed: count("failed"),
    cancelled: count("cancelled"),
    timeout: done.filter((s) => s.cancelReason === "timeout").length,
    averageExecutionTime: done.length === 0 ? 0 : Math.round((sum / done.length) * 100) / 100,
  };
}

const script = fileURLToPath(new URL("./store.suite.child.ts", import.meta.url));

/** Runs a process that appends as fast as it can, kills it, and answers the lines it had acknowledged. */
async function killedWhileAppending(ground: Ground, round: number): Promise<string[]> {
  const child = spawn(process.execPath, [script, ground.address, ground.dataDir, `child${round}`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines: string[] = [];
  const limit = 300 + round * 500;
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (lines.length === limit) child.kill("SIGKILL");
  }
  return lines;
}
