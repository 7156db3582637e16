// Logins at servers upstream over the public doors: who may begin one, what the browser sees, and that calls work
// afterwards.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { runBin } from "../fixtures/bin.ts";
import { startIdp, type Idp } from "../fixtures/idp.ts";

const LIMIT_MS = 120_000;
const TERMS = { risk: "safe", effects: "read_only" };

describe("a server that wants a login", { timeout: LIMIT_MS }, () => {
  let app: StartedApp;
  let idp: Idp;
  let bob: string;

  beforeAll(async () => {
    [app, idp] = await Promise.all([startApp(), startIdp()]);
    await app.api("POST", "/users", { body: { id: "bob", name: "Bob" } });
    bob = (await app.api("POST", "/keys", { body: { userId: "bob", name: "bob", scopes: ["*"] } }))
      .body.secret as string;
    await add("team", "shared");
    await add("own", "user");
  }, LIMIT_MS);
  afterAll(async () => {
    await app.close();
    await idp.close();
  });

  const add = (name: string, credentials: "shared" | "user") =>
    app.api("POST", "/servers", {
      body: {
        name,
        transport: { kind: "http", url: idp.mcpUrl, auth: "oauth" },
        settings: { credentials },
      },
    });
  const begin = async (name: string, key?: string): Promise<string> => {
    const answer = await app.api(
      "POST",
      `/servers/${name}/login`,
      key === undefined ? {} : { key },
    );
    expect([answer.status, answer.body]).toEqual([
      200,
      { authorizationUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/authorize\?/) },
    ]);
    return answer.body.authorizationUrl as string;
  };
  const page = async (url: string | URL, init: RequestInit = {}) => {
    const response = await fetch(url, {
      redirect: "manual",
      ...init,
      headers: { accept: "text/html", ...init.headers },
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const confirmed = (back: URL, headers: Record<string, string> = {}) =>
    page(`${app.url}/oauth/callback`, {
      method: "POST",
      body: new URLSearchParams(back.searchParams).toString(),
      headers: { "content-type": "application/x-www-form-urlencoded", origin: app.url, ...headers },
    });
  const logIn = async (name: string, key?: string) =>
    confirmed(await idp.browse(await begin(name, key)));

  test("says so, and offers nothing until somebody has logged in", async () => {
    const { body } = await app.api("GET", "/servers/team");
    expect(body.health.status).toBe("login_needed");
    expect(body.health.reason).toContain("wants a login");
  });

  test("the browser is asked whose login it is, unless the person is signed in; then tools can be approved and called", async () => {
    const back = await idp.browse(await begin("team"));
    expect(back.origin).toBe(app.url);
    const asked = await page(back);
    expect([asked.status, asked.text]).toEqual([
      200,
      expect.stringContaining("Is this your login?"),
    ]);
    expect(asked.text).not.toContain("<script");
    expect(asked.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(asked.headers.get("cache-control")).toBe("no-store");
    for (const origin of ["https://evil.example", "null"])
      expect([origin, (await confirmed(back, { origin })).status]).toEqual([origin, 403]);
    const done = await confirmed(back);
    expect([done.status, done.text]).toEqual([200, expect.stringContaining("Logged in")]);
    expect((await confirmed(back)).status).toBe(400);

    await app.api("POST", "/servers/team/restart");
    const tools = await app.api("GET", "/servers/team/tools");
    expect(tools.body.items.map((one: { name: string }) => one.name)).toContain("team/whoami");
    expect(
      (
        await app.api("POST", "/servers/team/approve", {
          body: { tools: ["team/whoami"], terms: TERMS },
        })
      ).status,
    ).toBe(200);
    const called = await app.api("POST", "/executions", {
      body: { name: "team/whoami", arguments: {} },
    });
    expect(JSON.stringify(called.body)).toContain("alice");
  });

  test("T1: what the server upstream heard holds none of our keys", () => {
    const heard = idp.heard.join("\n");
    for (const key of [app.adminKey, app.cliKey, bob]) expect(heard).not.toContain(key);
    expect(heard).toContain(idp.taken.at(-1)?.token ?? "no token was taken");
  });

  test("T4: whoever is signed in as somebody else cannot bring the answer, and it stays good for its owner", async () => {
    const back = await idp.browse(await begin("team"));
    const other = await page(back, { headers: { authorization: `Bearer ${bob}` } });
    expect([other.status, other.text]).toEqual([
      403,
      expect.stringContaining("Another user began this login"),
    ]);
    const own = await page(back, { headers: { authorization: `Bearer ${app.adminKey}` } });
    expect([own.status, own.text]).toEqual([200, expect.stringContaining("Logged in")]);
  });

  test("everybody's login is an administrator's to make; what one cannot see is not there", async () => {
    const hidden = await app.api("POST", "/servers/own/login", { key: bob });
    const absent = await app.api("POST", "/servers/none/login", { key: bob });
    expect([hidden.status, absent.status]).toEqual([404, 404]);
    expect(hidden.body.detail.replace("own", "none")).toBe(absent.body.detail);
  });

  test("each user brings a login of their own", async () => {
    idp.person = "alice";
    await logIn("own");
    await app.api("POST", "/servers/own/restart");
    expect(
      (
        await app.api("POST", "/servers/own/approve", {
          body: { tools: ["own/whoami"], terms: TERMS },
        })
      ).status,
    ).toBe(200);
    const before = await app.api("POST", "/executions", {
      key: bob,
      body: { name: "own/whoami", arguments: {} },
    });
    expect(JSON.stringify(before.body)).toContain("ostiary servers login own");
    idp.person = "robert";
    await logIn("own", bob);
    const mine = await app.api("POST", "/executions", {
      key: bob,
      body: { name: "own/whoami", arguments: {} },
    });
    const theirs = await app.api("POST", "/executions", {
      body: { name: "own/whoami", arguments: {} },
    });
    expect([JSON.stringify(mine.body), JSON.stringify(theirs.body)]).toEqual([
      expect.stringContaining("robert"),
      expect.stringContaining("alice"),
    ]);
    expect((await app.api("DELETE", "/servers/own/login", { key: bob })).body).toEqual({
      removed: true,
      revoked: true,
    });
    const after = await app.api("POST", "/executions", {
      key: bob,
      body: { name: "own/whoami", arguments: {} },
    });
    expect(JSON.stringify(after.body)).not.toContain("robert");
  });

  test("ostiary servers login prints the link, and waits until somebody has logged in", async () => {
    const cli = (...args: string[]) =>
      runBin(["servers", "--server", app.url, "--key", "env:KEY", ...args], {
        env: { KEY: app.adminKey },
      });
    const link = await cli("login", "team", "--no-wait");
    expect([link.code, link.stdout]).toEqual([
      0,
      expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/authorize\?/),
    ]);
    const waiting = cli("login", "team");
    let isOver = false;
    const watched = waiting.finally(() => (isOver = true));
    while (!isOver) {
      expect((await logIn("team")).status).toBe(200);
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    expect((await watched).stderr).toContain("logged in at team");
    expect((await cli("logout", "team")).stderr).toContain(
      "the login is forgotten, its tokens are revoked",
    );
    expect((await cli("login", "nothing")).code).not.toBe(0);
  });

  test("answers that are none: no state, a foreign one, the same word twice", async () => {
    for (const query of [
      "",
      "?state=x&code=y",
      "?state=a&state=b",
      `?state=${"x".repeat(9_000)}`,
    ]) {
      const answer = await page(`${app.url}/oauth/callback${query}`);
      expect([query.slice(0, 30), answer.status]).toEqual([query.slice(0, 30), 400]);
    }
  });

  test("without a public address nobody is told who we are", async () => {
    expect((await page(`${app.url}/oauth/client.json`)).status).toBe(404);
  });

  test("logins are on record, without what they gave", async () => {
    const { body } = await app.api("GET", "/audit?action=upstream.credential_changed");
    const text = JSON.stringify(body);
    expect(text).toContain('"change":"login"');
    for (const { token } of idp.taken) expect(text).not.toContain(token);
  });
});
