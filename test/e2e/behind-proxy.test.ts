// Behind a proxy: what people are sent follows the public address, and only a named proxy may say who the client is.
import { request } from "node:http";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { loadConfig } from "../../src/config/config.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";

const PUBLIC = "https://tools.example.com";
const HOST = "tools.example.com";

interface Answer {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly text: string;
}

type Sent = {
  method?: string;
  headers?: Record<string, string | string[]>;
  body?: string;
};

/** Unlike fetch it sends the Host and the repeated headers it is given. */
function send(url: string, { method = "GET", headers = {}, body }: Sent = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
      );
    });
    sent.on("error", reject).end(body);
  });
}

const cookieOf = ({ headers }: Answer): string => String(headers["set-cookie"]);

describe("item 13: a public address", { timeout: 60_000 }, () => {
  let app: StartedApp;
  beforeAll(async () => {
    app = await startApp({ flags: { "server.publicUrl": PUBLIC } });
  }, 60_000);
  afterAll(() => app.close());

  const loginPath = async (): Promise<string> => {
    const url = await app.app.loginUrl();
    expect(url).toMatch(/^https:\/\/tools\.example\.com\/\?t=/);
    return url.slice(PUBLIC.length);
  };
  const signIn = async (host = HOST): Promise<string> => {
    const answer = await send(`${app.url}${await loginPath()}`, { headers: { host } });
    expect(answer.status).toBe(303);
    return /^[^;]+/.exec(cookieOf(answer))?.[0] ?? "";
  };

  test("is in links, problem documents, the OpenAPI document and OAuth addresses", async () => {
    expect(app.url, "the listener's own address stays").toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const key = { authorization: `Bearer ${app.adminKey}` };
    const problem = await app.api("GET", "/executions/exec_none");
    expect(problem.body).toMatchObject({ doc_url: expect.stringContaining(`${PUBLIC}/docs/`) });
    const document = await send(`${app.url}/openapi.json`, { headers: { host: HOST, ...key } });
    expect(JSON.parse(document.text)).toMatchObject({ servers: [{ url: PUBLIC }] });
    const client = await send(`${app.url}/oauth/client.json`, { headers: { host: HOST } });
    expect(JSON.parse(client.text)).toMatchObject({
      client_id: `${PUBLIC}/oauth/client.json`,
      redirect_uris: [`${PUBLIC}/oauth/callback`],
    });
  });

  test("makes the session cookie Secure with the __Host- prefix", async () => {
    const answer = await send(`${app.url}${await loginPath()}`, { headers: { host: HOST } });
    expect(cookieOf(answer)).toMatch(/^__Host-ostiary_session=[^;]+; Path=\/; HttpOnly; .*Secure/);
  });

  test("its name is accepted as Host and Origin without being listed, another is not", async () => {
    const home = (host: string) => send(`${app.url}/healthz`, { headers: { host } });
    expect((await home(HOST)).status).toBe(200);
    expect((await home("evil.example")).status).toBe(403);
  });

  test("changes by cookie come from the public page, whatever Host the proxy sends", async () => {
    const cookie = await signIn();
    const logout = (origin: string, host: string) =>
      send(`${app.url}/logout`, { method: "POST", headers: { cookie, origin, host } });
    const local = new URL(app.url).host;
    for (const [origin, host] of [
      [`http://${HOST}`, HOST],
      ["https://evil.example", HOST],
      [`https://${local}`, local],
      [`${PUBLIC}:8443`, HOST],
    ] as const)
      expect([origin, (await logout(origin, host)).status]).toEqual([origin, 403]);
    expect((await logout(PUBLIC, local)).status).toBe(303);
    const again = await signIn(local);
    const directly = { cookie: again, origin: `http://${local}`, host: local };
    const out = await send(`${app.url}/logout`, { method: "POST", headers: directly });
    expect(out.status, "the listener's own page on this machine").toBe(303);
  });

  test("a session cookie that another site of the domain could have set is not taken", async () => {
    const cookie = await signIn();
    const home = (value: string) => send(`${app.url}/`, { headers: { host: HOST, cookie: value } });
    expect((await home(cookie)).status).toBe(200);
    expect((await home(cookie.replace("__Host-", ""))).status).toBe(401);
  });

  test("what a request says about its own address counts for nothing", async () => {
    const spoofed = {
      host: HOST,
      "x-forwarded-host": "evil.example",
      "x-forwarded-proto": "http",
      "x-forwarded-port": "81",
      forwarded: "host=evil.example;proto=http",
    };
    const answer = await send(`${app.url}/api/v1/executions/x`, { headers: spoofed });
    expect(answer.text).toContain(`${PUBLIC}/docs/`);
    expect(answer.text).not.toContain("evil.example");
    const signedIn = await send(`${app.url}${await loginPath()}`, { headers: spoofed });
    expect(cookieOf(signedIn)).toContain("Secure");
  });
});

