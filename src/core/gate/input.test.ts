import { expect, test } from "vitest";
import { ask, testTool } from "../../../test/fixtures/gate.ts";
import type { JsonObject } from "../../contract/call.ts";
import { input } from "./input.ts";

const decide = (args: JsonObject) => ask(input, { arguments: args });

test("R095: arguments that fit the schema pass", () => {
  expect(decide({ text: "hi" })).toEqual({ kind: "allow" });
});

test("R100 R287: a missing parameter is named with its path and a suggestion", () => {
  expect(decide({})).toMatchObject({
    kind: "deny",
    code: "BAD_REQUEST",
    reason: "invalid_arguments",
    message: "Input validation failed: /text is required but missing",
    errors: [{ path: "/text", suggestion: "add text" }],
  });
});

test("L16: an unknown parameter is refused, and the nearest known one suggested", () => {
  expect(decide({ text: "hi", mod: "loud" })).toMatchObject({
    reason: "unknown_parameter",
    errors: [{ path: "/mod", message: "unknown parameter mod", suggestion: "did you mean mode?" }],
  });
  expect(decide({ text: "hi", zzzzzzzzz: 1 })).toMatchObject({
    errors: [{ suggestion: "known parameters: text, mode, times" }],
  });
});

test("no type is coerced", () => {
  expect(decide({ text: 5 })).toMatchObject({
    errors: [{ path: "/text", message: "expected string, got number" }],
  });
  expect(decide({ text: null })).toMatchObject({
    errors: [{ message: "expected string, got null" }],
  });
  expect(decide({ text: ["a"] })).toMatchObject({
    errors: [{ message: "expected string, got array" }],
  });
});

test("a value outside its choices or range is shown with what was expected", () => {
  expect(decide({ text: "hi", mode: "plian" })).toMatchObject({
    errors: [
      {
        path: "/mode",
        message: 'expected one of plain, loud, got "plian"',
        suggestion: "did you mean plain?",
      },
    ],
  });
  expect(decide({ text: "hi", mode: 7 })).toMatchObject({ errors: [{ path: "/mode" }, {}] });
  expect(decide({ text: "hi", times: 9 })).toMatchObject({
    errors: [{ path: "/times", message: "must be <= 3, got 9" }],
  });
});

test("long values are shortened in the message, and at most three faults are told", () => {
  const answer = decide({ text: "x".repeat(500), mode: "y".repeat(300), times: 1.5, other: 1 });
  expect(answer).toMatchObject({ kind: "deny" });
  const { errors, message } = answer as unknown as { errors: unknown[]; message: string };
  expect(errors).toHaveLength(3);
  expect(message.length).toBeLessThan(600);
});

test("names with slashes and tildes become JSON pointers", () => {
  expect(decide({ text: "hi", "a/b~c": 1 })).toMatchObject({ errors: [{ path: "/a~1b~0c" }] });
});

test("a call without a tool never gets past it", () => {
  expect(ask(input, { tool: null })).toMatchObject({
    code: "NOT_FOUND",
  });
});

test("tools without parameters, and schemas of any shape, give readable faults", () => {
  const asked = (schema: JsonObject, args: JsonObject) =>
    ask(input, { tool: testTool({ inputSchema: schema }), arguments: args });
  expect(asked({ type: "object", additionalProperties: false }, { a: 1 })).toMatchObject({
    errors: [{ suggestion: "known parameters: none" }],
  });
  expect(asked({ not: {} }, {})).toMatchObject({
    errors: [{ path: "", message: "must NOT be valid, got {}" }],
  });
  expect(asked({ properties: { a: { enum: ["one", "two"] } } }, { a: "zzzzzz" })).toMatchObject({
    errors: [{ suggestion: "use one of one, two" }],
  });
});

test("T15: a tool of a server upstream is checked by the interpreter, in the same words", () => {
  const route = { server: "srv", method: "tools/call", name: "x", pin: "0", operation: null };
  const asked = (schema: JsonObject, args: JsonObject) =>
    ask(input, { tool: testTool({ inputSchema: schema, route }), arguments: args });
  const { inputSchema } = testTool({});
  for (const args of [
    { text: "hi" },
    {},
    { text: 5 },
    { text: "hi", mod: "loud" },
    { text: "hi", mode: "plian" },
    { text: "hi", times: 9 },
  ])
    expect(asked(inputSchema, args)).toEqual(decide(args));
  // ajv would run this one with the engine's own patterns, for hours.
  const slow = { type: "object", properties: { a: { type: "string", pattern: "^(a+)+$" } } };
  expect(asked(slow, { a: `${"a".repeat(5_000)}!` })).toMatchObject({ errors: [{ path: "/a" }] });
  expect(asked({ type: "object", $ref: "https://example.com/" }, {})).toMatchObject({
    kind: "deny",
    errors: [{ message: expect.stringContaining("refers to") as string }],
  });
});
