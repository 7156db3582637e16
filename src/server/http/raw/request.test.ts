// What the raw reader reads, held against what node:http makes of the same bytes.
import { createServer, maxHeaderSize, type Server } from "node:http";
import { connect, type AddressInfo } from "node:net";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parsePlainRequest } from "./request.ts";

/** Request by request as node:http understood them; it answers none that it refuses. */
let heard: string[] = [];
const server: Server = createServer((req, res) => {
  const parts: Buffer[] = [];
  req.on("data", (part: Buffer) => parts.push(part));
  req.on("end", () => {
    heard.push(
      reading(
        `${req.method} HTTP/${req.httpVersion} ${req.url}`,
        req.headers,
        Buffer.concat(parts),
      ),
    );
    res.end();
  });
});
beforeAll(() => new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready)));
afterAll(() => void server.close());

const reading = (line: string, headers: object, body: Buffer): string =>
  JSON.stringify([line, Object.entries(headers), body.toString("latin1")]);

function ours(bytes: Buffer): string | null {
  const request = parsePlainRequest(bytes);
  return request && reading(`POST HTTP/1.1 ${request.path}`, request.headers, request.body);
}

/** All that node:http makes of it, with the end of the connection behind it. */
async function nodes(bytes: Buffer): Promise<string[]> {
  heard = [];
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((closed) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(bytes));
    // Whatever is plain is answered; without an answer the other side has closed.
    socket.on("data", () => socket.end()).on("error", () => undefined);
    socket.on("close", () => closed());
  });
  return heard;
}

const bytesOf = (text: string): Buffer => Buffer.from(text, "latin1");
const BODY = '{"a":"b"}';
const LINE = "POST /mcp HTTP/1.1\r\n";
const HOST = "Host: 127.0.0.1:3100\r\n";
const LENGTH = `Content-Length: ${BODY.length}\r\n`;
const PLAIN = `${LINE}${HOST}Content-Type: application/json\r\nMcp-Name: system_echo\r\n${LENGTH}\r\n${BODY}`;

describe("plain", () => {
  test.each([
    PLAIN,
    PLAIN.replace("/mcp", "/mcp/some-server_1"),
    PLAIN.replace(HOST, `${HOST}Connection: keep-alive\r\n`),
    PLAIN.replace(HOST, `${HOST}Connection: Keep-Alive\r\n`),
    PLAIN.replace(HOST, `${HOST}X-Empty:\r\nX-Blank:   \r\nx-colons: a:b: c\r\n`),
    PLAIN.replace("Mcp-Name: ", "Mcp-Name:    ").replace("echo\r", "echo   \r"),
    PLAIN.replace("Mcp-Name: ", "mCP-nAME:"),
    `${LINE}${HOST}Content-Length: 0\r\n\r\n`,
    `${LINE}${HOST}Content-Length: 8\r\n\r\n\r\n\r\n\r\n\r\n`,
    `${LINE}${HOST}Content-Length: 3\r\n\r\n\0\xff\n`,
  ])("%j", async (text) => {
    const request = ours(bytesOf(text));
    expect(request).not.toBeNull();
    expect(await nodes(bytesOf(text))).toEqual([request]);
  });

  test("a head as large as node:http takes, and no larger", async () => {
    const fixed = PLAIN.length - BODY.length - 4 + "X: \r\n".length;
    const of = (size: number) =>
      bytesOf(PLAIN.replace(HOST, `${HOST}X: ${"x".repeat(size - fixed)}\r\n`));
    expect(parsePlainRequest(of(maxHeaderSize + 1))).toBeNull();
    const largest = of(maxHeaderSize);
    expect(await nodes(largest)).toEqual([ours(largest)]);
  });
});

