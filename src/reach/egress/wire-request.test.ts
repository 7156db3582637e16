import { createServer, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { createServer as createTcpServer, type AddressInfo, type Server } from "node:net";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Pooled, PooledRequest } from "./egress.ts";
import { openEgress } from "./guard.ts";
import { rulesForServer } from "./operator.ts";
import { createWireRequest } from "./wire-request.ts";

const HOST = "mcp.example.org";
const wireRequest = createWireRequest();
const written = (change: Partial<PooledRequest>) =>
  wireRequest(HOST, { origin: `http://${HOST}`, path: "/", method: "GET", headers: [], ...change });

/** Everything that ends a line, a word or a string somewhere. */
const BREAKS = [
  "\r",
  "\n",
  "\r\n",
  "\0",
  "\r\n\r\nGET / HTTP/1.1\r\n",
  "\x0b",
  "\x0c",
  "\x7f",
  "\x1b",
  "\u010a",
  "\u010d",
  "\u2028",
  "\u{1f600}",
  "\ud800",
];

describe("nothing in a request can be read as a second one", () => {
  test.each(BREAKS.map((text) => [JSON.stringify(text), text]))("%s", (_name, text) => {
    for (const at of [`${text}x`, `x${text}x`, `x${text}`, text]) {
      expect(() => written({ method: at })).toThrow(TypeError);
      expect(() => written({ path: `/${at}` })).toThrow(TypeError);
      expect(() => written({ headers: [at, "value"] })).toThrow(TypeError);
      expect(() => written({ headers: ["name", at] })).toThrow(TypeError);
      const common = ["name", at];
      for (let again = 0; again < 2; again++) expect(() => written({ common })).toThrow(TypeError);
    }
  });

  test.each(["", " ", "x y", "x:", "x\t", "(x)", "\xe9"])("no word: %j", (text) => {
    expect(() => written({ method: text })).toThrow(TypeError);
    expect(() => written({ headers: [text, "value"] })).toThrow(TypeError);
  });

  test.each(["", "x", "*", "http://elsewhere/", "/a b", "/\xe9", " /", "/\t"])(
    "no path: %j",
    (path) => {
      expect(() => written({ path })).toThrow(TypeError);
    },
  );

  test.each([
    "Host",
    "connection",
    "Keep-Alive",
    "content-length",
    "Transfer-Encoding",
    "TE",
    "trailer",
    "upgrade",
    "EXPECT",
  ])("%s is ours alone", (name) =>
    expect(() => written({ headers: ["x-a", "b", name, "1"] })).toThrow(TypeError),
  );

  test("what many requests have in common is written before their own, each time", () => {
    const common = ["x-all", "1", "x-latin", "é"];
    for (const own of ["a", "b"]) {
      const { head, body, encoding } = written({
        method: "POST",
        common,
        headers: ["x-own", own],
        body: "ü",
      });
      expect(head).toBe(
        `POST / HTTP/1.1\r\nhost: ${HOST}\r\nconnection: keep-alive\r\nx-all: 1\r\nx-latin: é\r\nx-own: ${own}\r\ncontent-length: 2\r\n\r\n`,
      );
      expect([body, encoding]).toEqual([Buffer.from("ü"), "utf8"]);
    }
  });

  test("no message repeats a value, which may be a secret", () => {
    expect(() => written({ headers: ["authorization", "Bearer secret\n"] })).toThrow(
      expect.not.stringContaining("secret"),
    );
  });

  test("whatever is written has one empty line, and the body after it", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.constant("x-a")),
        fc.oneof(fc.string(), fc.string({ unit: "binary" })),
        fc.oneof(
          fc.string(),
          fc.webPath().map((text) => text.slice(1)),
        ),
        fc.string({ unit: "binary" }),
        (name, value, path, body) => {
          let request;
          try {
            request = written({ method: "POST", path: `/${path}`, headers: [name, value], body });
          } catch (cause) {
            return void expect(cause).toBeInstanceOf(TypeError);
          }
          expect(request.head.split("\r\n")).toHaveLength(7);
          expect(request.head).toMatch(/^[^\r\n]+(\r\n[^\r\n]+){4}\r\n\r\n$/);
          expect(request.head).toContain(`content-length: ${Buffer.from(body).length}\r\n`);
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe("a real server sees what was meant", () => {
  interface Seen {
    readonly method: string | undefined;
    readonly url: string | undefined;
    readonly headers: IncomingHttpHeaders;
    readonly raw: readonly string[];
    readonly body: Buffer;
  }
  const seen: Seen[] = [];
  const server = createServer((req: IncomingMessage, res) => {
    const parts: Buffer[] = [];
    req.on("data", (part: Buffer) => parts.push(part));
    req.on("end", () => {
      const { method, url, headers, rawHeaders: raw } = req;
      seen.push({ method, url, headers, raw, body: Buffer.concat(parts) });
      res.end();
    });
  });
  let pool: Pooled;
  let origin = "";
  beforeAll(async () => {
    origin = await listening(server);
    pool = await openEgress().pooled(rulesForServer(origin));
  });
  afterEach(() => void seen.splice(0));
  afterAll(async () => {
    await pool.close();
    server.close();
  });

  const send = (change: Partial<PooledRequest>): Promise<number> =>
    new Promise((resolve, reject) => {
      let answered = 0;
      pool.send(
        { origin, path: "/", method: "GET", headers: [], ...change },
        {
          head: (status) => void (answered = status),
          data: () => undefined,
          end: () => resolve(answered),
          failed: reject,
        },
      );
    });

  test.each<[string, string | Uint8Array | undefined, Buffer]>([
    ["none", undefined, Buffer.alloc(0)],
    ["empty text", "", Buffer.alloc(0)],
    ["empty bytes", new Uint8Array(0), Buffer.alloc(0)],
    ["text", '{"a":1}', Buffer.from('{"a":1}')],
    [
      "text of two, three and four bytes a character",
      "é€😀".repeat(99),
      Buffer.from("é€😀".repeat(99)),
    ],
    ["text with halves of characters", "\udc00a\ud800", Buffer.from("\ufffda\ufffd")],
    [
      "text that looks like a request",
      "\r\n\r\nGET /second HTTP/1.1\r\n\r\n",
      Buffer.from("\r\n\r\nGET /second HTTP/1.1\r\n\r\n"),
    ],
    [
      "bytes of every value",
      Uint8Array.from({ length: 256 }, (_, at) => at),
      Buffer.from(Array.from({ length: 256 }, (_, at) => at)),
    ],
    ["a view of larger memory", Buffer.from("--hello--").subarray(2, 7), Buffer.from("hello")],
    ["much text", "ü".repeat(1_000_000), Buffer.from("ü".repeat(1_000_000))],
  ])("a body of %s, with plain headers and others", async (_name, body, bytes) => {
    for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
      for (const value of ["plain", "d\xe9j\xe0"]) {
        expect(
          await send({ method, path: "/a?b=c&d=%C3%A9", headers: ["X-Name", value], body }),
        ).toBe(200);
        const [request] = seen.splice(0);
        expect(request).toMatchObject({
          method,
          url: "/a?b=c&d=%C3%A9",
          headers: { "x-name": value },
        });
        expect(request?.body.equals(bytes)).toBe(true);
      }
    }
    expect(seen).toEqual([]);
  });

  test("headers come in their order, as they are written, and ours once", async () => {
    const headers = ["X-B", "1", "x-a", "2", "X-B", " three\t", "x-empty", ""];
    await send({ headers, body: "é" });
    await send({ method: "POST" });
    await send({ method: "GET" });
    const host = origin.slice("http://".length);
    const ours = ["host", host, "connection", "keep-alive"];
    expect(seen.map(({ raw }) => raw)).toEqual([
      [...ours, "X-B", "1", "x-a", "2", "X-B", "three", "x-empty", "", "content-length", "2"],
      [...ours, "content-length", "0"],
      ours,
    ]);
  });

  test("what cannot be sent is said at once, and nothing of it reaches the server", async () => {
    for (const change of [
      { path: "/a b" },
      { method: "G\r\nT" },
      { headers: ["a", "b\r\nc: d"] },
      { headers: ["content-length", "1"] },
    ])
      expect(() =>
        pool.send(
          { origin, path: "/", method: "GET", headers: [], ...change },
          { head: never, data: never, end: never, failed: never },
        ),
      ).toThrow(TypeError);
    await send({ path: "/after" });
    expect(seen.map(({ url }) => url)).toEqual(["/after"]);
  });

  test("the bytes on the wire are those and no more", async () => {
    const got: Buffer[] = [];
    const raw = createTcpServer((socket) => {
      socket
        .on("error", () => undefined)
        .on("data", (part: Buffer) => {
          got.push(part);
          if (Buffer.concat(got).includes("end"))
            socket.end("HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n");
        });
    });
    const at = await listening(raw);
    const own = await openEgress().pooled(rulesForServer(at));
    const answer = await own.fetch(`${at}/p?q=ü#hidden`, {
      method: "POST",
      headers: { "x-latin": "é" },
      body: "ü end",
    });
    expect(answer.status).toBe(204);
    expect(Buffer.concat(got).toString("latin1")).toBe(
      `POST /p?q=%C3%BC HTTP/1.1\r\nhost: ${at.slice(7)}\r\nconnection: keep-alive\r\naccept-encoding: identity\r\nx-latin: \xe9\r\ncontent-length: 6\r\n\r\n${Buffer.from("ü end").toString("latin1")}`,
    );
    await own.close();
    raw.close();
  });
});

function never(): never {
  throw new Error("told of something that was never sent");
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
