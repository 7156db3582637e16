// A right that is taken at one instance ends what it had begun at another, and a late yes there is refused.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { until } from "../fixtures/contract.ts";
import { testDatabase, type TestDatabase } from "../fixtures/postgres.ts";
import { startRedis, type OwnRedis } from "../fixtures/redis.ts";
import { scriptedModel } from "../fixtures/scripted-model.ts";
import { slowTool, type SlowObserver } from "../fixtures/slow-tool.ts";

const server = process.env["OSTIARY_TEST_POSTGRES"];
const redis = process.env["OSTIARY_TEST_REDIS"];
const adminKey = "k".repeat(40);
/** The promise is about one second. */
const SOON_MS = 3_000;
const LONG_MS = 30_000;

const start =
  "OSTIARY_TEST_POSTGRES and OSTIARY_TEST_REDIS are not set: use `npm run test:services`";
if (!(server && redis) && process.env["CI"]) test(start, () => expect.unreachable(start));

interface Member {
  readonly id: string;
  readonly key: string;
  readonly keyId: string;
}

/** A stream, and whether it has ended. */
async function stream(url: string, headers: Record<string, string>, init: RequestInit = {}) {
  const response = await fetch(url, { ...init, headers });
  const read = { status: response.status, text: "", ended: false };
  const reading = async () => {
    try {
      for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>)
        read.text += Buffer.from(chunk).toString();
    } catch {
      // Cut off is over, too.
    }
    read.ended = true;
  };
  reading().catch(() => undefined);
  return read;
}
const bearer = ({ key }: Member) => ({ authorization: `Bearer ${key}` });
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const GROUNDS = [
  { name: "PostgreSQL and Redis", isRedis: true },
  { name: "PostgreSQL alone", isRedis: false },
];

