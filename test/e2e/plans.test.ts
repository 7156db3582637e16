// Plans in reality: limits of tenant, user and key on counters of their own, over every door.
import { cpSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type ApiAnswer, type StartedApp } from "../fixtures/app.ts";
import { runBin } from "../fixtures/bin.ts";
import { conforms, trpcClient, trpcFailure } from "../fixtures/contract.ts";
import { modernCall, modernHeaders, post } from "./mcp-clients.ts";

type Plan = "free" | "starter" | "team" | "enterprise";
interface UsageItem {
  readonly owner: "tenant" | "user" | "key";
  readonly ownerId: string;
  readonly plan: Plan | null;
  readonly metric: string;
  readonly used: number;
  readonly reserved: number;
  readonly limit: number | null;
  readonly left: number | null;
}

const echo = { name: "system/echo", arguments: { text: "hi" } };
const UNLIMITED = { "rateLimit.enabled": "false" };
const AT_ONCE = 200;

async function userWith(app: StartedApp, id: string, plan: Plan | null): Promise<string> {
  const user = await app.api("POST", "/users", { body: { id, name: id, plan } });
  expect(user.status).toBe(201);
  return (await keyOf(app, id)).secret;
}

async function keyOf(
  app: StartedApp,
  userId: string,
  more: object = {},
): Promise<{ id: string; secret: string }> {
  const body = { userId, name: "k", scopes: ["*"], level: "execute_advanced", ...more };
  const made = await app.api("POST", "/keys", { body });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  conforms("keys.createKey", made.body);
  return made.body as { id: string; secret: string };
}

const execute = (app: StartedApp, key: string): Promise<ApiAnswer> =>
  app.api("POST", "/executions", { key, body: echo });

/**
 * All at once. A stage that a crowded machine makes too slow refuses (503) and gives back what it took: those calls
 * are made again, one by one, and with them those that were refused while something was about to be given back.
 */
async function many(app: StartedApp, key: string, times = AT_ONCE): Promise<ApiAnswer[]> {
  const first = await Promise.all(Array.from({ length: times }, () => execute(app, key)));
  if (first.every(({ status }) => status !== 503)) return first;
  const answers = first.filter(({ status }) => status === 200);
  while (answers.length < times) {
    const answer = await execute(app, key);
    if (answer.status !== 503) answers.push(answer);
  }
  return answers;
}

/** How many answers there are of each status. */
function statuses(answers: readonly ApiAnswer[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

async function usedOf(app: StartedApp, key: string, metric = "tool_calls") {
  const { body } = await app.api("GET", "/usage", { key });
  conforms("usage.getUsage", body);
  const items = (body as { items: UsageItem[] }).items.filter((each) => each.metric === metric);
  return Object.fromEntries(items.map(({ owner, used, limit }) => [owner, { used, limit }]));
}

/** The shipped governance with text of plans.yaml replaced, which must be there. */
function plansWith(change: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "ostiary-plans-"));
  cpSync(resolve(import.meta.dirname, "../../governance"), folder, { recursive: true });
  const file = join(folder, "plans.yaml");
  let text = readFileSync(file, "utf8");
  for (const [from, to] of Object.entries(change)) {
    expect(text).toContain(from);
    text = text.replace(from, to);
  }
  writeFileSync(file, text);
  return folder;
}

