// What we make of an answer, held against what Node's own client makes of it.
import { request } from "node:http";
import { createServer, type AddressInfo, type Server } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { InvalidResponse } from "./response-head.ts";
import { ResponseReader } from "./response-reader.ts";

const server: Server = createServer();
let answer: Buffer = Buffer.alloc(0);
beforeAll(async () => {
  server.on("connection", (socket) => {
    socket.on("error", () => undefined).once("data", () => socket.end(answer));
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
});
afterAll(() => void server.close());

/** Status and body as text, so that a difference is seen at a glance; null: refused, or not whole. */
type Reading = string | null;

function ours(bytes: Buffer): Reading {
  let [status, body, isOver] = [0, "", false];
  const reader = new ResponseReader(8_192, {
    head: (head) => void ({ status } = head),
    data: (part) => void (body += part.toString("latin1")),
    end: () => void (isOver = true),
  });
  reader.expect("GET");
  try {
    reader.read(bytes);
    reader.closed();
  } catch (cause) {
    if (!(cause instanceof InvalidResponse)) throw cause;
    return null;
  }
  return isOver ? `${status} ${JSON.stringify(body)}` : null;
}

/** Without what comes after its end: we close the connection over it, Node makes an error of it. */
function firstOf(bytes: Buffer): Buffer {
  for (let at = 1; at < bytes.length; at++) {
    const reader = new ResponseReader(8_192, {
      head: () => undefined,
      data: () => undefined,
      end: () => void (isOver = true),
    });
    let isOver = false;
    reader.expect("GET");
    reader.read(bytes.subarray(0, at));
    if (isOver) return bytes.subarray(0, at);
  }
  return bytes;
}

function nodes(bytes: Buffer): Promise<Reading> {
  answer = bytes;
  const { port } = server.address() as AddressInfo;
  return new Promise((resolve) => {
    const asked = request({ host: "127.0.0.1", port, agent: false });
    asked.on("error", () => resolve(null));
    asked.on("upgrade", (_res, socket) => {
      socket.destroy();
      resolve(null);
    });
    asked.on("response", (res) => {
      let body = "";
      res.setEncoding("latin1").on("data", (part: string) => (body += part));
      res.on("error", () => undefined);
      res.on("close", () =>
        resolve(res.complete ? `${res.statusCode} ${JSON.stringify(body)}` : null),
      );
    });
    asked.end();
  });
}

const bytesOf = (text: string): Buffer => Buffer.from(text, "latin1");
const OK = "HTTP/1.1 200 OK\r\n";
const CHUNKED = `${OK}transfer-encoding: chunked\r\n\r\n`;

const SEEDS = [
  `${OK}content-length: 5\r\nconnection: close\r\n\r\nhello`,
  `${OK}Content-Length: 11\r\nx-a: b\r\nx-a: c\r\n\r\nhello\r\nworld`.replace("11", "12"),
  `${CHUNKED}5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n`,
  `${CHUNKED}5;a=b\r\nhello\r\n0\r\nt: u\r\n\r\n`,
  `${OK}connection: close\r\n\r\nuntil the end`,
  `HTTP/1.0 404 Not Found\r\n\r\nuntil the end`,
  `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${OK}content-length: 2\r\n\r\nok`,
  "HTTP/1.1 204 No Content\r\n\r\n",
  "HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n",
  `${OK}keep-alive: timeout=5\r\ncontent-length: 0\r\n\r\n`,
];
const PIECES = [
  "\r",
  "\n",
  "\r\n",
  "\r\n\r\n",
  " ",
  "\t",
  "\0",
  ":",
  ";",
  ",",
  "=",
  '"',
  "\\",
  "-",
  "+",
  "0",
  "1",
  "5",
  "a",
  "F",
  "g",
  "x",
  "\x7f",
  "\xe9",
  "\xff",
  "HTTP/1.1",
  "200",
  "100",
  "101",
  "204",
  "304",
  "chunked",
  "gzip",
  "content-length: 5\r\n",
  "transfer-encoding: chunked\r\n",
  "connection: upgrade\r\nupgrade: x\r\n",
  "connection: keep-alive\r\n",
  "connection: close\r\n",
  "0\r\n\r\n",
  "a: b\r\n",
  "__proto__: x\r\n",
];

/** Random, and the same every time. */
function dice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % sides;
  };
}

