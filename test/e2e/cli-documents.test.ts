// Versions of policies and governance files from the command line.
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { runBin, type BinResult } from "../fixtures/bin.ts";

// Each test starts several processes; a busy machine takes its time.
vi.setConfig({ testTimeout: 90_000 });

const SHIPPED = join(import.meta.dirname, "../../governance");
let server: StartedApp;
let dir: string;
beforeAll(async () => {
  server = await startApp();
  dir = mkdtempSync(join(tmpdir(), "ostiary-cli-documents-"));
  cpSync(SHIPPED, join(dir, "governance"), { recursive: true });
  writeFileSync(join(dir, "governance/policies/more.rego"), "package more\n\nanswer := 42\n");
  cpSync(join(SHIPPED, "policies"), join(dir, "broken"), { recursive: true });
  writeFileSync(join(dir, "broken/x_test.rego"), "package x_test\n\ntest_no if 1 == 2\n");
});
afterAll(async () => {
  rmSync(dir, { recursive: true });
  await server.close();
});

const cli = (...words: string[]): Promise<BinResult> =>
  runBin(words, { cwd: dir, env: { OSTIARY_DATA_DIR: server.dataDir } });

test("policy: diff, draft, publish, list, show and rollback", async () => {
  const diff = await cli("policy", "diff", "governance/policies");
  expect(diff.stdout).toBe(
    "--- version 1  more.rego\n@@ line 1 @@\n+package more\n+\n+answer := 42\n",
  );
  expect((await cli("policy", "diff", "1")).stderr).toContain("nothing differs from version 1");

  const draft = await cli("policy", "draft", "governance/policies", "--note", "more");
  expect(draft).toMatchObject({ code: 0, stdout: "version 2: draft\n" });
  expect(await cli("policy", "publish", "2", "--shadow")).toMatchObject({
    code: 0,
    stdout: "version 2: shadow\n",
  });
  expect(await cli("policy", "end-trial", "--json")).toMatchObject({ code: 0 });
  const published = await cli("policy", "publish", "2", "--json");
  expect(published.json()).toMatchObject({ version: 2, state: "enforced", note: "more" });
  const list = await cli("policy", "list");
  expect(list.stdout).toMatch(
    /^VERSION .*\n2 +enforced +\S+ +owner +more\n1 +retired +\S+ +import +first start\n$/,
  );
  expect((await cli("policy", "show")).stdout).toContain(
    "# more.rego\npackage more\n\nanswer := 42\n",
  );
  const copy = join(dir, "copy");
  expect((await cli("policy", "show", "--out", copy)).stdout).toMatch(/^version 2: \d+ files in /);
  expect(readFileSync(join(copy, "more.rego"), "utf8")).toBe("package more\n\nanswer := 42\n");
  expect(await cli("policy", "show", "--out", copy)).toMatchObject({ code: 2 });
  expect((await cli("policy", "show", "1", "--json")).json().files).not.toHaveProperty("more.rego");
  expect(await cli("policy", "rollback")).toMatchObject({
    code: 0,
    stdout: "version 1: enforced\n",
  });
  expect((await cli("policy", "diff", "2", "1", "--json")).json()).toMatchObject({
    version: 1,
    files: [{ file: "more.rego" }],
  });
});

test("policy: a folder with faults is not published and leaves nothing behind", async () => {
  const before = (await cli("policy", "list", "--json")).json().items.length as number;
  const refused = await cli("policy", "publish", "broken");
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain(
    "fault x_test.rego:3:1 data.x_test.test_no failed: x_test.rego:3:12 does not hold",
  );
  expect((await cli("policy", "list", "--json")).json().items).toHaveLength(before);
  const kept = await cli("policy", "draft", "broken");
  expect(kept.code).toBe(1);
  expect(kept.stdout).toMatch(/^version \d+: draft\n$/);
});

test("governance: check, diff, publish and rollback", async () => {
  expect(await cli("governance", "check", "governance")).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^✓ \d+ files valid\n$/) as string,
  });
  expect(await cli("governance", "publish", "governance", "--note", "as it was")).toMatchObject({
    code: 0,
    stdout: "version 2: enforced\n",
  });
  expect(await cli("governance", "rollback", "1")).toMatchObject({
    code: 0,
    stdout: "version 1: enforced\n",
  });
  writeFileSync(join(dir, "governance/plans.yaml"), "nonsense: 1\n");
  const checked = await cli("governance", "check", "governance", "--json");
  expect(checked.code).toBe(1);
  expect(checked.json()).toMatchObject({
    valid: false,
    faults: expect.arrayContaining([expect.objectContaining({ file: "plans.yaml" })]) as unknown[],
  });
  expect((await cli("governance", "diff", "governance")).stdout).toContain("+nonsense: 1");
});

test("mistakes on the command line are exit 2, unknown versions exit 3", async () => {
  expect(await cli("policy", "publish", "none")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("none: does not exist") as string,
  });
  expect(await cli("policy", "rollback", "last")).toMatchObject({ code: 2 });
  expect(await cli("policy", "publish", "1", "--note", "x")).toMatchObject({ code: 2 });
  expect(await cli("governance", "publis", "governance")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("did you mean ostiary governance publish?") as string,
  });
  expect(await cli("policy", "show", "999")).toMatchObject({ code: 3 });
});
