// Two instances on one PostgreSQL: a server, a yes, a no and a credential given at one of them hold at the other.
import { randomUUID } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { ECHO, startMcpUpstream, type McpUpstream } from "../fixtures/mcp-upstream.ts";
import { openHouse } from "../fixtures/open-house.ts";

const server = process.env["OSTIARY_TEST_POSTGRES"];
const adminKey = "k".repeat(40);

async function on(address: string, sql: string): Promise<void> {
  const client = new pg.Client(address);
  await client.connect();
  await client.query(sql).finally(() => client.end());
}

const start = "OSTIARY_TEST_POSTGRES is not set: use `npm run test:services`";
if (!server && process.env["CI"]) test(`postgres: ${start}`, () => expect.unreachable(start));

describe.skipIf(!server)("servers on PostgreSQL", { timeout: 120_000 }, () => {
  const name = `test_${randomUUID().replaceAll("-", "")}`;
  let upstream: McpUpstream;
  let one: StartedApp;
  let two: StartedApp;
  beforeAll(async () => {
    await on(server ?? "", `create database ${name}`);
    const url = new URL(server ?? "");
    url.pathname = `/${name}`;
    upstream = await startMcpUpstream();
    const flags = {
      store: url.href,
      adminKey,
      governance: openHouse(),
      "rateLimit.enabled": "false",
    };
    one = await startApp({ flags });
    two = await startApp({ flags });
  }, 60_000);
  afterAll(async () => {
    await one.close();
    await two.close();
    await upstream.close();
    await on(server ?? "", `drop database ${name} with (force)`);
  });

  const echo = async (app: StartedApp): Promise<string> => {
    const { body } = await app.api("POST", "/executions", {
      key: adminKey,
      body: { name: "up/echo", arguments: { text: "x" } },
    });
    return (body.status as string) === "success"
      ? "success"
      : ((body.errorCode ?? body.code) as string);
  };
  const at = (app: StartedApp, method: string, path: string, body?: object) =>
    app.api(method, `/servers${path}`, { key: adminKey, ...(body ? { body } : {}) });

  test("added and approved at one, it is called through both", async () => {
    const made = await at(one, "POST", "", {
      name: "up",
      transport: {
        kind: "http",
        url: upstream.url,
        headers: { Authorization: "Bearer first-secret-0001" },
      },
    });
    expect(made.body).toMatchObject({ fault: null, server: { tools: { pending: 1 } } });
    expect(await echo(two)).toBe("NOT_FOUND");
    expect((await at(one, "POST", "/up/approve", {})).status).toBe(200);
    expect([await echo(one), await echo(two)]).toEqual(["success", "success"]);
    expect(upstream.asked.at(-1)?.headers.authorization).toBe("Bearer first-secret-0001");
  });

  test("a credential changed at one is what the other uses from then on", async () => {
    await at(one, "POST", "/up/credentials", {
      credential: "AUTHORIZATION",
      value: "second-secret-0002",
    });
    expect(await echo(two)).toBe("success");
    expect(upstream.asked.at(-1)?.headers.authorization).toBe("Bearer second-secret-0002");
  });

  test("T12: a change that one notices disables the tool at both", async () => {
    const before = upstream.calls("echo");
    upstream.tools = [{ ...ECHO, description: "Changed." }];
    await at(one, "POST", "/up/look", {});
    expect([await echo(one), await echo(two)]).toEqual(["NOT_FOUND", "NOT_FOUND"]);
    expect(upstream.calls("echo")).toBe(before);
    expect((await at(two, "POST", "/up/approve", { tools: ["echo"] })).status).toBe(200);
    expect([await echo(one), await echo(two)]).toEqual(["success", "success"]);
  });

  test("a no at one is a no at the other; removed, it is gone from both", async () => {
    await at(two, "POST", "/up/reject", { tools: ["echo"] });
    expect([await echo(one), await echo(two)]).toEqual(["NOT_FOUND", "NOT_FOUND"]);
    expect((await at(one, "DELETE", "/up")).status).toBe(200);
    expect((await at(two, "GET", "/up")).status).toBe(404);
  });
});
