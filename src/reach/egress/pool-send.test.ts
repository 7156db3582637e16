// Requests on kept connections, over real ones, to servers that behave well and badly.
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { connect as dialHome } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { Asker, Told } from "../../../test/fixtures/told.ts";
import type { Pooled } from "./egress.ts";
import { openEgress, type EgressOptions } from "./guard.ts";
import { rulesForServer } from "./operator.ts";

let asker = new Asker();
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
  const { all } = asker;
  await expect.poll(() => asker.faults).toEqual([]);
  // Whatever is told late would be told by now.
  await new Promise((done) => setTimeout(done, 20));
  expect(all.flatMap(({ breaches }) => breaches)).toEqual([]);
  asker = new Asker();
});

/** Tells of each request that is there as a whole, in the order in which they come. */
type Answerer = (socket: Socket, request: string, count: number) => void;

class Peer {
  /** Of all connections there ever were. */
  readonly sockets: Socket[] = [];
  readonly requests: string[] = [];
  readonly server: Server;
  open = 0;
  peak = 0;
  origin = "";

  constructor(answer: Answerer) {
    this.server = createServer((socket) => {
      this.sockets.push(socket);
      this.peak = Math.max(this.peak, ++this.open);
      socket.on("error", () => undefined).on("close", () => this.open--);
      let held = Buffer.alloc(0);
      socket.on("data", (part: Buffer) => {
        held = Buffer.concat([held, part]);
        for (let end = endOf(held); end !== -1; end = endOf(held)) {
          const request = held.toString("latin1", 0, end);
          held = held.subarray(end);
          this.requests.push(request);
          answer(socket, request, this.requests.length);
        }
      });
    });
  }
}

/** Where the first request ends; -1: not yet. */
function endOf(bytes: Buffer): number {
  const head = bytes.indexOf("\r\n\r\n");
  if (head === -1) return -1;
  const [, length = "0"] =
    /\r\ncontent-length: (\d+)/.exec(bytes.toString("latin1", 0, head)) ?? [];
  const end = head + 4 + Number(length);
  return bytes.length < end ? -1 : end;
}

async function peer(answer: Answerer): Promise<Peer> {
  const there = new Peer(answer);
  await new Promise<void>((ready) => there.server.listen(0, "127.0.0.1", ready));
  there.origin = `http://127.0.0.1:${(there.server.address() as AddressInfo).port}`;
  cleanups.push(() => {
    for (const socket of there.sockets) socket.destroy();
    there.server.close();
  });
  return there;
}

async function poolFor(origin: string, options: EgressOptions = {}): Promise<Pooled> {
  const pool = await openEgress(options).pooled(rulesForServer(origin));
  cleanups.push(() => pool.close());
  return pool;
}

const OK = "HTTP/1.1 200 OK\r\n";
const HELLO = `${OK}content-length: 5\r\n\r\nhello`;
const CONNECT_FAILED = "EXECUTION_FAILED/connect_failed";
const after = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

