import { mkdtempSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { testCaller } from "../../../test/fixtures/gate.ts";
import { governanceOf } from "../../../test/fixtures/governance.ts";
import { workspacesOf } from "./workspaces.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "ostiary-places-")));
const SETTINGS = { workspace: join(root, "ws"), dataDir: join(root, "data"), localTenant: "local" };
const of = (workspacePerSession: boolean) => workspacesOf({ ...SETTINGS, workspacePerSession });
const ada = testCaller();
const guest = testCaller({ tenantId: "Other/../Tenant", userId: "bob" });

test("the local tenant works in the workspace, others in folders of their own", () => {
  expect(of(false).workspaceOf(ada, "s1")).toBe(join(root, "ws"));
  expect(of(false).workspaceOf(guest, null)).toMatch(
    new RegExp(`^${root}/data/workspaces/_[0-9a-f]{40}$`),
  );
});

test("every session may have its own workspace", () => {
  expect(of(true).workspaceOf(ada, "s1")).toBe(join(root, "ws/s1"));
  expect(of(true).workspaceOf(ada, "../s2")).toMatch(new RegExp(`^${root}/ws/_[0-9a-f]{40}$`));
  expect(of(true).workspaceOf(ada, null)).toBe(join(root, "ws/_user-ada"));
});

test("scratch folders differ by tenant, user and session; names in other case do not meet", () => {
  const { scratchOf } = of(false);
  const all = [
    scratchOf(ada, null),
    scratchOf(ada, "a"),
    scratchOf(ada, "A"),
    scratchOf(ada, "_none"),
    scratchOf(guest, "a"),
  ];
  expect(new Set(all.map((path) => path?.toLowerCase())).size).toBe(all.length);
  expect(scratchOf(ada, "a")).toBe(join(root, "data/scratch/local/ada/a"));
});

test("governance goes by them: one session's files are refused to another, its own scratch asks nobody", async () => {
  const governance = governanceOf({ ...SETTINGS, home: join(root, "home"), ...of(true) });
  const { pathRules, own } = await governance.filesFor({
    caller: ada,
    tool: null,
    sessionId: "s1",
  });
  expect(own).toEqual([join(root, "ws/s1"), join(root, "data/scratch/local/ada/s1")]);
  expect(await pathRules.locate("../s2/x", "read")).toMatchObject({
    ok: false,
    reason: "path_not_allowed",
  });
  expect(await pathRules.locate(join(root, "data/scratch/local/ada/s2/x"), "read")).toMatchObject({
    ok: false,
    reason: "path_forbidden",
  });
  expect(await pathRules.locate("$SCRATCH/x", "write")).toMatchObject({
    ok: true,
    shown: "$SCRATCH/x",
  });
  expect(pathRules.unattended(join(root, "data/scratch/local/ada/s1/x"))).not.toBeNull();
  expect(pathRules.unattended(join(root, "ws/s1/x"))).toBeNull();
});
