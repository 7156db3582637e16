import type { IncomingMessage } from "node:http";
import { describe, expect, test } from "vitest";
import type { JsonObject, Progress } from "../../../contract/call.ts";
import { cleanUpAfterEach, legacy, modern, opened, options, rowOf } from "./connection.suite.ts";

cleanUpAfterEach();

describe("a server of the modern era", () => {
  test("is found out, listed and called, with our headers and nothing else", async () => {
    const seen: IncomingMessage[] = [];
    const { connection } = await opened(rowOf(await modern(seen)));
    expect(connection).toMatchObject({
      era: "modern",
      protocolVersion: "2026-07-28",
      serverInfo: { name: "fixture" },
    });
    const list = await connection.request("tools/list", {}, options());
    expect((list["tools"] as JsonObject[]).map(({ name }) => name)).toEqual(["echo", "steps"]);
    const result = await connection.request(
      "tools/call",
      { name: "echo", arguments: { text: "hi" } },
      options(),
    );
    expect(result).toMatchObject({
      resultType: "complete",
      content: [{ type: "text", text: "hi" }],
    });
    expect(seen.every(({ headers }) => headers.authorization === "Bearer upstream-secret")).toBe(
      true,
    );
    expect(seen.at(-1)?.headers).toMatchObject({
      "mcp-method": "tools/call",
      "mcp-name": "echo",
      "mcp-protocol-version": "2026-07-28",
    });
    expect(seen.some(({ headers }) => "ostiary-request" in headers)).toBe(false);
  });

  test("progress is handed on and begins the time anew", async () => {
    const { connection } = await opened(rowOf(await modern()));
    const told: Progress[] = [];
    const result = await connection.request(
      "tools/call",
      { name: "steps", arguments: { count: 5, ms: 300 } },
      options({ timeoutMs: 1_000, onProgress: (one) => void told.push(one) }),
    );
    expect(result["content"]).toEqual([{ type: "text", text: "done" }]);
    expect(told.map(({ progress }) => progress)).toEqual([1, 2, 3, 4, 5]);
  });
});

describe("a server of the legacy era", () => {
  test("is shaken hands with, listed and called", async () => {
    const { url, sessions } = await legacy();
    const { connection } = await opened(rowOf(url));
    expect(connection).toMatchObject({ era: "legacy", protocolVersion: "2025-11-25" });
    expect(sessions.size).toBe(1);
    expect(
      await connection.request(
        "tools/call",
        { name: "echo", arguments: { text: "hi" } },
        options(),
      ),
    ).toEqual({ content: [{ type: "text", text: "hi" }] });
  });

  test("a session that the server forgot is lost, and a new connection has another", async () => {
    const { url, sessions } = await legacy();
    const row = rowOf(url);
    const { connection } = await opened(row);
    sessions.clear();
    await expect(connection.request("tools/list", {}, options())).rejects.toMatchObject({
      kind: "session_lost",
      dispatched: false,
    });
    expect(await connection.ended).toContain("session");
    const again = await opened(row);
    expect(await again.connection.request("tools/list", {}, options())).toHaveProperty("tools");
  });

  test("progress is handed on and begins the time anew", async () => {
    const { url } = await legacy();
    const { connection } = await opened(rowOf(url));
    const told: Progress[] = [];
    await connection.request(
      "tools/call",
      { name: "steps", arguments: { count: 5, ms: 300 } },
      options({ timeoutMs: 1_000, onProgress: (one) => void told.push(one) }),
    );
    expect(told).toHaveLength(5);
  });
});
