import { expect, test } from "vitest";
import type { Allowlist } from "../governance/rules/governance.ts";
import type { SandboxStatus } from "../reach/sandbox/sandbox.ts";
import { healthOf } from "./health.ts";
import { sinkReport } from "./event-relay.ts";

const list = (...entries: string[]): Allowlist => ({ state: "on", entries, has: () => true });
const up = { name: "store", ping: () => Promise.resolve() };

test("C6: an allow list that lets everything through is shown, and does not make the house unready", async () => {
  const shown = {
    name: "allowlist",
    ok: true,
    ms: 0,
    reason: "TOOL_WHITELIST is *: every tool is on it",
  };
  const { ready, checks } = await healthOf([up], list("*")).check();
  expect(ready).toBe(true);
  expect(checks).toEqual([expect.objectContaining({ name: "store", ok: true }), shown]);
  expect((await healthOf([up], list("system/echo")).check()).checks).toHaveLength(1);
});

test("a part that does not answer is named, and the house is not ready", async () => {
  const down = { name: "policy", ping: () => Promise.reject(new Error("gone")) };
  const { ready, checks } = await healthOf([up, down], list("system/echo")).check();
  expect(ready).toBe(false);
  expect(checks).toMatchObject([
    { name: "store", ok: true },
    { name: "policy", ok: false, reason: "the policy does not answer" },
  ]);
});

test("C46: a sink that is down is shown, and does not make the house unready", async () => {
  const check = (told: () => Promise<string | null>) =>
    healthOf([], list("x"), undefined, told).check();
  expect(await check(() => Promise.resolve(null))).toEqual({ ready: true, checks: [] });
  const figures = {
    pending: 7,
    lastError: "no Kafka broker answers",
    lastSuccess: 0,
    relaying: false,
  };
  expect(await check(() => Promise.resolve(sinkReport(figures)))).toEqual({
    ready: true,
    checks: [
      {
        name: "sink",
        ok: true,
        ms: 0,
        reason:
          "events are not sent on: no Kafka broker answers; 7 events wait, the last was sent at 1970-01-01T00:00:00.000Z",
      },
    ],
  });
  expect(sinkReport({ ...figures, lastError: null, pending: 1 })).toBe(
    "another server sends events on; 1 event waits",
  );
  expect(sinkReport({ ...figures, lastError: null, lastSuccess: null, relaying: true })).toBe(
    "7 events wait, none was sent by this server yet",
  );
  expect(await check(() => Promise.reject(new Error("gone")))).toMatchObject({
    ready: true,
    checks: [{ reason: "not known: the store does not answer" }],
  });
});

test("a sandbox that is missing or weak is shown, and does not make the house unready", async () => {
  const box = (status: Partial<SandboxStatus>): Promise<unknown> => {
    const whole: SandboxStatus = {
      ready: true,
      reason: null,
      fix: null,
      limits: "cgroup-v2",
      version: "0.8.0",
      ...status,
    };
    return healthOf([], list("x"), () => ({
      probed: Promise.resolve(whole),
      status: whole,
    })).check();
  };
  expect(await box({})).toEqual({ ready: true, checks: [] });
  expect(await box({ limits: "weak" })).toMatchObject({
    ready: true,
    checks: [{ name: "sandbox", ok: true, reason: expect.stringContaining("weak limits") }],
  });
  expect(
    await box({
      ready: false,
      reason: "bubblewrap is not installed",
      fix: "apt install bubblewrap",
    }),
  ).toMatchObject({
    ready: true,
    checks: [
      {
        reason:
          "tools that start programs refuse: bubblewrap is not installed; apt install bubblewrap",
      },
    ],
  });
});
