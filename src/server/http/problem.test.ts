import { parseList } from "structured-headers";
import { describe, expect, test } from "vitest";
import type { Outcome } from "../../contract/call.ts";
import { AppError, type Fault } from "../../contract/errors.ts";
import {
  CallError,
  failureOf,
  faultHeaders,
  problemOf,
  problemResponse,
  rateHeaders,
} from "./problem.ts";

const context = { requestId: "req_1", baseUrl: "http://127.0.0.1:3100", path: "/api/v1/tools" };

/** What the engine answers about a call that was refused. */
function callError(fault: Fault, gates: Outcome["gates"], rate: Outcome["rate"] = []): CallError {
  const facts = { executionId: "exec_1_a", error: fault, visible: true, dispatched: false };
  return new CallError({ ...facts, gates, rate } as Outcome); // all that an error is made from
}

describe("problemOf", () => {
  test("has the members of the convention and no others", () => {
    const fault = {
      code: "FORBIDDEN",
      reason: "level_too_low",
      message: "no",
      remedy: "ask",
      errors: [{ path: "/a", message: "b" }],
    } as const;
    const gates = [{ stage: "level", verdict: "deny", ms: 1 }] as const;
    expect(problemOf(callError(fault, gates), context)).toEqual({
      type: "http://127.0.0.1:3100/docs/errors#FORBIDDEN",
      title: "This call is not allowed",
      status: 403,
      detail: "no",
      instance: "/api/v1/executions/exec_1_a",
      code: "FORBIDDEN",
      reason: "level_too_low",
      remedy: "ask",
      request_id: "req_1",
      execution_id: "exec_1_a",
      gates,
      errors: [{ path: "/a", message: "b" }],
      doc_url: "http://127.0.0.1:3100/docs/errors#FORBIDDEN",
      explain_url: "http://127.0.0.1:3100/x/exec_1_a",
    });
  });

  test("T27: tells nothing of an unexpected error", () => {
    for (const cause of [
      new Error("SELECT secret FROM t"),
      "text",
      undefined,
      new AppError("INTERNAL_SERVER_ERROR", "internal", "inner text"),
    ]) {
      const problem = problemOf(cause, context);
      expect(problem).toMatchObject({ status: 500, code: "INTERNAL_SERVER_ERROR" });
      expect(JSON.stringify(problem)).not.toMatch(/secret|inner|text"/);
    }
  });

  test("a rate fault has the registered type", () => {
    const problem = problemOf(new AppError("TOO_MANY_REQUESTS", "rate_key", "slow"), context);
    expect(problem.type).toBe("https://iana.org/assignments/http-problem-types#quota-exceeded");
  });

  test("R173: a refused call names the windows without room, in the body and in the headers", () => {
    const full = {
      name: "key-minute",
      quota: 60,
      windowSeconds: 60,
      remaining: 0,
      resetSeconds: 23,
    };
    const roomy = { ...full, name: "user-minute", remaining: 9 };
    const fault = {
      code: "TOO_MANY_REQUESTS",
      reason: "rate_key",
      message: "slow",
      retryAfterSeconds: 23,
    } as const;
    const cause = callError(fault, [], [full, roomy]);
    expect(problemOf(cause, context)["violated-policies"]).toEqual(["key-minute"]);
    expect(faultHeaders(cause)).toEqual({
      "RateLimit-Policy": '"key-minute";q=60;w=60, "user-minute";q=60;w=60',
      RateLimit: '"key-minute";r=0;t=23, "user-minute";r=9;t=23',
      "Retry-After": "23",
    });
    const other = callError({ ...fault, reason: "concurrency" }, [], [roomy]);
    expect(problemOf(other, context)).not.toHaveProperty("violated-policies");
    expect(
      faultHeaders(
        callError({ code: "FORBIDDEN", reason: "mode_forbids", message: "no" }, [], [full]),
      ),
    ).toHaveProperty("RateLimit");
  });

  test("leaves out what is not known", () => {
    const failure = failureOf(new AppError("NOT_FOUND", "unknown", "Tool 'a' not found"));
    expect(Object.keys(failure)).toEqual(["code", "reason", "message"]);
  });
});

describe("headers", () => {
  test("say when to come back and how to sign in", () => {
    const wait = (seconds?: number) =>
      faultHeaders(
        new AppError(
          "UNAVAILABLE",
          "queue_full",
          "full",
          seconds === undefined ? {} : { retryAfterSeconds: seconds },
        ),
      );
    expect(wait()).toEqual({ "Retry-After": "1" });
    expect(wait(2.2)).toEqual({ "Retry-After": "3" });
    expect(faultHeaders(new AppError("UNAUTHORIZED", "no_credentials", "x"))).toEqual({
      "WWW-Authenticate": 'Bearer realm="ostiary"',
    });
    expect(faultHeaders(new AppError("UNAUTHORIZED", "key_inactive", "x"))).toEqual({
      "WWW-Authenticate": 'Bearer realm="ostiary", error="invalid_token"',
    });
    expect(faultHeaders(new AppError("NOT_FOUND", "unknown", "x"))).toEqual({});
  });

  test("problemResponse is problem+json and not stored", async () => {
    const response = problemResponse(new AppError("CONFLICT", "stale", "x"), context);
    expect(response.status).toBe(409);
    expect(response.headers.get("content-type")).toBe("application/problem+json");
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(await response.json()).toMatchObject({ code: "CONFLICT" });
  });

  test("item 1: RateLimit tells of every window, in the order given, as structured fields", () => {
    expect(rateHeaders([])).toEqual({});
    const key = {
      name: "key-minute",
      quota: 60,
      windowSeconds: 60,
      remaining: 0,
      resetSeconds: 22.4,
    };
    const user = {
      name: "user-hour",
      quota: 1000,
      windowSeconds: 3600,
      remaining: 500,
      resetSeconds: 9,
    };
    const headers = rateHeaders([key, user]);
    expect(headers).toEqual({
      "RateLimit-Policy": '"key-minute";q=60;w=60, "user-hour";q=1000;w=3600',
      RateLimit: '"key-minute";r=0;t=23, "user-hour";r=500;t=9',
    });
    const read = (name: string) =>
      parseList(headers[name] ?? "").map(([item, parameters]) => [
        item,
        Object.fromEntries(parameters),
      ]);
    expect(read("RateLimit-Policy")).toEqual([
      ["key-minute", { q: 60, w: 60 }],
      ["user-hour", { q: 1000, w: 3600 }],
    ]);
    expect(read("RateLimit")).toEqual([
      ["key-minute", { r: 0, t: 23 }],
      ["user-hour", { r: 500, t: 9 }],
    ]);
  });
});