describe("a connection is used again", () => {
  test.each([
    ["GET", HELLO, "hello"],
    [
      "GET",
      `${OK}transfer-encoding: chunked\r\n\r\n2;a=b\r\nhe\r\n3\r\nllo\r\n0\r\nt: u\r\n\r\n`,
      "hello",
    ],
    ["HEAD", `${OK}content-length: 5\r\n\r\n`, ""],
    ["GET", "HTTP/1.1 204 No Content\r\n\r\n", ""],
    ["GET", "HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n", ""],
    [
      "GET",
      `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\na: b\r\n\r\n${HELLO}`,
      "hello",
    ],
    [
      "GET",
      `${OK}connection: keep-alive\r\nkeep-alive: timeout=5\r\ncontent-length: 0\r\n\r\n`,
      "",
    ],
  ])("after %s %j, by whoever hears of its end", async (method, answer, body) => {
    const there = await peer((socket) => socket.write(answer, "latin1"));
    const pool = await poolFor(there.origin);
    const asked: Promise<Told>[] = [];
    const again = (): void => {
      if (asked.length < 5)
        asked.push(
          asker.ask(pool, there.origin, { method }, new Told((step) => step === "ended" && again()))
            .over,
        );
    };
    again();
    await expect.poll(() => asker.all.filter(({ isOver }) => isOver).length).toBe(5);
    expect(asker.all.map((told) => [told.step, told.text])).toEqual(
      asker.all.map(() => ["ended", body]),
    );
    expect(there.sockets).toHaveLength(1);
  });

  test("by those who wait, in the order in which they came", async () => {
    const there = await peer((socket, request) => {
      const path = request.split(" ")[1] ?? "";
      socket.write(`${OK}content-length: ${path.length}\r\n\r\n${path}`);
    });
    const pool = await poolFor(there.origin);
    const all = Array.from({ length: 1_000 }, (_, at) =>
      asker.ask(pool, there.origin, { path: `/${at}` }),
    );
    for (const [at, told] of (await Promise.all(all.map(({ over }) => over))).entries())
      expect([told.step, told.text]).toEqual(["ended", `/${at}`]);
    expect(there.peak).toBeLessThanOrEqual(128);
    expect(there.sockets.length).toBeLessThanOrEqual(128);
  });
});

test("whoever rests at the last byte leaves the connection to others all the same", async () => {
  const there = await peer((socket) => socket.write(HELLO));
  const pool = await poolFor(there.origin);
  for (let count = 0; count < 3; count++) {
    const told = asker.ask(
      pool,
      there.origin,
      {},
      new Told((step, self) => step === "data" && self.pause()),
    );
    expect((await told.over).step).toBe("ended");
  }
  expect(there.sockets).toHaveLength(1);
});

