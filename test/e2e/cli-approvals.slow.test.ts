// `ostiary approvals show` as a person or a script uses it, against a running server.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { agreedAgent, patientGovernance, type Agent } from "../fixtures/agreed.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { runBin, type BinResult } from "../fixtures/bin.ts";
import { hold } from "../fixtures/previews.ts";

let app: StartedApp;
let agent: Agent;
const cli = (...args: string[]): Promise<BinResult> =>
  runBin(["approvals", "--server", app.url, "--key", "env:KEY", ...args], {
    env: { KEY: app.adminKey },
  });
beforeAll(async () => {
  app = await startApp({ flags: { governance: patientGovernance() } });
  agent = await agreedAgent(app);
  const question = { tool: "file/write", arguments: { path: "a", content: "x" } };
  for (let asked = "deny"; asked === "deny";)
    asked = (await app.api("POST", "/explain", { key: agent.key, body: question })).body.verdict;
});
afterAll(() => app.close());

test("show prints the effect, the last call like it and the reach of a rule", async () => {
  writeFileSync(join(app.workspace, "a.txt"), "one\n");
  const first = await hold(app, agent.key, "file/write", { path: "a.txt", content: "two\n" });
  await first.approve();
  const held = await hold(app, agent.key, "file/write", { path: "a.txt", content: "three\n" });
  const shown = await cli("show", held.approvalId);
  expect(shown.stderr).toBe("");
  expect(shown.stdout).toMatch(/effect\n +files +1 changed\n +changed +a\.txt {2}\(4 → 6 bytes\)/);
  expect(shown.stdout).toMatch(/-two\n +\+three/);
  expect(shown.stdout).toContain(`similar  ${first.approvalId} of agent, approved by owner`);
  const edited = await cli("show", held.approvalId, "--args", '{"path":"b.txt","content":"x"}');
  expect(edited.stdout).toMatch(/effect with these arguments\n.*\n +created +b\.txt/);
  const rule = '[{"pointer": "/path", "equals": "a.txt"}]';
  const reach = await cli("show", held.approvalId, "--rule", rule);
  expect(reach.stdout).toContain("It is broader than this call: it needs /path as it is");
  const {
    preview,
    similar,
    rule: covered,
  } = (await cli("show", held.approvalId, "--rule", rule, "--json")).json();
  expect(preview.effect).toMatchObject({ kind: "files", totals: { changed: 1 } });
  expect(similar).toMatchObject({ approvalId: first.approvalId });
  expect(covered).toMatchObject({ covered: 2, broader: true });
  const wrong = await cli("show", held.approvalId, "--rule", "nonsense");
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("JSON list of matches")]);
});

test("show of a decided approval tells how it ended, without an effect", async () => {
  const held = await hold(app, agent.key, "file/write", { path: "c.txt", content: "x" });
  await held.deny();
  const shown = await cli("show", held.approvalId);
  expect(shown.code).toBe(0);
  expect(shown.stdout).toMatch(/state +declined/);
  expect(shown.stdout).not.toMatch(/^effect/m);
});