describe("item 1: windows of user, tenant and key", () => {
  let app: StartedApp;
  beforeAll(async () => {
    app = await startApp({ shippedLimits: true });
  });
  afterAll(() => app.close());

  test("item 1, R171, R291: on a fresh install 100 calls a minute of each user pass", async () => {
    const answers = await many(app, app.adminKey, 130);
    expect(statuses(answers)).toEqual({ 200: 100, 429: 30 });
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.body).toMatchObject({
      reason: "rate_user",
      "violated-policies": ["user-minute"],
    });
    expect(refused?.body.detail).toMatch(
      /^Rate limit exceeded: 100 calls per minute for user owner \(user-minute\)/,
    );
    expect(refused?.headers.get("ratelimit-policy")).toBe('"user-minute";q=100;w=60');
    // Whoever else there is has a counter of their own.
    expect((await execute(app, app.cliKey)).headers.get("ratelimit")).toMatch(
      /^"user-minute";r=99;/,
    );
  });

  test("item 1, R170, R181: two users on two plans in one tenant, exact at concurrency 200", async () => {
    const free = await userWith(app, "fred", "free");
    const starter = await userWith(app, "stella", "starter");
    const [ofFree, ofStarter] = await Promise.all([many(app, free), many(app, starter)]);
    expect(statuses(ofFree)).toEqual({ 200: 60, 429: 140 });
    expect(statuses(ofStarter)).toEqual({ 200: 100, 429: 100 });
    const policy = (answers: ApiAnswer[]) =>
      new Set(answers.map(({ headers }) => headers.get("ratelimit-policy")));
    expect(policy(ofFree)).toEqual(new Set(['"user-minute";q=60;w=60']));
    expect(policy(ofStarter)).toEqual(new Set(['"user-minute";q=100;w=60']));
    expect((await usedOf(app, free))["user"]).toEqual({ used: 60, limit: 100 });
    expect((await usedOf(app, starter))["user"]).toEqual({ used: 100, limit: 1_000 });
  });

  test("item 1: an Enterprise user has no window", async () => {
    const key = await userWith(app, "enid", "enterprise");
    const answers = await many(app, key);
    expect(statuses(answers)).toEqual({ 200: AT_ONCE });
    expect(answers[0]?.headers.get("ratelimit")).toBeNull();
  });

  test("item 1: user, tenant and key are told side by side, and whose window was full", async () => {
    const own = await startApp({ shippedLimits: true });
    try {
      const first = await userWith(own, "una", "starter");
      const second = await userWith(own, "ugo", "starter");
      const narrow = await keyOf(own, "una", { plan: "free", limits: { perHour: 500 } });
      const changed = await own.api("PATCH", "/tenant", { body: { plan: "free" } });
      expect(changed.status, JSON.stringify(changed.body)).toBe(200);
      const answer = await execute(own, narrow.secret);
      const told = (name: string) =>
        [...(answer.headers.get(name) ?? "").matchAll(/"([a-z-]+)";[qr]=(\d+)/g)]
          .map(([, window, n]) => `${window} ${n}`)
          .sort();
      expect(told("ratelimit-policy")).toEqual([
        "key-hour 500",
        "key-minute 60",
        "tenant-minute 60",
        "user-minute 100",
      ]);
      expect(told("ratelimit")).toEqual([
        "key-hour 499",
        "key-minute 59",
        "tenant-minute 59",
        "user-minute 99",
      ]);
      // The tenant's sixty are for all of its users together: exact, whoever takes them.
      const [one, two] = await Promise.all([many(own, first), many(own, second)]);
      const all = [...one, ...two];
      expect(statuses(all)).toEqual({ 200: 59, 429: 341 });
      const refused = all.find(({ status }) => status === 429);
      expect(refused?.body).toMatchObject({
        reason: "rate_tenant",
        "violated-policies": ["tenant-minute"],
      });
      expect(refused?.body.detail).toMatch(
        /^Rate limit exceeded: 60 calls per minute for tenant local/,
      );
    } finally {
      await own.close();
    }
  });

  test("item 1, C51: the default, where it is set, is the window of Enterprise users too", async () => {
    const own = await startApp({ flags: { "rateLimit.requestsPerMinute": "7" } });
    try {
      const enterprise = await userWith(own, "eve", "enterprise");
      const free = await userWith(own, "fay", "free");
      expect((await execute(own, enterprise)).headers.get("ratelimit-policy")).toBe(
        '"user-minute";q=7;w=60',
      );
      expect((await execute(own, own.adminKey)).headers.get("ratelimit-policy")).toBe(
        '"user-minute";q=7;w=60',
      );
      expect((await execute(own, free)).headers.get("ratelimit-policy")).toBe(
        '"user-minute";q=60;w=60',
      );
    } finally {
      await own.close();
    }
  });
});

