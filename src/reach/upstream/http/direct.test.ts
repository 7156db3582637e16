import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../contract/call.ts";
import {
  bare,
  cleanUpAfterEach,
  opened,
  options,
  rowOf,
  type Posted,
} from "../connection/connection.suite.ts";

cleanUpAfterEach();
import type { UpstreamFault } from "../upstream.ts";

const CALL = { name: "any", arguments: {} };
const DONE: JsonObject = { content: [{ type: "text", text: "done" }] };

/** What one call to such a server ends in. */
async function calling(
  era: "modern" | "legacy",
  answer: (posted: Posted) => void,
  more: Parameters<typeof options>[0] = {},
): Promise<JsonObject | UpstreamFault> {
  const { connection } = await opened(rowOf(await bare(era, answer)));
  return connection
    .request("tools/call", CALL, options(more))
    .catch((cause: unknown) => cause as UpstreamFault);
}

const events = ({ res }: Posted, ...texts: readonly string[]): void => {
  res.writeHead(200, { "content-type": "text/event-stream" });
  for (const text of texts) res.write(`event: message\ndata: ${text}\n\n`);
};
const rpc = (id: unknown, result: JsonObject): string =>
  JSON.stringify({ jsonrpc: "2.0", id, result });

describe.each(["modern", "legacy"] as const)("an answer of a %s server", (era) => {
  const complete: JsonObject = era === "modern" ? { resultType: "complete", ...DONE } : DONE;

  test("is given as it came, also what nobody knows", async () => {
    const odd = {
      ...complete,
      isError: true,
      structuredContent: { a: [1, null, "ü"] },
      extra: { deep: true },
    };
    expect(await calling(era, ({ reply }) => reply(odd))).toEqual(odd);
  });

  test("may come as events, after notices, in any pieces", async () => {
    const answer = (posted: Posted): void => {
      const { message, res } = posted;
      events(
        posted,
        JSON.stringify({
          jsonrpc: "2.0",
          method: "notifications/message",
          params: { level: "info", data: "x" },
        }),
      );
      const last = Buffer.from(
        `: a comment\r\nid: 7\r\ndata: ${rpc(message["id"], { ...complete, text: "süß" })}\r\n\r\n`,
      );
      for (const byte of last) res.write(Buffer.of(byte));
      res.end();
    };
    expect(await calling(era, answer)).toEqual({ ...complete, text: "süß" });
  });

  test("that is larger than the limit is refused, however large", async () => {
    let written = 0;
    const chunk = Buffer.alloc(65_536, "x");
    const flood = ({ message, res }: Posted): void => {
      res.writeHead(200, { "content-type": "application/json" });
      res.write(
        `{"jsonrpc":"2.0","id":${JSON.stringify(message["id"])},"result":{"resultType":"complete","content":[{"type":"text","text":"`,
      );
      const more = (): void => {
        while (!res.destroyed && written < 100_000_000) {
          written += chunk.length;
          if (!res.write(chunk)) return void res.once("drain", more);
        }
        res.end('"}]}}');
      };
      more();
    };
    expect(await calling(era, flood)).toMatchObject({ kind: "too_large", dispatched: true });
    expect(written).toBeLessThan(50_000_000);
  });

  test("comes after a flood of notices, of which most are dropped, counted and said once", async () => {
    const notice = JSON.stringify({
      jsonrpc: "2.0",
      method: "notifications/message",
      params: { level: "info", data: "x".repeat(100) },
    });
    const flood = (posted: Posted): void => {
      events(posted);
      const block = `event: message\ndata: ${notice}\n\n`.repeat(100);
      for (let at = 0; at < 100; at++) posted.res.write(block);
      posted.res.end(`data: ${rpc(posted.message["id"], complete)}\n\n`);
    };
    const { connection, notified, logged } = await opened(rowOf(await bare(era, flood)));
    expect(await connection.request("tools/call", CALL, options())).toEqual(complete);
    expect(notified.length).toBeGreaterThanOrEqual(1_000);
    expect(notified.length).toBeLessThan(5_000);
    const notes = (): string[] => logged.filter((line) => line.startsWith("[ostiary]"));
    await expect
      .poll(notes)
      .toEqual([
        expect.stringContaining("nobody asked for"),
        `[ostiary] ${10_000 - notified.length} messages were dropped`,
      ]);
  });

  test("in single bytes is read slowly, and comes whole", async () => {
    const result = { ...complete, text: "x".repeat(100_000) };
    const drip = ({ message, res }: Posted): void => {
      res.writeHead(200, { "content-type": "application/json" });
      for (const byte of Buffer.from(rpc(message["id"], result))) res.write(Buffer.of(byte));
      res.end();
    };
    const { connection } = await opened(rowOf(await bare(era, drip)));
    const began = performance.now();
    expect(await connection.request("tools/call", CALL, options({ timeoutMs: 60_000 }))).toEqual(
      result,
    );
    // 100,000 pieces are 12,500 units of work; 1,024 are free.
    expect(performance.now() - began).toBeGreaterThan(1_500);
  }, 60_000);

  test("that is one endless event is refused", async () => {
    const flood = (posted: Posted): void => {
      events(posted);
      posted.res.write("data: ");
      const more = (): void => {
        if (!posted.res.destroyed) posted.res.write("x".repeat(65_536), () => setImmediate(more));
      };
      more();
    };
    expect(await calling(era, flood)).toMatchObject({ kind: "too_large", dispatched: true });
  });

  test.each([
    [
      "repeats a key",
      (id: unknown) =>
        `{"jsonrpc":"2.0","id":${String(id)},"result":{"content":[],"content":[{"type":"text","text":"other"}],"resultType":"complete"}}`,
    ],
    [
      "holds __proto__",
      (id: unknown) =>
        `{"jsonrpc":"2.0","id":${String(id)},"result":{"__proto__":{},"content":[],"resultType":"complete"}}`,
    ],
    ["is no JSON", () => `{"jsonrpc":`],
  ])("that %s is refused, as a body and as an event", async (_, text) => {
    const body = ({ message, res }: Posted): void =>
      void res.writeHead(200, { "content-type": "application/json" }).end(text(message["id"]));
    expect(await calling(era, body)).toMatchObject({ kind: "protocol", dispatched: true });
    const event = (posted: Posted): void => {
      events(posted, text(posted.message["id"]));
      posted.res.end();
    };
    expect(await calling(era, event)).toMatchObject({ kind: "protocol", dispatched: true });
  });

  test("that is an error is the server's own", async () => {
    const error = { code: -32_050, message: "not today", data: { why: "rain" } };
    const answer = ({ message, res }: Posted): void =>
      void res
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ jsonrpc: "2.0", id: message["id"], error }));
    expect(await calling(era, answer)).toMatchObject({ kind: "rpc", dispatched: true, rpc: error });
  });

  test("that never comes is a timeout, and the server sees it given up", async () => {
    const gone = Promise.withResolvers<void>();
    const fault = await calling(era, ({ res }) => void res.on("close", gone.resolve), {
      timeoutMs: 200,
    });
    expect(fault).toMatchObject({ kind: "timeout", dispatched: true });
    await gone.promise;
  });

  test("that never ends is a timeout too, whatever it babbles", async () => {
    const gone = Promise.withResolvers<void>();
    const babble = (posted: Posted): void => {
      events(posted);
      const timer = setInterval(() => posted.res.write(": still here\n\n"), 20);
      posted.res.on("close", () => {
        clearInterval(timer);
        gone.resolve();
      });
    };
    expect(await calling(era, babble, { timeoutMs: 300 })).toMatchObject({
      kind: "timeout",
      dispatched: true,
    });
    await gone.promise;
  });

  test("that breaks off is closed, and nobody knows what was done", async () => {
    expect(await calling(era, ({ res }) => void res.destroy())).toMatchObject({
      kind: "closed",
      dispatched: true,
    });
    const half = ({ res }: Posted): void => {
      res.writeHead(200, { "content-type": "application/json", "content-length": 500 });
      res.write('{"jsonrpc"', () => res.destroy());
    };
    expect(await calling(era, half)).toMatchObject({ kind: "closed", dispatched: true });
    const silent = (posted: Posted): void => {
      events(posted);
      posted.res.end();
    };
    expect(await calling(era, silent)).toMatchObject({ kind: "closed", dispatched: true });
  });

  test("that is compressed though nobody asked is refused", async () => {
    const answer = ({ res }: Posted): void =>
      void res
        .writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" })
        .end("x");
    expect(await calling(era, answer)).toMatchObject({ kind: "protocol", dispatched: true });
  });

  test.each([
    [401, "unauthorized", false],
    [403, "unauthorized", false],
    [429, "protocol", false],
    [500, "closed", true],
    [503, "closed", true],
  ] as const)("%i is %s", async (status, kind, dispatched) => {
    expect(await calling(era, ({ res }) => void res.writeHead(status).end("no"))).toMatchObject({
      kind,
      dispatched,
    });
  });

  test("to a call that was cancelled is not waited for, and the server learns it", async () => {
    const arrived = Promise.withResolvers<IncomingMessage>();
    const gone = Promise.withResolvers<void>();
    const stop = new AbortController();
    const waiting = calling(
      era,
      ({ req, res }) => {
        res.on("close", gone.resolve);
        arrived.resolve(req);
      },
      { signal: stop.signal },
    );
    await arrived.promise;
    stop.abort();
    expect(await waiting).toMatchObject({ kind: "cancelled", dispatched: true });
    await gone.promise;
  });

  test("that points to another origin is not followed, and the credential stays", async () => {
    const seen: IncomingMessage[] = [];
    const other = await bare(era, ({ req, reply }) => {
      seen.push(req);
      reply(complete);
    });
    const fault = await calling(
      era,
      ({ res }) => void res.writeHead(307, { location: other }).end(),
    );
    expect(fault).toMatchObject({ kind: "protocol", dispatched: false });
    expect(seen).toEqual([]);
  });

  test("that points to another path of the same origin is followed", async () => {
    const answer = ({ req, res, reply }: Posted): void =>
      req.url === "/mcp" ? void res.writeHead(307, { location: "/moved" }).end() : reply(complete);
    expect(await calling(era, answer)).toEqual(complete);
  });
});

