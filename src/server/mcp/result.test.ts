import { describe, expect, test } from "vitest";
import type { Json, Outcome } from "../../contract/call.ts";
import { AppError } from "../../contract/errors.ts";
import { packError, packResult } from "../../util/mcp-output.ts";
import {
  contentError,
  isUnknown,
  notRecorded,
  rpcErrorOf,
  statusOf,
  toolResult,
  unknownTool,
} from "./result.ts";

const outcome = (facts: Partial<Outcome>): Outcome => ({
  executionId: "exec_1",
  toolName: "system/echo",
  requestedName: "system_echo",
  category: "system",
  status: "success",
  success: true,
  output: null,
  error: null,
  cancelReason: null,
  gates: [{ stage: "registry", verdict: "allow", ms: 0 }],
  visible: true,
  dispatched: true,
  startedAt: 0,
  endedAt: 1,
  latencyMs: 1,
  timeoutMs: 1_000,
  metadata: {},
  trace: { traceId: "t", spanId: "s" },
  replayed: false,
  approval: null,
  rate: [],
  ...facts,
});
const success = (output: Json) => toolResult(outcome({ output }));
const failure = (facts: Partial<Outcome>) =>
  toolResult(outcome({ status: "failed", success: false, ...facts }));

describe("the result of a call that succeeded", () => {
  test("shows an object as text and as structured content", () => {
    const { content, structuredContent, isError, _meta } = success({ a: 1 });
    expect(content).toEqual([{ type: "text", text: '{"a":1}' }]);
    expect(structuredContent).toEqual({ a: 1 });
    expect(isError).toBeUndefined();
    expect(_meta).toMatchObject({ "ostiary/executionId": "exec_1", "ostiary/status": "success" });
  });

  test.each([
    ["words", "words"],
    [[1, 2], "[1,2]"],
    [null, "null"],
    [3, "3"],
  ])("shows %j as text only", (output, text) => {
    expect(success(output).content).toEqual([{ type: "text", text }]);
    expect(success(output).structuredContent).toBeUndefined();
  });

  test("takes blocks over as they are, and the other fields as structure", () => {
    const image = { type: "image", data: "AA==", mimeType: "image/png" };
    expect(success({ $content: [image] })).toMatchObject({ content: [image] });
    expect(success({ $content: [image] }).structuredContent).toBeUndefined();
    expect(success({ $content: [image], width: 1 }).structuredContent).toEqual({ width: 1 });
  });

  test.each<Json>([
    "x",
    [{ type: "text" }],
    [{ type: "image", data: "AA==" }],
    [{ type: "resource", resource: { uri: "a:b" } }],
    [{ type: "resource_link", uri: "a:b" }],
    [{ type: "invented", text: "x" }],
    ["x"],
  ])("takes %j under the key for ordinary output", (blocks) => {
    expect(success({ $content: blocks }).structuredContent).toEqual({ $content: blocks });
  });
});

describe("the result of a call that did not succeed", () => {
  test("says first in words what happened, where, and what to do", () => {
    const { content, structuredContent, isError, _meta } = failure({
      error: {
        code: "BAD_REQUEST",
        reason: "invalid_arguments",
        message: "Input validation failed",
        remedy: "read the schema",
        errors: [{ path: "/text", message: "is missing", suggestion: "add text" }],
      },
    });
    expect(isError).toBe(true);
    expect(content).toEqual([
      {
        type: "text",
        text: [
          "BAD_REQUEST (invalid_arguments): Input validation failed",
          "- /text: is missing (add text)",
          "What to do: read the schema",
          "Execution: exec_1",
        ].join("\n"),
      },
    ]);
    expect(structuredContent).toMatchObject({
      error: { code: "BAD_REQUEST", reason: "invalid_arguments", remedy: "read the schema" },
      executionId: "exec_1",
    });
    expect(_meta["ostiary/gates"]).toHaveLength(1);
    expect(_meta["ostiary/error"]).toEqual({ code: "BAD_REQUEST", reason: "invalid_arguments" });
  });

  test("names the seconds to wait", () => {
    const error = {
      code: "TOO_MANY_REQUESTS",
      reason: "rate_user",
      message: "too many",
      retryAfterSeconds: 7,
    } as const;
    expect(failure({ error }).content[0]).toMatchObject({
      text: expect.stringContaining("Wait 7 s") as string,
    });
  });

  test("keeps what happened inside the server to itself", () => {
    const error = {
      code: "INTERNAL_SERVER_ERROR",
      reason: "internal",
      message: "/etc/secret broke",
      remedy: "see /etc",
    } as const;
    expect(JSON.stringify(failure({ error }))).not.toContain("/etc");
  });

  test("shows no gates for what the caller may not see", () => {
    const error = { code: "UNAVAILABLE", reason: "engine_unavailable", message: "out" } as const;
    expect(failure({ error, visible: false })._meta).not.toHaveProperty(["ostiary/gates"]);
  });

  test("has words even when nobody named a fault", () => {
    expect(failure({ status: "cancelled" }).content[0]).toMatchObject({
      text: expect.stringContaining("cancelled") as string,
    });
  });
});