describe("item 13: trusted proxies", { timeout: 60_000 }, () => {
  let app: StartedApp | null = null;
  afterEach(() => app?.close());
  const start = async (flags: Record<string, string>): Promise<void> => {
    app = await startApp({ flags });
  };
  /** A wrong key, told to come from there: 401, or 429 when that address has guessed too often. */
  const guess = async (forwarded: string | string[] | null, path = "/api/v1/tools") => {
    const headers = {
      authorization: "Bearer ost_wrong",
      ...(forwarded === null ? {} : { "x-forwarded-for": forwarded }),
    };
    return (await send(`${app?.url}${path}`, { headers })).status;
  };
  const guessOften = async (forwarded: (n: number) => string | string[] | null, path?: string) => {
    for (let n = 0; n < 31; n++) await guess(forwarded(n), path);
  };

  test("X-Forwarded-For of anybody else is ignored, on every door", async () => {
    await start({});
    await guessOften((n) => `203.0.113.${n}`);
    expect(await guess("198.51.100.1")).toBe(429);
    expect(await guess("198.51.100.1", "/mcp")).toBe(429);
    expect(await guess("198.51.100.1", "/metrics")).toBe(429);
    expect(await guess(null)).toBe(429);
  });

  test("a proxy that is not on the list is anybody", async () => {
    await start({ "server.trustedProxies": "10.0.0.0/8,2001:db8::/32" });
    await guessOften((n) => `203.0.113.${n}`);
    expect(await guess("198.51.100.1")).toBe(429);
  });

  test.each(["127.0.0.1", "127.0.0.0/8", "::1,127.0.0.1"])(
    "%s says who the client is",
    async (list) => {
      await start({ "server.trustedProxies": list });
      await guessOften(() => "203.0.113.7");
      expect(await guess("203.0.113.7")).toBe(429);
      expect(await guess("203.0.113.7", "/mcp")).toBe(429);
      expect(await guess("203.0.113.8"), "another client behind the same proxy").toBe(401);
      expect(await guess("203.0.113.8", "/mcp")).toBe(401);
      expect(await guess(null), "the proxy itself").toBe(401);
    },
  );

  test("what the client wrote in front of it counts for nothing", async () => {
    await start({ "server.trustedProxies": "127.0.0.1,10.0.0.0/8" });
    // The last address that is not a proxy's is the one that a proxy has seen.
    await guessOften((n) => `198.51.100.${n}, 203.0.113.7, 10.1.2.3`);
    expect(await guess("203.0.113.7")).toBe(429);
    expect(await guess("198.51.100.1")).toBe(401);
    expect(await guess(["198.51.100.1", "203.0.113.7"]), "a header for each hop").toBe(429);
  });

  test("an entry that is no address ends the list at the proxy that sent it", async () => {
    await start({ "server.trustedProxies": "127.0.0.1" });
    await guessOften((n) => `unknown${n}`);
    expect(await guess(null)).toBe(429);
    expect(await guess("203.0.113.7")).toBe(401);
  });
});

describe("item 13: settings that do not fit are refused", () => {
  const faultsOf = (flags: Record<string, string>) =>
    loadConfig({ env: {}, flags }).then(
      () => "",
      (cause: Error) => cause.message,
    );
  test.each([
    [{ "server.publicUrl": "tools.example.com" }, "expected an address such as https://"],
    [{ "server.publicUrl": "https://tools.example.com/ostiary" }, "without a path"],
    [{ "server.publicUrl": "https://user@tools.example.com" }, "expected an address such as"],
    [{ "server.trustedProxies": "*" }, "expected an IP address or a network"],
    [{ "server.trustedProxies": "10.0.0.0/33" }, "expected an IP address or a network"],
    [{ "server.trustedProxies": "proxy.example.com" }, "expected an IP address or a network"],
    [{ "server.publicUrl": PUBLIC, "server.authEnabled": "false" }, "authentication is off"],
    [
      { "server.trustedProxies": "127.0.0.1", "server.authEnabled": "false" },
      "authentication is off",
    ],
  ])("%j", async (flags, told) => {
    expect(await faultsOf(flags as Record<string, string>)).toContain(told);
  });
});
