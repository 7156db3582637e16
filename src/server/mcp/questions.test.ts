import { describe, expect, test } from "vitest";
import { answersTo, askableCapabilities, questionsForClient } from "./questions.ts";

const form = { method: "elicitation/create", params: { message: "Who?", requestedSchema: {} } };
const link = {
  method: "elicitation/create",
  params: { mode: "url", message: "Go", url: "https://example.org" },
};
const sample = { method: "sampling/createMessage", params: { messages: [], maxTokens: 1 } };

describe("questions of a server to the caller's client", () => {
  test("carry the server's name", () => {
    const { q } = questionsForClient({ q: form }, "notes", { elicitation: {} });
    expect(q?.params).toMatchObject({
      message: "notes asks: Who?",
      requestedSchema: {},
      _meta: { "ostiary/server": "notes" },
    });
  });

  test.each([
    [form, {}, false],
    [form, { elicitation: {} }, true],
    [form, { elicitation: { form: {} } }, true],
    [form, { elicitation: { url: {} } }, false],
    [link, { elicitation: {} }, false],
    [link, { elicitation: { url: {} } }, true],
    [sample, { elicitation: {} }, false],
    [sample, { sampling: {} }, true],
    [{ method: "roots/list", params: {} }, { roots: {} }, true],
    [{ method: "tools/call", params: {} }, { elicitation: {}, sampling: {}, roots: {} }, false],
    [{ method: "__proto__", params: {} }, { elicitation: {} }, false],
  ])("are shown only where they were declared: %j with %j", (question, declared, shown) => {
    const show = () => questionsForClient({ q: question }, "notes", declared);
    if (shown) expect(Object.keys(show())).toEqual(["q"]);
    else expect(show).toThrow("did not declare");
  });

  test("give a link the id that the older era wants", () => {
    expect(
      questionsForClient({ q: link }, "notes", { elicitation: { url: {} } })["q"]?.params,
    ).toHaveProperty("elicitationId");
  });

  test("tell servers nothing of a client but what it can be asked", () => {
    expect(
      askableCapabilities({ elicitation: { form: {} }, experimental: { secret: {} }, roots: {} }),
    ).toEqual({ elicitation: { form: {} }, roots: {} });
    expect(askableCapabilities(undefined)).toEqual({});
  });
});

describe("answers", () => {
  const questions = { a: form, b: sample };
  test("are taken when all are there, without anything that nobody asked", () => {
    const given = { a: { action: "accept" }, b: { role: "assistant" }, c: { more: 1 } };
    expect(answersTo(questions, given)).toEqual({ a: given.a, b: given.b });
  });

  test.each([undefined, null, {}, { a: {} }, { a: {}, b: 5 }, { a: {}, b: null }, []])(
    "are incomplete: %j",
    (given) => {
      expect(answersTo(questions, given)).toBeNull();
    },
  );
});
