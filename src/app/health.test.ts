import { expect, it } from "vitest";
import type { Allowlist } from "../governance/governance.ts";
import { healthOf } from "./health.ts";

const list = (...entries: string[]): Allowlist => ({ state: "on", entries, has: () => true });
const up = { name: "store", ping: () => Promise.resolve() };

it("C6: an allow list that lets everything through is shown, and does not make the house unready", async () => {
  const shown = { name: "allowlist", ok: true, ms: 0, reason: "TOOL_WHITELIST is *: every tool is on it" }; // prettier-ignore
  const { ready, checks } = await healthOf([up], list("*")).check();
  expect(ready).toBe(true);
  expect(checks).toEqual([expect.objectContaining({ name: "store", ok: true }), shown]);
  expect((await healthOf([up], list("system/echo")).check()).checks).toHaveLength(1);
});

it("a part that does not answer is named, and the house is not ready", async () => {
  const down = { name: "policy", ping: () => Promise.reject(new Error("gone")) };
  const { ready, checks } = await healthOf([up, down], list("system/echo")).check();
  expect(ready).toBe(false);
  expect(checks).toMatchObject([
    { name: "store", ok: true },
    { name: "policy", ok: false, reason: "the policy does not answer" },
  ]);
});
