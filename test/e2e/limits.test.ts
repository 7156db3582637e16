// Rate windows and budgets over the wire: REST, tRPC, both MCP paths, the command line's endpoints.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { conforms, trpcClient, trpcFailure } from "../fixtures/contract.ts";
import { modernCall, modernHeaders, post } from "./mcp-clients.ts";

interface Limited {
  plan?: "free" | "starter" | "team" | "enterprise";
  limits?: { perMinute?: number; perHour?: number; perDay?: number };
}

let users = 0;
/** The key of a new user. */
async function keyOf(app: StartedApp, { plan, limits }: Limited): Promise<string> {
  const id = `user${++users}`;
  const user = await app.api("POST", "/users", {
    body: { id, name: id, ...(plan ? { plan } : {}) },
  });
  expect(user.status).toBe(201);
  const key = await app.api("POST", "/keys", {
    body: {
      userId: id,
      name: "k",
      scopes: ["*"],
      level: "execute_advanced",
      ...(limits ? { limits } : {}),
    },
  });
  conforms("keys.createKey", key.body);
  return (key.body as { secret: string }).secret;
}

const echo = { name: "system/echo", arguments: { text: "hi" } };
const execute = (app: StartedApp, key: string) =>
  app.api("POST", "/executions", { key, body: echo });

describe("rate windows", () => {
  let app: StartedApp;
  beforeAll(async () => {
    app = await startApp({ shippedLimits: true });
  });
  afterAll(() => app.close());

  test("R172, R173: REST counts down in its headers, then answers 429 that names the window", async () => {
    const key = await keyOf(app, { plan: "enterprise", limits: { perMinute: 2 } });
    const first = await execute(app, key);
    expect(first.status).toBe(200);
    expect(first.headers.get("ratelimit-policy")).toBe('"key-minute";q=2;w=60');
    expect(first.headers.get("ratelimit")).toMatch(/^"key-minute";r=1;t=\d+$/);
    expect((await execute(app, key)).headers.get("ratelimit")).toMatch(/r=0/);
    const refused = await execute(app, key);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(refused.headers.get("ratelimit")).toMatch(/^"key-minute";r=0;t=\d+$/);
    expect(refused.body).toMatchObject({
      type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
      code: "TOO_MANY_REQUESTS",
      reason: "rate_key",
      "violated-policies": ["key-minute"],
    });
    expect(refused.body.detail).toMatch(
      /^Rate limit exceeded: 2 calls per minute for this key \(key-minute\). Retry in \d+ s$/,
    );
    // Refused calls pay nothing: the window is not fuller than before.
    expect((await execute(app, key)).headers.get("ratelimit")).toMatch(/r=0/);
  });

  test("R173: tRPC and both MCP paths tell the same", async () => {
    const key = await keyOf(app, { plan: "enterprise", limits: { perMinute: 3 } });
    const fast = await post(
      app.url,
      key,
      modernCall("system_echo", { text: "hi" }),
      modernHeaders("system_echo"),
    );
    expect(fast.headers.get("ratelimit")).toMatch(/^"key-minute";r=2;/);
    const slow = await post(
      app.url,
      key,
      {
        ...modernCall("system_echo", { text: "hi" }),
        params: {
          ...modernCall("system_echo", { text: "hi" }).params,
          _meta: {
            ...modernCall("system_echo").params._meta,
            "io.modelcontextprotocol/logLevel": "error",
          },
        },
      },
      modernHeaders("system_echo"),
    );
    expect(slow.headers.get("ratelimit")).toMatch(/^"key-minute";r=1;/);
    const trpc = await fetch(`${app.url}/trpc/tools.executeTool`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify(echo),
    });
    expect(trpc.headers.get("ratelimit")).toMatch(/^"key-minute";r=0;/);
    const failure = await trpcFailure(trpcClient(app, key).tools.executeTool.mutate(echo));
    expect(failure).toMatchObject({
      code: "TOO_MANY_REQUESTS",
      httpStatus: 429,
      error: { reason: "rate_key" },
    });
    const refused = await post(
      app.url,
      key,
      modernCall("system_echo", { text: "hi" }),
      modernHeaders("system_echo"),
    );
    expect(refused.headers.get("ratelimit")).toMatch(/^"key-minute";r=0;/);
    expect(await refused.json()).toMatchObject({
      result: {
        isError: true,
        structuredContent: { error: { code: "TOO_MANY_REQUESTS", reason: "rate_key" } },
      },
    });
  });

  test("R170: by plan and minute; who has no window gets no header", async () => {
    const free = await keyOf(app, { plan: "free" });
    expect((await execute(app, free)).headers.get("ratelimit-policy")).toBe(
      '"user-minute";q=60;w=60',
    );
    const enterprise = await keyOf(app, { plan: "enterprise" });
    const answer = await execute(app, enterprise);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("ratelimit")).toBeNull();
  });

  test("a key's limits have bounds, are shown, and survive its rotation", async () => {
    const body = { userId: "owner", name: "k", scopes: ["*"] };
    const tooMuch = await app.api("POST", "/keys", {
      body: { ...body, limits: { perMinute: 1_001, perSecond: 1 } },
    });
    expect(tooMuch.status).toBe(400);
    expect(tooMuch.body.errors.map((each: { path: string }) => each.path)).toContain(
      "/limits/perMinute",
    );
    const made = await app.api("POST", "/keys", { body: { ...body, limits: { perDay: 100_000 } } });
    expect(made.body.limits).toEqual({ perDay: 100_000 });
    const rotated = await app.api("POST", `/keys/${made.body.id}/rotate`, { body: {} });
    expect(rotated.body.limits).toEqual({ perDay: 100_000 });
    const none = await app.api("POST", "/keys", { body: { ...body, limits: {} } });
    expect(none.body.limits).toBeNull();
  });

  test("R176: guessing credentials is slowed down at every door; a right one still works", async () => {
    const wrong = `ost_local_${"x".repeat(49)}`;
    const doors = [
      () => app.api("GET", "/whoami", { key: wrong }).then(({ status }) => status),
      () => post(app.url, wrong, {}).then(({ status }) => status),
      () =>
        fetch(`${app.url}/metrics`, { headers: { authorization: `Bearer ${wrong}` } }).then(
          ({ status }) => status,
        ),
      () =>
        fetch(`${app.url}/trpc/account.whoami`, {
          headers: { authorization: `Bearer ${wrong}` },
        }).then(({ status }) => status),
    ];
    const statuses: number[] = [];
    for (let i = 0; i < 40; i++) statuses.push((await doors[i % 4]?.()) ?? 0);
    expect(statuses.slice(0, 30)).toEqual(new Array(30).fill(401));
    expect(statuses.slice(30)).toEqual(new Array(10).fill(429));
    const refused = await app.api("GET", "/whoami", { key: wrong });
    expect(refused.body).toMatchObject({ reason: "rate_ip" });
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await app.api("GET", "/whoami")).status).toBe(200);
  });
});

