// Who may come in: the inventory of routes, sign-in by one-time link, changes only from our own pages.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { endpoints } from "../../src/server/api/index.ts";
import { procedures } from "../../src/server/trpc.ts";
import { createWebApp } from "../../src/server/http/web-app.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { newUser } from "../fixtures/contract.ts";

describe("access", () => {
  let app: StartedApp;
  let ann: string;
  let skewMs = 0;
  beforeAll(async () => {
    app = await startApp({ now: () => Date.now() + skewMs });
    ann = await newUser(app, "ann");
  });
  afterAll(() => app.close());

  const signIn = async (): Promise<string> => {
    const response = await fetch(await app.app.loginUrl(), { redirect: "manual" });
    expect(response.status).toBe(303);
    return (response.headers.get("set-cookie") ?? "").split(";", 1)[0] ?? "";
  };

  /** Every route there is, as method and path. */
  const routes = (): { method: string; path: string }[] => {
    const ownRoutes = createWebApp(app.doors)
      .routes.filter(({ method, path }) => method !== "ALL" && !path.includes("*"))
      .map(({ method, path }) => ({ method, path: path.replaceAll(/:\w+/g, "some") }));
    const rpc = procedures.map((name) => ({ method: "GET", path: `/trpc/${name}` }));
    const rpcWrites = procedures.map((name) => ({ method: "POST", path: `/trpc/${name}` }));
    const others = ["/metrics", "/nowhere", "/api/v1/nowhere"].map((path) => ({
      method: "GET",
      path,
    }));
    return [...ownRoutes, ...rpc, ...rpcWrites, ...others];
  };
  /**
   * The sign-in page's own style (the page itself answers 401 with how to sign in), who we are for authorization
   * servers, and where those send people back to: a state that only we can have made decides there.
   */
  const PUBLIC = new Set(["/style.css", "/oauth/client.json", "/oauth/callback"]);

  test("T8 R050: every route without a credential, with a wrong one and with a revoked one is 401", async () => {
    const { body } = await app.api("POST", "/keys", {
      body: { userId: "ann", name: "x", scopes: ["*"] },
    });
    await app.api("DELETE", `/keys/${body.id}`);
    const all = routes();
    expect(all.length).toBeGreaterThan(60);
    for (const { method, path } of all) {
      if (PUBLIC.has(path)) continue;
      // Wrong credentials are counted per minute: beyond a few dozen the answer would be 429.
      skewMs += 5_000;
      for (const authorization of [undefined, "Bearer wrong", `Bearer ${body.secret}`]) {
        const response = await fetch(app.url + path, {
          method,
          headers: authorization === undefined ? {} : { authorization },
          redirect: "manual",
        });
        expect(response.status, `${method} ${path} ${authorization}`).toBe(401);
        expect(response.headers.get("www-authenticate"), path).toContain("Bearer");
        expect(response.headers.get("request-id"), path).toMatch(/^req_/);
        await response.body?.cancel();
      }
    }
    for (const path of ["/healthz", "/readyz", "/style.css"]) {
      expect((await fetch(app.url + path)).status, path).toBe(200);
    }
  });

  test("R050: beyond a few dozen wrong credentials a minute the next one waits; a right one does not", async () => {
    skewMs += 60_000;
    const statuses = new Set<number>();
    for (let tries = 0; tries < 35; tries++)
      statuses.add((await app.api("GET", "/whoami", { key: "wrong" })).status);
    expect([...statuses]).toEqual([401, 429]);
    expect((await app.api("GET", "/whoami")).status).toBe(200);
    // A minute is counted in slices, and what fell into the oldest one counts until that is over.
    skewMs += 120_000;
    expect((await app.api("GET", "/whoami", { key: "wrong" })).status).toBe(401);
  });

  test("C44: every endpoint is a procedure too, but for streams and files", () => {
    const names = endpoints.filter((e) => "run" in e).map((e) => e.name);
    expect([...procedures].sort()).toEqual([...names].sort());
  });

  test("§2.12: every administrator's route is 403 for a user, before its input is looked at", async () => {
    const admin = endpoints.filter((e) => e.access === "admin");
    expect(admin.length).toBeGreaterThan(0);
    for (const e of admin) {
      const path = e.path.replaceAll(/\{\w+\}/g, "some");
      const answer = await app.api(e.method, path, { key: ann });
      expect(answer.status, `${e.method} ${path}`).toBe(403);
      expect(answer.body).toMatchObject({ code: "FORBIDDEN", reason: "admin_only" });
      for (const method of "run" in e ? ["GET", "POST"] : []) {
        const response = await fetch(`${app.url}/trpc/${e.name}`, {
          method,
          headers: { authorization: `Bearer ${ann}`, "content-type": "application/json" },
        });
        expect([403, 405], `${method} ${e.name}`).toContain(response.status);
      }
    }
  });

  test("a sign-in link works once, cleans the address and sets a strict cookie", async () => {
    const url = await app.app.loginUrl();
    const head = await fetch(url, { method: "HEAD", redirect: "manual" });
    expect(head.status).toBe(401);
    const first = await fetch(url, { redirect: "manual" });
    expect(first.status).toBe(303);
    expect(first.headers.get("location")).toBe("/");
    expect(first.headers.get("referrer-policy")).toBe("no-referrer");
    const cookie = first.headers.get("set-cookie") ?? "";
    expect(cookie).toMatch(
      /^ostiary_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=\d+$/,
    );
    const again = await fetch(url, { redirect: "manual", headers: { accept: "text/html" } });
    expect(again.status).toBe(401);
    const page = await again.text();
    expect(page).toContain("ostiary open");
    expect(page).not.toContain(new URL(url).searchParams.get("t") ?? "?");
    expect((await fetch(`${app.url}/?t=wrong`, { redirect: "manual" })).status).toBe(401);

    const home = await fetch(app.url, { headers: { cookie: cookie.split(";", 1)[0] ?? "" } });
    expect(home.status).toBe(200);
    expect(home.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    // With no-referrer a browser sends `Origin: null` from our own form, and signing out would be refused.
    expect(home.headers.get("referrer-policy")).toBe("same-origin");
    expect(await home.text()).toContain('<div id="root"></div>');
  });

  test("T26: the console's document has no inline script, its files need no credential", async () => {
    const cookie = await signIn();
    const response = await fetch(app.url, { headers: { cookie } });
    const policy = response.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("script-src 'self'");
    expect(policy).toContain("require-trusted-types-for 'script'");
    expect(policy).not.toMatch(/unsafe-inline|unsafe-eval|https?:/);
    const page = await response.text();
    expect(page).not.toMatch(/<script>|<style|\son\w+=/);
    const files = [...page.matchAll(/(?:src|href)="(\/console\/[^"]+)"/g)].map(([, path]) => path);
    expect(files.length).toBeGreaterThan(2);
    for (const path of files) {
      const file = await fetch(app.url + path);
      expect([path, file.status]).toEqual([path, 200]);
      expect(file.headers.get("x-content-type-options")).toBe("nosniff");
    }
    for (const path of [
      "/console/../package.json",
      "/console/%2e%2e/package.json",
      "/console/x.js",
    ])
      expect([path, (await fetch(app.url + path)).status]).toEqual([
        path,
        expect.toBeOneOf([401, 404]),
      ]);
  });

  test("T26: with a cookie, changes come from our own origin only", async () => {
    const cookie = await signIn();
    const call = async (headers: Record<string, string>, path = "/api/v1/executions") => {
      const response = await fetch(app.url + path, {
        method: "POST",
        headers: { cookie, "content-type": "application/json", ...headers },
        body: JSON.stringify({ name: "system/echo", arguments: { text: "a" } }),
      });
      return response.status;
    };
    const own = app.url;
    const other = own.replace(/\d+$/, "1");
    for (const path of ["/api/v1/executions", "/trpc/tools.executeTool"]) {
      expect(await call({}, path), "neither header").toBe(403);
      expect(await call({ origin: own }, path)).toBe(200);
      // Another port of the same host is another page.
      expect(await call({ origin: other }, path)).toBe(403);
      expect(await call({ origin: "https://evil.example" }, path)).toBe(403);
      expect(await call({ origin: "null" }, path)).toBe(403);
      expect(await call({ "sec-fetch-site": "same-origin" }, path)).toBe(200);
      for (const site of ["cross-site", "same-site", "none"]) {
        expect(await call({ "sec-fetch-site": site, origin: own }, path), site).toBe(403);
      }
    }
    const reads = await fetch(`${app.url}/api/v1/whoami`, { headers: { cookie } });
    expect(await reads.json()).toMatchObject({ userId: "owner", via: "console" });
    const rejected = await fetch(`${app.url}/logout`, { method: "POST", headers: { cookie } });
    expect(rejected.status).toBe(403);
  });

  test("signing out ends the session", async () => {
    const cookie = await signIn();
    const out = await fetch(`${app.url}/logout`, {
      method: "POST",
      headers: { cookie, origin: app.url },
      redirect: "manual",
    });
    expect(out.status).toBe(303);
    expect(out.headers.get("set-cookie")).toContain("Max-Age=0");
    expect((await fetch(`${app.url}/api/v1/whoami`, { headers: { cookie } })).status).toBe(401);
  });
});

describe("access with authentication switched off", () => {
  test("T7: programs come in as owner, other people's pages do not", async () => {
    const app = await startApp({ flags: { "server.authEnabled": "false" } });
    const { body } = await app.api("GET", "/whoami", { key: null });
    expect(body).toMatchObject({ userId: "owner", via: "anonymous" });
    const call = (headers: Record<string, string>) =>
      app.api("POST", "/executions", { key: null, headers, body: { name: "system/time" } });
    expect((await call({})).status).toBe(200);
    expect((await call({ origin: app.url })).status).toBe(200);
    const elsewhere: Record<string, string>[] = [
      { origin: "https://evil.example" },
      { origin: app.url.replace(/\d+$/, "1") },
      { origin: "null" },
      { "sec-fetch-site": "cross-site" },
    ];
    for (const headers of elsewhere) {
      const answer = await call(headers);
      expect(answer.status, JSON.stringify(headers)).toBe(403);
      expect(answer.body).toMatchObject({ code: "FORBIDDEN", reason: "bad_origin" });
    }
    const wrong = await app.api("GET", "/whoami", { key: "wrong" });
    expect(wrong.status).toBe(401);
    await app.close();
  });
});
