import { expect, test } from "vitest";
import { ask } from "../../../test/fixtures/gate.ts";
import type { Allowlist } from "../../governance/rules/governance.ts";
import { allowlist } from "./allowlist.ts";

const list = (state: Allowlist["state"], ...entries: string[]): { allowlist: Allowlist } => ({
  allowlist: { state, entries, has: (name) => entries.includes(name) },
});

test("C6: not configured it refuses nothing", () => {
  expect(ask(allowlist, {}, list("off"))).toEqual({ kind: "allow" });
});

test("R040 R261 R287: a tool that is not on the list is blocked", () => {
  expect(ask(allowlist, {}, list("on", "system/probe"))).toEqual({ kind: "allow" });
  const no = {
    code: "FORBIDDEN",
    reason: "not_allowlisted",
    message: "Blocked by whitelist policy",
  };
  expect(ask(allowlist, {}, list("on", "system/other"))).toMatchObject(no);
  expect(ask(allowlist, {}, list("on"))).toMatchObject(no);
  expect(ask(allowlist, { suppose: {} }, list("on", "a/b"))).toMatchObject({
    ...no,
    read: { entries: ["a/b"] },
  });
});

test("a call without a tool never gets past it", () => {
  expect(ask(allowlist, { tool: null }, list("off"))).toMatchObject({ code: "NOT_FOUND" });
});
