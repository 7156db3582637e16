// The raw reader in front of a real node:http server: who answers what, and that no byte is lost or answered twice on
// the way.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Wire } from "../../../../test/fixtures/wire.ts";
import { openRawReader, type RawReader } from "./reader.ts";
import type { RawReply } from "./connection.ts";

const HEADERS_MS = 300;
const KEEP_MS = 400;

let server: Server;
let rawReader: RawReader;
let url: string;
let wires: Wire[];
let counts: Record<string, number>;
/** The bodies that were asked for in the raw reader, and who went away. */
let served: string[];
let gone: string[];
/** Ends the calls that wait. */
let release: () => void;

/**
 * `slow…` waits to be released, `leave…` is for node:http, `fail` throws, `late` finds its client gone, `large` is
 * more than a client takes at once.
 */
async function serve(
  body: string,
  socket: Socket,
  whenGone: (cancel: () => void) => void,
): Promise<RawReply | null> {
  served.push(body);
  if (body === "late") socket.destroy();
  if (body.startsWith("slow") || body === "late") {
    whenGone(() => gone.push(body));
    await new Promise<void>((resolve) => (release = resolve));
  }
  if (body.includes("leave")) return null;
  if (body === "fail") throw new Error("by accident");
  const text = body === "large" ? "x".repeat(8_000_000) : `raw ${body}`;
  return {
    status: 200,
    headers: ["X-By", "raw", "Content-Length", String(text.length)],
    text,
    encoding: "latin1",
  };
}

function overHttp(req: IncomingMessage, res: ServerResponse): void {
  const parts: Buffer[] = [];
  req.on("error", () => undefined);
  req.on("data", (part: Buffer) => parts.push(part));
  req.on("end", () => {
    const body = Buffer.concat(parts);
    const said = body.length > 1_000 ? `${body.length} bytes` : body.toString("latin1");
    const text = `http ${req.method} ${req.url} ${req.httpVersion} ${said}`;
    if (req.url !== "/stream") return void res.end(text);
    res.writeHead(200, { "Content-Type": "text/event-stream" });
    res.write("data: 1\n\n");
    setTimeout(() => res.end("data: 2\n\n"), 30);
  });
}

