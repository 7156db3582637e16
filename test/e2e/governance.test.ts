// Governance over the wire: what its files say holds for the very next call.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { defineTool } from "../../src/contract/tool.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { shippedFiles } from "../fixtures/governance.ts";

/** Stands for the shell tools: says what it would start, and starts nothing. */
const probe = defineTool({
  name: "shell/probe",
  description: "Tells the command it was given.",
  input: z.strictObject({ command: z.array(z.string().max(100)).max(10) }),
  output: z.strictObject({ started: z.string() }),
  risk: "dangerous",
  effects: "system_dangerous",
  needs: [],
  timeoutMs: 5_000,
  touches: [{ argument: "/command", kind: "argv" }],
  examples: [{ command: ["ls"] }],
  run: ({ command }) => ({ started: command.join(" ") }),
});

let app: StartedApp;
beforeAll(async () => {
  app = await startApp({ tools: [probe] });
  writeFileSync(join(app.workspace, "note.txt"), "inside");
});
afterAll(() => app.close());

const call = (name: string, args: object) =>
  app.api("POST", "/executions", { body: { name, arguments: args } });
const gateOf = async (
  stage: string,
  tool: string,
  args: object,
): Promise<Record<string, unknown>> => {
  const { body } = await app.api("POST", "/explain", { body: { tool, arguments: args } });
  return (body.gates as Record<string, unknown>[]).find((gate) => gate["stage"] === stage) ?? {};
};

test("R096: a forbidden path is refused by the stage arguments, with file and line; an allowed one is read", async () => {
  const refused = await call("file/read", { path: "~/.ssh/id_ed25519" });
  expect(refused).toMatchObject({
    status: 403,
    body: { code: "FORBIDDEN", reason: "path_forbidden" },
  });
  expect(refused.body.gates.at(-1)).toMatchObject({
    stage: "arguments",
    verdict: "deny",
    rule: expect.stringMatching(/^tools\.yaml:\d+$/) as string,
    errors: [{ path: "/path" }],
  });
  expect(await call("file/read", { path: "note.txt" })).toMatchObject({
    status: 200,
    body: { success: true },
  });
  expect(await gateOf("arguments", "file/read", { path: "~/.ssh/x" })).toMatchObject({
    ruleText: "- $HOME/.ssh",
  });
});

test("R097: a listed program runs unasked where its class would ask; others ask; denied ones are refused", async () => {
  const mode = await gateOf("mode", "shell/probe", { command: ["ls", "-l"] });
  expect(mode).toMatchObject({ verdict: "allow", asks: "mode_asks" });
  expect(await gateOf("arguments", "shell/probe", { command: ["ls", "-l"] })).toMatchObject({
    verdict: "allow",
    waives: "mode_asks",
  });
  expect(await call("shell/probe", { command: ["ls", "-l"] })).toMatchObject({
    status: 200,
    body: { success: true },
  });
  expect(await gateOf("arguments", "shell/probe", { command: ["git", "push"] })).toMatchObject({
    verdict: "allow",
    asks: "command_asks",
  });
  expect(await gateOf("approval", "shell/probe", { command: ["git", "push"] })).toMatchObject({
    verdict: "hold",
  });
  expect(await call("shell/probe", { command: ["sudo", "ls"] })).toMatchObject({
    status: 403,
    body: { reason: "command_forbidden" },
  });
});

test("C5 R080: a published version holds for the next call, and a rollback takes it back", async () => {
  const files = shippedFiles({ "tools: {}": "tools:\n  file/read: { modes: { ALERT: run } }" });
  const { body: draft } = await app.api("POST", "/governance", {
    body: { files, note: "no reading" },
  });
  const version = String(draft.document?.version ?? draft.version);
  expect(
    await app.api("POST", `/governance/${version}/publish`, { body: { as: "enforced" } }),
  ).toMatchObject({ status: 200 });
  expect(await call("file/read", { path: "note.txt" })).toMatchObject({
    status: 403,
    body: { reason: "mode_forbids" },
  });
  expect((await app.api("POST", "/governance/rollback", { body: {} })).status).toBe(200);
  expect((await call("file/read", { path: "note.txt" })).status).toBe(200);
});