describe("the fast call", () => {
  test("a stream that goes on after the answer is ended as soon as it says more", async () => {
    const gone = Promise.withResolvers<void>();
    let written = 0;
    const flood = (posted: Posted): void => {
      const { res, message } = posted;
      events(posted, rpc(message["id"], { resultType: "complete" }));
      res.on("close", gone.resolve);
      const more = (): void => {
        for (; !res.destroyed && written < 200_000_000; written += 65_536)
          if (!res.write(": x\n".repeat(16_384))) return void res.once("drain", more);
      };
      setImmediate(more);
    };
    expect(await calling("modern", flood)).toEqual({ resultType: "complete" });
    await gone.promise;
    expect(written).toBeLessThan(20_000_000);
  });

  test("says who we are, and carries nothing of the caller's", async () => {
    const seen: Posted[] = [];
    const { connection } = await opened(
      rowOf(
        await bare("modern", (posted) => {
          seen.push(posted);
          posted.reply({ resultType: "complete" });
        }),
      ),
    );
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    await connection.request(
      "tools/call",
      {
        name: "größe",
        arguments: { a: 1 },
        _meta: { traceparent, "io.modelcontextprotocol/clientInfo": { name: "forged" } },
      },
      options({ clientCapabilities: { sampling: {} } }),
    );
    const { params, req } = seen[0] as Posted;
    expect(params).toMatchObject({ name: "größe", arguments: { a: 1 } });
    expect(params["_meta"]).toMatchObject({
      traceparent,
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "ostiary" },
      "io.modelcontextprotocol/clientCapabilities": {},
    });
    expect(req.headers["mcp-name"]).toBe("=?base64?Z3LDtsOfZQ==?=");
    expect(Object.keys(req.headers).sort()).toEqual([
      "accept",
      "accept-encoding",
      "authorization",
      "connection",
      "content-length",
      "content-type",
      "host",
      "mcp-method",
      "mcp-name",
      "mcp-protocol-version",
    ]);
  });

  test.each([
    ["without a resultType", DONE],
    ["with an unknown resultType", { resultType: "task", ...DONE }],
    ["that asks and names nothing", { resultType: "input_required" }],
  ])("a result %s is no valid one", async (_, result) => {
    expect(await calling("modern", ({ reply }) => reply(result))).toMatchObject({
      kind: "protocol",
      dispatched: true,
    });
  });

  test("an answer to another request is no answer", async () => {
    const other = ({ res }: Posted): void =>
      void res
        .writeHead(200, { "content-type": "application/json" })
        .end(rpc(987, { resultType: "complete" }));
    expect(await calling("modern", other)).toMatchObject({ kind: "protocol" });
  });

  test("connections are used again", async () => {
    const ports = new Set<number>();
    const { connection } = await opened(
      rowOf(
        await bare("modern", ({ req, reply }) => {
          ports.add(req.socket.remotePort ?? 0);
          reply({ resultType: "complete" });
        }),
      ),
    );
    for (let call = 0; call < 20; call++) await connection.request("tools/call", CALL, options());
    expect(ports.size).toBe(1);
    const burst = () =>
      Promise.all(
        Array.from({ length: 50 }, () => connection.request("tools/call", CALL, options())),
      );
    await burst();
    expect(ports.size).toBeLessThanOrEqual(50);
    for (let again = 0; again < 6; again++) await burst();
    expect(ports.size).toBeLessThanOrEqual(50);
  });

  test("a server that is not there is unreachable, and nothing was sent", async () => {
    const url = await bare("modern", ({ reply }) => reply({ resultType: "complete" }));
    const { connection } = await opened(rowOf(url));
    const fault = opened(rowOf(url.replace(/:\d+/, ":1")));
    await expect(fault).rejects.toMatchObject({ kind: "unreachable", dispatched: false });
    await connection.close();
    await expect(connection.request("tools/call", CALL, options())).rejects.toMatchObject({
      dispatched: false,
    });
    expect(await connection.ended).toBe("the connection was closed");
  });

  test("arguments that a tool wants as headers are repeated there, and odd marks hide the tool", async () => {
    const seen: IncomingMessage[] = [];
    const marked = {
      type: "object",
      properties: {
        region: { type: "string", "x-mcp-header": "Region" },
        deep: { type: "object", properties: { n: { type: "integer", "x-mcp-header": "N" } } },
      },
    };
    const odd = {
      type: "object",
      properties: { list: { type: "array", items: { type: "string", "x-mcp-header": "List" } } },
    };
    const { connection } = await opened(
      rowOf(
        await bare("modern", ({ message, req, reply }) => {
          if (message["method"] === "tools/list")
            return reply({
              resultType: "complete",
              ttlMs: 0,
              cacheScope: "private",
              tools: [
                { name: "marked", inputSchema: marked },
                { name: "odd", inputSchema: odd },
              ],
            });
          seen.push(req);
          reply({ resultType: "complete" });
        }),
      ),
    );
    const list = await connection.request("tools/list", {}, options());
    expect((list["tools"] as JsonObject[]).map(({ name }) => name)).toEqual(["marked"]);
    await connection.request(
      "tools/call",
      { name: "marked", arguments: { region: " süd", deep: { n: 7 } } },
      options(),
    );
    expect(seen[0]?.headers).toMatchObject({
      "mcp-param-region": "=?base64?IHPDvGQ=?=",
      "mcp-param-n": "7",
      "mcp-name": "marked",
    });
    expect(seen[0]?.headers).not.toHaveProperty("ostiary-request");
  });
});

test("a stream that was given up does not come back as another answer", async () => {
  const late: Posted[] = [];
  const { connection } = await opened(
    rowOf(
      await bare("legacy", (posted) => {
        if (late.length === 0) return void late.push(posted);
        posted.reply({ n: 2 });
      }),
    ),
  );
  await expect(
    connection.request("tools/call", CALL, options({ timeoutMs: 200 })),
  ).rejects.toMatchObject({ kind: "timeout" });
  if (late[0] && !late[0].res.destroyed) await once(late[0].res, "close");
  expect(await connection.request("tools/call", CALL, options())).toEqual({ n: 2 });
});