describe("a connection is not used again", () => {
  test.each([
    ["the server says so", `${OK}connection: close\r\ncontent-length: 5\r\n\r\nhello`],
    [
      "the server says so among other words",
      `${OK}connection: x, Close\r\ncontent-length: 5\r\n\r\nhello`,
    ],
    [
      "the server keeps it for no time",
      `${OK}keep-alive: timeout=1\r\ncontent-length: 5\r\n\r\nhello`,
    ],
    ["it is of HTTP/1.0", "HTTP/1.0 200 OK\r\ncontent-length: 5\r\n\r\nhello"],
    ["more came than the answer", `${HELLO}${HELLO}`],
    ["a line end came after the answer", `${HELLO}\r\n`],
  ])("when %s", async (_name, answer) => {
    const there = await peer((socket) => socket.write(answer));
    const pool = await poolFor(there.origin);
    for (let count = 1; count <= 3; count++) {
      expect((await asker.ask(pool, there.origin).over).text).toBe("hello");
      await expect.poll(() => there.open).toBe(0);
      expect(there.sockets).toHaveLength(count);
    }
  });

  test("when its answer ends with it", async () => {
    const there = await peer((socket) => socket.end(`${OK}\r\nhello`));
    const pool = await poolFor(there.origin);
    for (let count = 0; count < 3; count++)
      expect(await asker.ask(pool, there.origin).over).toMatchObject({
        step: "ended",
        text: "hello",
      });
    expect(there.sockets).toHaveLength(3);
  });

  test("beyond the time that the server keeps it", async () => {
    const there = await peer((socket) =>
      socket.write(`${OK}keep-alive: timeout=2\r\ncontent-length: 5\r\n\r\nhello`),
    );
    const pool = await poolFor(there.origin);
    await asker.ask(pool, there.origin).over;
    await asker.ask(pool, there.origin).over;
    expect([there.sockets.length, there.open]).toEqual([1, 1]);
    await expect.poll(() => there.open).toBe(0);
    expect((await asker.ask(pool, there.origin).over).text).toBe("hello");
    expect(there.sockets).toHaveLength(2);
  });

  test("once something came that nobody asked for", async () => {
    const there = await peer((socket, _request, count) => {
      socket.write(HELLO);
      if (count === 1) setTimeout(() => socket.write(`${OK}content-length: 6\r\n\r\nforged`), 30);
    });
    const pool = await poolFor(there.origin);
    await asker.ask(pool, there.origin).over;
    await expect.poll(() => there.open).toBe(0);
    expect((await asker.ask(pool, there.origin).over).text).toBe("hello");
    expect(there.sockets).toHaveLength(2);
  });

  test("once the server has closed it: nothing is lost", async () => {
    const there = await peer((socket, _request, count) => {
      socket.write(HELLO);
      // In both ways in which servers do it.
      setTimeout(() => (count % 2 === 0 ? socket.end() : socket.resetAndDestroy()), 5);
    });
    const pool = await poolFor(there.origin);
    for (let count = 0; count < 20; count++) {
      const asked = Array.from({ length: 3 }, () => asker.ask(pool, there.origin).over);
      for (const told of await Promise.all(asked))
        expect([told.step, told.text]).toEqual(["ended", "hello"]);
      await expect.poll(() => there.open, { interval: 5 }).toBe(0);
      await after(5);
    }
    expect(there.requests).toHaveLength(60);
  });

  test("when its reader rested, and the server may have closed it meanwhile", async () => {
    const there = await peer((socket, _request, count) => {
      socket.write(HELLO);
      if (count === 1) setTimeout(() => socket.end(), 20);
    });
    const pool = await poolFor(there.origin);
    const next: Told[] = [];
    const rest = new Told((step, told) => {
      if (step === "head") told.pause();
      if (step === "ended") next.push(asker.ask(pool, there.origin));
    });
    asker.ask(pool, there.origin, {}, rest);
    await expect.poll(() => rest.step).toBe("head");
    await after(100);
    rest.resume();
    expect((await rest.over).text).toBe("hello");
    expect(await next[0]?.over).toMatchObject({ step: "ended", text: "hello" });
  });

  test("when the answer came before the request was read", async () => {
    const there = await peer(() => undefined);
    there.server.on("connection", (socket) =>
      socket.once("data", () => socket.pause().write(HELLO)),
    );
    const pool = await poolFor(there.origin);
    for (let count = 1; count <= 2; count++) {
      const told = await asker.ask(pool, there.origin, {
        method: "POST",
        body: "x".repeat(30_000_000),
      }).over;
      expect([told.step, told.text]).toEqual(["ended", "hello"]);
      expect(there.sockets).toHaveLength(count);
    }
    for (const socket of there.sockets) socket.resume();
    await expect.poll(() => there.open).toBe(0);
    expect(there.requests).toEqual([]);
  });

  test("by whoever waits for one, when the server closes it", async () => {
    const there = await peer((socket) =>
      socket.end(`${OK}connection: close\r\ncontent-length: 5\r\n\r\nhello`),
    );
    const pool = await poolFor(there.origin);
    const all = Array.from({ length: 300 }, () => asker.ask(pool, there.origin));
    for (const { over } of all) expect((await over).step).toBe("ended");
    expect(there.sockets).toHaveLength(300);
  });
});