describe("item 1: budgets of user, tenant and key", () => {
  let app: StartedApp;
  beforeAll(async () => {
    app = await startApp({ flags: UNLIMITED });
  });
  afterAll(() => app.close());

  test("item 1, R180: nobody pays for somebody else's calls", async () => {
    const free = await userWith(app, "finn", "free");
    expect(statuses(await many(app, app.adminKey, 120))).toEqual({ 200: 120 });
    expect((await execute(app, free)).status).toBe(200);
    expect(await usedOf(app, free)).toEqual({
      user: { used: 1, limit: 100 },
      tenant: { used: 121, limit: null },
    });
  });

  test("item 1, R181: two users on two plans in one tenant, exact at concurrency 200", async () => {
    const before = (await usedOf(app, app.adminKey))["tenant"]?.used ?? 0;
    const free = await userWith(app, "flora", "free");
    const starter = await userWith(app, "sven", "starter");
    const [ofFree, ofStarter] = await Promise.all([many(app, free), many(app, starter)]);
    expect(statuses(ofFree)).toEqual({ 200: 100, 402: 100 });
    expect(statuses(ofStarter)).toEqual({ 200: AT_ONCE });
    expect(ofFree.find(({ status }) => status === 402)?.body.detail).toMatch(
      /^user flora has used 100 of the 100 tool_calls of plan free/,
    );
    expect(await usedOf(app, free)).toEqual({
      user: { used: 100, limit: 100 },
      tenant: { used: before + 300, limit: null },
    });
    expect((await usedOf(app, starter))["user"]).toEqual({ used: 200, limit: 1_000 });
  });

  test("item 1: a key's plan counts that key alone, at concurrency 200", async () => {
    const wide = await userWith(app, "kay", "starter");
    const narrow = await keyOf(app, "kay", { plan: "free" });
    const [ofNarrow, ofWide] = await Promise.all([many(app, narrow.secret), many(app, wide)]);
    expect(statuses(ofNarrow)).toEqual({ 200: 100, 402: 100 });
    expect(statuses(ofWide)).toEqual({ 200: AT_ONCE });
    expect(ofNarrow.find(({ status }) => status === 402)?.body.detail).toContain(
      `key ${narrow.id} has used 100 of the 100 tool_calls`,
    );
    expect(await usedOf(app, narrow.secret)).toMatchObject({
      key: { used: 100, limit: 100 },
      user: { used: 300, limit: 1_000 },
    });
  });

  test("item 1: the tenant's plan counts all of its users together, at concurrency 200", async () => {
    const own = await startApp({ flags: UNLIMITED });
    try {
      const plain = await userWith(own, "pia", null);
      const starter = await userWith(own, "sam", "starter");
      await own.api("PATCH", "/tenant", { body: { plan: "free" } });
      const both = await Promise.all([many(own, plain), many(own, starter)]);
      const answers = both.flat();
      expect(statuses(answers)).toEqual({ 200: 100, 402: 300 });
      const refused = answers.find(({ status }) => status === 402);
      expect(refused?.body).toMatchObject({ reason: "budget_tool_calls" });
      expect(refused?.body.detail).toMatch(
        /^tenant local has used 100 of the 100 tool_calls of plan free/,
      );
      const ran = statuses(both[1])[200] ?? 0;
      expect(await usedOf(own, starter)).toEqual({
        user: { used: ran, limit: 1_000 },
        tenant: { used: 100, limit: 100 },
      });
      // A larger plan holds with the next call.
      await own.api("PATCH", "/tenant", { body: { plan: "team" } });
      expect((await execute(own, plain)).status).toBe(200);
    } finally {
      await own.close();
    }
  });
});

