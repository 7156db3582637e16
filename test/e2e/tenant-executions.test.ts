// What an agent did, opened by the administrator of its tenant: REST, tRPC, the page and the command line, and whose
// it is.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { runBin } from "../fixtures/bin.ts";
import { conforms, newUser, trpcClient } from "../fixtures/contract.ts";

describe("item 9: an administrator opens any execution of the tenant", { timeout: 60_000 }, () => {
  let app: StartedApp;
  let bot: string;
  let eve: string;
  /** One that ran, one that was refused. */
  let ran: string;
  let refused: string;

  const execute = (key: string, body: object) => app.api("POST", "/executions", { key, body });
  const cli = (...args: string[]) => runBin([...args, "--data-dir", app.dataDir]);

  beforeAll(async () => {
    app = await startApp();
    bot = await newUser(app, "bot");
    eve = await newUser(app, "eve");
    const good = await execute(bot, { name: "system/echo", arguments: { text: "hello from bot" } });
    ran = good.body.executionId as string;
    refused = (await execute(bot, { name: "system/echo", arguments: {} })).body
      .execution_id as string;
  });
  afterAll(() => app.close());

  test("over REST and tRPC, with whose it is", async () => {
    for (const id of [ran, refused]) {
      const { status, body } = await app.api("GET", `/executions/${id}`);
      expect(status).toBe(200);
      conforms("tools.getToolStatus", body);
      expect(body.execution).toMatchObject({
        id,
        userId: "bot",
        keyId: expect.any(String) as string,
      });
      const over = await trpcClient(app).tools.getToolStatus.query({ executionId: id });
      expect(over.execution.userId).toBe("bot");
    }
    const of = (await app.api("GET", `/executions/${ran}`)).body.execution;
    expect(of.result).toEqual({ text: "hello from bot" });
    const explained = await app.api("POST", "/explain", { body: { executionId: refused } });
    conforms("explain.explainCall", explained.body);
    expect(explained.body).toMatchObject({ verdict: "deny", who: { userId: "bot" } });
  });

  test("others still find nothing, also with an administrator's key that administers nothing", async () => {
    const narrow = await app.api("POST", "/keys", {
      body: { userId: "owner", name: "narrow", scopes: ["agent:execute:safe"] },
    });
    for (const key of [eve, app.cliKey, narrow.body.secret as string]) {
      expect((await app.api("GET", `/executions/${ran}`, { key })).status).toBe(404);
      expect((await app.api("POST", "/explain", { key, body: { executionId: ran } })).status).toBe(
        404,
      );
    }
  });

  test("reading is not acting: what others run is not cancelled by it", async () => {
    const cancelled = await app.api("POST", `/executions/${ran}/cancel`, { body: {} });
    expect(cancelled.status).toBe(404);
  });

  test("the commands that the product prints work: runs show and explain", async () => {
    const shown = await cli("runs", "show", ran);
    expect([shown.code, shown.stderr]).toEqual([0, ""]);
    expect(shown.stdout).toMatch(/userId\s+bot/);
    const explained = await cli("explain", refused);
    expect(explained.code).toBe(2);
    expect(explained.stdout).toContain("bot");
    expect(explained.stdout).toMatch(/deny .*system\/echo/);
    const own = await cli("call", "system/echo", "text=mine", "--json");
    const mine = own.json().executionId as string;
    expect((await cli("runs", "show", mine)).stdout).toMatch(/userId\s+cli/);
    expect((await cli("explain", mine)).code).toBe(0);
  });
});
