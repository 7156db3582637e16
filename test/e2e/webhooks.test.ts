// Webhooks over the wire: REST, tRPC and command line on one side, a program that receives them on the other.
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import type { DeliveryRow, Store } from "../../src/storage/store/store.ts";
import { readCorpus } from "../corpora/corpus.ts";
import { startApp, type StartedApp, type StartOptions } from "../fixtures/app.ts";
import { runBin } from "../fixtures/bin.ts";
import { conforms, newUser, trpcClient, trpcFailure, until } from "../fixtures/contract.ts";
import { isGenuine, startReceiver, type Receiver } from "../fixtures/webhook-receiver.ts";

const PATIENCE_MS = 60_000;
vi.setConfig({ testTimeout: 2 * PATIENCE_MS });
const SWITCH = { mode: "ALERT" };
const receivers: Receiver[] = [];
const receiver = async (port?: number): Promise<Receiver> => {
  const made = await startReceiver(port);
  receivers.push(made);
  return made;
};
const soon = (holds: () => boolean | Promise<boolean>) => until(holds, PATIENCE_MS);

interface Made {
  readonly id: string;
  readonly secret: string;
}

let skewMs = 0;
const now = () => Date.now() + skewMs;
const start = (place: string, more: StartOptions = {}) =>
  startApp({ now, ...more, flags: { "webhooks.privateHosts": place, ...more.flags } });

async function add(on: StartedApp, url: string, events: string[]): Promise<Made> {
  const made = await on.api("POST", "/webhooks", { body: { url, events, description: "test" } });
  expect([made.status, made.body.detail]).toEqual([201, undefined]);
  conforms("webhooks.createWebhook", made.body);
  return made.body as Made;
}

const echo = (on: StartedApp, text = "ARGUMENT", key = on.adminKey) =>
  on.api("POST", "/executions", { key, body: { name: "system/echo", arguments: { text } } });
const deliveries = async (on: StartedApp, id: string, state = "") =>
  (await on.api("GET", `/webhooks/${id}/deliveries?limit=100${state && `&state=${state}`}`)).body
    .items as {
    id: string;
    state: string;
    attempts: number;
    lastStatus: number | null;
    lastError: string | null;
    response: string | null;
    nextAt: string | null;
  }[];
const webhook = async (on: StartedApp, id: string) =>
  (await on.api("GET", `/webhooks/${id}`)).body as Record<string, unknown>;

afterAll(async () => {
  for (const made of receivers) await made.close();
});