describe.skipIf(!(server && redis)).each(GROUNDS)(
  "two instances on $name",
  { timeout: 120_000 },
  ({ isRedis }) => {
    const observer: SlowObserver = { runs: [] };
    let turns = 0;
    const script = scriptedModel(async (request) => {
      turns++;
      const objective = request.messages[0]?.content ?? "";
      if (objective.includes("think")) return new Promise(() => undefined);
      if (objective.includes("Clear"))
        return { calls: [{ name: "memory_clear", arguments: { namespace: "user" } }] };
      await pause(50);
      return { calls: [{ name: "system_echo", arguments: { text: "on and on" } }] };
    });
    let database: TestDatabase;
    let own: OwnRedis | null = null;
    let one: StartedApp;
    let two: StartedApp;
    beforeAll(async () => {
      database = await testDatabase(server ?? "");
      own = isRedis ? await startRedis() : null;
      const flags = {
        store: database.address,
        adminKey,
        "rateLimit.enabled": "false",
        ...(own ? { state: own.address } : {}),
      };
      const options = { flags, model: script.model, tools: [slowTool(observer)] };
      one = await startApp(options);
      two = await startApp(options);
    });
    afterAll(async () => {
      await one.close();
      await two.close();
      await own?.stop();
      await database.drop();
    });

    const at = (app: StartedApp, method: string, path: string, body?: object, key = adminKey) =>
      app.api(method, path, { key, ...(body ? { body } : {}) });
    const execute = (
      app: StartedApp,
      { key }: Member,
      name: string,
      args: object,
      more: object = {},
    ) => at(app, "POST", "/executions", { name, arguments: args, ...more }, key);
    const record = async (id: string) =>
      (await two.app.store.executions.get(id)) as unknown as {
        status: string;
        endTime: number | null;
        result: { agentId: string };
      };
    const over = (id: string) => async () => (await record(id)).endTime !== null;
    const revoke = async ({ keyId }: Member) =>
      expect((await at(one, "DELETE", `/keys/${keyId}`)).status).toBe(200);
    const agentOf = (who: Member, id: string) =>
      two.app.store.agents.get({ tenantId: "local", userId: who.id }, id);

    let count = 0;
    /** Made at one, and already known at two. */
    async function member(): Promise<Member> {
      const id = `user${++count}`;
      await at(one, "POST", "/users", { id, name: id });
      const { body } = await at(one, "POST", "/keys", {
        userId: id,
        name: "k",
        scopes: ["*"],
        level: "admin",
        capsuleId: "all",
      });
      const key = body.secret as string;
      const { keyId } = await two.callerOf(key);
      return { id, key, keyId: keyId ?? "" };
    }
    async function spawn(who: Member, args: object): Promise<string> {
      const held = await execute(two, who, "agent/spawn", { tools: ["system/echo"], ...args });
      expect(
        (await at(two, "POST", `/approvals/${held.body.approval.id}/approve`, {})).status,
      ).toBe(200);
      await until(over(held.body.executionId as string), LONG_MS);
      return (await record(held.body.executionId as string)).result.agentId;
    }

    test("A6: a running call, waited for or not, ends at the other instance", async () => {
      const who = await member();
      const before = observer.runs.length;
      const waiting = execute(two, who, "system/slow", { ms: 60_000 });
      const left = await execute(two, who, "system/slow", { ms: 59_000 }, { wait: false });
      await until(() => observer.runs.length >= before + 2, LONG_MS);
      await revoke(who);
      await until(over(left.body.executionId as string), SOON_MS);
      expect(await record(left.body.executionId as string)).toMatchObject({ status: "cancelled" });
      expect((await waiting).body).toMatchObject({ status: "cancelled" });
    });

    test("A6: event streams and MCP streams of both eras end at the other instance; others stay", async () => {
      const [who, other] = [await member(), await member()];
      const events = await stream(`${two.url}/api/v1/events`, bearer(who));
      const stays = await stream(`${two.url}/api/v1/events`, bearer(other));
      const json = {
        ...bearer(who),
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      };
      const opened = await fetch(`${two.url}/mcp`, {
        method: "POST",
        headers: json,
        body: JSON.stringify({
          jsonrpc: "2.0",
          id: 1,
          method: "initialize",
          params: {
            protocolVersion: "2025-06-18",
            capabilities: {},
            clientInfo: { name: "t", version: "1" },
          },
        }),
      });
      await opened.text();
      const session = {
        "mcp-session-id": opened.headers.get("mcp-session-id") ?? "",
        "mcp-protocol-version": "2025-06-18",
      };
      const legacy = await stream(`${two.url}/mcp`, {
        ...bearer(who),
        ...session,
        accept: "text/event-stream",
      });
      const meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
      };
      const modern = await stream(
        `${two.url}/mcp`,
        { ...json, "mcp-protocol-version": "2026-07-28", "mcp-method": "subscriptions/listen" },
        {
          method: "POST",
          body: JSON.stringify({
            jsonrpc: "2.0",
            id: 2,
            method: "subscriptions/listen",
            params: { notifications: { toolsListChanged: true }, _meta: meta },
          }),
        },
      );
      expect([events, stays, legacy, modern].map(({ status }) => status)).toEqual([
        200, 200, 200, 200,
      ]);
      await pause(300);
      expect([events, stays, legacy, modern].map(({ ended }) => ended)).toEqual([
        false,
        false,
        false,
        false,
      ]);
      await revoke(who);
      await until(() => events.ended && legacy.ended && modern.ended, SOON_MS);
      const after = await fetch(`${two.url}/api/v1/events`, { headers: bearer(who) });
      expect(after.status).toBe(401);
      await after.body?.cancel();
      expect(stays.ended).toBe(false);
      await revoke(other);
      await until(() => stays.ended, SOON_MS);
    });

    test("A6: agents at the other instance stop, also while their model is thinking", async () => {
      for (const objective of ["Go on and on.", "Just think."]) {
        const who = await member();
        const before = turns;
        const agentId = await spawn(who, {
          objective,
          budget: { toolCalls: 200, tokens: 100_000 },
        });
        await until(() => turns > before, LONG_MS);
        await revoke(who);
        await until(async () => (await agentOf(who, agentId))?.endedAt !== null, SOON_MS);
        expect(await agentOf(who, agentId)).toMatchObject({ status: "stopped" });
        const seen = turns;
        await pause(500);
        expect(turns).toBe(seen);
      }
    });

    test("A6: a workflow run at the other instance ends, and its next steps do not run", async () => {
      const who = await member();
      await execute(two, who, "workflow/create", {
        name: "slow",
        steps: [
          { id: "s", tool: "system/slow", input: { ms: 60_000 } },
          { id: "e", tool: "system/echo", input: { text: "x" } },
        ],
      });
      const before = observer.runs.length;
      const ran = await execute(
        two,
        who,
        "workflow/execute",
        { workflowId: "slow" },
        { timeout: 1_000 },
      );
      await until(() => observer.runs.length > before, LONG_MS);
      await revoke(who);
      const run = () =>
        two.app.store.runs.get(
          { tenantId: "local", userId: who.id },
          ran.body.result.runId as string,
        );
      await until(async () => (await run())?.endedAt !== null, SOON_MS);
      expect(await run()).toMatchObject({ status: "failed", steps: [{}, { status: "skipped" }] });
    });

    test("A6: console sessions at the other instance end with the key that made their link", async () => {
      const { body } = await at(one, "POST", "/keys", {
        userId: "owner",
        name: "links",
        scopes: ["*"],
        capsuleId: "all",
        level: "admin",
      });
      const link = await at(two, "POST", "/login-links", {}, body.secret as string);
      expect(link.status).toBe(201);
      const entered = await fetch(link.body.url as string, { redirect: "manual" });
      const cookie = (entered.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
      const whoami = () => fetch(`${two.url}/api/v1/whoami`, { headers: { cookie } });
      expect((await whoami()).status).toBe(200);
      const events = await stream(`${two.url}/api/v1/events`, { cookie });
      await at(one, "DELETE", `/keys/${(body.key?.id ?? body.id) as string}`);
      await until(() => events.ended, SOON_MS);
      expect((await whoami()).status).toBe(401);
    });

    test("A6: what waits for a person is over at both instances", async () => {
      const who = await member();
      const held = await execute(two, who, "memory/clear", { namespace: "user" });
      expect(held.status).toBe(202);
      await revoke(who);
      await until(over(held.body.executionId as string), SOON_MS);
      for (const app of [one, two])
        expect(
          (await at(app, "POST", `/approvals/${held.body.approval.id}/approve`, {})).status,
        ).toBe(409);
    });

    test("A7: a yes for a run that ended at one instance is refused at the other", async () => {
      const who = await member();
      await execute(one, who, "workflow/create", {
        name: "clears",
        steps: [{ id: "c", tool: "memory/clear", input: { namespace: "user" } }],
      });
      const ran = await execute(one, who, "workflow/execute", { workflowId: "clears" });
      const { runId, steps } = ran.body.result;
      const row = await one.app.store.runs.get(
        { tenantId: "local", userId: who.id },
        runId as string,
      );
      if (!row) throw new Error("no run");
      // As the recovery of a third instance would have left it.
      const { runs } = one.app.store;
      await runs.update(row.id, row.fence, { ...row, status: "failed", endedAt: Date.now() });
      const late = await at(two, "POST", `/approvals/${steps[0].pendingApproval.id}/approve`, {});
      expect([late.status, JSON.stringify(late.body)]).toEqual([
        409,
        expect.stringContaining(runId as string),
      ]);
      await until(over(steps[0].executionId as string), LONG_MS);
      expect((await record(steps[0].executionId as string)).status).not.toBe("success");
    });

    test("A7: an agent stopped at one instance has no yes coming from the other", async () => {
      const who = await member();
      const agentId = await spawn(who, {
        objective: "Clear what you noted.",
        tools: ["memory/clear"],
      });
      const asked = async () =>
        (
          (await at(one, "GET", "/approvals?state=pending")).body.items as {
            id: string;
            toolName: string;
            userId?: string;
          }[]
        ).find(({ toolName }) => toolName === "memory/clear");
      await until(async () => (await asked()) !== undefined, LONG_MS);
      const { id } = (await asked()) ?? expect.unreachable("nobody asks");
      expect((await execute(one, who, "agent/stop", { agentId })).status).toBe(200);
      expect((await at(two, "POST", `/approvals/${id}/approve`, {})).status).toBe(409);
      expect((await at(one, "POST", `/approvals/${id}/approve`, {})).status).toBe(409);
    });
  },
);
