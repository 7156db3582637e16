// Who hears of the mode and of approvals, live, resumed, and from another instance; on a real store.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { testCaller } from "../../../test/fixtures/gate.ts";
import type { Caller } from "../../contract/call.ts";
import { openStore, type LogEvent, type Store } from "../../storage/store/store.ts";
import { createLive, type LiveEvent, type LivePublisher } from "./live.ts";

let dataDir: string;
let store: Store;
let live: LivePublisher;
beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "ostiary-live-"));
  store = await openStore("sqlite:live.db", { dataDir });
  live = createLive(store.log);
});
afterEach(async () => {
  await store.close();
  rmSync(dataDir, { recursive: true, force: true });
});

const ada = testCaller();
const bob = testCaller({ userId: "bob" });
const boss = testCaller({ userId: "boss", role: "admin" });
const foreign = testCaller({ userId: "ada", tenantId: "other" });
const foreignBoss = testCaller({ userId: "boss", tenantId: "other", role: "admin" });

const AT = Date.UTC(2026, 0, 1);
const event = (action: LogEvent["action"], actor: string, body: object): LogEvent => ({
  tenantId: "local",
  at: AT,
  action,
  actor,
  executionId: null,
  body: JSON.stringify(body),
});
const changed = event("mode.changed", "boss", {
  from: "NORMAL",
  to: "ALERT",
  reason: "drill",
  by: "boss",
  until: AT + 60_000,
  sensors: {},
  index: 1,
});
const requested = event("approval.requested", "ada", {
  approvalId: "apr_1",
  executionId: "exec_1",
  toolName: "file/write",
  risk: "moderate",
  needed: 1,
  expiresAt: AT + 300_000,
  arguments: { path: "secret.txt" },
});
const voted = event("approval.voted", "boss", {
  approvalId: "apr_1",
  executionId: "exec_1",
  toolName: "file/write",
  requester: "ada",
  decision: "approve",
  comment: "fine",
});

const publish = async (each: LogEvent): Promise<number> => {
  const seq = await store.log.append(each);
  live.publish({ seq, event: each });
  return seq;
};

/** What each of them hears while `work` goes on. */
async function heard(
  callers: Record<string, Caller>,
  work: () => Promise<unknown>,
  after?: number,
): Promise<Record<string, LiveEvent[]>> {
  const stop = new AbortController();
  const told: Record<string, LiveEvent[]> = {};
  const reading = Object.entries(callers).map(async ([name, caller]) => {
    const events: LiveEvent[] = (told[name] = []);
    for await (const each of live.subscribe(caller, {
      signal: stop.signal,
      ...(after === undefined ? {} : { after }),
    }))
      events.push(each);
  });
  await work();
  // Reading from the store takes several turns of the loop.
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
  stop.abort();
  await Promise.all(reading);
  return told;
}

const names = (told: Record<string, LiveEvent[]>) =>
  Object.fromEntries(
    Object.entries(told).map(([name, events]) => [name, events.map((each) => each.event)]),
  );

describe("the mode", () => {
  test("a change reaches every listener of every tenant, and says what, why, by whom and until when", async () => {
    const told = await heard({ ada, foreign, boss }, () => publish(changed));
    expect(names(told)).toEqual({
      ada: ["mode.changed"],
      foreign: ["mode.changed"],
      boss: ["mode.changed"],
    });
    expect(JSON.parse(told["foreign"]?.[0]?.data ?? "")).toEqual({
      mode: "ALERT",
      from: "NORMAL",
      reason: "drill",
      by: "boss",
      until: "2026-01-01T00:01:00.000Z",
      at: "2026-01-01T00:00:00.000Z",
    });
  });

  test("a proposal is told too; other notes of the house are not", async () => {
    const told = await heard({ ada }, async () => {
      await publish(
        event("mode.proposed", "sensor:quiet", {
          from: "ALERT",
          to: "NORMAL",
          reason: "quiet",
          by: "sensor:quiet",
        }),
      );
      await publish(event("sensor.warning", "sensor:cpu", {}));
      await publish(event("key.created", "ada", {}));
      await publish(event("approval.rule_created", "ada", {}));
    });
    expect(names(told)).toEqual({ ada: ["mode.proposed"] });
    expect(JSON.parse(told["ada"]?.[0]?.data ?? "")).toMatchObject({ mode: "NORMAL", until: null });
  });
});

describe("approvals", () => {
  test("reach the requester and the tenant's administrators, without arguments and comments", async () => {
    const told = await heard({ ada, bob, boss, foreign, foreignBoss }, async () => {
      await publish(requested);
      await publish(voted);
    });
    const both = ["approval.requested", "approval.voted"];
    expect(names(told)).toEqual({ ada: both, bob: [], boss: both, foreign: [], foreignBoss: [] });
    expect(JSON.parse(told["boss"]?.[0]?.data ?? "")).toEqual({
      approvalId: "apr_1",
      executionId: "exec_1",
      toolName: "file/write",
      requester: "ada",
      risk: "moderate",
      needed: 1,
      expiresAt: "2026-01-01T00:05:00.000Z",
      at: "2026-01-01T00:00:00.000Z",
    });
    expect(JSON.stringify(told)).not.toMatch(/secret\.txt|fine/);
  });
});

test("a listener that comes back gets from the log what it missed, then goes on live", async () => {
  const first = await store.log.append(changed);
  await store.log.append(requested);
  const start = {
    ...event("tool.execution.start", "ada", { toolName: "system/echo", status: "running" }),
    executionId: "exec_2",
  };
  const told = await heard(
    { ada, bob, foreign },
    async () => {
      for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve));
      await publish(voted);
      live.publish({ seq: 99, event: start });
    },
    0,
  );
  expect(names(told)).toEqual({
    ada: ["mode.changed", "approval.requested", "approval.voted", "tool.execution.start"],
    bob: ["mode.changed"],
    foreign: ["mode.changed"],
  });
  expect(told["ada"]?.[0]?.id).toBe(first);
  expect(names(await heard({ ada }, async () => Promise.resolve(), first))["ada"]).not.toContain(
    "mode.changed",
  );
});

describe("several instances", () => {
  test("what another one recorded is told once, and what was there before is no news", async () => {
    await store.log.append(changed);
    await live.catchUp();
    const told = await heard({ ada, boss }, async () => {
      await store.log.append(changed);
      await publish(requested);
      await live.catchUp();
      await live.catchUp();
    });
    expect(names(told)).toEqual({
      ada: ["approval.requested", "mode.changed"],
      boss: ["approval.requested", "mode.changed"],
    });
  });

  test("more than one page of it arrives whole", async () => {
    await live.catchUp();
    const told = await heard({ ada }, async () => {
      await Promise.all(Array.from({ length: 450 }, () => store.log.append(changed)));
      await live.catchUp();
    });
    expect(new Set(told["ada"]?.map(({ id }) => id)).size).toBe(450);
  });
});