describe(
  "item 1: an administrator sets the plan of tenant, user and key",
  { timeout: 120_000 },
  () => {
    let app: StartedApp;
    let ann: string;
    let keyId: string;
    beforeAll(async () => {
      app = await startApp({ flags: UNLIMITED });
      ann = await userWith(app, "ann", null);
      keyId = (await keyOf(app, "ann")).id;
    });
    afterAll(() => app.close());

    test("item 1: over REST; it is recorded, and others may not", async () => {
      expect((await app.api("GET", "/tenant")).body).toMatchObject({
        id: "local",
        plan: "enterprise",
      });
      const tenant = await app.api("PATCH", "/tenant", { body: { plan: "team" } });
      conforms("tenant.updateTenant", tenant.body);
      expect(tenant.body).toMatchObject({ id: "local", plan: "team" });
      expect((await app.api("GET", "/whoami", { key: ann })).body).toMatchObject({ plan: "team" });
      const key = await app.api("PATCH", `/keys/${keyId}`, { body: { plan: "free" } });
      conforms("keys.updateKey", key.body);
      expect(key.body).toMatchObject({ id: keyId, plan: "free", limits: null });
      const limited = await app.api("PATCH", `/keys/${keyId}`, {
        body: { limits: { perMinute: 5 } },
      });
      expect(limited.body).toMatchObject({ plan: "free", limits: { perMinute: 5 } });
      const cleared = await app.api("PATCH", `/keys/${keyId}`, { body: { plan: null } });
      expect(cleared.body).toMatchObject({ plan: null, limits: { perMinute: 5 } });
      expect((await app.api("PATCH", "/tenant", { key: ann, body: { plan: "free" } })).status).toBe(
        403,
      );
      expect(
        (await app.api("PATCH", "/tenant", { body: { plan: "gold" } })).body.errors[0].path,
      ).toBe("/plan");
      expect((await app.api("PATCH", "/keys/key_none", { body: { plan: "free" } })).status).toBe(
        404,
      );
      const events = await app.app.store.log.read(0, 10_000);
      expect(events.map(({ action }) => action)).toEqual(
        expect.arrayContaining(["tenant.changed", "key.changed"]),
      );
    });

    test("item 1: over tRPC", async () => {
      const trpc = trpcClient(app);
      expect(await trpc.tenant.updateTenant.mutate({ plan: "starter" })).toMatchObject({
        plan: "starter",
      });
      expect(await trpc.tenant.getTenant.query()).toMatchObject({ id: "local", plan: "starter" });
      expect(await trpc.keys.updateKey.mutate({ id: keyId, plan: "team" })).toMatchObject({
        plan: "team",
      });
      expect(await trpc.users.updateUser.mutate({ id: "ann", plan: "free" })).toMatchObject({
        plan: "free",
      });
    });

    test("item 1: over the command line, with --json", async () => {
      const cli = (...args: string[]) =>
        runBin([...args, "--server", app.url, "--key", "env:KEY"], { env: { KEY: app.adminKey } });
      expect((await cli("plans", "set", "team", "--json")).json()).toMatchObject({
        id: "local",
        plan: "team",
      });
      expect((await cli("plans", "set", "free", "--user", "ann", "--json")).json()).toMatchObject({
        id: "ann",
        plan: "free",
      });
      expect(
        (await cli("plans", "set", "none", "--for-key", keyId, "--json")).json(),
      ).toMatchObject({ id: keyId, plan: null });
      expect((await cli("plans", "show", "--json")).json()).toMatchObject({
        id: "local",
        plan: "team",
      });
      const list = await cli("plans", "list");
      expect(list.stdout).toMatch(/^PLAN +CALLS\/MINUTE +TOOL_CALLS/);
      expect(list.stdout).toMatch(/^free +60 +100 /m);
      const wrong = await cli("plans", "set", "gold");
      expect(wrong).toMatchObject({ code: 2 });
      expect(wrong.stderr).toContain("free, starter, team, enterprise or none");
    });
  },
);

