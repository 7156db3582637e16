// The web tools on a small internet of their own: real guard, real powers, real sockets.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openBench, type Bench } from "../../../test/fixtures/tool-bench.ts";
import { openWeb, type Web } from "../../../test/fixtures/web.ts";
import type { Tool } from "../../contract/tool.ts";
import webDelete from "./delete.ts";
import download from "./download.ts";
import fetchPage from "./fetch.ts";
import get from "./get.ts";
import post from "./post.ts";
import put from "./put.ts";
import search from "./search.ts";
import { HAS_BOX } from "../../../test/fixtures/programs.ts";

const TOKEN = "s3cr3t-t0ken-of-the-api";
let web: Web;
let bench: Bench;
beforeAll(async () => {
  web = await openWeb({
    answer: page,
    names: { "inside.example.org": ["10.0.0.8"], "absent.example.org": [] },
    limits: { headersMs: 1_000 },
  });
  bench = await openBench({
    egress: web.egress,
    rules: { "  private: []": "  private: [searx.internal:8080]" },
    flags: {
      secrets: JSON.stringify({
        api: { value: TOKEN, hosts: ["api.example.org", "*.trusted.example.org"] },
      }),
    },
  });
});
afterAll(async () => {
  await bench.close();
  await web.close();
});
beforeEach(() => {
  web.seen.length = 0;
  web.dialled.length = 0;
  bench.notes.length = 0;
});

function page(req: IncomingMessage, res: ServerResponse): boolean {
  const send = (status: number, type: string, body: string | Buffer, more = {}): true => {
    res.writeHead(status, { "content-type": type, ...more }).end(body);
    return true;
  };
  switch (req.url?.split("?")[0]) {
    case "/echo-token":
      return send(200, "text/plain", `you sent ${req.headers.authorization ?? "nothing"}`, {
        "x-echo": req.headers.authorization ?? "nothing",
      });
    case "/missing":
      return send(404, "text/plain", "not here");
    case "/latin1":
      return send(200, "text/plain; charset=iso-8859-1", Buffer.from("gr\xfc\xdfe", "latin1"));
    case "/binary":
      return send(200, "application/octet-stream", Buffer.from([0, 1, 2, 255]));
    case "/liar.json":
      return send(200, "application/json", "{no json");
    case "/away":
      return send(302, "text/plain", "", { location: "https://other.example.org/echo-token" });
    case "/inside":
      return send(302, "text/plain", "", { location: "http://127.0.0.1/" });
    case "/large":
      return send(200, "text/plain", "x".repeat(3_000_000));
    case "/hang":
      return true;
    case "/cut":
      res.writeHead(200, { "content-length": "100" }).write("half");
      setTimeout(() => res.destroy(), 20);
      return true;
    case "/app":
      return send(
        200,
        "text/html",
        '<html><head><title>App</title></head><body><div id="root"></div><script src="/app.js"></script></body></html>',
      );
    case "/image":
      return send(200, "image/png", Buffer.from("89504e470d0a1a0a0000000d49484452", "hex"));
    case "/long":
      return send(200, "text/plain", "wörter 😀 ".repeat(5_000));
    default:
      return false;
  }
}

const API = "https://api.example.org";