describe("budgets", () => {
  let app: StartedApp;
  let free: string;
  beforeAll(async () => {
    app = await startApp({ shippedLimits: true, flags: { "rateLimit.enabled": "false" } });
    free = await keyOf(app, { plan: "free" });
  });
  afterAll(() => app.close());

  const toolCalls = async (key: string) => {
    const { body } = await app.api("GET", "/usage", { key });
    conforms("usage.getUsage", body);
    return (body as { items: { metric: string }[] }).items.find(
      (each) => each.metric === "tool_calls",
    );
  };

  /** A stage that a crowded machine makes too slow refuses (503) and has taken nothing: that call is made again. */
  const insist = async (key: string): ReturnType<typeof execute> => {
    const answer = await execute(app, key);
    return answer.status === 503 ? insist(key) : answer;
  };
  const atOnce = (count: number, key: string) =>
    Promise.all(Array.from({ length: count }, () => insist(key)));

  test("R180, R181: of 1,000 parallel calls exactly 100 run; the others are 402", async () => {
    const racer = await keyOf(app, { plan: "free" });
    const answers = await atOnce(1_000, racer);
    const of = (status: number) => answers.filter((each) => each.status === status).length;
    const odd = answers.find((each) => each.status !== 200 && each.status !== 402);
    expect(odd?.body).toBeUndefined();
    expect([of(200), of(402)]).toEqual([100, 900]);
    expect(await toolCalls(racer)).toMatchObject({
      owner: "user",
      plan: "free",
      metric: "tool_calls",
      used: 100,
      reserved: 0,
      limit: 100,
      left: 0,
    });
  });

  test("R288 C37: a used-up budget says how much, when it starts anew and what to do", async () => {
    await atOnce(100, free);
    const { status, body } = await execute(app, free);
    expect(status).toBe(402);
    expect(body).toMatchObject({ code: "BUDGET_EXHAUSTED", reason: "budget_tool_calls" });
    expect(body.detail).toMatch(
      /^user \w+ has used 100 of the 100 tool_calls of plan free this month.* start anew at \d{4}-\d\d-01T00:00:00.000Z$/,
    );
    expect(body.remedy).toMatch(/^wait until \d{4}-\d\d-01, or ask an administrator/);
    expect(
      (await trpcFailure(trpcClient(app, free).tools.executeTool.mutate(echo))).httpStatus,
    ).toBe(402);
  });

  test("C38: a call that is refused at another stage uses nothing", async () => {
    const before = await toolCalls(app.adminKey);
    const wrong = await app.api("POST", "/executions", {
      body: { name: "system/echo", arguments: { txt: "hi" } },
    });
    expect(wrong.status).toBe(400);
    expect(await toolCalls(app.adminKey)).toEqual(before);
  });

  test("R182: use by month, and what each plan includes", async () => {
    const old = await app.api("GET", "/usage?period=2020-01", { key: free });
    expect(old.body).toMatchObject({
      period: "2020-01",
      resetsAt: "2020-02-01T00:00:00.000Z",
      plan: "free",
    });
    // Of the user, and of the tenant.
    expect(old.body.items).toHaveLength(2 * 7);
    expect((await app.api("GET", "/usage?period=2020-13", { key: free })).status).toBe(400);
    const plans = await app.api("GET", "/plans", { key: free });
    conforms("usage.listPlans", plans.body);
    expect(plans.body.items[0]).toMatchObject({
      plan: "free",
      callsPerMinute: 60,
      budgets: { tool_calls: 100, tokens: 10_000 },
    });
    expect(plans.body.items.at(-1)).toMatchObject({ plan: null, callsPerMinute: 100 });
    expect(await trpcClient(app, free).usage.listPlans.query()).toEqual(plans.body);
  });

  test("explain shows the windows and the budget without taking anything", async () => {
    const before = await toolCalls(free);
    const { body } = await app.api("POST", "/explain", {
      key: free,
      body: { tool: "system/echo", arguments: { text: "hi" } },
    });
    const stage = (name: string) =>
      (body.gates as { stage: string }[] | undefined)?.find((each) => each.stage === name);
    expect(stage("budget") ?? body).toMatchObject({ verdict: "deny", reason: "budget_tool_calls" });
    expect(await toolCalls(free)).toEqual(before);
  });
});