describe("an answer that does not come whole", () => {
  test.each<[string, Answerer]>([
    ["nothing", (socket) => socket.end()],
    ["a reset", (socket) => socket.resetAndDestroy()],
    ["half a head", (socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-le")],
    ["half a body", (socket) => socket.end(HELLO.slice(0, -2))],
    ["half a chunk", (socket) => socket.end(`${OK}transfer-encoding: chunked\r\n\r\n5\r\nhel`)],
    [
      "chunks without the last",
      (socket) => socket.end(`${OK}transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n`),
    ],
    ["an interim answer alone", (socket) => socket.end("HTTP/1.1 100 Continue\r\n\r\n")],
    [
      "half a body and a reset",
      (socket) =>
        socket.write(HELLO.slice(0, -2), () => setTimeout(() => socket.resetAndDestroy(), 30)),
    ],
    [
      "a body until the end, and a reset",
      (socket) =>
        socket.write(`${OK}\r\nhello`, () => setTimeout(() => socket.resetAndDestroy(), 30)),
    ],
    ["garbage", (socket) => socket.write("garbage\r\n\r\n")],
    ["a greeting of another protocol", (socket) => socket.write("SSH-2.0-OpenSSH_9.6\r\n\r\n")],
    [
      "a garbled chunk",
      (socket) => socket.write(`${OK}transfer-encoding: chunked\r\n\r\n5\r\nhello!\r\n0\r\n\r\n`),
    ],
    [
      "another protocol",
      (socket) =>
        socket.write(
          "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
        ),
    ],
    ["a head without end", (socket) => socket.write(`${OK}a: ${"x".repeat(40_000)}`)],
  ])("%s fails once, and the next goes elsewhere", async (_name, answer) => {
    const there = await peer((socket, request, count) =>
      count === 1 ? answer(socket, request, count) : socket.write(HELLO),
    );
    const pool = await poolFor(there.origin);
    const told = await asker.ask(pool, there.origin).over;
    expect([told.step, told.fault]).toEqual(["failed", CONNECT_FAILED]);
    expect((await asker.ask(pool, there.origin).over).text).toBe("hello");
    expect(there.sockets).toHaveLength(2);
    await expect.poll(() => there.open).toBe(1);
  });

  test("in time fails when nothing comes, and when nothing more comes", async () => {
    const there = await peer((socket, _request, count) => {
      if (count === 2) socket.write(HELLO.slice(0, -2));
    });
    const pool = await poolFor(there.origin);
    for (const what of ["the answer", "the next byte"]) {
      const told = await asker.ask(pool, there.origin, { headersMs: 300, idleMs: 100 }).over;
      expect(told.fault).toBe("TIMEOUT/timeout");
      expect(String(told.cause)).toContain(what);
    }
    await expect.poll(() => there.open).toBe(0);
  });

  test("in time fails also after its reader rested, and while the reader rests it is not late", async () => {
    const there = await peer((socket) => socket.write(HELLO.slice(0, -2)));
    const pool = await poolFor(there.origin);
    const rest = new Told((step, told) => step === "data" && told.pause());
    asker.ask(pool, there.origin, { idleMs: 100 }, rest);
    await expect.poll(() => rest.step).toBe("data");
    await after(400);
    expect(rest.step).toBe("data");
    rest.resume();
    expect((await rest.over).fault).toBe("TIMEOUT/timeout");
  });

  test("may take its time from byte to byte", async () => {
    const there = await peer((socket) => {
      let left = 60;
      socket.write(`${OK}content-length: ${left}\r\n\r\n`);
      const timer = setInterval(() => (left-- > 0 ? socket.write("x") : clearInterval(timer)), 40);
      socket.on("close", () => clearInterval(timer));
    });
    const pool = await poolFor(there.origin);
    const told = await asker.ask(pool, there.origin, { headersMs: 15_000, idleMs: 1_500 }).over;
    expect([told.step, told.bytes]).toEqual(["ended", 60]);
  });
});

describe("an abort", () => {
  test("while waiting never reaches the server, and takes nobody else's place", async () => {
    const held: Socket[] = [];
    const there = await peer((socket) => void held.push(socket));
    const pool = await poolFor(there.origin);
    const busy = Array.from({ length: 128 }, () =>
      asker.ask(pool, there.origin, { path: "/busy" }),
    );
    await expect.poll(() => held.length).toBe(128);
    const gone = Array.from({ length: 20 }, () => asker.ask(pool, there.origin, { path: "/gone" }));
    const stays = Array.from({ length: 20 }, () =>
      asker.ask(pool, there.origin, { path: "/stays" }),
    );
    for (const told of gone) told.abort();
    for (const socket of held.splice(0)) socket.write(HELLO);
    await Promise.all(busy.map(({ over }) => over));
    await expect.poll(() => held.length).toBe(20);
    for (const socket of held.splice(0)) socket.write(HELLO);
    for (const { over } of [...busy, ...stays]) expect((await over).text).toBe("hello");
    expect(there.requests.filter((text) => text.startsWith("GET /gone"))).toEqual([]);
    expect(there.sockets).toHaveLength(128);
  });

  test("while its connection is made never reaches the server", async () => {
    const there = await peer((socket) => socket.write(HELLO));
    const pool = await poolFor(there.origin);
    asker.ask(pool, there.origin, { path: "/gone" }).abort();
    expect((await asker.ask(pool, there.origin).over).text).toBe("hello");
    expect(there.requests).toEqual([expect.stringMatching(/^GET \/ /)]);
  });

  test.each(["started", "head", "data"] as const)(
    "at %s closes the connection, and nothing more is told",
    async (at) => {
      const there = await peer((socket) => socket.write(`${OK}content-length: 10\r\n\r\nhello`));
      const pool = await poolFor(there.origin);
      const told = asker.ask(
        pool,
        there.origin,
        {},
        new Told((step, self) => step === at && setTimeout(() => self.abort())),
      );
      await expect.poll(() => told.step).toBe("aborted");
      await expect.poll(() => there.open).toBe(0);
      const inside = asker.ask(
        pool,
        there.origin,
        {},
        new Told((step, self) => step === at && self.abort()),
      );
      await expect.poll(() => inside.step).toBe("aborted");
      await expect.poll(() => there.open).toBe(0);
    },
  );

  test("once the answer is there does nothing to whoever has the connection now", async () => {
    const there = await peer((socket) => setTimeout(() => socket.write(HELLO), 30));
    const pool = await poolFor(there.origin);
    const first = await asker.ask(pool, there.origin).over;
    const second = asker.ask(pool, there.origin);
    first.flow?.pause();
    first.flow?.abort();
    expect((await second.over).text).toBe("hello");
    expect(there.sockets).toHaveLength(1);
  });
});

describe("whoever waits hears of it once", () => {
  test("when nobody listens", async () => {
    const there = await peer(() => undefined);
    await new Promise((done) => there.server.close(done));
    const pool = await poolFor(there.origin);
    const all = Array.from({ length: 300 }, () => asker.ask(pool, there.origin));
    for (const { over } of all) expect((await over).fault).toBe(CONNECT_FAILED);
  });

  test("when some connections come about and some do not", async () => {
    const there = await peer((socket) => socket.write(HELLO));
    let dials = 0;
    const { port } = there.server.address() as AddressInfo;
    const pool = await poolFor(there.origin, {
      connect: () => dialHome(dials++ % 3 === 0 ? 1 : port, "127.0.0.1"),
    });
    const all = Array.from({ length: 400 }, () => asker.ask(pool, there.origin));
    const ends = await Promise.all(all.map(async ({ over }) => (await over).step));
    expect(ends.filter((step) => step === "ended").length).toBeGreaterThan(200);
    expect(new Set(ends)).toEqual(new Set(["ended", "failed"]));
  });

  test("when a connection breaks in the moment it is made", async () => {
    const there = await peer(() => undefined);
    const { port } = there.server.address() as AddressInfo;
    for (const cause of [undefined, new Error("broken")]) {
      const connect = () => {
        const socket = dialHome(port, "127.0.0.1");
        return socket.once("connect", () => socket.destroy(cause));
      };
      const pool = await poolFor(there.origin, { connect });
      const all = Array.from({ length: 10 }, () => asker.ask(pool, there.origin));
      for (const { over } of all) expect((await over).fault).toBe(CONNECT_FAILED);
    }
  });

  test("when the name is not found", async () => {
    const pool = await poolFor("http://mcp.example.org", {
      resolve: () => Promise.reject(new Error("no")),
    });
    const all = Array.from({ length: 200 }, () => asker.ask(pool, "http://mcp.example.org"));
    for (const { over } of all) expect((await over).fault).toBe("EXECUTION_FAILED/dns_failed");
  });

  test("when a server takes connections and closes them", async () => {
    const there = await peer(() => undefined);
    there.server.on("connection", (socket) => socket.destroy());
    const pool = await poolFor(there.origin);
    const all = Array.from({ length: 300 }, () => asker.ask(pool, there.origin));
    for (const { over } of all) expect((await over).fault).toBe(CONNECT_FAILED);
  });

  test("when the pool is closed, with some under way, some resting, some waiting, and some who come later", async () => {
    const there = await peer((socket) => socket.write(`${OK}content-length: 100\r\n\r\nhello`));
    const pool = await poolFor(there.origin);
    const all = Array.from({ length: 300 }, (_, at) =>
      asker.ask(
        pool,
        there.origin,
        {},
        new Told((step, told) => step === "data" && at % 2 === 0 && told.pause()),
      ),
    );
    await expect.poll(() => all.filter(({ step }) => step === "data").length).toBe(128);
    await pool.close();
    const late = asker.ask(pool, there.origin);
    await pool.close();
    for (const { over } of [...all, late]) expect((await over).fault).toBe(CONNECT_FAILED);
    await expect.poll(() => there.open).toBe(0);
    expect(there.requests).toHaveLength(128);
  });

  test("when the pool is closed in the moment a connection is made", async () => {
    const there = await peer((socket) => socket.write(HELLO));
    const { port } = there.server.address() as AddressInfo;
    for (let delay = 0; delay < 12; delay++) {
      let ticks = delay;
      const close = (): void => (ticks-- > 0 ? queueMicrotask(close) : void pool.close());
      const connect = () => dialHome(port, "127.0.0.1").once("connect", close);
      const pool: Pooled = await poolFor(there.origin, { connect });
      const told = await asker.ask(pool, there.origin).over;
      expect([told.step, told.fault]).toEqual(["failed", CONNECT_FAILED]);
    }
    await expect.poll(() => there.open).toBe(0);
  });

  test("when the pool is closed while names are resolved and connections made", async () => {
    const never = await poolFor("http://mcp.example.org", {
      resolve: () => new Promise(() => undefined),
    });
    const there = await peer(() => undefined);
    const dialling = await poolFor(there.origin);
    const all = [
      ...Array.from({ length: 200 }, () => asker.ask(never, "http://mcp.example.org")),
      ...Array.from({ length: 200 }, () => asker.ask(dialling, there.origin)),
    ];
    await never.close();
    await dialling.close();
    for (const { over } of all) expect((await over).fault).toBe(CONNECT_FAILED);
    await expect.poll(() => there.open).toBe(0);
    expect(there.requests).toEqual([]);
  });
});

describe("a sink that throws", () => {
  test.each(["head", "data"])("at %s hears that it failed, and nobody else does", async (at) => {
    const there = await peer((socket) => socket.write(HELLO));
    const pool = await poolFor(there.origin);
    const told = asker.ask(
      pool,
      there.origin,
      {},
      new Told((step) => {
        if (step === at) throw new Error(`thrown at ${at}`);
      }),
    );
    expect(String((await told.over).cause)).toContain(`thrown at ${at}`);
    expect((await asker.ask(pool, there.origin).over).text).toBe("hello");
  });

  test.each([HELLO, `${OK}\r\nhello`])(
    "at the end of %j harms nobody who uses the connection next",
    async (answer) => {
      const there = await peer((socket) =>
        setTimeout(() => (answer === HELLO ? socket.write(answer) : socket.end(answer)), 30),
      );
      let resolved = 0;
      // The second finds no connection but the one of the first.
      const resolve = (): Promise<string[]> =>
        resolved++ === 0 || answer !== HELLO
          ? Promise.resolve(["93.184.215.14"])
          : new Promise(() => undefined);
      const { port } = there.server.address() as AddressInfo;
      const origin = "http://mcp.example.org";
      const pool = await poolFor(origin, { resolve, connect: () => dialHome(port, "127.0.0.1") });
      const causes: unknown[] = [];
      const end = (): never => {
        throw new Error("thrown at the end");
      };
      pool.send(
        { origin, path: "/", method: "GET", headers: [] },
        {
          head: () => undefined,
          data: () => undefined,
          end,
          failed: (cause) => causes.push(cause),
        },
      );
      await expect.poll(() => there.requests.length).toBe(1);
      expect(await asker.ask(pool, origin).over).toMatchObject({ step: "ended", text: "hello" });
      expect(causes.map(String)).toEqual(["Error: thrown at the end"]);
    },
  );
});
