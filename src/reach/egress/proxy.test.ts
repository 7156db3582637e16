import { createHash } from "node:crypto";
import { createServer, type Server } from "node:http";
import {
  connect,
  createServer as createTcpServer,
  type AddressInfo,
  type Server as TcpServer,
} from "node:net";
import type { Duplex } from "node:stream";
import { duplexPair } from "node:stream";
import { connect as connectTls } from "node:tls";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openWeb, type Web } from "../../../test/fixtures/web.ts";
import type { Egress, EgressRules } from "./egress.ts";
import { openEgress } from "./guard.ts";

let web: Web;
let egress: Egress;
const servers: (Server | TcpServer)[] = [];
const hosts: string[] = [];
beforeEach(async () => {
  web = await openWeb({
    answer(req, res, body) {
      if (!req.url?.startsWith("/mirror")) return false;
      res
        .writeHead(207, {
          "x-seen": JSON.stringify(req.rawHeaders),
          "set-cookie": ["a=1", "b=2"],
          connection: "x-hop",
          "x-hop": "gone",
        })
        .end(`${req.method} ${body}`);
      return true;
    },
    names: { "inside.example.org": ["127.0.0.1"] },
  });
  egress = openEgress(web.egress);
});
afterEach(async () => {
  await egress.close();
  await web.close();
  hosts.length = 0;
  for (const server of servers.splice(0)) server.close();
});

const rules: EgressRules = {
  schemes: ["https", "http"],
  ports: [80, 443],
  policy: "public",
  isBlocked: (host) => host === "blocked.example.org",
  isAllowed: () => false,
  isExcepted: () => false,
  judged: new Set(),
};

/** A program inside: its end of a stream whose other end the guard serves. */
function inside(
  change: Partial<EgressRules> = {},
  signal = new AbortController().signal,
  guard = egress,
): Duplex {
  const [here, there] = duplexPair();
  guard.serve(there, {
    rules: { ...rules, ...change },
    signal,
    onHost: (host) => hosts.push(host),
  });
  return here;
}

/** Writes, and gives everything that comes back until the end. */
async function say(text: string | Buffer, stream = inside()): Promise<string> {
  let answer = "";
  stream
    .on("data", (chunk: Buffer) => (answer += chunk.toString("latin1")))
    .on("error", () => undefined);
  stream.write(text);
  await new Promise((resolve) => stream.once("end", resolve).once("close", resolve));
  return answer;
}
const head = (line: string, ...more: string[]): string =>
  [line, "Host: whatever", ...more, "Connection: close", "", ""].join("\r\n");

