import { describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../contract/call.ts";
import { isToolError, packError, packResult, unpackError, unpackResult } from "./mcp-output.ts";

const TEXT = { type: "text", text: "hello" } as const;

describe("a result of MCP as an output", () => {
  test.each<[string, JsonObject]>([
    ["blocks alone", { content: [TEXT] }],
    ["no blocks at all", { content: [] }],
    ["blocks and an object", { content: [TEXT], structuredContent: { a: 1 } }],
    ["an empty object", { content: [], structuredContent: {} }],
    ["a list", { content: [TEXT], structuredContent: [1, "two"] }],
    ["null", { content: [TEXT], structuredContent: null }],
    [
      "an object with a key of ours",
      { content: [TEXT], structuredContent: { $content: 1, $isError: true } },
    ],
    ["a failure", { content: [TEXT], isError: true }],
    ["a failure with details", { content: [TEXT], structuredContent: { why: "x" }, isError: true }],
    [
      "fields of a block nobody knows",
      { content: [{ ...TEXT, annotations: { audience: ["user"] }, _meta: { "a.b/c": 1 } }] },
    ],
  ])("comes back as it was: %s", (_name, result) => {
    const { rest, ...unpacked } = unpackResult(
      JSON.parse(JSON.stringify(packResult(result))) as Json,
    );
    expect(unpacked).toEqual(result);
    expect(rest).toEqual({});
  });

  test("keeps _meta, but no reserved key of it", () => {
    const _meta = {
      "example.org/kept": 1,
      plain: 2,
      "io.modelcontextprotocol/serverInfo": { name: "x" },
      "tools.mcp.com/x": 1,
      "ostiary/executionId": "exec_1",
      traceparent: "00-…",
    };
    const { rest } = unpackResult(packResult({ content: [], _meta }));
    expect(rest).toEqual({ _meta: { "example.org/kept": 1, plain: 2 } });
  });

  test("takes a missing list for an empty one", () => {
    expect(unpackResult(packResult({ structuredContent: { a: 1 } }))).toEqual({
      content: [],
      structuredContent: { a: 1 },
      rest: {},
    });
  });

  test.each<Json>([
    "text",
    { a: 1 },
    [TEXT, { type: "video" }],
    [{ type: "image", data: 1 }],
    [null],
    [{ type: "resource", resource: {} }],
  ])("refuses content that is none: %j", (content) => {
    expect(() => packResult({ content })).toThrow(/expected content to be a list/);
  });

  test("packs the results of other methods whole, without what belongs to one hop", () => {
    const contents = [{ uri: "test://a", text: "x" }];
    const result = {
      contents,
      resultType: "complete",
      ttlMs: 5,
      cacheScope: "public",
      _meta: { "mcp/x": 1, "a.b/c": 2 },
    };
    expect(packResult(result, "resources/read")).toEqual({ contents, _meta: { "a.b/c": 2 } });
  });

  test("shows an output that nobody packed as its JSON", () => {
    expect(unpackResult({ a: 1 })).toEqual({
      content: [{ type: "text", text: '{"a":1}' }],
      structuredContent: { a: 1 },
      rest: {},
    });
    expect(unpackResult("x").content).toEqual([{ type: "text", text: "x" }]);
    expect(unpackResult(null).content).toEqual([{ type: "text", text: "null" }]);
  });

  test("tells a tool's own failure from other outputs", () => {
    expect(isToolError(packResult({ content: [TEXT], isError: true }))).toBe(true);
    expect(isToolError(packResult({ content: [TEXT] }))).toBe(false);
    expect(isToolError({ $isError: true, $content: "none" })).toBe(false);
    expect(isToolError(null)).toBe(false);
  });

  test("carries the error of a server", () => {
    const error = { code: -32602, message: "Resource not found", data: { uri: "test://x" } };
    expect(unpackError(packError(error))).toEqual(error);
    expect(unpackError(packError({ code: -32601, message: "no" }))).toEqual({
      code: -32601,
      message: "no",
    });
    expect(unpackError({ $rpcError: { code: "x", message: 1 } })).toBeNull();
    expect(unpackError({ a: 1 })).toBeNull();
    expect(unpackError(null)).toBeNull();
  });
});