beforeEach(async () => {
  [wires, counts, served, gone] = [[], {}, [], []];
  server = createServer(
    {
      headersTimeout: HEADERS_MS,
      requestTimeout: 600,
      keepAliveTimeout: KEEP_MS,
      connectionsCheckingInterval: 50,
    },
    overHttp,
  );
  rawReader = openRawReader(server, {
    serve: ({ body }, socket, whenGone) => serve(body.toString("latin1"), socket, whenGone),
    count: (end) => void (counts[end] = (counts[end] ?? 0) + 1),
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  for (const wire of wires) wire.close();
  server.closeAllConnections();
  rawReader.closeAll();
  server.close();
});

async function dial(): Promise<Wire> {
  const wire = await Wire.open(url);
  wires.push(wire);
  return wire;
}
const asked = (body: string, { line = "POST /mcp HTTP/1.1", extra = "" } = {}): string =>
  `${line}\r\nHost: x\r\n${extra}Content-Length: ${body.length}\r\n\r\n${body}`;
const bodyOf = async (wire: Wire): Promise<string> => (await wire.answer()).body;
const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const connections = (): Promise<number> =>
  new Promise((resolve) => server.getConnections((_error, count) => resolve(count)));
const until = async (isSo: () => boolean): Promise<void> => {
  for (let round = 0; !isSo() && round < 400; round++) await wait(5);
  expect(isSo()).toBe(true);
};

describe("plain requests", () => {
  test("are answered one after the other, with what node:http adds", async () => {
    const wire = await dial();
    for (const body of ["one", "two", "three"]) {
      const { status, headers, lines, body: said } = await wire.send(asked(body)).answer();
      expect([status, said]).toEqual([200, `raw ${body}`]);
      expect(lines[0]).toBe("HTTP/1.1 200 OK");
      expect(headers).toMatchObject({
        "x-by": "raw",
        connection: "keep-alive",
        "keep-alive": "timeout=0",
      });
      expect(Math.abs(Date.parse(headers["date"] ?? "") - Date.now())).toBeLessThan(3_000);
    }
    expect(counts).toEqual({ answered: 3 });
  });

  test("one that comes while another is under way waits its turn, also in pieces", async () => {
    const wire = await dial();
    wire.send(asked("slow 1"));
    await until(() => served.length === 1);
    await wire.sendPieces("POST /mcp HT", "TP/1.1\r\nHost: x\r\nContent-Len", "gth: 3\r\n\r\ntwo");
    expect(served).toEqual(["slow 1"]);
    release();
    expect([await bodyOf(wire), await bodyOf(wire)]).toEqual(["raw slow 1", "raw two"]);
    expect(counts).toEqual({ answered: 2 });
  });

  test("what comes behind one under way is not taken without end", async () => {
    const wire = await dial();
    wire.send(asked("slow"));
    await until(() => served.length === 1);
    let taken = 0;
    for (let round = 0; round < 600; round++)
      wire.socket.write(Buffer.alloc(65_536, "x"), () => (taken += 65_536));
    await wait(300);
    const before = taken;
    await wait(100);
    expect(taken).toBe(before);
    expect(taken).toBeLessThan(600 * 65_536);
  });

  test("a client that does not read is not answered further", async () => {
    const wire = await dial();
    wire.socket.pause();
    wire.send(asked("large"));
    await until(() => served.length === 1);
    for (let round = 0; round < 5; round++) {
      wire.send(asked("large"));
      await wait(20);
    }
    expect(served).toHaveLength(1);
    wire.socket.resume();
    expect((await wire.answer()).body).toHaveLength(8_000_000);
  });

  test("a failure that nobody foresaw closes the connection and nothing else", async () => {
    const [wire, other] = [await dial(), await dial()];
    expect(await wire.send(asked("fail")).rest()).toBe("");
    expect(await bodyOf(other.send(asked("still here")))).toBe("raw still here");
  });
});

describe("all others go to node:http, whole", () => {
  const cases: Record<string, readonly [pieces: readonly string[], answers: readonly string[]]> = {
    "another method": [["GET / HTTP/1.1\r\nHost: x\r\n\r\n"], ["http GET / 1.1 "]],
    "an older version": [["GET / HTTP/1.0\r\n\r\n"], ["http GET / 1.0 "]],
    "a body in two pieces": [[asked("hello").slice(0, -3), "llo"], ["http POST /mcp 1.1 hello"]],
    "a head in two pieces": [
      ["POST /mcp HTTP/1.1\r\nHo", asked("hello").slice(22)],
      ["http POST /mcp 1.1 hello"],
    ],
    "byte by byte": [[...asked("hello")], ["http POST /mcp 1.1 hello"]],
    "a large body": [[asked("x".repeat(5_000_000))], ["http POST /mcp 1.1 5000000 bytes"]],
    chunks: [
      [
        "POST /mcp HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
      ],
      ["http POST /mcp 1.1 hello"],
    ],
    "two at once": [
      [asked("one") + asked("two")],
      ["http POST /mcp 1.1 one", "http POST /mcp 1.1 two"],
    ],
    "many at once": [
      [asked("one").repeat(200)],
      Array.from({ length: 200 }, () => "http POST /mcp 1.1 one"),
    ],
    "what the raw reader does not want": [[asked("leave")], ["http POST /mcp 1.1 leave"]],
    "a stream as answer": [["GET /stream HTTP/1.1\r\nHost: x\r\n\r\n"], ["data: 1\n\ndata: 2\n\n"]],
    "no more than half a line": [
      ["P", "OST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"],
      ["http POST /mcp 1.1 "],
    ],
  };

  test.each(Object.entries(cases))("%s", async (_name, [pieces, answers]) => {
    for (const before of [0, 3]) {
      const wire = await dial();
      for (let round = 0; round < before; round++)
        expect(await bodyOf(wire.send(asked("plain")))).toBe("raw plain");
      if (pieces.length > 10) for (const piece of pieces) wire.send(piece);
      else await wire.sendPieces(...pieces);
      for (const answer of answers) expect(await bodyOf(wire)).toBe(answer);
    }
    expect(counts).toMatchObject({ handed_over: 2 });
  });

  test("and node:http keeps the connection", async () => {
    const wire = await dial();
    expect(await bodyOf(wire.send(asked("leave")))).toBe("http POST /mcp 1.1 leave");
    expect(await bodyOf(wire.send(asked("plain")))).toBe("http POST /mcp 1.1 plain");
    expect(counts).toEqual({ handed_over: 1 });
  });

  test("what came behind one that is handed over late comes after it", async () => {
    const wire = await dial();
    wire.send(asked("slow leave"));
    await until(() => served.length === 1);
    await wire.sendPieces(asked("two"), asked("three"), asked("y".repeat(200_000)));
    release();
    for (const body of ["slow leave", "two", "three", "200000 bytes"])
      expect(await bodyOf(wire)).toBe(`http POST /mcp 1.1 ${body}`);
    expect(served).toEqual(["slow leave"]);
  });

  test("to whom it is refused or closed", async () => {
    const bad = await (await dial()).send("nonsense\r\n\r\n").rest();
    expect(bad).toBe("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
    const two = asked("x", { extra: "Content-Length: 2\r\n" });
    expect(await (await dial()).send(two).rest()).toMatch(/^HTTP\/1\.1 400 /);
    const last = await dial();
    expect(
      (await last.send(asked("x", { extra: "Connection: close\r\n" })).answer()).headers[
        "connection"
      ],
    ).toBe("close");
    expect(await last.rest()).toBe("");
  });

  test("to be upgraded, where somebody knows how", async () => {
    server.on("upgrade", (_req, socket, head: Buffer) => socket.end(`upgraded ${head.toString()}`));
    const wire = await dial();
    await bodyOf(wire.send(asked("plain")));
    wire.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nbytes");
    expect(await wire.rest()).toBe("upgraded bytes");
  });
});

describe("time", () => {
  test("a connection that says nothing is told that it is late", async () => {
    const began = performance.now();
    expect(await (await dial()).rest()).toBe(
      "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n",
    );
    expect(performance.now() - began).toBeGreaterThan(HEADERS_MS - 50);
  });

  test("one that trickles its request is cut off by node:http, its head and its body", async () => {
    for (const text of [asked("hello").slice(0, 30), asked("hello").slice(0, -3)]) {
      const wire = await dial();
      await bodyOf(wire.send(asked("plain")));
      wire.send(text);
      const trickle = setInterval(() => wire.send("x"), 400);
      expect(await wire.rest()).toMatch(/^HTTP\/1\.1 408 /);
      clearInterval(trickle);
    }
  });

  test("one that is idle after an answer is closed, later than it was told", async () => {
    const wire = await dial();
    await bodyOf(wire.send(asked("plain")));
    const began = performance.now();
    expect(await wire.rest()).toBe("");
    expect(performance.now() - began).toBeGreaterThan(KEEP_MS + 900);
  });

  test("a call may take longer than any of it", async () => {
    const wire = await dial();
    wire.send(asked("slow"));
    await wait(KEEP_MS + 1_300);
    release();
    expect(await bodyOf(wire)).toBe("raw slow");
    expect(await bodyOf(wire.send(asked("next")))).toBe("raw next");
  });

  test("a client that never takes its answer is closed", async () => {
    const wire = await dial();
    wire.socket.pause();
    wire.send(asked("large"));
    await until(() => counts["answered"] === 1);
    // A first time passes in which some of it has gone out.
    await wait(2 * (KEEP_MS + 1_000) + 500);
    expect(await connections()).toBe(0);
  });
});

describe("going away", () => {
  test.each(["closes", "resets", "closes only its side"])(
    "a client that %s cancels its call",
    async (how) => {
      const wire = await dial();
      wire.send(asked("slow"));
      await until(() => served.length === 1);
      if (how === "closes") wire.close();
      else if (how === "resets") wire.socket.resetAndDestroy();
      else wire.socket.end();
      await until(() => gone.length === 1);
      release();
      expect(how === "closes only its side" ? await wire.rest() : "").toBe("");
    },
  );

  test("and is not handed over any more", async () => {
    const wire = await dial();
    wire.send(asked("slow leave"));
    await until(() => served.length === 1);
    wire.socket.end();
    await until(() => gone.length === 1);
    release();
    await wait(30);
    expect(counts).toEqual({});
  });

  test("a call that tells how to cancel it when they have gone is cancelled at once", async () => {
    const wire = await dial();
    wire.send(asked("late"));
    await until(() => gone.length === 1);
  });
});

describe("stopping", () => {
  test("closes what is idle, finishes what is under way and says that it was the last", async () => {
    const [idle, busy, fresh] = [await dial(), await dial(), await dial()];
    await bodyOf(idle.send(asked("plain")));
    busy.send(asked("slow"));
    await until(() => served.length === 2);
    while ((await connections()) < 3) await wait(5);
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    rawReader.stop();
    expect(await idle.rest()).toBe("");
    release();
    const answer = await busy.answer();
    expect(answer.headers).toMatchObject({ connection: "close" });
    expect(answer.headers).not.toHaveProperty("keep-alive");
    expect(await busy.rest()).toBe("");
    // Nothing came of it yet, but it may be on its way.
    expect((await fresh.send(asked("in time")).answer()).headers["connection"]).toBe("close");
    await closed;
  });

  test("closes all at once when there is no more time", async () => {
    const busy = await dial();
    busy.send(asked("slow"));
    await until(() => served.length === 1);
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    rawReader.closeAll();
    await closed;
    await until(() => gone.length === 1);
  });
});