describe("with one server", () => {
  let inbox: Receiver;
  let app: StartedApp;
  beforeAll(async () => {
    inbox = await receiver();
    app = await start(inbox.place);
  });
  afterEach(async () => {
    skewMs = 0;
    inbox.answer = 204;
    inbox.got.length = 0;
    for (const { id } of (await app.api("GET", "/webhooks")).body.items)
      await app.api("DELETE", `/webhooks/${id}`);
  });
  afterAll(() => app.close());

  test("B09: an event that was asked for arrives once, signed, without arguments or results", async () => {
    const { id, secret } = await add(app, inbox.url, ["tool.execution.complete"]);
    const ran = await echo(app);
    await soon(() => inbox.got.length > 0);
    const [message] = inbox.got;
    if (!message) throw new Error("nothing arrived");
    expect(isGenuine(message, secret)).toBe(true);
    expect(isGenuine(message, `whsec_${Buffer.alloc(32).toString("base64")}`)).toBe(false);
    expect(message.body).toMatchObject({
      type: "tool.execution.complete",
      data: {
        id: ran.body.executionId,
        toolName: "system/echo",
        status: "success",
        actor: "owner",
      },
    });
    expect(message.text).not.toContain("ARGUMENT");
    await soon(async () => (await deliveries(app, id))[0]?.state === "delivered");
    const listed = await app.api("GET", `/webhooks/${id}/deliveries`);
    conforms("webhooks.listWebhookDeliveries", listed.body);
    expect(listed.body.items).toMatchObject([
      { id: message.id, attempts: 1, lastStatus: 204, response: null },
    ]);
    const shown = await webhook(app, id);
    conforms("webhooks.getWebhook", shown);
    expect([shown["failures"], shown["lastSuccessAt"] === null]).toEqual([0, false]);
    expect(inbox.got.length).toBe(1);
  });

  test("what fails is tried again under the same id, later as Retry-After wishes; a refusal is kept short and masked", async () => {
    const token = `ghp_${"a1B2".repeat(9)}`;
    inbox.answer = (_message, response) =>
      void response
        .writeHead(503, { "retry-after": "600" })
        .end(`busy ${token} ${"x".repeat(900)}`);
    const { id, secret } = await add(app, inbox.url, ["tool.execution.complete"]);
    await echo(app);
    await soon(async () => (await deliveries(app, id))[0]?.attempts === 1);
    const [waiting] = await deliveries(app, id);
    expect(waiting).toMatchObject({ state: "pending", lastStatus: 503, lastError: "answered 503" });
    expect(waiting?.response).toMatch(/^busy \[masked[^\]]*\] x+$/);
    expect(waiting?.response?.length).toBeLessThanOrEqual(200);
    expect(Date.parse(waiting?.nextAt ?? "")).toBeGreaterThan(Date.now() + 500_000);
    expect((await webhook(app, id))["failures"]).toBe(1);
    inbox.answer = 204;
    skewMs = 601_000;
    await soon(async () => (await deliveries(app, id))[0]?.state === "delivered");
    expect(inbox.got.map((message) => message.id)).toEqual([waiting?.id, waiting?.id]);
    expect(
      inbox.got.map((message, n) => isGenuine(message, secret, n === 0 ? Date.now() : now())),
    ).toEqual([true, true]);
    expect((await webhook(app, id))["failures"]).toBe(0);
  });

  test("a redirect is not followed", async () => {
    inbox.answer = (_message, response) =>
      void response.writeHead(302, { location: "/elsewhere" }).end();
    const { id } = await add(app, inbox.url, ["tool.execution.complete"]);
    await echo(app);
    await soon(async () => (await deliveries(app, id))[0]?.attempts === 1);
    expect(inbox.got.map(({ path }) => path)).toEqual(["/hook"]);
    expect((await deliveries(app, id))[0]).toMatchObject({ state: "pending", lastStatus: 302 });
  });

  test("410 switches it off, which is on record; switched on it gets what happens from then on", async () => {
    inbox.answer = 410;
    const { id } = await add(app, inbox.url, ["tool.execution.complete"]);
    await echo(app);
    await soon(async () => (await webhook(app, id))["enabled"] === false);
    expect((await webhook(app, id))["disabledReason"]).toBe("gone");
    const disabled = (await app.app.store.log.read(0, 10_000)).filter(
      ({ action, body }) => action === "webhook.disabled" && body.includes(id),
    );
    expect(disabled.map(({ body }) => JSON.parse(body) as object)).toEqual([
      { webhookId: id, host: inbox.place, reason: "gone" },
    ]);
    const [dead] = await deliveries(app, id, "dead");
    const refused = await app.api("POST", `/webhooks/deliveries/${dead?.id}/retry`);
    expect([refused.status, refused.body.reason]).toEqual([409, "not_running"]);
    await echo(app, "missed");
    inbox.answer = 204;
    const on = await app.api("PATCH", `/webhooks/${id}`, { body: { enabled: true } });
    conforms("webhooks.updateWebhook", on.body);
    expect(on.body).toMatchObject({ enabled: true, disabledReason: null, failures: 0 });
    await echo(app, "seen");
    await soon(() => inbox.got.length === 2);
    await soon(async () => (await deliveries(app, id, "pending")).length === 0);
    expect((await deliveries(app, id)).length).toBe(2);
  });

  test("days without a success switch it off; a dead letter is sent again when somebody asks", async () => {
    const own = await start(inbox.place, {
      flags: { "webhooks.privateHosts": inbox.place, "webhooks.retryWaits": "10s" },
    });
    try {
      inbox.answer = 500;
      const { id } = await add(own, inbox.url, ["tool.execution.complete"]);
      await echo(own);
      await soon(async () => (await deliveries(own, id))[0]?.attempts === 1);
      skewMs = 20_000;
      await soon(async () => (await deliveries(own, id))[0]?.state === "dead");
      const [dead] = await deliveries(own, id, "dead");
      expect(dead).toMatchObject({ attempts: 2, lastStatus: 500, nextAt: null });
      skewMs = 86_400_000 * 5;
      expect((await own.api("POST", `/webhooks/deliveries/${dead?.id}/retry`)).status).toBe(202);
      await soon(async () => (await webhook(own, id))["enabled"] === false);
      expect((await webhook(own, id))["disabledReason"]).toBe("failing");
      inbox.answer = 204;
      await own.api("PATCH", `/webhooks/${id}`, { body: { enabled: true } });
      const again = await own.api("POST", `/webhooks/deliveries/${dead?.id}/retry`);
      conforms("webhooks.retryWebhookDelivery", again.body);
      await soon(async () => (await deliveries(own, id))[0]?.state === "delivered");
      expect(new Set(inbox.got.map((message) => message.id))).toEqual(new Set([dead?.id]));
    } finally {
      await own.close();
    }
  });

  test("rotation: both secrets sign for the overlap, then the new one alone", async () => {
    const made = await add(app, inbox.url, ["tool.execution.complete"]);
    const turned = await app.api("POST", `/webhooks/${made.id}/rotate`, {
      body: { overlapSeconds: 3600 },
    });
    conforms("webhooks.rotateWebhook", turned.body);
    await echo(app);
    await soon(() => inbox.got.length === 1);
    skewMs = 3_601_000;
    await echo(app);
    await soon(() => inbox.got.length === 2);
    const genuine = inbox.got.map((message) =>
      [made.secret, turned.body.secret as string].map(
        (secret) => isGenuine(message, secret, now()) || isGenuine(message, secret),
      ),
    );
    expect(genuine).toEqual([
      [true, true],
      [false, true],
    ]);
    expect((await webhook(app, made.id))["previousSecretUntil"]).not.toBeNull();
  });

  test("a slow endpoint delays nobody else", async () => {
    const slow = await receiver();
    slow.answer = () => undefined;
    const own = await start(`${inbox.place},${slow.place}`);
    try {
      const stuck = await add(own, slow.url, ["tool.execution.complete"]);
      const quick = await add(own, inbox.url, ["tool.execution.complete"]);
      for (let i = 0; i < 30; i++) await echo(own);
      await soon(() => inbox.got.length === 30);
      await soon(async () => (await deliveries(own, quick.id, "delivered")).length === 30);
      // As many as one endpoint may have under way; the first of them may have run out of time meanwhile.
      expect(slow.got.length).toBeLessThanOrEqual(8);
      expect((await deliveries(own, stuck.id, "delivered")).length).toBe(0);
      expect(new Set(inbox.got.map(({ id }) => id)).size).toBe(30);
    } finally {
      await own.close();
    }
  });

  test("a test message is sent at once and tells what came of it", async () => {
    const { id, secret } = await add(app, inbox.url, ["approval.*"]);
    const sent = await app.api("POST", `/webhooks/${id}/test`);
    conforms("webhooks.testWebhook", sent.body);
    expect(sent.body).toMatchObject({
      type: "webhook.test",
      state: "delivered",
      lastStatus: 204,
      sequence: null,
    });
    expect(inbox.got.map(({ body }) => body.data)).toEqual([{ webhookId: id }]);
    expect(inbox.got.every((message) => isGenuine(message, secret))).toBe(true);
    inbox.answer = 500;
    expect((await app.api("POST", `/webhooks/${id}/test`)).body).toMatchObject({
      state: "dead",
      lastStatus: 500,
      lastError: "answered 500",
    });
    expect((await webhook(app, id))["failures"]).toBe(0);
  });

  test("T10: private places, plain http and odd addresses are refused; so is a name that leads inside", async () => {
    const own = await start(inbox.place, {
      egress: {
        resolve: async (host) =>
          host === "inside.example.com"
            ? ["10.0.0.7"]
            : host === "gone.example.com"
              ? []
              : ["203.0.113.7"],
      },
    });
    try {
      const post = (url: string) => own.api("POST", "/webhooks", { body: { url, events: ["*"] } });
      for (const url of [
        "http://127.0.0.1:1/",
        "https://169.254.169.254/",
        "https://localhost/x",
        "http://hooks.example.com/",
        "https://inside.example.com/",
        "https://a:b@hooks.example.com/",
        `${own.url}/`,
      ]) {
        const refused = await post(url);
        expect([url, refused.status, refused.body.reason]).toEqual([url, 403, "egress_blocked"]);
        expect(refused.body.remedy).toContain("webhooks.privateHosts");
      }
      expect((await post("https://gone.example.com/")).body.errors[0].path).toBe("/url");
      expect((await own.api("GET", "/webhooks")).body.items).toEqual([]);
    } finally {
      await own.close();
    }
  });

  test("T10: no line of the corpus of addresses becomes a webhook, over https either", async ({
    skip,
  }) => {
    const file = join(import.meta.dirname, "../../../shared/corpora/ssrf/ssrf.txt");
    if (!existsSync(file)) return skip("../shared/corpora/ssrf/ssrf.txt is absent");
    const own = await start(inbox.place, {
      egress: { resolve: () => Promise.resolve(["169.254.169.254"]) },
    });
    try {
      const lines = readCorpus(file).flatMap((line) => [line, line.replace(/^http:/i, "https:")]);
      const made: string[] = [];
      for (const url of new Set(lines)) {
        const { status } = await own.api("POST", "/webhooks", { body: { url, events: ["*"] } });
        if (status !== 400 && status !== 403) made.push(`${status} ${url}`);
      }
      expect(made).toEqual([]);
    } finally {
      await own.close();
    }
  });

  test("T10: a name that leads inside later on is not followed there", async () => {
    // A real public address stands for the outside: those for documentation count as inside.
    let address = "93.184.215.14";
    const dialled: string[] = [];
    const connect = ({ host }: { host: string }): never => {
      dialled.push(host);
      throw new Error("dialled");
    };
    const own = await start(inbox.place, {
      egress: { resolve: () => Promise.resolve([address]), connect },
    });
    try {
      const { id } = await add(own, "https://hooks.example.com/token-in-the-path", ["*"]);
      address = "10.0.0.7";
      const { body } = await own.api("POST", `/webhooks/${id}/test`);
      expect(body).toMatchObject({
        state: "dead",
        lastStatus: null,
        lastError: expect.stringMatching(/^egress_blocked: /),
      });
      expect(JSON.stringify(body)).not.toContain("token-in-the-path");
      expect(dialled.filter((host) => host === "10.0.0.7")).toEqual([]);
    } finally {
      await own.close();
    }
  });

  test("bad input names the field; administrators only; unknown ids do not exist", async () => {
    const post = (body: object, key?: string) =>
      app.api("POST", "/webhooks", { body, ...(key === undefined ? {} : { key }) });
    const typo = await post({ url: inbox.url, events: ["approval.request"] });
    expect([typo.status, typo.body.errors[0]]).toMatchObject([
      400,
      { path: "/events/0", suggestion: 'did you mean "approval.requested"?' },
    ]);
    expect((await post({ url: inbox.url, events: [] })).body.errors[0].path).toBe("/events");
    const ann = await newUser(app, "ann");
    expect((await post({ url: inbox.url, events: ["*"] }, ann)).body.reason).toBe("admin_only");
    const failure = await trpcFailure(trpcClient(app, ann).webhooks.listWebhooks.query());
    expect(failure).toMatchObject({ httpStatus: 403, error: { reason: "admin_only" } });
    for (const [method, path] of [
      ["GET", "/webhooks/none"],
      ["DELETE", "/webhooks/none"],
      ["POST", "/webhooks/none/test"],
      ["POST", "/webhooks/none/rotate"],
      ["GET", "/webhooks/none/deliveries"],
      ["POST", "/webhooks/deliveries/none/retry"],
    ] as const) {
      expect([path, (await app.api(method, path)).status]).toEqual([path, 404]);
    }
    expect((await app.api("PATCH", "/webhooks/none", { body: {} })).status).toBe(400);
  });

  test("another tenant's webhook neither shows nor hears anything", async () => {
    const { id } = await add(app, inbox.url, ["*"]);
    await move(app.app.store, id, "other");
    await echo(app);
    expect((await app.api("GET", "/webhooks")).body.items).toEqual([]);
    for (const [method, path] of [
      ["GET", `/webhooks/${id}`],
      ["PATCH", `/webhooks/${id}`],
      ["DELETE", `/webhooks/${id}`],
      ["POST", `/webhooks/${id}/rotate`],
      ["POST", `/webhooks/${id}/test`],
      ["GET", `/webhooks/${id}/deliveries`],
    ] as const) {
      const body = method === "PATCH" ? { body: { enabled: false } } : {};
      expect([path, (await app.api(method, path, body)).status]).toEqual([path, 404]);
    }
    // The house's mode is everybody's; of the rest it hears nothing.
    const switched = await app.api("PUT", "/mode", { body: { ...SWITCH, reason: "drill" } });
    expect(switched.status).toBeLessThan(300);
    await soon(() => inbox.got.length > 0);
    expect(new Set(inbox.got.map(({ body }) => body.type))).toEqual(new Set(["mode.changed"]));
    await app.api("PUT", "/mode", { body: { mode: "NORMAL", reason: "over" } });
    await app.app.store.webhooks.remove("other", id);
  });

  test("the secret is shown once: not in lists, the record, the log or the database", async () => {
    const made = await add(app, inbox.url, ["tool.execution.complete"]);
    const turned = (await app.api("POST", `/webhooks/${made.id}/rotate`, { body: {} }))
      .body as Made;
    await echo(app);
    await soon(() => inbox.got.length === 1);
    const events = await app.app.store.log.read(0, 10_000);
    const own = events.filter(({ body }) => body.includes(made.id)).map(({ action }) => action);
    expect(own).toEqual(["webhook.created", "webhook.changed"]);
    const shown = JSON.stringify([
      (await app.api("GET", "/webhooks")).body,
      await webhook(app, made.id),
      await deliveries(app, made.id),
      events,
    ]);
    const kept = ["ostiary.db", "ostiary.db-wal"]
      .map((file) => readFileSync(join(app.dataDir, file), "latin1"))
      .join("");
    expect(kept).toContain(made.id);
    for (const { secret } of [made, turned]) {
      expect(shown).not.toContain(secret.slice(6));
      expect(kept).not.toContain(secret.slice(6));
    }
  });

  test("the recipe of docs/webhooks.md tells genuine messages from forged ones", async () => {
    const page = readFileSync(join(import.meta.dirname, "../../docs/webhooks.md"), "utf8");
    const [, code = ""] = /```js\n([\s\S]+?)```/.exec(page) ?? [];
    const url = `data:text/javascript;base64,${Buffer.from(code).toString("base64")}`;
    const recipe = (await import(/* @vite-ignore */ url)) as {
      isGenuine(headers: object, body: string, secret: string): boolean;
    };
    const { id, secret } = await add(app, inbox.url, ["*"]);
    await app.api("POST", `/webhooks/${id}/test`);
    const message = inbox.got.find(({ body }) => body.type === "webhook.test");
    if (!message) throw new Error("nothing arrived");
    expect(recipe.isGenuine(message.headers, message.text, secret)).toBe(true);
    expect(recipe.isGenuine(message.headers, `${message.text} `, secret)).toBe(false);
    expect(
      recipe.isGenuine({ ...message.headers, "webhook-timestamp": "1" }, message.text, secret),
    ).toBe(false);
  });

  test("the same over tRPC", async () => {
    const { webhooks } = trpcClient(app);
    const made = await webhooks.createWebhook.mutate({ url: inbox.url, events: ["mode.*"] });
    expect((await webhooks.listWebhooks.query()).items.map(({ id }) => id)).toEqual([made.id]);
    expect(
      (await webhooks.updateWebhook.mutate({ id: made.id, description: "x" })).description,
    ).toBe("x");
    expect((await webhooks.testWebhook.mutate({ id: made.id })).state).toBe("delivered");
    expect((await webhooks.listWebhookDeliveries.query({ id: made.id })).items.length).toBe(1);
    expect((await webhooks.rotateWebhook.mutate({ id: made.id })).secret).toMatch(/^whsec_/);
    expect((await webhooks.removeWebhook.mutate({ id: made.id })).id).toBe(made.id);
    const gone = await trpcFailure(webhooks.getWebhook.query({ id: made.id }));
    expect(gone.httpStatus).toBe(404);
  });

  test("on the command line: add, list, show, test, edit, rotate, deliveries, retry, remove", async () => {
    const env = { OSTIARY_DATA_DIR: app.dataDir };
    const run = async (...words: string[]) => {
      const done = await runBin(["webhooks", ...words, "--json"], { env });
      return {
        code: done.code,
        body: JSON.parse(done.stdout) as Record<string, unknown> & { items: { id: string }[] },
      };
    };
    const made = (await run("add", inbox.url, "--events", "approval.*", "mode.changed")).body;
    const id = String(made["id"]);
    expect(made).toMatchObject({
      url: inbox.url,
      events: ["approval.*", "mode.changed"],
      secret: expect.stringMatching(/^whsec_/),
    });
    expect((await run("list")).body.items.map((item) => item.id)).toEqual([id]);
    expect((await run("show", id)).body).not.toHaveProperty("secret");
    expect(await run("test", id)).toMatchObject({ code: 0, body: { state: "delivered" } });
    inbox.answer = 500;
    const failed = await run("test", id);
    expect(failed).toMatchObject({ code: 1, body: { state: "dead" } });
    expect((await run("deliveries", id, "--state", "dead")).body.items.length).toBe(1);
    inbox.answer = 204;
    expect((await run("retry", String(failed.body["id"]))).code).toBe(0);
    await soon(async () => (await deliveries(app, id, "dead")).length === 0);
    expect((await run("edit", id, "--disable")).body["enabled"]).toBe(false);
    expect((await run("edit", id)).code).toBe(2);
    expect((await run("rotate", id, "--overlap", "1h")).body["secret"]).not.toBe(made["secret"]);
    expect((await run("remove", id, "--yes")).code).toBe(0);
    expect((await run("show", id)).code).toBe(3);
  });
});