describe("absolute form", () => {
  test("is forwarded to the host of the URL, whatever Host says; what is of the connection is dropped", async () => {
    const answer = await say(
      `${head("POST http://a.example.org/mirror?x=1 HTTP/1.1", "Proxy-Authorization: Basic x", "X-Own: 1", "Connection: X-Private", "X-Private: 2", "Content-Length: 2")}hi`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 207 /);
    expect(answer).toContain("POST hi");
    expect(answer.match(/set-cookie: \w=\d/gi)).toHaveLength(2);
    expect(answer.toLowerCase()).not.toContain("x-hop: gone");
    const seen = JSON.parse(/x-seen: (.*)/i.exec(answer)?.[1] ?? "") as string[];
    expect(seen.map((text) => text.toLowerCase())).toEqual(
      expect.arrayContaining(["a.example.org", "x-own"]),
    );
    expect(seen.join().toLowerCase()).not.toMatch(/proxy-authorization|x-private|whatever/);
    expect([web.seen, hosts]).toEqual([["a.example.org POST /mirror?x=1"], ["a.example.org"]]);
  });

  test("several requests on one connection", async () => {
    const stream = inside();
    let answer = "";
    stream.on("data", (chunk: Buffer) => (answer += chunk.toString()));
    stream.write("GET http://a.example.org/1.txt HTTP/1.1\r\nHost: a\r\n\r\n");
    await expect.poll(() => answer).toContain("User-agent");
    answer = "";
    stream.write("GET http://b.example.org/2.txt HTTP/1.1\r\nHost: b\r\n\r\n");
    await expect.poll(() => answer).toContain("User-agent");
    expect(web.seen).toEqual(["a.example.org GET /1.txt", "b.example.org GET /2.txt"]);
  });

  test.each([
    "http://127.0.0.1/",
    "http://2130706433/",
    "http://[::1]/",
    "http://localhost/",
    "http://inside.example.org/",
    "http://blocked.example.org/",
    "http://a.example.org:22/",
    "http://user@a.example.org/",
    "http://169.254.169.254/latest/",
  ])("%s is refused with the reason, and nothing is dialled", async (url) => {
    const answer = await say(head(`GET ${url} HTTP/1.1`));
    expect(answer).toMatch(/^HTTP\/1\.1 403 /);
    expect(answer).toContain("egress_blocked");
    expect(web.dialled).toEqual([]);
  });

  test("origin form, other schemes, garbage, smuggling and giant heads are refused", async () => {
    for (const text of [
      head("GET / HTTP/1.1"),
      head("GET ftp://a.example.org/ HTTP/1.1"),
      "NONSENSE\r\n\r\n",
      "\x16\x03\x01\x02\x00\x01",
      head("GET http://a.example.org/\0 HTTP/1.1"),
      `${head("POST http://a.example.org/ HTTP/1.1", "Content-Length: 5", "Transfer-Encoding: chunked")}0\r\n\r\n`,
      `${head("POST http://a.example.org/ HTTP/1.1", "Content-Length: 5", "Content-Length: 6")}12345`,
      head("GET http://a.example.org/ HTTP/1.1", `X: ${"y".repeat(70_000)}`),
    ])
      expect((await say(text)).slice(0, 12)).toMatch(/^HTTP\/1\.1 4\d\d$/);
    expect(web.seen).toEqual([]);
  });

  test("a server that is not there is 502, a slow one 504", async () => {
    const nobody = openEgress({
      resolve: () => Promise.resolve(["93.184.215.14"]),
      connect: () => connect(1, "127.0.0.1"),
    });
    expect(
      await say(head("GET http://a.example.org/ HTTP/1.1"), inside({}, undefined, nobody)),
    ).toMatch(/^HTTP\/1\.1 502 /);
    const server = createServer(() => undefined);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const slow = openEgress({
      resolve: () => Promise.resolve(["93.184.215.14"]),
      connect: () => connect((server.address() as AddressInfo).port, "127.0.0.1"),
      limits: { headersMs: 100 },
    });
    expect(
      await say(head("GET http://a.example.org/ HTTP/1.1"), inside({}, undefined, slow)),
    ).toMatch(/^HTTP\/1\.1 504 /);
    server.closeAllConnections();
  });
});

