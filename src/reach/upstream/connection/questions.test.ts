import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { NodeStreamableHTTPServerTransport } from "@modelcontextprotocol/node";
import { McpServer } from "@modelcontextprotocol/server";
import { describe, expect, test, vi } from "vitest";
import type { InputQuestions, JsonObject } from "../../../contract/call.ts";
import {
  cleanUpAfterEach,
  bare,
  legacy,
  listening,
  opened,
  options,
  rowOf,
  type Posted,
} from "./connection.suite.ts";

cleanUpAfterEach();
import { createEraCache } from "./era-cache.ts";

const CALL = { name: "any", arguments: { n: 1 } };
const FORM = { mode: "form", message: "Who?", requestedSchema: { type: "object", properties: {} } };
const CAPABILITIES = { elicitation: { form: {}, url: {} } };
const ACCEPT = { action: "accept", content: { name: "Ada" } };

describe("questions of a modern server", () => {
  const asking =
    (requests: JsonObject, rounds: JsonObject[]) =>
    ({ params, reply }: Posted): void => {
      rounds.push(params);
      if (params["inputResponses"] !== undefined)
        return reply({ resultType: "complete", got: params["inputResponses"] });
      reply({ resultType: "input_required", inputRequests: requests, requestState: "st/ä =1" });
    };

  test("reach the caller, and the call goes out again with the answers and the exact state", async () => {
    const rounds: JsonObject[] = [];
    const asked: InputQuestions[] = [];
    const { connection } = await opened(
      rowOf(
        await bare(
          "modern",
          asking({ who: { method: "elicitation/create", params: FORM } }, rounds),
        ),
      ),
    );
    const ask = (questions: InputQuestions) =>
      Promise.resolve((asked.push(questions), { who: ACCEPT }));
    const result = await connection.request(
      "tools/call",
      CALL,
      options({ ask, clientCapabilities: CAPABILITIES }),
    );
    expect(result).toEqual({ resultType: "complete", got: { who: ACCEPT } });
    expect(asked).toEqual([{ who: { method: "elicitation/create", params: FORM } }]);
    expect(rounds[1]).toMatchObject({ name: "any", arguments: { n: 1 }, requestState: "st/ä =1" });
    expect(rounds[1]?.["_meta"]).toMatchObject({
      "io.modelcontextprotocol/clientCapabilities": CAPABILITIES,
    });
  });

  test.each([
    ["nobody can be asked", { who: { method: "elicitation/create", params: FORM } }, {}],
    [
      "the client did not declare the kind",
      { who: { method: "sampling/createMessage", params: {} } },
      { clientCapabilities: CAPABILITIES, ask: () => Promise.resolve({}) },
    ],
    [
      "the client did not declare the mode",
      { who: { method: "elicitation/create", params: { mode: "url" } } },
      { clientCapabilities: { elicitation: { form: {} } }, ask: () => Promise.resolve({}) },
    ],
    [
      "the kind is unknown",
      { who: { method: "tools/call", params: {} } },
      { clientCapabilities: CAPABILITIES, ask: () => Promise.resolve({}) },
    ],
  ])("are no valid answer when %s", async (_, requests, more) => {
    const { connection } = await opened(rowOf(await bare("modern", asking(requests, []))));
    await expect(connection.request("tools/call", CALL, options(more))).rejects.toMatchObject({
      kind: "protocol",
    });
  });

  test("come to an end after ten rounds", async () => {
    let rounds = 0;
    const { connection } = await opened(
      rowOf(
        await bare("modern", ({ reply }) => {
          rounds++;
          reply({ resultType: "input_required", requestState: "again" });
        }),
      ),
    );
    await expect(connection.request("tools/call", CALL, options())).rejects.toMatchObject({
      kind: "protocol",
    });
    expect(rounds).toBe(10);
  });
});