describe("item 2: api_calls counts every request", () => {
  const api = { "api_calls: 1000\n": "api_calls: 6\n" };
  let app: StartedApp;
  let key: string;
  let governance: string;
  beforeAll(async () => {
    governance = plansWith(api);
    app = await startApp({ flags: { ...UNLIMITED, governance } });
    key = await userWith(app, "abe", "free");
  });
  afterAll(() => app.close());

  const trpc = (path: string, who: string) =>
    fetch(`${app.url}/trpc/${path}`, { headers: { authorization: `Bearer ${who}` } });
  const mcp = (who: string) =>
    post(app.url, who, modernCall("system_echo", { text: "hi" }), modernHeaders("system_echo"));
  const listing = { jsonrpc: "2.0", id: 1, method: "ping", params: {} };

  test("item 2, R172: REST, tRPC and both MCP paths count; then all of them answer 402", async () => {
    expect((await app.api("GET", "/tools", { key })).status).toBe(200);
    expect((await trpc("tools.listTools", key)).status).toBe(200);
    expect((await mcp(key)).status).toBe(200);
    await post(app.url, key, listing);
    expect((await app.api("GET", "/no/such", { key })).status).toBe(404);
    expect((await usedOf(app, key, "api_calls"))["user"]).toEqual({ used: 6, limit: 6 });
    const refused = await app.api("GET", "/tools", { key });
    expect(refused.status).toBe(402);
    expect(refused.body).toMatchObject({ code: "BUDGET_EXHAUSTED", reason: "budget_api_calls" });
    expect(refused.body.detail).toMatch(/^user abe has used 6 of the 6 api_calls of plan free/);
    expect((await trpcFailure(trpcClient(app, key).tools.listTools.query())).httpStatus).toBe(402);
    const fast = await mcp(key);
    expect(fast.status).toBe(402);
    expect(await fast.json()).toMatchObject({ error: { data: { reason: "budget_api_calls" } } });
    expect((await post(app.url, key, listing)).status).toBe(402);
    // Others are not concerned, and what was used can still be looked at.
    expect((await app.api("GET", "/tools")).status).toBe(200);
    expect((await usedOf(app, key, "api_calls"))["user"]).toMatchObject({ used: 7, limit: 6 });
  });

  test("item 2: the count survives a restart, and 200 at once are counted exactly", async () => {
    const [before] = [(await usedOf(app, app.adminKey, "api_calls"))["tenant"]?.used ?? 0];
    await Promise.all(Array.from({ length: AT_ONCE }, () => app.api("GET", "/whoami")));
    expect((await usedOf(app, app.adminKey, "api_calls"))["tenant"]?.used).toBe(
      before + AT_ONCE + 1,
    );
    const { dataDir, adminKey } = app;
    await app.stop();
    app = await startApp({ dataDir, flags: { ...UNLIMITED, governance } });
    expect((await usedOf(app, adminKey, "api_calls"))["tenant"]?.used).toBe(before + AT_ONCE + 2);
    expect((await app.api("GET", "/tools", { key })).status).toBe(402);
  });

  test("item 2: a tenant that has used up its requests can still be given a larger plan", async () => {
    const own = await startApp({ flags: { ...UNLIMITED, governance } });
    try {
      expect((await own.api("PATCH", "/tenant", { body: { plan: "free" } })).status).toBe(200);
      for (let i = 0; i < 6; i++) await own.api("GET", "/tools");
      const refused = await own.api("GET", "/tools");
      expect(refused.status).toBe(402);
      expect(refused.body.detail).toMatch(/^tenant local has used/);
      expect((await own.api("PATCH", "/tenant", { body: { plan: "team" } })).status).toBe(200);
      expect((await own.api("GET", "/tools")).status).toBe(200);
    } finally {
      await own.close();
    }
  });
});

describe("item 2, R176: the window of an address", () => {
  const perIp = { "per_ip:\n  calls_per_minute: 300": "per_ip:\n  calls_per_minute: 12" };
  const doorsOf = (app: StartedApp, headers: Record<string, string> = {}) => [
    () => fetch(`${app.url}/api/v1/whoami`, { headers }),
    () => fetch(`${app.url}/trpc/account.whoami`, { headers }),
    () => fetch(`${app.url}/metrics`, { headers }),
    () =>
      fetch(`${app.url}/mcp`, {
        method: "POST",
        headers: {
          ...headers,
          "content-type": "application/json",
          ...modernHeaders("system_echo"),
        },
        body: JSON.stringify(modernCall("system_echo", { text: "hi" })),
      }),
  ];
  const inTurn = async (app: StartedApp, times: number, headers: Record<string, string> = {}) => {
    const doors = doorsOf(app, headers);
    const answers: Response[] = [];
    for (let i = 0; i < times; i++) answers.push(await doors[i % doors.length]!());
    return answers;
  };

  test("item 2: requests without a credential are told to wait, at every door", async () => {
    const app = await startApp({ shippedLimits: true, flags: { governance: plansWith(perIp) } });
    try {
      const answers = await inTurn(app, 16);
      expect(answers.slice(0, 12).map(({ status }) => status)).toEqual(new Array(12).fill(401));
      expect(answers.slice(12).map(({ status }) => status)).toEqual(new Array(4).fill(429));
      expect(Number(answers[12]?.headers.get("retry-after"))).toBeGreaterThan(0);
      expect(await answers[12]?.json()).toMatchObject({ reason: "rate_ip" });
      // A right credential always works, and health is never counted.
      expect((await app.api("GET", "/whoami")).status).toBe(200);
      expect((await fetch(`${app.url}/healthz`)).status).toBe(200);
    } finally {
      await app.close();
    }
  });

  test("item 2: anonymous requests are counted, tool calls or not, at every door", async () => {
    const app = await startApp({
      shippedLimits: true,
      flags: { governance: plansWith(perIp), "server.authEnabled": "false" },
    });
    try {
      const answers = await inTurn(app, 16);
      expect(answers.slice(0, 12).map(({ status }) => status)).toEqual(new Array(12).fill(200));
      expect(answers.slice(12).map(({ status }) => status)).toEqual(new Array(4).fill(429));
      expect((await app.api("GET", "/whoami")).status).toBe(200);
    } finally {
      await app.close();
    }
  });
});

