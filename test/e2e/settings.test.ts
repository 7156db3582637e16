// The server's settings for its administrators, and who the caller is, over REST and tRPC.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { signIn } from "../fixtures/console.ts";
import { conforms, newUser, trpcClient, trpcFailure } from "../fixtures/contract.ts";

const SECRET = "hunter2-hunter2-hunter2-hunter2-hunter2";

interface Setting {
  readonly key: string;
  readonly value: unknown;
  readonly source: string;
  readonly where: string;
  readonly secret: boolean;
  readonly description: string;
}

describe("settings", { timeout: 60_000 }, () => {
  let app: StartedApp;
  let ann: string;
  beforeAll(async () => {
    app = await startApp({
      flags: { "search.provider": "brave", "search.apiKey": SECRET, "execution.maxRunning": "7" },
    });
    ann = await newUser(app, "ann");
  });
  afterAll(() => app.close());

  const settings = async (): Promise<Map<string, Setting>> => {
    const { status, body } = await app.api("GET", "/settings");
    expect(status).toBe(200);
    conforms("settings.getSettings", body);
    return new Map((body.items as Setting[]).map((item) => [item.key, item]));
  };

  test("each with its value, its origin and what it means", async () => {
    const all = await settings();
    expect(all.get("execution.maxRunning")).toMatchObject({ value: 7, source: "flag" });
    expect(all.get("server.host")).toMatchObject({ value: "127.0.0.1", source: "default" });
    for (const { description } of all.values()) expect(description.length).toBeGreaterThan(5);
  });

  test("no secret is in the answer", async () => {
    const { body } = await app.api("GET", "/settings");
    expect(JSON.stringify(body)).not.toContain(SECRET);
    const secrets = [...(await settings()).values()].filter(({ secret }) => secret);
    expect(secrets.map((one) => one.key)).toContain("search.apiKey");
    for (const { value } of secrets)
      expect([null, "••••••", expect.any(Object) as unknown]).toContainEqual(value);
  });

  test("for administrators only, over tRPC too", async () => {
    const refused = await app.api("GET", "/settings", { key: ann });
    expect([refused.status, refused.body.reason]).toEqual([403, "admin_only"]);
    const over = await trpcClient(app).settings.getSettings.query();
    expect(over.items.length).toBe((await settings()).size);
    const failure = await trpcFailure(trpcClient(app, ann).settings.getSettings.query());
    expect(failure.error.reason).toBe("admin_only");
  });

  test("whoami names user and tenant, and until when a sign-in is fresh", async () => {
    const byKey = await app.api("GET", "/whoami", { key: ann });
    conforms("account.whoami", byKey.body);
    expect(byKey.body).toMatchObject({ name: "ann", signedInAt: null, freshUntil: null });
    expect(byKey.body.tenantName).toEqual(expect.any(String));
    const person = await signIn(await app.app.loginUrl());
    const { body } = await person.api("GET", "/whoami");
    conforms("account.whoami", body);
    expect(body.via).toBe("console");
    expect(Date.parse(body.freshUntil) - Date.parse(body.signedInAt)).toBe(15 * 60_000);
    expect(Date.parse(body.freshUntil)).toBeGreaterThan(Date.now());
  });
});