/** A server with sessions whose one tool asks its client. */
async function asking(): Promise<string> {
  const sessions = new Map<string, NodeStreamableHTTPServerTransport>();
  const handle = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const known = sessions.get(String(req.headers["mcp-session-id"]));
    if (known) return known.handleRequest(req, res);
    const transport: NodeStreamableHTTPServerTransport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id) => void sessions.set(id, transport),
    });
    const server = new McpServer(
      { name: "asker", version: "1" },
      { capabilities: { tools: { listChanged: true } } },
    );
    server.registerTool("any", { description: "Asks" }, async (ctx) => {
      const answer = await ctx.mcpReq
        .elicitInput({
          message: "Who?",
          requestedSchema: { type: "object", properties: { name: { type: "string" } } },
        })
        .catch((cause: Error) => ({ refused: cause.message }));
      server.sendToolListChanged();
      return { content: [{ type: "text", text: JSON.stringify(answer) }] };
    });
    await server.connect(transport);
    return transport.handleRequest(req, res);
  };
  return listening(createServer((req, res) => void handle(req, res).catch(() => res.destroy())));
}

const textOf = (result: JsonObject): unknown =>
  JSON.parse((result["content"] as { text: string }[])[0]?.text ?? "null");

describe("questions of a legacy server", () => {
  test("reach the one caller of the connection, and its answer goes back", async () => {
    const { connection, notified } = await opened(rowOf(await asking()), { interactive: true });
    const ask = (questions: InputQuestions) => {
      expect(Object.values(questions)).toMatchObject([
        { method: "elicitation/create", params: { message: "Who?" } },
      ]);
      return Promise.resolve(
        Object.fromEntries(Object.keys(questions).map((key) => [key, ACCEPT])),
      );
    };
    const result = await connection.request(
      "tools/call",
      { name: "any", arguments: {} },
      options({ ask, clientCapabilities: CAPABILITIES }),
    );
    expect(textOf(result)).toEqual(ACCEPT);
    await vi.waitFor(
      () =>
        expect(notified.map(([method]) => method)).toContain("notifications/tools/list_changed"),
      5_000,
    );
  });

  test("are refused when nobody can be asked, and when it is unclear whom", async () => {
    const { connection } = await opened(rowOf(await asking()), { interactive: true });
    const alone = await connection.request("tools/call", { name: "any", arguments: {} }, options());
    expect(textOf(alone)).toHaveProperty("refused");
    const ask = () => Promise.resolve({ question: ACCEPT });
    const two = await Promise.all(
      [1, 2].map(() =>
        connection.request(
          "tools/call",
          { name: "any", arguments: {} },
          options({ ask, clientCapabilities: CAPABILITIES }),
        ),
      ),
    );
    expect(textOf(two[0] ?? {})).toHaveProperty("refused");
  });

  test("a connection that is shared declares that nobody can be asked", async () => {
    const { connection } = await opened(rowOf(await asking()));
    const result = await connection.request(
      "tools/call",
      { name: "any", arguments: {} },
      options(),
    );
    expect(textOf(result)).toHaveProperty("refused");
  });
});

describe("what is remembered of a server's era", () => {
  test("spares the next connection the question, per credential, for a day", async () => {
    let now = 0;
    const eras = createEraCache(() => now);
    const { url } = await legacy();
    const row = rowOf(url);
    expect(eras.get(row, "shared test")).toBeNull();
    await opened(row, { eras });
    expect(eras.get(row, "shared test")).toEqual({ kind: "legacy" });
    expect(eras.get(row, "user:other")).toBeNull();
    expect(eras.get(rowOf(`${url}/other`), "shared test")).toBeNull();
    now = 86_400_000;
    expect(eras.get(row, "shared test")).toBeNull();
  });

  test("a modern verdict that is not true any more ends the connection, and the next one asks", async () => {
    const eras = createEraCache(() => 0);
    let isModern = true;
    const url = await bare("modern", ({ message, res, reply }) => {
      if (isModern) return reply({ resultType: "complete" });
      const error = { code: -32_022, message: "Unsupported protocol version" };
      res
        .writeHead(400, { "content-type": "application/json" })
        .end(JSON.stringify({ jsonrpc: "2.0", id: message["id"], error }));
    });
    const row = rowOf(url);
    await opened(row, { eras });
    const { connection } = await opened(row, { eras });
    await connection.request("tools/call", CALL, options());
    isModern = false;
    await expect(connection.request("tools/call", CALL, options())).rejects.toMatchObject({
      kind: "session_lost",
      dispatched: false,
    });
    expect(await connection.ended).toContain("another version");
    expect(eras.get(row, "shared test")).toBeNull();
  });
});