describe("CONNECT", () => {
  test("gives a tunnel in which TLS works with the host's own certificate", async () => {
    const stream = inside();
    stream.write("CONNECT a.example.org:443 HTTP/1.1\r\nHost: a.example.org:443\r\n\r\n");
    const first = await new Promise<Buffer>((resolve) => stream.once("data", resolve));
    expect(first.toString()).toMatch(/^HTTP\/1\.1 200 /);
    const secured = connectTls({
      socket: stream,
      servername: "a.example.org",
      ca: [...(web.egress.ca ?? [])],
    });
    secured.write("GET /x.txt HTTP/1.1\r\nHost: a.example.org\r\nConnection: close\r\n\r\n");
    let answer = "";
    for await (const chunk of secured) answer += (chunk as Buffer).toString();
    expect(answer).toContain("User-agent");
    expect([web.dialled, hosts]).toEqual([["93.184.215.14:443"], ["a.example.org"]]);
  });

  test.each([
    "127.0.0.1:443",
    "[::1]:443",
    "2130706433:443",
    "localhost:443",
    "inside.example.org:443",
    "a.example.org:22",
    "blocked.example.org:443",
    "a.example.org",
    "a.example.org:0",
    "a.example.org:99999",
    "a.example.org:443/",
    "http://a.example.org/",
    "x@a.example.org:443",
    "a%2eexample.org:443",
    "a.example.org:443:443",
    "169.254.169.254:80",
  ])("%s is refused", async (authority) => {
    expect(await say(`CONNECT ${authority} HTTP/1.1\r\nHost: x\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 4\d\d /,
    );
    expect(web.dialled).toEqual([]);
  });

  test("NUL in a host is no host", async () => {
    expect(await say("CONNECT a.example.org\0.evil.org:443 HTTP/1.1\r\nHost: x\r\n\r\n")).toMatch(
      /^HTTP\/1\.1 4\d\d /,
    );
    expect(web.dialled).toEqual([]);
  });

  test("more than the limit in one direction ends the tunnel", async () => {
    const narrow = openEgress({ ...web.egress, limits: { tunnelBytes: 1_000 } });
    const stream = inside({}, undefined, narrow);
    stream.write("CONNECT a.example.org:80 HTTP/1.1\r\nHost: x\r\n\r\n");
    await new Promise((resolve) => stream.once("data", resolve));
    stream.on("error", () => undefined).write(Buffer.alloc(5_000, "x"));
    await new Promise((resolve) => stream.once("close", resolve).resume());
  });
});

test("a WebSocket passes as an upgrade, checked like the rest", async () => {
  const server = createServer();
  servers.push(server);
  server.on("upgrade", (req, socket) => {
    const accept = createHash("sha1")
      .update(`${req.headers["sec-websocket-key"] ?? ""}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest("base64");
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    socket.on("data", (chunk) => socket.end(chunk));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const guard = openEgress({
    resolve: () => Promise.resolve(["93.184.215.14"]),
    connect: () => connect((server.address() as AddressInfo).port, "127.0.0.1"),
  });
  const upgrade = (host: string): string =>
    `GET http://${host}/ws HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: abc\r\n\r\n`;
  const stream = inside({}, undefined, guard);
  let answer = "";
  stream.on("data", (chunk: Buffer) => (answer += chunk.toString()));
  stream.write(upgrade("a.example.org"));
  await expect.poll(() => answer).toMatch(/^HTTP\/1\.1 101 [^]*sec-websocket-accept/i);
  stream.write("ping");
  await expect.poll(() => answer).toMatch(/ping$/);
  expect(await say(upgrade("127.0.0.1"), inside({}, undefined, guard))).toMatch(/^HTTP\/1\.1 403 /);
});

test("a cancel, too many connections and closing end the streams", async () => {
  const stop = new AbortController();
  const stream = inside({}, stop.signal);
  stream.write("CONNECT a.example.org:80 HTTP/1.1\r\nHost: x\r\n\r\n");
  await new Promise((resolve) => stream.once("data", resolve));
  const ended = new Promise((resolve) =>
    stream.once("close", resolve).once("end", resolve).resume(),
  );
  stop.abort("user");
  await ended;
  const few = openEgress({ ...web.egress, limits: { connections: 1 } });
  const subject = { rules, signal: new AbortController().signal };
  const [first, second] = [duplexPair(), duplexPair()];
  few.serve(first[1], subject);
  few.serve(second[1], subject);
  await expect.poll(() => second[1].destroyed).toBe(true);
  expect(first[1].destroyed).toBe(false);
  await few.close();
  expect(first[1].destroyed).toBe(true);
});

test("it also serves plain sockets", async () => {
  const front = createTcpServer((socket) =>
    egress.serve(socket, { rules, signal: new AbortController().signal }),
  );
  servers.push(front);
  await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
  const socket = connect((front.address() as AddressInfo).port, "127.0.0.1");
  expect(await say(head("GET http://a.example.org/1.txt HTTP/1.1"), socket)).toContain(
    "User-agent",
  );
});
