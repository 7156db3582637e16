import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { connect as dialHome, type AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import type { Pooled } from "./egress.ts";
import { openEgress, type EgressOptions } from "./guard.ts";
import { rulesForServer } from "./operator.ts";

const cleanups: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

async function serve(handler: RequestListener): Promise<number> {
  const server = createServer(handler);
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  cleanups.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

async function pooled(server: string, options: EgressOptions = {}): Promise<Pooled> {
  const pool = await openEgress(options).pooled(rulesForServer(server));
  cleanups.push(() => pool.close());
  return pool;
}

const reasonOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "reached",
    (cause: { fault?: { reason: string } }) => cause.fault?.reason ?? cause,
  );

describe("kept connections", () => {
  test("lead to the server that was named, also at a private address, and are used again", async () => {
    const ports = new Set<number | undefined>();
    const port = await serve((req, res) => {
      ports.add(req.socket.remotePort);
      res.end("hello");
    });
    const pool = await pooled(`http://127.0.0.1:${port}/mcp`);
    for (let count = 0; count < 5; count++) {
      expect(await (await pool.fetch(`http://127.0.0.1:${port}/mcp`)).text()).toBe("hello");
    }
    expect(ports.size).toBe(1);
  });

  test("each new one is resolved and judged again", async () => {
    const port = await serve((_req, res) =>
      res.writeHead(200, { connection: "close" }).end("hello"),
    );
    const dialled: string[] = [];
    const answers = ["93.184.215.14", "169.254.169.254"];
    const connect = ({ host }: { host: string }) => (
      dialled.push(host),
      dialHome(port, "127.0.0.1")
    );
    const pool = await pooled("http://mcp.example.org/", {
      connect,
      resolve: () => Promise.resolve([answers.shift() ?? ""]),
    });
    expect(await reasonOf(pool.fetch("http://mcp.example.org/"))).toBe("reached");
    expect(await reasonOf(pool.fetch("http://mcp.example.org/"))).toBe("egress_blocked");
    expect(dialled).toEqual(["93.184.215.14"]);
  });

  test("never lead back to this server, whoever named it", async () => {
    const port = await serve((_req, res) => res.end());
    const url = `http://127.0.0.1:${port}/mcp`;
    const pool = await pooled(url, { ownPorts: () => [port] });
    expect(await reasonOf(pool.fetch(url))).toBe("egress_blocked");
  });

  test.each([
    ["https://mcp.example.org/", "http://auth.example.org/token"],
    ["https://mcp.example.org/", "http://127.0.0.1:1/token"],
    ["https://mcp.example.org/", "https://127.0.0.1/token"],
    ["https://mcp.example.org/", "https://[::ffff:10.0.0.1]/token"],
    ["https://mcp.example.org/", "https://metadata/token"],
    ["http://10.0.0.5/", "http://10.0.0.6/token"],
    ["http://127.0.0.1:1/", "http://10.0.0.6/token"],
    ["http://127.0.0.1:1/", "http://169.254.169.254/token"],
  ])("a server at %s does not get us to %s", async (server, other) => {
    const pool = await pooled(server, { resolve: () => Promise.resolve(["93.184.215.14"]) });
    expect(await reasonOf(pool.fetch(other))).toBe("egress_blocked");
  });

  test("authorization of a server on this machine may be on this machine", async () => {
    const port = await serve((_req, res) => res.end("token"));
    const pool = await pooled("http://127.0.0.1:1/mcp");
    expect(await (await pool.fetch(`http://127.0.0.1:${port}/token`)).text()).toBe("token");
  });

  test("redirects are answers, bodies end at their limit, an abort ends at once", async () => {
    const seen: IncomingMessage[] = [];
    const port = await serve((req, res) => {
      seen.push(req);
      if (req.url === "/moved") return res.writeHead(302, { location: "/elsewhere" }).end();
      if (req.url === "/large") return res.end("x".repeat(5_000));
      return undefined;
    });
    const at = `http://127.0.0.1:${port}`;
    const pool = await pooled(at);
    const moved = await pool.fetch(`${at}/moved`);
    expect([moved.status, moved.headers.get("location")]).toEqual([302, "/elsewhere"]);
    const large = await pool.fetch(`${at}/large`, {}, { maxBytes: 1_000 });
    expect(await reasonOf(large.text())).toBe("body_too_large");
    const stop = new AbortController();
    const silent = pool.fetch(`${at}/silent`, { signal: stop.signal });
    setTimeout(() => stop.abort("enough"), 50);
    await expect(silent).rejects.toBe("enough");
    expect(await reasonOf(pool.fetch(`${at}/silent`, {}, { headersMs: 1_000 }))).not.toBe(
      "reached",
    );
    expect(seen.map(({ url }) => url)).toEqual(["/moved", "/large", "/silent", "/silent"]);
  });

  test("a body waits for its reader, in pieces of any size, and comes whole", async () => {
    const total = 20_000_000;
    let written = 0;
    const port = await serve((_req, res) => {
      const more = (): void => {
        while (written < total) {
          written += 1_000;
          if (!res.write("x".repeat(1_000))) return void res.once("drain", more);
        }
        res.end();
      };
      more();
    });
    const at = `http://127.0.0.1:${port}`;
    const { body } = await (await pooled(at)).fetch(at, {}, { maxBytes: total });
    const reader = (body as ReadableStream<Uint8Array>).getReader();
    let taken = (await reader.read()).value?.length ?? 0;
    // It stands still once all that lies between is full.
    let before = -1;
    await expect
      .poll(() => before === (before = written), { interval: 200, timeout: 10_000 })
      .toBe(true);
    expect(written).toBeLessThan(total);
    for (let next = await reader.read(); !next.done; next = await reader.read())
      taken += next.value.length;
    expect(taken).toBe(total);
  });

  test("a body where none belongs is read past, and holds no connection", async () => {
    let finished = 0;
    const port = await serve((_req, res) => {
      res.once("finish", () => finished++);
      res.writeHead(205).end(Buffer.alloc(20_000_000));
    });
    const at = `http://127.0.0.1:${port}`;
    const pool = await pooled(at);
    for (let count = 1; count <= 3; count++) {
      const reset = await pool.fetch(at, {}, { maxBytes: 20_000_000 });
      expect([reset.status, reset.body]).toEqual([205, null]);
      await expect.poll(() => finished).toBe(count);
    }
  });

  test("a status that no response can have is a failure, not silence", async () => {
    const port = await serve(
      (req) =>
        void req.socket.write(
          `HTTP/1.1 ${(req.url ?? "").slice(1)} Odd\r\ncontent-length: 0\r\n\r\n`,
        ),
    );
    const at = `http://127.0.0.1:${port}`;
    const pool = await pooled(at);
    for (const status of ["600", "999", "101", "100", "099"])
      expect([status, await reasonOf(pool.fetch(`${at}/${status}`))]).toEqual([
        status,
        "connect_failed",
      ]);
  });

  test("a body that is given up closes its connection, and one that is cut off says so", async () => {
    let open = 0;
    const port = await serve((req, res) => {
      open++;
      req.socket.once("close", () => open--);
      res.writeHead(200, { "content-length": 100 }).write("hello");
      if (req.url === "/cut") setTimeout(() => req.socket.destroy(), 30);
    });
    const at = `http://127.0.0.1:${port}`;
    const pool = await pooled(at);
    await (await pool.fetch(at)).body?.cancel();
    await expect.poll(() => open).toBe(0);
    expect(await reasonOf((await pool.fetch(`${at}/cut`)).text())).toBe("connect_failed");
    const stop = new AbortController();
    const answer = await pool.fetch(at, { signal: stop.signal });
    stop.abort("enough");
    expect(await reasonOf(answer.text())).toBe("enough");
    expect(await reasonOf((await pool.fetch(at, {}, { idleMs: 50 })).text())).toBe("timeout");
    await expect.poll(() => open).toBe(0);
  });

  test("a body without end is read up to its limit, and then closed", async () => {
    let isOpen = true;
    const port = await serve((req, res) => {
      const timer = setInterval(() => res.write("x".repeat(1_000)), 5);
      req.socket.once("close", () => {
        clearInterval(timer);
        isOpen = false;
      });
    });
    const at = `http://127.0.0.1:${port}`;
    const answer = await (await pooled(at)).fetch(at, {}, { maxBytes: 10_000 });
    expect(await reasonOf(answer.text())).toBe("body_too_large");
    await expect.poll(() => isOpen).toBe(false);
  });

  test.each<[string, unknown]>([
    ["not a url", undefined],
    ["http://127.0.0.1:1/", new Blob(["x"])],
  ])("what cannot be asked is refused as any other failure: %s", async (url, body) => {
    const pool = await pooled("http://127.0.0.1:1/");
    const asked = pool.fetch(url, { method: "POST", body: body as string });
    await expect(asked).rejects.toThrow(TypeError);
  });

  test("one server leads to a few origins only", async () => {
    const pool = await pooled("http://127.0.0.1:1/");
    const tries = Array.from({ length: 9 }, (_, at) =>
      reasonOf(pool.fetch(`http://127.0.0.1:${at + 1}/`)),
    );
    await Promise.all(tries);
    await expect(async () => pool.fetch("http://127.0.0.1:99/")).rejects.toThrow(
      "more than 8 origins",
    );
  });
});