test("B09: a receiver that was down gets everything once it is up, across a restart, each message once", async () => {
  const first = await receiver();
  const dataDir = mkdtempSync(join(tmpdir(), "ostiary-webhooks-"));
  try {
    const one = await start(first.place, { dataDir });
    const { id, secret } = await add(one, first.url, ["tool.execution.*"]);
    await echo(one, "one");
    await soon(async () => (await deliveries(one, id, "delivered")).length === 2);
    await first.close();
    await echo(one, "two");
    await soon(
      async () =>
        (await deliveries(one, id, "pending")).filter(({ attempts }) => attempts > 0).length === 2,
    );
    expect((await deliveries(one, id, "pending"))[0]?.lastError).toContain("connect_failed");
    await echo(one, "three");
    await one.stop();
    const again = await receiver(Number(first.place.split(":")[1]));
    skewMs = 60_000;
    const two = await start(first.place, { dataDir });
    try {
      await soon(async () => (await deliveries(two, id, "delivered")).length === 6);
      const ids = [...first.got, ...again.got].map((message) => message.id);
      expect([ids.length, new Set(ids).size]).toEqual([6, 6]);
      expect(again.got.every((message) => isGenuine(message, secret, now()))).toBe(true);
    } finally {
      await two.stop();
    }
  } finally {
    skewMs = 0;
    rmSync(dataDir, { recursive: true, force: true });
  }
});