describe("item 15: throttling says so", () => {
  let app: StartedApp;
  beforeAll(async () => {
    app = await startApp({ shippedLimits: true });
  });
  afterAll(() => app.close());

  const call = (key: string, name: string, args: object) =>
    app.api("POST", "/executions", { key, body: { name, arguments: args } });

  test("item 15: level, scope and schema do not throttle", async () => {
    await app.api("POST", "/users", { body: { id: "lea", name: "lea" } });
    const low = (await keyOf(app, "lea", { level: "execute_basic" })).secret;
    const bare = (await keyOf(app, "lea", { scopes: ["agent:execute:safe"] })).secret;
    for (let i = 0; i < 8; i++) {
      expect((await call(low, "memory/store", { key: "a", value: 1 })).body).toMatchObject({
        reason: "level_too_low",
      });
      expect((await call(bare, "memory/store", { key: "a", value: 1 })).body).toMatchObject({
        reason: "scope_missing",
      });
      expect((await call(bare, "file/delete", { path: "x" })).body).toMatchObject({
        code: "FORBIDDEN",
      });
      expect((await call(bare, "system/echo", {})).status).toBe(400);
    }
    expect((await app.api("GET", "/mode", { key: bare })).body).toMatchObject({ throttle: null });
    const answer = await execute(app, bare);
    expect(answer.headers.get("ratelimit-policy")).toBe('"user-minute";q=100;w=60');
  });

  test("item 15: a 429 by the throttle names itself, the reason and the end", async () => {
    const key = await userWith(app, "tom", null);
    for (let i = 0; i < 3; i++)
      expect((await call(key, "file/read", { path: "/etc/shadow" })).body).toMatchObject({
        code: "FORBIDDEN",
      });
    const { body: mode } = await app.api("GET", "/mode", { key });
    conforms("mode.getMode", mode);
    expect(mode).toMatchObject({
      throttle: 30,
      throttleReason: expect.stringMatching(/^3 calls were forbidden within 10 minutes$/),
    });
    const answers = await many(app, key, 60);
    expect(statuses(answers)).toEqual({ 200: 30, 429: 30 });
    expect(answers.find(({ status }) => status === 200)?.headers.get("ratelimit-policy")).toBe(
      '"throttle-minute";q=30;w=60',
    );
    const refused = answers.find(({ status }) => status === 429)?.body;
    expect(refused).toMatchObject({
      reason: "rate_throttle",
      "violated-policies": ["throttle-minute"],
    });
    expect(refused.detail).toMatch(
      /^Rate limit exceeded: user tom is throttled to 30 calls per minute until \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z, because 3 calls were forbidden within 10 minutes \(throttle-minute\). Retry in \d+ s$/,
    );
    expect(refused.detail).toContain(mode.throttledUntil);
    expect(refused.remedy).toMatch(/^retry after \d+ s; stop making the calls that were refused/);
    // Being throttled does not prolong it.
    expect((await app.api("GET", "/mode", { key })).body.throttledUntil).toBe(mode.throttledUntil);
  });
});