describe("answers that are no result", () => {
  test("an unknown name is an error, a missing engine is not", () => {
    const hidden = { visible: false, success: false } as const;
    const unknown = { code: "NOT_FOUND", reason: "unknown", message: "x" } as const;
    const out = { code: "UNAVAILABLE", reason: "engine_unavailable", message: "x" } as const;
    expect(isUnknown(outcome({ ...hidden, error: unknown }))).toBe(true);
    expect(isUnknown(outcome({ ...hidden, error: out }))).toBe(false);
    expect(isUnknown(outcome({ error: unknown, success: false }))).toBe(false);
    expect(unknownTool("a_b")).toEqual({ code: -32602, message: "Unknown tool: a_b" });
  });

  test("a call that was not recorded says whether it may have run", () => {
    expect(notRecorded(new Error("disk"))).toEqual({
      code: -32603,
      message: "not recorded, not run",
    });
    const out = new AppError("UNAVAILABLE", "engine_unavailable", "the disk is gone");
    expect(notRecorded(out).message).toBe("not recorded, not run: the disk is gone");
    const late = new AppError("OUTCOME_UNKNOWN", "not_recorded", "exec_1 may have run");
    expect(notRecorded(late).message).toContain("may have run");
  });
});

describe("answers of servers upstream", () => {
  const failed = { status: "failed", success: false } as const;
  const error = { code: "EXECUTION_FAILED", reason: "tool_error", message: "no" } as const;

  test("keep a tool's own words for its failure, marked as one", () => {
    const output = packResult({
      content: [{ type: "text", text: "the disk is full" }],
      isError: true,
      _meta: { "a.b/c": 1 },
    });
    const result = failure({ output, error });
    expect(result).toMatchObject({
      content: [{ type: "text", text: "the disk is full" }],
      isError: true,
    });
    expect(result.structuredContent).toBeUndefined();
    expect(result._meta).toMatchObject({
      "a.b/c": 1,
      "ostiary/error": { code: "EXECUTION_FAILED" },
    });
  });

  test("name resources in the union by their server, and as they are at its own face", () => {
    const output = packResult({
      content: [
        { type: "resource_link", uri: "a:1", name: "a" },
        { type: "resource", resource: { uri: "a:2", text: "x" } },
      ],
    });
    const from = outcome({ output, metadata: { server: "notes" } });
    const uris = (route: string | null) =>
      JSON.stringify(toolResult(from, route).content).match(/"uri":"[^"]*"/g);
    expect(uris(null)).toEqual(['"uri":"notes+a:1"', '"uri":"notes+a:2"']);
    expect(uris("notes")).toEqual(['"uri":"a:1"', '"uri":"a:2"']);
  });

  test("are an error of the protocol where the client lacks a capability, and only there", () => {
    const lacking = packError({
      code: -32021,
      message: "m",
      data: { requiredCapabilities: { sampling: {} } },
    });
    const told = rpcErrorOf(outcome({ ...failed, error, output: lacking }), "x");
    expect(told).toMatchObject({ code: -32021, data: { requiredCapabilities: { sampling: {} } } });
    expect(told && statusOf(told)).toBe(400);
    expect(rpcErrorOf(outcome({ ...failed, error, output: lacking }), "x", false)).toBeNull();
    const other = packError({ code: -32602, message: "m" });
    expect(rpcErrorOf(outcome({ ...failed, error, output: other }), "x")).toBeNull();
    // Whatever a tool calls its output: a success is one.
    expect(rpcErrorOf(outcome({ output: lacking }), "x")).toBeNull();
  });

  test("of what has no results but errors carry the server's own, else ours without inner text", () => {
    const absent = { code: -32602, message: "Resource not found", data: { uri: "a:1" } };
    const output = packError({ code: -32602, message: "no such note", data: { uri: "a:1" } });
    expect(contentError(outcome({ ...failed, error, output }), absent)).toEqual({
      code: -32602,
      message: "no such note",
      data: { uri: "a:1" },
    });
    const inner = {
      code: "INTERNAL_SERVER_ERROR",
      reason: "internal",
      message: "password hunter2",
    } as const;
    const told = contentError(outcome({ ...failed, error: inner }), absent);
    expect(told).toMatchObject({ code: -32603, data: { executionId: "exec_1" } });
    expect(JSON.stringify(told)).not.toContain("hunter2");
    const unknown = { code: "NOT_FOUND", reason: "unknown", message: "x" } as const;
    expect(contentError(outcome({ ...failed, visible: false, error: unknown }), absent)).toBe(
      absent,
    );
  });
});
