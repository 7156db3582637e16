// T16: what a server says besides its answer is treated like the answer.
import { expect, test } from "vitest";
import type { Call, InputQuestions, JsonObject, Progress } from "../../../contract/call.ts";
import { createMasker } from "../../../util/secrets/masker.ts";
import { sideMessageOptions } from "./side-messages.ts";

const SECRET = "sk-live-0123456789abcdefghij";
const masker = createMasker({ key: Buffer.alloc(32, 1), known: [SECRET] });
const clean = (value: Parameters<typeof masker.result>[0]) => masker.result(value).answer;

function listening() {
  const heard: { progress: Progress[]; messages: JsonObject[]; asked: InputQuestions[] } = {
    progress: [],
    messages: [],
    asked: [],
  };
  const call = {
    signal: new AbortController().signal,
    onProgress: (progress: Progress) => heard.progress.push(progress),
    client: {
      capabilities: { elicitation: {} },
      logLevel: "debug",
      notify: (_method: string, params: JsonObject) => heard.messages.push(params),
      ask: (questions: InputQuestions) => Promise.resolve((heard.asked.push(questions), {})),
    },
  };
  // Only these parts of a call are looked at.
  return { heard, asides: sideMessageOptions(call as unknown as Call, "s", clean) };
}

const question = (message: string): InputQuestions => ({
  q: { method: "elicitation/create", params: { mode: "form", message } },
});

test("T16: a secret in progress, in a log message or in a question is masked; other words stay", async () => {
  const { heard, asides } = listening();
  for (const text of [`with ${SECRET} inside`, "plain words"]) {
    asides.onProgress?.({ progress: 1, message: text });
    asides.onMessage?.({ level: "info", data: { text } });
    await asides.ask?.(question(text));
  }
  const told = JSON.stringify(heard);
  expect(told).not.toContain(SECRET);
  expect(told.match(/plain words/g)).toHaveLength(3);
});

test("long texts are cut, and a question that is too long is not put", async () => {
  const { heard, asides } = listening();
  asides.onProgress?.({ progress: 1, message: "x ".repeat(50_000) });
  asides.onMessage?.({ level: "info", data: "x ".repeat(50_000) });
  expect(JSON.stringify(heard).length).toBeLessThan(20_000);
  await expect(asides.ask?.(question("x ".repeat(50_000)))).rejects.toThrow("at most 65536");
  expect(heard.asked).toEqual([]);
});

test("nothing is asked for that nobody wants to hear", () => {
  const { signal } = new AbortController();
  const call = { signal, onProgress: null, client: null, grant: null, entry: "mcp" };
  expect(sideMessageOptions(call as unknown as Call, "s", clean)).toEqual({});
});

test("a server may answer with a task where the client declared tasks, or where no client waits", () => {
  const { signal } = new AbortController();
  const client = { capabilities: {}, notify: () => undefined, ask: () => Promise.resolve({}) };
  const base = { signal, onProgress: null, client: null, grant: null, entry: "mcp" };
  const mayAnswerWithTask = (change: object): boolean =>
    sideMessageOptions({ ...base, ...change } as unknown as Call, "s", clean).onTask !== undefined;
  expect(mayAnswerWithTask({ client: { ...client, onTask: () => undefined } })).toBe(true);
  for (const entry of ["mcp", "stdio"]) {
    expect(mayAnswerWithTask({ entry })).toBe(false);
    expect(mayAnswerWithTask({ entry, client })).toBe(false);
    expect(mayAnswerWithTask({ entry, grant: { approvalId: "apr_1" } })).toBe(true);
  }
  for (const entry of ["rest", "trpc", "workflow", "tool", "chat"])
    expect(mayAnswerWithTask({ entry })).toBe(true);
});
