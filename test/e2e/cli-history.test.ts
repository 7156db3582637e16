// `ostiary history …` against a running server; every command of docs/history.md is one that works.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { runBin, type BinResult } from "../fixtures/bin.ts";

const PAGE = readFileSync(join(import.meta.dirname, "../../docs/history.md"), "utf8");

describe("ostiary history", { timeout: 120_000 }, () => {
  let app: StartedApp;
  const cli = (args: string[]): Promise<BinResult> =>
    runBin(["history", ...args, "--server", app.url, "--key", "env:KEY"], {
      env: { KEY: app.adminKey },
    });

  beforeAll(async () => {
    app = await startApp();
    const context = { sessionId: "sess-1" };
    await app.api("POST", "/executions", {
      body: { name: "system/echo", arguments: { text: "one" }, context },
    });
    await app.api("POST", "/executions", { body: { name: "no/such" } });
  });
  afterAll(() => app.close());

  test("R186: lists by what is asked for, and says how much was searched", async () => {
    const found = await cli(["list", "--error", "NOT FOUND"]);
    expect(found).toMatchObject({ code: 0 });
    expect(found.stdout).toMatch(/denied .* no\/such .*NOT_FOUND/);
    expect(found.stderr).toMatch(/searched 1 of 1/);
    const inSession = (await cli(["list", "--session", "sess-1", "--json"])).json();
    expect(inSession.executions).toMatchObject([{ toolName: "system/echo", sessionId: "sess-1" }]);
  });

  test("R187 R188: figures by category, tool and user", async () => {
    const { code, stdout } = await cli(["stats", "--user", "*"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^finished 2: 1 success, 1 failed or denied, 0 cancelled\ntook /);
    expect(stdout).toMatch(/^category +system +1 +1 +0 +0 /m);
    expect(stdout).toMatch(/^tool +system\/echo +1 /m);
    expect(stdout).toMatch(/^user +\S+ +2 /m);
  });

  test("R185: rebuilds, and prints the rate", async () => {
    const { code, stdout } = await cli(["rebuild"]);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(
        /^done: 3 events, 100 % of the log, \d+ events\/s\n$/,
      ) as string,
    });
    expect((await cli(["rebuild", "--status", "--json"])).json()).toMatchObject({ state: "done" });
  });

  test("a verb that is not there is answered with the nearest", async () => {
    expect(await cli(["rebuidl"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("history rebuild") as string,
    });
  });

  const commands = [...PAGE.matchAll(/^ostiary history (.+)$/gm)].map(([, words = ""]) => words);
  test.each(commands)("docs: ostiary history %s", async (words) => {
    const args = [...words.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
      ([, a, b, c]) => a ?? b ?? c ?? "",
    );
    const { code, stderr } = await cli(args);
    expect(code, stderr).toBe(0);
  });
});