test("a budget that runs low is told once, also after a restart", async () => {
  const inbox = await receiver();
  const dataDir = mkdtempSync(join(tmpdir(), "ostiary-webhooks-"));
  const flags = { "webhooks.privateHosts": inbox.place, "rateLimit.enabled": "false" };
  try {
    const one = await start(inbox.place, { dataDir, flags });
    const { id } = await add(one, inbox.url, ["budget.low"]);
    await one.api("POST", "/users", { body: { id: "free", name: "free", plan: "free" } });
    const { secret } = (
      await one.api("POST", "/keys", { body: { userId: "free", name: "k", scopes: ["*"] } })
    ).body as Made;
    for (let i = 0; i < 85; i++) await echo(one, "x", secret);
    await soon(() => inbox.got.length > 0);
    expect(inbox.got[0]?.body).toMatchObject({
      type: "budget.low",
      data: { metric: "tool_calls", limit: 100 },
    });
    await one.stop();
    const two = await start(inbox.place, { dataDir, flags });
    for (let i = 0; i < 5; i++) await echo(two, "x", secret);
    expect(
      (await two.app.store.log.read(0, 10_000)).filter(({ action }) => action === "budget.low")
        .length,
    ).toBe(1);
    expect((await deliveries(two, id)).length).toBe(1);
    await two.stop();
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
});

test("without webhooks nothing of the log is held back from the archive", async () => {
  const inbox = await receiver();
  const own = await start(inbox.place);
  try {
    const { id } = await add(own, inbox.url, ["tool.execution.complete"]);
    await echo(own);
    await soon(async () => (await deliveries(own, id, "delivered")).length === 1);
    await own.api("DELETE", `/webhooks/${id}`);
    await echo(own);
    const { cursors, log } = own.app.store;
    const head = await log.head();
    expect(await cursors.seq("webhooks")).toBeLessThan(head);
    skewMs = 3_700_000;
    await soon(async () => Number(await cursors.seq("webhooks")) >= head);
  } finally {
    skewMs = 0;
    await own.close();
  }
});

describe("when things go wrong inside", () => {
  test("a server that died after sending sends again under the same id, once its lease is over", async () => {
    const inbox = await receiver();
    let dies = true;
    const wrapStore = (store: Store): Store => ({
      ...store,
      deliveries: {
        ...store.deliveries,
        settle: (...given) =>
          dies ? Promise.reject(new Error("died")) : store.deliveries.settle(...given),
      },
    });
    const own = await start(inbox.place, { wrapStore });
    try {
      const { id } = await add(own, inbox.url, ["tool.execution.complete"]);
      await echo(own);
      await soon(() => inbox.got.length === 1);
      dies = false;
      expect((await deliveries(own, id)).map(({ state }) => state)).toEqual(["pending"]);
      skewMs = 61_000;
      await soon(async () => (await deliveries(own, id, "delivered")).length === 1);
      expect(inbox.got.length).toBe(2);
      expect(inbox.got[0]?.id).toBe(inbox.got[1]?.id);
    } finally {
      skewMs = 0;
      await own.close();
    }
  });

  test("too many that wait are counted and dropped; what is older than 30 days is removed", async () => {
    const inbox = await receiver();
    const own = await start(inbox.place);
    try {
      const { id } = await add(own, inbox.url, ["tool.execution.complete"]);
      const later = Date.now() + 86_400_000;
      const row = (n: number): DeliveryRow => ({
        id: `msg_${n}`,
        webhookId: id,
        tenantId: "local",
        eventSeq: -n,
        type: "mode.changed",
        body: "{}",
        state: "pending",
        attempts: 0,
        nextAt: later,
        lastStatus: null,
        lastError: null,
        response: null,
        createdAt: Date.now(),
        attemptedAt: null,
      });
      await own.app.store.deliveries.add(Array.from({ length: 10_000 }, (_, n) => row(n + 1)));
      await echo(own);
      await soon(async () => (await webhook(own, id))["dropped"] === 1);
      expect(inbox.got).toEqual([]);
      skewMs = 86_400_000 * 31;
      inbox.answer = 500;
      await soon(async () => (await deliveries(own, id)).length === 0);
    } finally {
      skewMs = 0;
      await own.close();
    }
  });
});

/** There is one tenant so far; another one's row is made by hand. */
async function move(store: Store, id: string, tenantId: string): Promise<void> {
  const row = await store.webhooks.get("local", id);
  if (!row) throw new Error("no such webhook");
  await store.webhooks.remove("local", id);
  await store.webhooks.create({ ...row, tenantId });
}