function mutated(text: string, roll: (sides: number) => number): string {
  let changed = text;
  for (let left = 1 + roll(3); left > 0; left--) {
    const at = roll(changed.length + 1);
    const piece = PIECES[roll(PIECES.length)] ?? "";
    const size = 1 + roll(4);
    changed =
      [
        () => changed.slice(0, at) + piece + changed.slice(at),
        () => changed.slice(0, at) + changed.slice(at + size),
        () => changed.slice(0, at) + piece + changed.slice(at + piece.length),
        () => changed.slice(0, at) + changed.slice(at, at + size * 4) + changed.slice(at),
        () => changed.slice(0, at),
      ][roll(5)]?.() ?? changed;
  }
  return changed;
}

test("whatever we take, Node takes as the same", { timeout: 120_000 }, async () => {
  const seed = Number(process.env["OSTIARY_SEED"] ?? 1);
  const roll = dice(seed);
  const count = Number(process.env["OSTIARY_MUTATIONS"] ?? 2_000);
  let taken = 0;
  const differing: object[] = [];
  for (let turn = 0; turn < count; turn++) {
    const bytes = bytesOf(mutated(SEEDS[turn % SEEDS.length] ?? "", roll));
    const reading = ours(bytes);
    if (reading === null) continue;
    taken++;
    const theirs = await nodes(firstOf(bytes));
    if (theirs !== reading)
      differing.push({ bytes: JSON.stringify(bytes.toString("latin1")), ours: reading, theirs });
  }
  expect(differing).toEqual([]);
  // Enough of them are answers still.
  expect(taken).toBeGreaterThan(count / 10);
});

const LENGTH = "content-length: 5\r\n";

/**
 * Node takes these. We need not: no server says them in good faith, or two programs could understand them
 * differently.
 */
const REFUSED_BY_US_ALONE: Record<string, string> = {
  "an encoding that nobody asked for": `${OK}transfer-encoding: gzip\r\n\r\nhello`,
  "an encoding below the chunks": `${OK}transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
  "chunks said twice": `${OK}transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
  "chunks beside a tab": `${OK}transfer-encoding: chunked\t\r\n\r\n0\r\n\r\n`,
  "a length beside a tab": `${OK}content-length:\t5\r\n\r\nhello`,
  "chunks in HTTP/1.0": "HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
  "a zero in the reason": `HTTP/1.1 200 O\0K\r\n${LENGTH}\r\nhello`,
  "an empty line before the status": `\r\n${OK}${LENGTH}\r\nhello`,
  "HTTP/2.0 in the first line": `HTTP/2.0 200 OK\r\n${LENGTH}\r\nhello`,
  "a status of no class": `HTTP/1.1 999 OK\r\n${LENGTH}\r\nhello`,
  "an interim answer with a length": `HTTP/1.1 103 Early Hints\r\n${LENGTH}\r\n${OK}content-length: 0\r\n\r\n`,
  "more than 16 interim answers": `${"HTTP/1.1 102 Processing\r\n\r\n".repeat(17)}${OK}${LENGTH}\r\nhello`,
  "the size of a chunk in more than 8 digits": `${CHUNKED}000000005\r\nhello\r\n0\r\n\r\n`,
  "more than 256 characters beside the size of a chunk": `${CHUNKED}5;${"a".repeat(256)}\r\nhello\r\n0\r\n\r\n`,
  "a backslash in the quotes of an extension": `${CHUNKED}5;a="\\""\r\nhello\r\n0\r\n\r\n`,
};

test.each(Object.entries(REFUSED_BY_US_ALONE))("Node takes %s, we do not", async (_name, text) => {
  expect(ours(bytesOf(text))).toBe(null);
  expect(await nodes(bytesOf(text))).toMatch(/^\d+ "/);
});
