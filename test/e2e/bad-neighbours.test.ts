// Servers upstream that hang, crash, flood, lie or change: each gets a clear end, and nobody else feels it.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { addServer } from "../fixtures/servers.ts";
import {
  answer,
  BAD,
  BAD_TOOLS,
  ECHO,
  startMcpUpstream,
  type McpUpstream,
} from "../fixtures/mcp-upstream.ts";
import { openHouse } from "../fixtures/open-house.ts";

let app: StartedApp;
let bad: McpUpstream;
let good: McpUpstream;
beforeAll(async () => {
  [bad, good] = [
    await startMcpUpstream({ tools: [ECHO, ...BAD_TOOLS], behave: BAD }),
    await startMcpUpstream(),
  ];
  app = await startApp({ flags: { governance: openHouse(), "rateLimit.enabled": "false" } });
  await addServer(app, "good", { kind: "http", url: good.url });
  // Each kind of trouble by itself: the breaker has its own test.
  await addServer(app, "bad", { kind: "http", url: bad.url }, { breakerFailures: 1_000 });
}, 60_000);
afterAll(async () => {
  await app.close();
  await Promise.all([bad.close(), good.close()]);
});

interface Ended {
  readonly status: string;
  readonly result: { readonly $content?: readonly { readonly text?: string }[] } | null;
  readonly errorCode?: string;
  readonly errorReason?: string;
  readonly error?: string;
}

async function call(name: string, args: object = {}, timeout = 5_000): Promise<Ended> {
  const { body } = await app.api("POST", "/executions", {
    body: { name, arguments: args, timeout },
  });
  return body as Ended;
}
const healthy = async (): Promise<void> =>
  expect(await call("good/echo", { text: "still here" })).toMatchObject({ status: "success" });

describe("each kind of trouble ends in words", { timeout: 60_000 }, () => {
  test.each([
    ["hang", "TIMEOUT", "timeout"],
    ["endless", "TIMEOUT", "timeout"],
    ["crash", "OUTCOME_UNKNOWN", "answer_lost"],
    ["huge", "OUTCOME_UNKNOWN", "answer_lost"],
    ["duplicate", "OUTCOME_UNKNOWN", "answer_lost"],
    ["garbage", "OUTCOME_UNKNOWN", "answer_lost"],
    ["lie", "EXECUTION_FAILED", "output_invalid"],
  ])("R167: %s is %s / %s, and the neighbour answers", async (tool, code, reason) => {
    const [ended] = await Promise.all([call(`bad/${tool}`, {}, 2_000), healthy()]);
    expect([ended.errorCode, ended.errorReason]).toEqual([code, reason]);
    expect(ended.error).not.toMatch(/node:|\.ts:|at async/);
    await healthy();
  });

  test("slow and flooding ones are waited for", async () => {
    expect(await call("bad/slow")).toMatchObject({ status: "success" });
    expect(await call("bad/flood")).toMatchObject({ status: "success" });
    await healthy();
  });

  test("what a flooding one says besides its answer is cut, and its administrator is told", async () => {
    expect(await call("bad/flood")).toMatchObject({ status: "success" });
    const { lines } = (await app.api("GET", "/servers/bad/logs")).body as { lines: string[] };
    expect(lines.filter((line) => line.includes("nobody asked for"))).toHaveLength(1);
    expect(lines.join("\n")).toMatch(/\d{4} messages were dropped/);
  });

  test("R166, C40: what is idempotent is sent once more after a crash, and never more often", async () => {
    const before = bad.calls("crash");
    await call("bad/crash");
    expect(bad.calls("crash") - before).toBe(1);
    const terms = { idempotent: true, effects: "read_only", risk: "safe" };
    const approved = await app.api("POST", "/servers/bad/approve", {
      body: { tools: ["bad/crash"], terms },
    });
    expect(approved.status).toBe(200);
    expect(await call("bad/crash")).toMatchObject({
      errorCode: "EXECUTION_FAILED",
      errorReason: "upstream_unavailable",
    });
    expect(bad.calls("crash") - before).toBe(3);
  });
});

test(
  "a server that hangs takes no place of the house: native tools run on",
  { timeout: 60_000 },
  async () => {
    const narrow = await startApp({
      flags: {
        governance: openHouse(),
        "rateLimit.enabled": "false",
        "execution.maxRunning": "2",
        "execution.maxQueued": "0",
      },
    });
    try {
      await addServer(narrow, "bad", { kind: "http", url: bad.url });
      const body = { name: "bad/hang", arguments: {}, timeout: 3_000 };
      const hanging = Array.from({ length: 6 }, () => narrow.api("POST", "/executions", { body }));
      await expect.poll(() => narrow.doors.engine.activeCount()).toBe(6);
      const ran = await narrow.api("POST", "/executions", {
        body: { name: "system/echo", arguments: { text: "x" } },
      });
      expect(ran.body).toMatchObject({ status: "success" });
      await Promise.all(hanging);
    } finally {
      await narrow.close();
    }
  },
);

