// Kept connections over TLS and without it: what is read is whole however its reader rests, and nothing holds the
// process.
import { execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import {
  connect as dialHome,
  createServer as createTcpServer,
  type AddressInfo,
  type Socket,
} from "node:net";
import { createServer as createRawTlsServer } from "node:tls";
import { promisify } from "node:util";
import { afterEach, describe, expect, test } from "vitest";
import { certificateFor } from "../../../test/fixtures/certificate.ts";
import { Asker, Told } from "../../../test/fixtures/told.ts";
import type { Pooled } from "./egress.ts";
import { openEgress, type EgressOptions } from "./guard.ts";
import { rulesForServer } from "./operator.ts";

const NAME = "mcp.example.org";
const { cert, key } = certificateFor([NAME]);
let asker = new Asker();
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
  await expect.poll(() => asker.faults).toEqual([]);
  asker = new Asker();
});

async function listen(server: ReturnType<typeof createTcpServer>): Promise<number> {
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  cleanups.push(() => {
    (server as Partial<Server>).closeAllConnections?.();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** The name is public, and leads here. */
async function poolFor(origin: string, port: number, options: EgressOptions = {}): Promise<Pooled> {
  const connect: NonNullable<EgressOptions["connect"]> = ({ onread }) =>
    dialHome({ port, host: "127.0.0.1", ...(onread ? { onread } : {}) });
  const resolve = () => Promise.resolve(["93.184.215.14"]);
  const pool = await openEgress({ resolve, connect, ca: [cert], ...options }).pooled(
    rulesForServer(origin),
  );
  cleanups.push(() => pool.close());
  return pool;
}

/** The same server without TLS and with it. */
const WAYS: Record<string, (answer: RequestListener) => ReturnType<typeof createTcpServer>> = {
  http: (answer) => createServer(answer),
  https: (answer) => createTlsServer({ cert, key }, answer),
};

describe.each(Object.entries(WAYS))("over %s", (scheme, serverFor) => {
  const origin = `${scheme}://${NAME}`;

  test("a connection is used again and again, by many at once", async () => {
    const ports = new Set<number | undefined>();
    const port = await listen(
      serverFor((req, res) => (ports.add(req.socket.remotePort), res.end(req.url))),
    );
    const pool = await poolFor(origin, port);
    for (let round = 0; round < 20; round++) {
      const all = Array.from({ length: 4 }, (_, at) => asker.ask(pool, origin, { path: `/${at}` }));
      for (const [at, { over }] of all.entries()) expect((await over).text).toBe(`/${at}`);
    }
    expect(ports.size).toBeLessThanOrEqual(8);
  });

  test.each(["length", "chunks", "close"] as const)(
    "a body with %s is whole, however its reader rests",
    async (framing) => {
      const body = randomBytes(3_000_000);
      const port = await listen(
        serverFor((_req, res) => {
          if (framing === "length") return res.end(body);
          // Without both headers, the body ends with the connection.
          if (framing === "close") res.removeHeader("transfer-encoding");
          for (let at = 0, size = 1; at < body.length; at += size, size = (size * 7 + 13) % 50_021)
            res.write(body.subarray(at, at + size));
          return res.end();
        }),
      );
      const pool = await poolFor(origin, port);
      const rest: Record<number, (told: Told) => void> = {
        0: (told) => void setTimeout(() => told.resume(), 2),
        1: (told) => void setImmediate(() => told.resume()),
        2: (told) => told.resume(),
        3: (told) => void process.nextTick(() => told.resume()),
        4: (told) => queueMicrotask(() => told.resume()),
      };
      const all = Array.from({ length: 3 }, (_, first) => {
        let turn = first;
        const rests = (step: string, told: Told): void => {
          if (step !== "head" && step !== "data") return;
          turn = (turn * 31 + 7) % 1_009;
          if (turn % 3 === 0) return;
          told.pause();
          rest[turn % 5]?.(told);
        };
        return asker.ask(pool, origin, {}, new Told(rests));
      });
      for (const { over } of all) {
        const { step, hash, headers } = await over;
        expect([step, hash]).toEqual(["ended", createHash("sha256").update(body).digest("hex")]);
        expect([
          headers["content-length"] !== undefined,
          headers["transfer-encoding"] !== undefined,
        ]).toEqual([framing === "length", framing === "chunks"]);
      }
    },
  );

  test("whoever rests holds the server back", async () => {
    let written = 0;
    const port = await listen(
      serverFor((_req, res) => {
        const more = (): void => {
          while (written < 50_000_000)
            if (!res.write(Buffer.alloc(50_000), () => (written += 50_000)))
              return void res.once("drain", more);
          res.end();
        };
        more();
      }),
    );
    const pool = await poolFor(origin, port);
    const told = asker.ask(
      pool,
      origin,
      {},
      new Told((step, self) => step === "data" && self.pause()),
    );
    let before = -1;
    await expect
      .poll(() => told.bytes > 0 && before === (before = written), { interval: 200 })
      .toBe(true);
    expect(written).toBeLessThan(40_000_000);
    told.abort();
  });

  test("much goes out whole, and what comes back meanwhile comes in", async () => {
    const port = await listen(serverFor((req, res) => void req.pipe(res)));
    const pool = await poolFor(origin, port);
    const body = "ü€".repeat(1_000_000);
    const told = await asker.ask(pool, origin, { method: "POST", body }).over;
    expect([told.step, told.hash]).toEqual([
      "ended",
      createHash("sha256").update(body).digest("hex"),
    ]);
  });

  test.each(["after an answer", "after an abort while it was connected"])(
    "what only waits does not keep the process alive, %s",
    async (which) => {
      const port = await listen(
        serverFor(
          (_req, res) =>
            void setTimeout(() => res.setHeader("keep-alive", "timeout=600").end("hello"), 200),
        ),
      );
      const script = `
      import { connect } from "node:net";
      import { openEgress } from ${JSON.stringify(new URL("./guard.ts", import.meta.url).href)};
      import { rulesForServer } from ${JSON.stringify(new URL("./operator.ts", import.meta.url).href)};
      let socket;
      const connects = ({ onread }) => socket = connect({ port: ${port}, host: "127.0.0.1", ...(onread ? { onread } : {}) });
      const egress = openEgress({ resolve: async () => ["93.184.215.14"], connect: connects, ca: [${JSON.stringify(cert)}] });
      const pool = await egress.pooled(rulesForServer("${origin}"));
      process.on("exit", () => console.log(socket.destroyed ? "closed" : "open"));
      if (${which === "after an answer"}) {
        for (let count = 0; count < 2; count++) {
          const answer = await pool.fetch("${origin}/", {}, { headersMs: 0, idleMs: 0 });
          if ((await answer.text()) !== "hello") process.exitCode = 1;
        }
      } else {
        const never = () => { process.exitCode = 1; };
        pool.send({ origin: "${origin}", path: "/", method: "GET", headers: [] }, { head: never, data: never, end: never, failed: never }).abort();
      }`;
      const { stdout } = await promisify(execFile)(
        process.execPath,
        ["--input-type=module", "-e", script],
        { timeout: 18_000 },
      );
      // Had the process waited for it, we had closed it by then.
      expect(stdout).toBe("open\n");
    },
  );
});

describe("with TLS", () => {
  const origin = `https://${NAME}`;

  test("only a server that is trusted gets the request, and whoever waits hears of it", async () => {
    const seen: string[] = [];
    const own = certificateFor(["other.example.org"]);
    const port = await listen(
      createTlsServer(own, (req, res) => (seen.push(req.url ?? ""), res.end())),
    );
    for (const ca of [[own.cert], []]) {
      const pool = await poolFor(origin, port, { ca });
      const all = Array.from({ length: 10 }, () => asker.ask(pool, origin));
      for (const { over } of all) expect((await over).fault).toBe("EXECUTION_FAILED/tls_failed");
      expect(all.map(({ breaches }) => breaches).flat()).toEqual([]);
    }
    expect(seen).toEqual([]);
  });

  test("an answer that ends with the connection is whole, though its reader rests meanwhile", async () => {
    const body = randomBytes(300_000);
    const port = await listen(
      createRawTlsServer({ cert, key }, (socket) => {
        socket
          .on("error", () => undefined)
          .once("data", () => {
            socket.write("HTTP/1.1 200 OK\r\n\r\n");
            socket.end(body);
          });
      }),
    );
    const pool = await poolFor(origin, port);
    const told = asker.ask(
      pool,
      origin,
      {},
      new Told((step, self) => {
        if (step !== "data") return;
        self.pause();
        setTimeout(() => self.resume(), 20);
      }),
    );
    await told.over;
    expect([told.step, told.hash]).toEqual([
      "ended",
      createHash("sha256").update(body).digest("hex"),
    ]);
  });

  test.each([1, 2, 3, 4])(
    "garbage after the server's words no. %i fails once, and breaks nothing",
    async (which) => {
      const inner = await listen(createTlsServer({ cert, key }, (_req, res) => res.end("hello")));
      const port = await listen(
        createTcpServer((socket: Socket) => {
          const behind = dialHome(inner, "127.0.0.1");
          let count = 0;
          behind.on("data", (part: Buffer) =>
            socket.write(++count === which ? Buffer.concat([part, randomBytes(64)]) : part),
          );
          behind.on("error", () => undefined).on("close", () => socket.destroy());
          socket
            .on("error", () => undefined)
            .on("close", () => behind.destroy())
            .pipe(behind);
        }),
      );
      const pool = await poolFor(origin, port);
      for (let round = 0; round < 5; round++) {
        const told = await asker.ask(pool, origin).over;
        if (told.step === "ended") expect(told.text).toBe("hello");
        else expect(told.fault).toMatch(/^EXECUTION_FAILED\/(tls|connect)_failed$/);
        expect(told.breaches).toEqual([]);
      }
    },
  );

  test("a server that never ends the handshake is given up in time", async () => {
    const port = await listen(
      createTcpServer((socket) => void socket.on("error", () => undefined).resume()),
    );
    const pool = await poolFor(origin, port, { limits: { connectMs: 200 } });
    expect((await asker.ask(pool, origin).over).fault).toBe("TIMEOUT/timeout");
  });
});
