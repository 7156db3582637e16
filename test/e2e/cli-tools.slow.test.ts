// Drafted tools on the command line: a folder becomes a tool, is reviewed, linked, replaced, taken back and away.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { runBin, type BinResult } from "../fixtures/bin.ts";
import { newUser } from "../fixtures/contract.ts";
import { HAS_BOX } from "../fixtures/programs.ts";

const MANIFEST = `name: system/shout
description: Writes a text in capital letters.
language: js
file: shout.mjs
input:
  type: object
  properties:
    text: { type: string }
  required: [text]
output:
  type: object
  properties:
    loud: { type: string }
  required: [loud]
examples:
  - { text: hello }
tests:
  - input: { text: abc }
    output: { loud: ABC }
risk: safe
`;
const SOURCE = "export default ({ text }) => ({ loud: text.toUpperCase() });\n";

describe.skipIf(!HAS_BOX)("drafted tools on the command line", { timeout: 180_000 }, () => {
  let app: StartedApp;
  let folder: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "ostiary-cli-tools-"));
    app = await startApp();
  });
  afterAll(async () => {
    await app.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const run = (args: string[], key = app.adminKey): Promise<BinResult> =>
    runBin([...args, "--server", app.url, "--key", "env:KEY"], { env: { KEY: key }, cwd: folder });
  const cli = async (...args: string[]) => {
    const result = await run([...args, "--json"]);
    expect([result.code, result.stderr]).toEqual([0, expect.anything()]);
    return result.json();
  };
  const put = (name: string, manifest: string, source: string = SOURCE): void => {
    mkdirSync(join(folder, name), { recursive: true });
    writeFileSync(join(folder, name, "tool.yaml"), manifest);
    writeFileSync(join(folder, name, "shout.mjs"), source);
  };
  const shout = async () => (await cli("call", "system/shout", "text=hey")).result;

  test("B10: a folder is drafted and linked; reviewed, replaced, rolled back and unlinked", async () => {
    put("shout", MANIFEST);
    expect(await cli("tools", "add", "./shout", "--link", "all", "--risk", "safe")).toMatchObject({
      state: "linked",
      version: "1.0.0",
      capsules: ["all"],
    });
    expect(await shout()).toEqual({ loud: "HEY" });

    put("shout", MANIFEST.replace("ABC", "ABC!"), SOURCE.replace("()", '() + "!"'));
    const taken = await run(["tools", "add", "./shout", "--link", "all"]);
    expect([taken.code, taken.stderr]).toEqual([1, expect.stringContaining('replaces: "1.0.0"')]);
    const ben = await newUser(app, "ben", { level: "admin", capsuleId: "all", scopes: ["*"] });
    const relationship = "tenant:local#tool_creator@user:ben";
    await app.api("POST", "/relationships", {
      body: { changes: [{ operation: "touch", relationship }] },
    });
    const held = await run(["tools", "add", "./shout", "--replaces", "1.0.0"], ben);
    expect([held.code, held.stderr]).toEqual([4, expect.stringContaining("approvals show")]);
    const [waiting] = (await app.api("GET", "/approvals?state=pending")).body.items;
    const agreed = await app.api("POST", `/approvals/${waiting.id}/approve`, { body: {} });
    expect(agreed.status).toBe(200);
    const pending = async () =>
      (await app.api("GET", "/tool-drafts?state=pending_link")).body.items.length;
    await expect.poll(pending, { timeout: 30_000 }).toBe(1);
    const review = await run(["tools", "review", "system/shout"]);
    expect(review.stdout).toContain("difference to 1.0.0");
    expect(review.stdout).toMatch(/passed .*ABC!/);
    expect(await cli("tools", "link", "system/shout", "--risk", "safe")).toMatchObject({
      version: "1.1.0",
    });
    expect(await shout()).toEqual({ loud: "HEY!" });
    expect(await cli("tools", "rollback", "system/shout")).toMatchObject({ version: "1.0.0" });
    expect(await shout()).toEqual({ loud: "HEY" });
    expect(await cli("tools", "unlink", "system/shout")).toMatchObject({ state: "retired" });
    expect((await run(["call", "system/shout", "text=hey"])).code).toBe(3);
    const none = await run(["tools", "reject", "system/shout"]);
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining("1.1.0 retired")]);
  });

  test.each<[string, string, string, string]>([
    [
      "a field nobody knows",
      `${MANIFEST}oputput: {}\n`,
      SOURCE,
      "tool.yaml:21:1 oputput: unknown field; did you mean output?",
    ],
    ["a test that does not fit", MANIFEST.replace("ABC }", "5 }"), SOURCE, "tool.yaml:19:15"],
    ["a program that cannot be read", MANIFEST, "export default (\n", "shout.mjs:"],
    [
      "a file that is not there",
      MANIFEST.replace("shout.mjs", "other.mjs"),
      SOURCE,
      "tool.yaml:4:",
    ],
  ])("%s is told with file and line", async (_what, manifest, source, told) => {
    put("bad", manifest.replace("system/shout", "system/bad"), source);
    const result = await run(["tools", "add", "./bad", "--link", "all"]);
    expect([result.code, result.stderr]).toEqual([2, expect.stringContaining(told)]);
    expect((await app.api("GET", "/tool-drafts?name=system/bad")).body.items).toEqual([]);
  });

  test("without the permission nothing is drafted, and nobody but an administrator links", async () => {
    put("mine", MANIFEST.replace("system/shout", "system/mine"));
    const key = await newUser(app, "ann", { level: "admin", capsuleId: "all", scopes: ["*"] });
    const refused = await run(["tools", "add", "./mine"], key);
    expect([refused.code, refused.stderr]).toEqual([3, expect.stringContaining("tool:create")]);
    const linked = await run(["tools", "add", "./mine", "--link", "all"], key);
    expect([linked.code, linked.stderr]).toEqual([3, expect.stringContaining("administrator")]);
    expect((await app.api("GET", "/tool-drafts?name=system/mine")).body.items).toEqual([]);
  });
});
