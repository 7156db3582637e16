import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import {
  createServer as createTcpServer,
  connect,
  type AddressInfo,
  type Server as TcpServer,
} from "node:net";
import {
  brotliCompressSync,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import { certificateFor } from "../../../test/fixtures/certificate.ts";
import { AppError, type Fault } from "../../contract/errors.ts";
import type { EgressRequest, EgressRules, EgressSubject } from "./egress.ts";
import { openEgress, type EgressOptions } from "./guard.ts";
import { rulesForOperator } from "./operator.ts";

const PUBLIC = "93.184.215.14";
const open: (Server | TcpServer)[] = [];
afterEach(() => {
  for (const server of open.splice(0)) {
    if ("closeAllConnections" in server) server.closeAllConnections();
    server.close();
  }
});

async function listen(server: Server | TcpServer): Promise<number> {
  open.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}
const serve = (answer: RequestListener): Promise<number> => listen(createServer(answer));

const rules = (change: Partial<EgressRules> = {}): EgressRules => ({
  schemes: ["https", "http"],
  ports: [80, 443],
  policy: "public",
  isBlocked: () => false,
  isAllowed: () => false,
  isExcepted: () => false,
  judged: new Set(),
  ...change,
});
const subject = (
  change: Partial<EgressRules> = {},
  signal = new AbortController().signal,
): EgressSubject => ({ rules: rules(change), signal });

/** Every name has a public address, and every address leads to the local port. */
const stage = (port: number, options: EgressOptions = {}) =>
  openEgress({
    resolve: () => Promise.resolve([PUBLIC]),
    connect: () => connect(port, "127.0.0.1"),
    ...options,
  });

const get = (url: string, change: Partial<EgressRequest> = {}): EgressRequest => ({
  url,
  method: "GET",
  headers: {},
  maxRedirects: 5,
  maxBytes: 10_000,
  ...change,
});

async function textOf(work: ReturnType<ReturnType<typeof openEgress>["request"]>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of (await work).body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

async function faultOf(work: Promise<unknown>): Promise<Fault> {
  const cause: unknown = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(cause instanceof AppError)) throw new Error(`expected a fault, got ${String(cause)}`);
  expect(cause.fault.remedy).toBeTypeOf("string");
  return cause.fault;
}

describe("what is checked is what is dialled", () => {
  test("a name that has one inside address among public ones is refused", async () => {
    const egress = openEgress({ resolve: () => Promise.resolve([PUBLIC, "10.0.0.1"]) });
    const fault = await faultOf(egress.check("https://mixed.example.org/", subject()));
    expect(fault).toMatchObject({ code: "FORBIDDEN", reason: "egress_blocked" });
    expect(fault.message).toContain("10.0.0.1");
  });

  test.each([
    "127.0.0.1",
    "::1",
    "0.0.0.0",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "100.100.100.200",
    "168.63.129.16",
    "198.18.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "::ffff:127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b:1::1",
    "2002:7f00:1::",
    "2001::1",
    "fd00::1",
    "fe80::1",
    "fec0::1",
    "ff02::1",
    "2001:db8::1",
    "3fff::1",
    "fe80::1%lo",
    "not an address",
  ])("a name that leads to %s is refused", async (address) => {
    let dials = 0;
    const egress = openEgress({
      resolve: () => Promise.resolve([address]),
      connect: () => (dials++, connect(1, "127.0.0.1")),
    });
    expect(
      (await faultOf(egress.request(get("http://inside.example.org/"), subject()))).reason,
    ).toBe("egress_blocked");
    expect(dials).toBe(0);
  });

  test("rebinding: a resolver that changes its mind is asked once, and the first answer is dialled", async () => {
    const port = await serve((req, res) => res.end(req.headers.host));
    const answers = [[PUBLIC], ["127.0.0.1"], ["127.0.0.1"]];
    const dialled: string[] = [];
    let asked = 0;
    const egress = openEgress({
      resolve: () => Promise.resolve(answers[asked++] ?? []),
      connect: ({ host }) => (dialled.push(host), connect(port, "127.0.0.1")),
    });
    expect(await textOf(egress.request(get("http://rebind.example.org/"), subject()))).toBe(
      "rebind.example.org",
    );
    expect([asked, dialled]).toEqual([1, [PUBLIC]]);
    expect(
      (await faultOf(egress.request(get("http://rebind.example.org/"), subject()))).reason,
    ).toBe("egress_blocked");
    expect(dialled).toEqual([PUBLIC]);
  });

  test("addresses are tried one after the other", async () => {
    const port = await serve((_req, res) => res.end("second"));
    const dialled: string[] = [];
    const egress = openEgress({
      resolve: () => Promise.resolve(["93.184.215.1", "93.184.215.2"]),
      connect: ({ host }) => (
        dialled.push(host),
        connect(host.endsWith(".1") ? 1 : port, "127.0.0.1")
      ),
    });
    expect(await textOf(egress.request(get("http://two.example.org/"), subject()))).toBe("second");
    expect(dialled).toEqual(["93.184.215.1", "93.184.215.2"]);
  });

  test("an exact exception opens one host and port, never a metadata address behind a name", async () => {
    const port = await serve((_req, res) => res.end("inside"));
    const isExcepted = (host: string, at: number): boolean =>
      ["searx.internal", "127.0.0.1", "meta.internal"].includes(host) && at === port;
    const resolve = (host: string) =>
      Promise.resolve([host === "meta.internal" ? "169.254.169.254" : "127.0.0.1"]);
    const egress = openEgress({ resolve });
    const asker = subject({ isExcepted, isBlocked: (host) => host.endsWith(".internal") });
    expect(await textOf(egress.request(get(`http://searx.internal:${port}/`), asker))).toBe(
      "inside",
    );
    expect(await textOf(egress.request(get(`http://127.0.0.1:${port}/`), asker))).toBe("inside");
    for (const url of [
      `http://searx.internal:${port + 1}/`,
      "http://searx.internal/",
      `http://localhost:${port}/`,
      `http://meta.internal:${port}/`,
    ])
      expect([url, (await faultOf(egress.request(get(url), asker))).reason]).toEqual([
        url,
        "egress_blocked",
      ]);
  });

  test("not even an exception leads back to this server", async () => {
    const port = await serve((_req, res) => res.end("self"));
    const egress = openEgress({
      ownPorts: () => [port],
      resolve: () => Promise.resolve(["127.0.0.1"]),
    });
    const fault = await faultOf(
      egress.request(get(`http://self.internal:${port}/`), subject({ isExcepted: () => true })),
    );
    expect(fault.message).toContain("leads back to this server");
  });

  test("an operator's address is reached, and nothing else by its rules", async () => {
    const port = await serve((req, res) =>
      req.url === "/away"
        ? res.writeHead(302, { location: "https://example.org/" }).end()
        : res.end("engine"),
    );
    const base = `http://127.0.0.1:${port}/`;
    const asker = { rules: rulesForOperator(base), signal: new AbortController().signal };
    const egress = openEgress();
    expect(await textOf(egress.request(get(base), asker))).toBe("engine");
    for (const url of [`${base}away`, "https://example.org/", "http://127.0.0.1:1/"])
      expect((await faultOf(egress.request(get(url), asker))).reason).toBe("egress_blocked");
  });
});

describe("the policy", () => {
  const egress = openEgress({ resolve: () => Promise.resolve([PUBLIC]) });
  const isAllowed = (host: string): boolean => host === "listed.example.org";
  test("none, list and ask_new refuse what nobody agreed to, and say what to do", async () => {
    expect(
      (
        await faultOf(
          egress.check("https://listed.example.org/", subject({ policy: "none", isAllowed })),
        )
      ).message,
    ).toContain("reaches no host");
    expect(
      (
        await faultOf(
          egress.check(
            "https://other.example.org/",
            subject({ policy: "list", isAllowed, judged: new Set(["other.example.org"]) }),
          ),
        )
      ).remedy,
    ).toContain("administrator");
    expect(
      (
        await faultOf(
          egress.check("https://other.example.org/", subject({ policy: "ask_new", isAllowed })),
        )
      ).remedy,
    ).toContain("call the tool with this address itself");
    for (const policy of ["list", "ask_new"] as const)
      expect(
        (await egress.check("https://listed.example.org/", subject({ policy, isAllowed })))
          .addresses,
      ).toEqual([PUBLIC]);
  });
  test("under ask_new the hosts that the gate judged may be reached", async () => {
    const asker = subject({ policy: "ask_new", judged: new Set(["new.example.org"]) });
    expect((await egress.check("https://NEW.example.org./", asker)).host).toBe("new.example.org");
    expect((await faultOf(egress.check("https://sub.new.example.org/", asker))).reason).toBe(
      "egress_blocked",
    );
  });
});

describe("redirects", () => {
  test("each hop is checked: inside addresses, schemes, ports, unknown hosts", async () => {
    const target: { to: string } = { to: "" };
    const port = await serve((req, res) =>
      req.url === "/" ? res.writeHead(302, { location: target.to }).end() : res.end("reached"),
    );
    const egress = stage(port);
    for (const to of [
      "http://127.0.0.1/x",
      "http://2130706433/x",
      "http://[::1]/x",
      "http://localhost/x",
      "file:///etc/passwd",
      "ftp://example.org/",
      "http://user@example.org/x",
      "http://example.org:22/x",
      "//169.254.169.254/x",
    ]) {
      target.to = to;
      expect([
        to,
        (await faultOf(egress.request(get("http://start.example.org/"), subject()))).reason,
      ]).toEqual([to, "egress_blocked"]);
    }
    target.to = "http://elsewhere.example.org/x";
    expect(await textOf(egress.request(get("http://start.example.org/"), subject()))).toBe(
      "reached",
    );
    const judged = subject({ policy: "ask_new", judged: new Set(["start.example.org"]) });
    expect(
      (await faultOf(egress.request(get("http://start.example.org/"), judged))).remedy,
    ).toContain("call the tool with this address");
  });

  test("chains end at the limit; manual gives the redirect itself", async () => {
    const port = await serve((req, res) =>
      res.writeHead(302, { location: `/${Number(req.url?.slice(1)) + 1}` }).end(),
    );
    const egress = stage(port);
    const fault = await faultOf(
      egress.request(get("http://a.example.org/1", { maxRedirects: 3 }), subject()),
    );
    expect(fault).toMatchObject({ code: "EXECUTION_FAILED", reason: "too_many_redirects" });
    const manual = await egress.request(
      get("http://a.example.org/1", { redirect: "manual" }),
      subject(),
    );
    expect([manual.status, manual.headers["location"], manual.redirects]).toEqual([302, "/2", []]);
  });

  test("credentials stay with their origin; a 303 turns into a GET without a body", async () => {
    const seen: string[] = [];
    const port = await serve((req, res) => {
      let body = "";
      req.on("data", (chunk: Buffer) => (body += chunk.toString()));
      req.on("end", () => {
        seen.push(
          [
            req.headers.host,
            req.method,
            req.headers["x-token"] ?? "-",
            req.headers.authorization ?? "-",
            req.headers["content-type"] ?? "-",
            body,
          ].join(" "),
        );
        const next: Record<string, [number, string]> = {
          "/same": [307, "/away"],
          "/away": [307, "http://b.example.org/back"],
          "/back": [303, "http://a.example.org/end"],
        };
        const [status, location] = next[req.url ?? ""] ?? [200, ""];
        res.writeHead(status, location === "" ? {} : { location }).end("done");
      });
    });
    const request = get("http://a.example.org/same", {
      method: "POST",
      body: "hi",
      headers: { "content-type": "text/plain", authorization: "Basic x" },
      credentials: { "x-token": "secret" },
    });
    const response = await stage(port).request(request, subject());
    expect(response.redirects).toHaveLength(3);
    expect(seen).toEqual([
      "a.example.org POST secret Basic x text/plain hi",
      "a.example.org POST secret Basic x text/plain hi",
      "b.example.org POST - - text/plain hi",
      "a.example.org GET - - - ",
    ]);
  });
});

describe("caps", () => {
  const whole = "opened ".repeat(100);
  test.each([
    ["gzip", gzipSync(whole)],
    ["br", brotliCompressSync(whole)],
    ["zstd", zstdCompressSync(whole)],
    ["deflate", deflateSync(whole)],
    ["deflate", deflateRawSync(whole)],
    ["gzip, br", brotliCompressSync(gzipSync(whole))],
    ["identity", Buffer.from(whole)],
  ])("%s is read, and cut at the limit after decompression", async (encoding, bytes) => {
    const port = await serve((_req, res) =>
      res.writeHead(200, { "content-encoding": encoding }).end(bytes),
    );
    expect(await textOf(stage(port).request(get("http://a.example.org/"), subject()))).toBe(whole);
    const short = await stage(port).request(
      get("http://a.example.org/", { maxBytes: 10 }),
      subject(),
    );
    const chunks: Uint8Array[] = [];
    for await (const chunk of short.body) chunks.push(chunk);
    expect([Buffer.concat(chunks).toString(), short.truncated()]).toEqual([
      whole.slice(0, 10),
      true,
    ]);
  });

  test("a bomb costs no more than the limit; padding without content is refused", async () => {
    const bomb = gzipSync(Buffer.alloc(100_000_000));
    const port = await serve((req, res) => {
      if (req.url === "/bomb") return res.writeHead(200, { "content-encoding": "gzip" }).end(bomb);
      // Empty members: much on the wire, nothing after decompression.
      return res
        .writeHead(200, { "content-encoding": "gzip" })
        .end(Buffer.concat(new Array<Buffer>(100_000).fill(gzipSync(""))));
    });
    const before = process.memoryUsage().arrayBuffers;
    const response = await stage(port).request(get("http://a.example.org/bomb"), subject());
    let bytes = 0;
    for await (const chunk of response.body) bytes += chunk.length;
    expect([bytes, response.truncated()]).toEqual([10_000, true]);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(50_000_000);
    expect(
      (await faultOf(textOf(stage(port).request(get("http://a.example.org/pad"), subject()))))
        .reason,
    ).toBe("body_too_large");
  });

  test.each([
    ["gzip", "body_invalid"],
    ["br", "body_invalid"],
    ["zstd", "body_invalid"],
    ["deflate", "body_invalid"],
    ["lzma", "connect_failed"],
    ["gzip,gzip,gzip,gzip", "connect_failed"],
  ])("a broken or odd body (%s) is %s", async (encoding, reason) => {
    const port = await serve((_req, res) =>
      res.writeHead(200, { "content-encoding": encoding }).end("no such thing here"),
    );
    expect(
      (await faultOf(textOf(stage(port).request(get("http://a.example.org/"), subject())))).reason,
    ).toBe(reason);
  });

  test("slow names, slow heads, slow bodies and slow connections end in time", async () => {
    const port = await serve((req, res) => {
      if (req.url === "/head") return;
      res.writeHead(200);
      res.write("some");
    });
    const limits = { resolveMs: 50, headersMs: 100, idleMs: 150, connectMs: 100 };
    const egress = stage(port, { limits });
    expect(
      await faultOf(egress.request(get("http://a.example.org/head"), subject())),
    ).toMatchObject({ code: "TIMEOUT", reason: "timeout" });
    expect(
      (await faultOf(textOf(egress.request(get("http://a.example.org/body"), subject())))).code,
    ).toBe("TIMEOUT");
    const total = stage(port, { limits: { totalMs: 100 } });
    expect(
      (await faultOf(textOf(total.request(get("http://a.example.org/body"), subject())))).code,
    ).toBe("TIMEOUT");
    const silent = stage(port, { limits, resolve: () => new Promise(() => undefined) });
    expect((await faultOf(silent.request(get("http://a.example.org/"), subject()))).reason).toBe(
      "dns_failed",
    );
    const stuck = await listen(createTcpServer(() => undefined));
    expect(
      (await faultOf(stage(stuck, { limits }).request(get("https://a.example.org/"), subject())))
        .code,
    ).toBe("TIMEOUT");
  });

  test("a cancel ends it at once, with the caller's own reason", async () => {
    const port = await serve((_req, res) => void res.writeHead(200).write("some"));
    for (const path of ["/", "/head"]) {
      const stop = new AbortController();
      const work = textOf(
        stage(port).request(get(`http://a.example.org${path}`), subject({}, stop.signal)),
      );
      setTimeout(() => stop.abort("user"), 50);
      await expect(work).rejects.toBe("user");
    }
    const fired = AbortSignal.abort("shutdown");
    await expect(
      stage(port).request(get("http://a.example.org/"), subject({}, fired)),
    ).rejects.toBe("shutdown");
  });

  test("giant headers, garbage, an early end and other protocols are typed errors", async () => {
    const answers: Record<string, string> = {
      "/big": `HTTP/1.1 200 OK\r\nx: ${"y".repeat(40_000)}\r\n\r\n`,
      "/garbage": "SSH-2.0-OpenSSH\r\n\r\n",
      "/both":
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "/cut": "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf",
      "/none": "",
      "/upgrade":
        "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n",
    };
    const port = await listen(
      createTcpServer((socket) =>
        socket
          .on("error", () => undefined)
          .once("data", (data) => socket.end(answers[data.toString().split(" ")[1] ?? ""] ?? "")),
      ),
    );
    for (const path of Object.keys(answers))
      expect([
        path,
        (await faultOf(textOf(stage(port).request(get(`http://a.example.org${path}`), subject()))))
          .reason,
      ]).toEqual([path, "connect_failed"]);
  });
});

describe("names and TLS", () => {
  test("a name that does not exist, and a port where nobody listens", async () => {
    const absent = Object.assign(new Error("x"), { code: "ENOTFOUND" });
    const nowhere = openEgress({ resolve: () => Promise.reject(absent) });
    expect(
      (await faultOf(nowhere.request(get("https://absent.example.org/"), subject()))).reason,
    ).toBe("dns_failed");
    const empty = openEgress({ resolve: () => Promise.resolve([]) });
    expect(
      (await faultOf(empty.request(get("https://empty.example.org/"), subject()))).message,
    ).toContain("has no address");
    const fault = await faultOf(stage(1).request(get("http://a.example.org/"), subject()));
    expect(fault).toMatchObject({ code: "EXECUTION_FAILED", reason: "connect_failed" });
    expect(fault.message).not.toContain("127.0.0.1");
  });

  test("a certificate that nobody vouches for, or of another host, is tls_failed; the right one works with its name", async () => {
    const certificate = certificateFor(["a.example.org"]);
    const server = createTlsServer(certificate, (req, res) =>
      res.end(
        `${req.headers.host} ${(req.socket as unknown as { servername: string }).servername}`,
      ),
    );
    const port = await listen(server);
    expect(
      (await faultOf(stage(port).request(get("https://a.example.org/"), subject()))).reason,
    ).toBe("tls_failed");
    const trusting = stage(port, { ca: [certificate.cert] });
    expect(await textOf(trusting.request(get("https://a.example.org/"), subject()))).toBe(
      "a.example.org a.example.org",
    );
    expect((await faultOf(trusting.request(get("https://b.example.org/"), subject()))).reason).toBe(
      "tls_failed",
    );
    expect((await faultOf(trusting.request(get("https://93.184.215.14/"), subject()))).reason).toBe(
      "tls_failed",
    );
    const plain = await serve((_req, res) => res.end());
    expect(
      (await faultOf(stage(plain).request(get("https://a.example.org/"), subject()))).reason,
    ).toBe("tls_failed");
  });

  test.each([
    "https://exa\0mple.org/",
    "https://exa%00mple.org/",
    "https://example.org\\@evil.org/",
    "https://a..example.org/",
    "https://.example.org/",
    `https://${"a".repeat(250)}.org/`,
    "https://example.org../",
    "https://[::1%25lo]/",
  ])("%j is refused before anything is resolved", async (url) => {
    let asked = 0;
    const egress = openEgress({ resolve: () => (asked++, Promise.resolve([PUBLIC])) });
    expect((await faultOf(egress.check(url, subject()))).reason).toBe("egress_blocked");
    expect(asked).toBe(0);
  });

  test("what is resolved is the canonical name", async () => {
    const asked: string[] = [];
    const egress = openEgress({ resolve: (host) => (asked.push(host), Promise.resolve([PUBLIC])) });
    for (const url of [
      "https://EXAMPLE.org./",
      "https://ⓔxample.org/",
      "https://münchen.example/",
      "https://example。org/",
    ])
      await egress.check(url, subject());
    expect(asked).toEqual(["example.org", "example.org", "xn--mnchen-3ya.example", "example.org"]);
  });
});