describe("R165: the breaker of a server", { timeout: 60_000 }, () => {
  test("opens after five failures, lets nothing through, and closes again; others do not notice", async () => {
    const flaky = await startMcpUpstream({
      behave: { echo: ({ req }) => void req.socket.destroy() },
    });
    await addServer(app, "flaky", { kind: "http", url: flaky.url }, { breakerResetMs: 500 });
    for (let n = 0; n < 5; n++) await call("flaky/echo", { text: "x" });
    const before = flaky.asked.length;
    expect(await call("flaky/echo", { text: "x" })).toMatchObject({
      errorCode: "UNAVAILABLE",
      errorReason: "circuit_open",
    });
    expect(flaky.asked.length).toBe(before);
    await healthy();
    flaky.behave.clear();
    await expect
      .poll(async () => (await call("flaky/echo", { text: "back" })).status, {
        timeout: 10_000,
        interval: 200,
      })
      .toBe("success");
    await flaky.close();
  });
});

test(
  "R165: a server that fails its calls is left alone, however well it lists its tools",
  { timeout: 60_000 },
  async () => {
    const sly = await startMcpUpstream({
      behave: { echo: ({ req }) => void req.socket.destroy() },
    });
    await addServer(app, "busy", { kind: "http", url: sly.url });
    for (let n = 0; n < 5; n++) {
      await call("busy/echo", { text: "x" });
      const looked = await app.api("POST", "/servers/busy/look", { body: {} });
      expect(looked.status).toBe(200);
    }
    expect(await call("busy/echo", { text: "x" })).toMatchObject({ errorReason: "circuit_open" });
    await sly.close();
  },
);

describe("T12: a changed definition", { timeout: 60_000 }, () => {
  test("0 calls go through, whenever the change comes; the unchanged one runs", async () => {
    const sly = await startMcpUpstream({ tools: [ECHO, { ...ECHO, name: "other" }] });
    await addServer(app, "sly", { kind: "http", url: sly.url });
    expect(await call("sly/echo", { text: "before" })).toMatchObject({ status: "success" });
    const before = sly.calls("echo");
    // One byte, told to nobody.
    sly.tools = [
      { ...ECHO, description: `${ECHO.description} ` },
      { ...ECHO, name: "other" },
    ];
    const tried = await Promise.all(
      Array.from({ length: 50 }, () => call("sly/echo", { text: "after" })),
    );
    expect(tried.filter(({ status }) => status === "success")).toEqual([]);
    expect(sly.calls("echo") - before).toBe(0);
    expect(await call("sly/other", { text: "control" })).toMatchObject({ status: "success" });
    // The administrator sees what changed, and a yes to exactly that lets it run again.
    const shown = async () =>
      (await app.api("GET", "/servers/sly/tools/echo")).body as {
        state: string;
        diff: unknown;
        seenPin: string;
      };
    await expect.poll(async () => (await shown()).state, { timeout: 10_000 }).toBe("changed");
    expect(JSON.stringify((await shown()).diff)).toContain("Says the text again.");
    const approved = await app.api("POST", "/servers/sly/approve", {
      body: { tools: ["sly/echo"] },
    });
    expect(approved.status).toBe(200);
    expect(await call("sly/echo", { text: "again" })).toMatchObject({ status: "success" });
    await sly.close();
  });
});

test(
  "a server that is down hides only its own tools, says so to administrators, and comes back",
  { timeout: 60_000 },
  async () => {
    const gone = await startMcpUpstream();
    await addServer(app, "gone", { kind: "http", url: gone.url });
    const listed = async (): Promise<string[]> =>
      (
        (await app.api("GET", "/tools?search=echo")).body as { tools: { name: string }[] }
      ).tools.map(({ name }) => name);
    expect(await listed()).toContain("gone/echo");
    await gone.close();
    expect(await call("gone/echo", { text: "x" })).toMatchObject({
      errorCode: "EXECUTION_FAILED",
      errorReason: "upstream_unavailable",
    });
    await healthy();
    const health = async () =>
      (
        (await app.api("GET", "/servers/gone")).body as {
          health: { status: string; reason: string };
        }
      ).health;
    expect(await health()).toMatchObject({
      status: "down",
      reason: expect.stringMatching(/\w/) as string,
    });
    const left = await listed();
    expect(left).toContain("good/echo");
    expect(left).not.toContain("gone/echo");
    const back = await startMcpUpstream({ port: Number(new URL(gone.url).port) });
    await expect.poll(listed, { timeout: 20_000, interval: 200 }).toContain("gone/echo");
    expect(await call("gone/echo", { text: "x" })).toMatchObject({ status: "success" });
    await back.close();
  },
);

test("an answer of the right shape is what is handed on", async () => {
  const kind = await startMcpUpstream({
    behave: {
      echo: ({ id, res }) =>
        answer(res, id, { content: [{ type: "text", text: "fine" }], structuredContent: { n: 1 } }),
    },
  });
  await addServer(app, "kind", { kind: "http", url: kind.url });
  expect((await call("kind/echo", { text: "x" })).result).toMatchObject({
    $content: [{ text: "fine" }],
    n: 1,
  });
  await kind.close();
});
