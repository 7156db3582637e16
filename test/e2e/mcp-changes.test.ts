// Clients that listen are told when they may see other tools than before, whatever the cause; an empty list says why.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { runBin } from "../fixtures/bin.ts";
import { conforms, trpcClient, until } from "../fixtures/contract.ts";
import { connect, ERAS, META, post } from "./mcp-clients.ts";

const NO_ECHO = `package ostiary.tools

default allow := false

allow if input.tool_name != "system/echo"
`;

describe.each(ERAS)("a %s client that listens", (era) => {
  let app: StartedApp;
  // Each attempt makes the same users and capsules.
  beforeEach(async () => {
    app = await startApp();
  });
  afterEach(() => app.close());

  const ok = async (...request: Parameters<StartedApp["api"]>) => {
    const { status, body } = await app.api(...request);
    expect([status, body]).toEqual([expect.toBeOneOf([200, 201]), body]);
    return body as { secret: string; id: string; document: { version: number } };
  };
  const member = (operation: string) => ({
    changes: [{ operation, relationship: "tenant:local#member@user:ann" }],
  });

  test("hears of rules, relations, capsules, users, keys and the mode, once for each change, and then lists anew", async () => {
    await ok("POST", "/capsules", {
      body: { id: "two", name: "two", capabilities: ["system/echo", "system/time"] },
    });
    await ok("POST", "/users", { body: { id: "ann", name: "ann" } });
    const key = await ok("POST", "/keys", {
      body: { userId: "ann", name: "k", scopes: ["*"], capsuleId: "two" },
    });
    const { client } = await connect(app.url, key.secret, era);
    let notices = 0;
    const announced: number[] = [];
    client.setNotificationHandler("notifications/tools/list_changed", () => void notices++);
    if (era === "modern") await client.listen({ toolsListChanged: true });
    await new Promise((resolve) => setTimeout(resolve, 250)); // the other era's stream opens by itself
    const seen = async () =>
      (await client.listTools(undefined, { cacheMode: "refresh" })).tools.map(({ name }) => name);
    const after = async (change: () => Promise<unknown>): Promise<string[]> => {
      const before = notices;
      await change();
      await until(() => notices > before);
      await new Promise((resolve) => setTimeout(resolve, 200));
      // What follows a change (rights that are looked up anew) may be announced by itself on a busy machine.
      expect(notices - before).toBeLessThanOrEqual(2);
      announced.push(notices - before);
      return seen();
    };
    const BOTH = ["system_echo", "system_time"];
    expect(await seen()).toEqual(BOTH);
    const draft = await ok("POST", "/policies", {
      body: { files: { "tools.rego": NO_ECHO }, note: "no echo" },
    });
    expect(
      await after(() =>
        ok("POST", `/policies/${draft.document.version}/publish`, { body: { as: "enforced" } }),
      ),
    ).toEqual(["system_time"]);
    expect(await after(() => ok("POST", "/policies/rollback", { body: {} }))).toEqual(BOTH);
    expect(await after(() => ok("POST", "/relationships", { body: member("delete") }))).toEqual([]);
    expect(await after(() => ok("POST", "/relationships", { body: member("touch") }))).toEqual(
      BOTH,
    );
    expect(
      await after(() => ok("PATCH", "/capsules/two", { body: { capabilities: ["system/echo"] } })),
    ).toEqual(["system_echo"]);
    expect(
      await after(() =>
        ok("PATCH", "/capsules/two", { body: { capabilities: ["system/echo", "system/time"] } }),
      ),
    ).toEqual(BOTH);
    expect(await after(() => ok("PATCH", "/users/ann", { body: { roles: ["nobody"] } }))).toEqual(
      [],
    );
    expect(
      await after(() => ok("PATCH", "/users/ann", { body: { roles: ["tool_user"] } })),
    ).toEqual(BOTH);
    expect(
      await after(() =>
        ok("POST", "/keys", { body: { userId: "ann", name: "second", scopes: ["*"] } }),
      ),
    ).toEqual(BOTH);
    expect(
      await after(() => ok("PUT", "/mode", { body: { mode: "ALERT", reason: "test" } })),
    ).toEqual(BOTH);
    expect(
      await after(() => ok("PATCH", "/tools/system/time", { body: { enabled: false } })),
    ).toEqual(["system_echo"]);
    expect(announced.filter((times) => times === 1).length).toBeGreaterThan(announced.length / 2);
    // What concerns no list is no news.
    const before = notices;
    await client.callTool({ name: "system_echo", arguments: { text: "hi" } });
    await new Promise((resolve) => setTimeout(resolve, 250));
    expect(notices).toBe(before);
    await client.close();
  }, 30_000);
});

describe("with the tools switched off", () => {
  let app: StartedApp;
  beforeAll(async () => {
    app = await startApp({ flags: { "features.mcpTools": "false" } });
  });
  afterAll(() => app.close());
  const NOTE = expect.stringContaining("features.mcpTools") as string;

  test("R024 C30: every list is empty and says why, and nothing runs", async () => {
    const rest = await app.api("GET", "/tools");
    conforms("tools.listTools", rest.body);
    expect(rest.body).toMatchObject({ tools: [], totalCount: 0, note: NOTE });
    expect(await trpcClient(app).tools.listTools.query({})).toMatchObject({
      tools: [],
      note: NOTE,
    });
    for (const era of ERAS) {
      const { client } = await connect(app.url, app.adminKey, era);
      const listed = await client.listTools();
      expect([era, listed.tools, listed._meta?.["ostiary/note"]]).toEqual([era, [], NOTE]);
      await expect(
        client.callTool({ name: "system_echo", arguments: { text: "hi" } }),
      ).rejects.toThrow("Unknown tool");
      await client.close();
    }
    const stateless = await post(
      app.url,
      app.adminKey,
      { jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: META } },
      { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list" },
    );
    expect(await stateless.text()).toContain("features.mcpTools");
    const env = { OSTIARY_DATA_DIR: app.dataDir };
    const told = await runBin(["tools"], { env });
    expect([told.code, told.stdout, told.stderr]).toEqual([
      0,
      "",
      expect.stringMatching(/0 tools\n.*features\.mcpTools/),
    ]);
    expect((await runBin(["tools", "--json"], { env })).json()).toMatchObject({ note: NOTE });
  }, 30_000);

  test("with them on there is no note", async () => {
    const on = await startApp();
    expect((await on.api("GET", "/tools")).body).not.toHaveProperty("note");
    const { client } = await connect(on.url, on.adminKey, "modern");
    expect((await client.listTools())._meta ?? {}).not.toHaveProperty("ostiary/note");
    await client.close();
    await on.close();
  });
});