describe("web/get", () => {
  test("JSON is parsed, query parameters are added, hosts and bytes are noted as untrusted", async () => {
    const answer = await bench.run(get, {
      url: `${API}/items.json?a=1#top`,
      query: { page: 2, tag: ["x", "y"] },
      headers: { "x-own": "1" },
    });
    expect(answer).toMatchObject({
      ok: true,
      status: 200,
      contentType: "application/json",
      truncated: false,
      redirects: [],
    });
    expect(answer["json"]).toMatchObject({
      method: "GET",
      query: { a: "1", page: "2", tag: "y" },
      headers: { "x-own": "1", host: "api.example.org" },
    });
    expect(web.seen).toEqual(["api.example.org GET /items.json?a=1&page=2&tag=x&tag=y"]);
    expect(bench.notes).toEqual([
      { untrusted: true, hosts: ["api.example.org"], bytes: answer["bytes"] },
    ]);
  });

  test("an error of the server is a result; text, other charsets, bytes and false JSON come as they are", async () => {
    expect(await bench.run(get, { url: `${API}/missing` })).toMatchObject({
      ok: false,
      status: 404,
      text: "not here",
    });
    expect(await bench.run(get, { url: `${API}/latin1` })).toMatchObject({ text: "grüße" });
    expect(await bench.run(get, { url: `${API}/binary` })).toMatchObject({
      base64: "AAEC/w==",
      bytes: 4,
    });
    expect(await bench.run(get, { url: `${API}/liar.json` })).toMatchObject({ text: "{no json" });
  });

  test("more than maxBytes is cut", async () => {
    expect(await bench.run(get, { url: `${API}/large`, maxBytes: 10 })).toMatchObject({
      text: "x".repeat(10),
      bytes: 10,
      truncated: true,
    });
    expect(await bench.run(get, { url: `${API}/large` })).toMatchObject({
      bytes: 1_048_576,
      truncated: true,
    });
  });

  test("redirects are followed, told and limited", async () => {
    expect(await bench.run(get, { url: `${API}/away` })).toMatchObject({
      status: 200,
      finalUrl: "https://other.example.org/echo-token",
      redirects: ["https://other.example.org/echo-token"],
    });
    expect(bench.notes[0]).toMatchObject({ hosts: ["api.example.org", "other.example.org"] });
    expect(await bench.run(get, { url: `${API}/away`, followRedirects: false })).toMatchObject({
      ok: false,
      status: 302,
    });
    expect(await bench.fault(get, { url: `${API}/away`, maxRedirects: 0 })).toMatchObject({
      reason: "too_many_redirects",
    });
    expect(await bench.fault(get, { url: `${API}/inside` })).toMatchObject({
      code: "FORBIDDEN",
      reason: "egress_blocked",
    });
  });

  test.each([
    ["http://127.0.0.1/", "egress_blocked"],
    ["https://inside.example.org/", "egress_blocked"],
    ["https://absent.example.org/", "dns_failed"],
    ["https://other.example.net/", "tls_failed"],
    [`${API}/cut`, "connect_failed"],
    [`${API}/hang`, "timeout"],
    ["ftp://api.example.org/", "egress_blocked"],
  ])("%s is %s", async (url, reason) => {
    const fault = await bench.fault(get, { url });
    expect(fault).toMatchObject({ reason, remedy: expect.any(String) });
    expect(JSON.stringify(fault)).not.toMatch(/\.ts:|at .*\(|node_modules/);
  });

  test("an exact exception of governance opens a place inside, its neighbours stay closed", async () => {
    expect(await bench.run(get, { url: "http://searx.internal:8080/items.json" })).toMatchObject({
      ok: true,
    });
    expect(web.dialled).toEqual(["93.184.215.14:8080"]);
    for (const url of [
      "http://searx.internal/",
      "http://searx.internal:8081/",
      "http://other.internal:8080/",
    ])
      expect(await bench.fault(get, { url })).toMatchObject({ reason: "egress_blocked" });
  });

  test("a cancel ends it", async () => {
    const stop = new AbortController();
    setTimeout(() => stop.abort("user"), 30);
    const began = performance.now();
    await expect(bench.run(get, { url: `${API}/hang` }, { signal: stop.signal })).rejects.toBe(
      "user",
    );
    expect(performance.now() - began).toBeLessThan(1_000);
  });
});

describe("headers and secrets", () => {
  const sent = (value: string, url = `${API}/echo-token`) => ({
    url,
    headers: { Authorization: value },
  });

  test("a secret reaches its own host; an echo of it is masked, and it is nowhere in the notes", async () => {
    const answer = await bench.run(get, sent("Bearer ${secret:api}"));
    expect(answer).toMatchObject({
      text: "you sent Bearer [secret:api]",
      headers: { "x-echo": "Bearer [secret:api]" },
    });
    expect(JSON.stringify([answer, bench.notes])).not.toContain(TOKEN);
  });

  test("it does not follow a redirect to another origin", async () => {
    const answer = await bench.run(get, sent("Bearer ${secret:api}", `${API}/away`));
    expect(answer).toMatchObject({ text: "you sent nothing" });
  });

  test.each([
    ["another host", sent("Bearer ${secret:api}", "https://example.org/echo-token")],
    ["a host above a pattern", sent("${secret:api}", "https://trusted.example.org/")],
    ["no TLS", sent("Bearer ${secret:api}", "http://api.example.org/echo-token")],
    ["a secret that does not exist", sent("Bearer ${secret:nope}")],
    ["a credential in plain text", sent("Bearer abc")],
    ["a cookie in plain text", { url: API, headers: { cookie: "a=1" } }],
    ["an api key in plain text", { url: API, headers: { "X-Api-Key": "1" } }],
    ["Host", { url: API, headers: { Host: "evil.org" } }],
    ["hop-by-hop", { url: API, headers: { "Transfer-Encoding": "chunked" } }],
    ["of a proxy", { url: API, headers: { "Proxy-Authorization": "x" } }],
    ["a line break", { url: API, headers: { "x-a": "1\r\nx-b: 2" } }],
    ["NUL", { url: API, headers: { "x-a": "1\0" } }],
    ["no header name", { url: API, headers: { "x a": "1" } }],
  ])("%s is header_forbidden", async (_what, input) => {
    const fault = await bench.fault(get, input);
    expect(fault).toMatchObject({
      code: "FORBIDDEN",
      reason: "header_forbidden",
      remedy: expect.any(String),
    });
    expect(JSON.stringify(fault)).not.toContain(TOKEN);
    expect(web.dialled).toEqual([]);
  });

  test("a sealed header opens for nobody else", () => {
    const { secrets, fetch: power } = bench.powersFor(["secrets", "fetch"], bench.call());
    expect(JSON.stringify(secrets?.seal({ authorization: "${secret:api}" }))).toBe("{}");
    expect(power).toBeDefined();
  });
});

describe("web/post, web/put, web/delete", () => {
  test("a body is written as its type says; an idempotency key is sent along", async () => {
    const json = async (tool: Tool, input: object) =>
      (await bench.run(tool, { url: `${API}/x.json`, ...input }))["json"];
    expect(await json(post, { body: { a: 1 }, idempotencyKey: "k1" })).toMatchObject({
      method: "POST",
      body: '{"a":1}',
      headers: { "content-type": "application/json", "idempotency-key": "k1" },
    });
    expect(
      await json(put, {
        body: { a: "x y", b: 2 },
        contentType: "application/x-www-form-urlencoded",
      }),
    ).toMatchObject({ method: "PUT", body: "a=x+y&b=2" });
    expect(await json(post, { body: "<a/>", contentType: "text/xml" })).toMatchObject({
      body: "<a/>",
      headers: { "content-type": "text/xml" },
    });
    expect(await json(post, {})).toMatchObject({ body: "", headers: { "content-length": "0" } });
    expect(await json(webDelete, { query: { id: 7 } })).toMatchObject({
      method: "DELETE",
      query: { id: "7" },
    });
  });

  test("a body over 1 MiB, and an object that cannot be written", async () => {
    expect(await bench.fault(post, { url: API, body: "x".repeat(1_048_577) })).toMatchObject({
      code: "FORBIDDEN",
      reason: "size_exceeded",
    });
    expect(
      await bench.fault(put, { url: API, body: { a: 1 }, contentType: "text/plain" }),
    ).toMatchObject({ code: "BAD_REQUEST", errors: [{ path: "/body" }] });
  });

  test("under ask_new a redirect to a host that nobody agreed to is refused, with what to do", async () => {
    const fault = await bench.fault(post, { url: `${API}/away`, body: {} });
    expect(fault).toMatchObject({
      reason: "egress_blocked",
      remedy: expect.stringContaining("call the tool with this address itself"),
    });
    expect(web.seen).toEqual(["api.example.org POST /away"]);
  });
});

describe("web/download", () => {
  const SHA = "7f3b0e2b1f8ff8f8b1b4c5a1a7f8a2c3d4e5f60718293a4b5c6d7e8f90a1b2c3";
  test("the file is there, with size, checksum and where it came from", async () => {
    const answer = await bench.run(download, { url: `${API}/table.csv`, path: "in/table.csv" });
    expect(answer).toMatchObject({
      path: "in/table.csv",
      bytes: 22,
      contentType: "text/csv",
      finalUrl: `${API}/table.csv`,
    });
    expect(readFileSync(join(bench.workspace, "in/table.csv"), "utf8")).toBe(
      "door,state\nfront,open\n",
    );
    expect(bench.notes).toEqual([
      { untrusted: true, hosts: ["api.example.org"], bytes: 22, filesTouched: ["in/table.csv"] },
    ]);
    await bench.run(download, {
      url: `${API}/table.csv`,
      path: "in/again.csv",
      sha256: (answer["sha256"] as string).toUpperCase(),
    });
  });

  test("what fails leaves nothing behind", async () => {
    const left = (): string[] =>
      readdirSync(bench.workspace, { recursive: true })
        .map(String)
        .filter((name) => name.includes("failed"));
    const to = (path: string) => ({ url: `${API}/table.csv`, path: `failed/${path}` });
    expect(await bench.fault(download, { ...to("a"), sha256: SHA })).toMatchObject({
      reason: "checksum_mismatch",
    });
    expect(await bench.fault(download, { ...to("b"), maxBytes: 5 })).toMatchObject({
      reason: "body_too_large",
    });
    expect(await bench.fault(download, { ...to("c"), url: `${API}/cut` })).toMatchObject({
      reason: "connect_failed",
    });
    expect(await bench.fault(download, { ...to("d"), url: `${API}/missing` })).toMatchObject({
      reason: "http_error",
    });
    expect(
      await bench.fault(download, { ...to("e"), url: "https://inside.example.org/" }),
    ).toMatchObject({ reason: "egress_blocked" });
    expect(left().filter((name) => name !== "failed")).toEqual([]);
  });

  test("a file that is there stays, unless it may be overwritten; paths outside are refused", async () => {
    writeFileSync(join(bench.workspace, "mine.csv"), "mine");
    expect(
      await bench.fault(download, { url: `${API}/table.csv`, path: "mine.csv" }),
    ).toMatchObject({ code: "CONFLICT", reason: "already_exists" });
    expect(readFileSync(join(bench.workspace, "mine.csv"), "utf8")).toBe("mine");
    expect(
      await bench.run(download, { url: `${API}/table.csv`, path: "mine.csv", overwrite: true }),
    ).toMatchObject({ bytes: 22 });
    for (const path of ["../out.csv", "/etc/out.csv", ".git/hooks/post-commit"])
      expect((await bench.fault(download, { url: `${API}/table.csv`, path })).code).toBe(
        "FORBIDDEN",
      );
    expect(existsSync(join(bench.root, "out.csv"))).toBe(false);
  });

  test("large files tell their progress", async () => {
    bench.progress.length = 0;
    await bench.run(download, { url: `${API}/large`, path: "large.txt" });
    expect(bench.progress.length).toBeGreaterThan(0);
  });
});

const boxed = HAS_BOX;

describe.skipIf(!boxed)("web/fetch", () => {
  test("a page becomes markdown without its navigation, with its facts and links", async () => {
    const answer = await bench.run(fetchPage, { url: "https://example.org/articles/doors" });
    expect(answer).toMatchObject({
      status: 200,
      title: "Doors",
      format: "markdown",
      mime: "text/html",
      truncated: false,
      fetchedAt: "2026-01-02T03:04:05.678Z",
    });
    expect(answer["content"]).toContain("keeps others out");
    expect(answer["content"]).not.toContain("Log in");
    expect(answer["links"]).toContainEqual({
      text: "locks",
      url: "https://example.org/articles/locks",
    });
    expect(bench.notes[0]).toMatchObject({ untrusted: true, hosts: ["example.org"] });
  });

  test("long texts come in parts, whole characters each", async () => {
    const whole = "wörter 😀 ".repeat(5_000);
    let offset: unknown = 0;
    let text = "";
    for (let part = 0; offset !== undefined && part < 10; part++) {
      const answer = await bench.run(fetchPage, {
        url: `${API}/long`,
        format: "text",
        offset: offset as number,
        maxChars: 19_998,
        links: false,
      });
      expect(answer["links"]).toBeUndefined();
      text += answer["content"] as string;
      offset = answer["nextOffset"];
    }
    expect(text.trim()).toBe(whole.trim());
  });

  test("a page that a script makes, and a type that is no text", async () => {
    expect(await bench.fault(fetchPage, { url: `${API}/app` })).toMatchObject({
      reason: "needs_script",
      remedy: expect.stringContaining("browser/open"),
    });
    expect(await bench.fault(fetchPage, { url: `${API}/image` })).toMatchObject({
      reason: "unsupported_type",
    });
    expect(await bench.fault(fetchPage, { url: "http://10.0.0.1/" })).toMatchObject({
      reason: "egress_blocked",
    });
  });
});

describe("web/search", () => {
  test("without a provider it says how to get one", async () => {
    expect(await bench.fault(search, { query: "doors" })).toMatchObject({
      code: "UNAVAILABLE",
      reason: "provider_not_configured",
      remedy: expect.stringContaining("search.provider"),
    });
  });
});