describe("left to node:http", () => {
  const lines = (extra: string): string => PLAIN.replace(HOST, HOST + extra);
  test.each([
    // Not whole, or not alone.
    PLAIN.slice(0, -1),
    `${PLAIN} `,
    PLAIN + PLAIN,
    `${PLAIN}\r\n`,
    PLAIN.slice(0, PLAIN.indexOf("\r\n\r\n") + 3),
    `\r\n${PLAIN}`,
    "",
    // Lines that end otherwise, or go on.
    PLAIN.replaceAll("\r\n", "\n"),
    PLAIN.replace("\r\n", "\n"),
    PLAIN.replace("\r\nMcp", "\nMcp"),
    PLAIN.replace("\r\nMcp", "\rMcp"),
    PLAIN.replace("\r\n\r\n", "\n\n"),
    PLAIN.replace("\r\n\r\n", "\r\n\n"),
    lines("X: a\r\n b\r\n"),
    lines("X: a\r\n\tb\r\n"),
    lines(" X: a\r\n"),
    // Names and values.
    lines("X : a\r\n"),
    lines("X\t: a\r\n"),
    lines(": a\r\n"),
    lines("X\r\n"),
    lines("X y: a\r\n"),
    lines("X(y): a\r\n"),
    lines("X\xe9: a\r\n"),
    lines("X\0: a\r\n"),
    lines("X: a\0b\r\n"),
    lines("X: a\x01b\r\n"),
    lines("X: a\x7fb\r\n"),
    lines("X: a\x80b\r\n"),
    lines("X: caf\xe9\r\n"),
    lines("X: a\tb\r\n"),
    lines("X: a\rb\r\n"),
    lines("X: a\nb\r\n"),
    lines("constructor: a\r\n"),
    lines("__proto__: a\r\n"),
    // Twice.
    lines(HOST),
    lines(HOST.toLowerCase()),
    lines("X: a\r\nx: a\r\n"),
    lines("Authorization: a\r\nAuthorization: b\r\n"),
    lines(LENGTH),
    lines("content-length: 1\r\n"),
    // How long it is.
    PLAIN.replace(LENGTH, ""),
    ...[
      "+9",
      "-9",
      "09",
      "9,9",
      "9, 9",
      "9 9",
      "0x9",
      "9.0",
      "9e0",
      "8",
      "10",
      "",
      "99999999999999999999",
    ].map((length) => PLAIN.replace(LENGTH, `Content-Length: ${length}\r\n`)),
    PLAIN.replace(LENGTH, "Content-Length: \t9\r\n"),
    PLAIN.replace(LENGTH, "Content-Length : 9\r\n"),
    PLAIN.replace(LENGTH, "Content_Length: 9\r\n"),
    lines("Transfer-Encoding: chunked\r\n"),
    lines("transfer-encoding: identity\r\n"),
    lines("Transfer-Encoding:\r\n"),
    `${LINE}${HOST}Transfer-Encoding: chunked\r\n\r\n9\r\n${BODY}\r\n0\r\n\r\n`,
    // What else may come.
    ...[
      "Expect: 100-continue",
      "Upgrade: h2c",
      "TE: trailers",
      "Trailer: x",
      "Content-Encoding: gzip",
      "Connection: close",
      "Connection: upgrade",
      "Connection: keep-alive, te",
      "Connection:",
      "Proxy-Connection: close",
      "Set-Cookie: a=b",
    ].map((line) => lines(`${line}\r\n`)),
    // The first line.
    ...[
      "GET /mcp HTTP/1.1",
      "post /mcp HTTP/1.1",
      "POST  /mcp HTTP/1.1",
      "POST /mcp  HTTP/1.1",
      "POST\t/mcp HTTP/1.1",
      "POST /mcp HTTP/1.0",
      "POST /mcp HTTP/1.2",
      "POST /mcp HTTP/2.0",
      "POST /mcp http/1.1",
      "POST /mcp HTTP/1.1 ",
      "POST /mcp",
      "POST /mcp?a=b HTTP/1.1",
      "POST /mcp#a HTTP/1.1",
      "POST /m%63p HTTP/1.1",
      "POST /./mcp HTTP/1.1",
      "POST mcp HTTP/1.1",
      "POST http://127.0.0.1/mcp HTTP/1.1",
      "POST * HTTP/1.1",
      "POST /mcp\\x HTTP/1.1",
      "POST /\xe9 HTTP/1.1",
      "POST /mcp\0 HTTP/1.1",
      " POST /mcp HTTP/1.1",
    ].map((line) => PLAIN.replace("POST /mcp HTTP/1.1", line)),
    `${LINE}\r\n${BODY}`,
  ])("%j", (text) => {
    expect(parsePlainRequest(bytesOf(text))).toBeNull();
  });
});

const PIECES = [
  "\r",
  "\n",
  "\r\n",
  "\r\n\r\n",
  " ",
  "\t",
  "\0",
  ":",
  ": ",
  ",",
  "-",
  "+",
  "0",
  "1",
  "9",
  "a",
  "x",
  "_",
  "/",
  "?",
  "%",
  "\x7f",
  "\xe9",
  "\xff",
  "POST",
  "HTTP/1.1",
  "HTTP/1.0",
  "/mcp",
  "chunked",
  "close",
  "keep-alive",
  HOST,
  LENGTH,
  "content-length: 9\r\n",
  "Transfer-Encoding: chunked\r\n",
  "Connection: close\r\n",
  "Connection: keep-alive\r\n",
  "Upgrade: x\r\n",
  "Expect: 100-continue\r\n",
  "x-a: b\r\n",
  "x-a:\r\n",
  "__proto__: x\r\n",
  "set-cookie: a\r\n",
  "cookie: a\r\n",
  BODY,
  LINE,
];

/** A piece put in, taken out or put in the place of others. */
const edits = fc.array(
  fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    cut: fc.nat({ max: 6 }),
    put: fc.constantFrom("", ...PIECES),
  }),
  { maxLength: 3 },
);
const edited = edits.map((list) =>
  list.reduce((text, { at, cut, put }) => {
    const from = Math.floor(at * text.length);
    return text.slice(0, from) + put + text.slice(from + cut);
  }, PLAIN),
);
const token = fc.string({
  unit: fc.constantFrom(..."!#$%&'*+-.^_`|~019azAZ"),
  minLength: 1,
  maxLength: 12,
});
const value = fc.string({ unit: fc.constantFrom(...' \t!~:,;="()aZ09'), maxLength: 20 });
const built = fc
  .record({
    path: fc.string({ unit: fc.constantFrom(..."/mcp-_09?%."), maxLength: 12 }),
    headers: fc.array(fc.tuple(token, value), { maxLength: 8 }),
    body: fc.string({ unit: fc.constantFrom(..."{}\r\n\0\xff:a "), maxLength: 40 }),
  })
  .map(({ path, headers, body }) => {
    const lines = headers.map(([name, text]) => `${name}:${text}\r\n`).join("");
    return `POST /${path} HTTP/1.1\r\n${HOST}${lines}Content-Length: ${body.length}\r\n\r\n${body}`;
  });

test("whatever is plain, node:http reads the same way, and nothing more", async () => {
  let [plain, others] = [0, 0];
  await fc.assert(
    fc.asyncProperty(fc.oneof(edited, built), async (text) => {
      const bytes = bytesOf(text);
      const request = ours(bytes);
      if (request === null) return void others++;
      plain++;
      expect(await nodes(bytes)).toEqual([request]);
    }),
    { numRuns: 4_000 },
  );
  // The generator must reach both, else it proves nothing.
  expect(plain).toBeGreaterThan(300);
  expect(others).toBeGreaterThan(300);
}, 60_000);
