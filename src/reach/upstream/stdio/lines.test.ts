import { expect, test } from "vitest";
import { createLines, type MessageLine } from "./lines.ts";
import { idIn, readMessage } from "./messages.ts";

/** All lines of chunks, as texts; what is too long as its length and ends. */
function linesOf(chunks: readonly Buffer[], maxBytes = 4_096): string[] {
  const lines = createLines(maxBytes);
  const found: string[] = [];
  const text = (line: MessageLine): string =>
    line.kind === "line"
      ? line.bytes.toString()
      : `${line.length}:${line.head.slice(0, 5)}…${line.tail.slice(-5)}`;
  for (const chunk of chunks) {
    lines.feed(Buffer.from(chunk));
    for (let line = lines.next(); line !== null; line = lines.next()) found.push(text(line));
  }
  return found;
}

test("lines come out whole, however the bytes are cut", () => {
  const whole = Buffer.from(`first\r\n\n${"ä".repeat(900)}\n{"a":1}\nlast, unfinished`);
  const expected = ["first", "", "ä".repeat(900), '{"a":1}'];
  expect(linesOf([whole])).toEqual(expected);
  for (let size = 1; size < 60; size += 7) {
    const pieces = Array.from({ length: Math.ceil(whole.length / size) }, (_one, at) =>
      whole.subarray(at * size, (at + 1) * size),
    );
    expect(linesOf(pieces)).toEqual(expected);
  }
});

test("of a line that is too long its ends and its length are kept, and the next one is whole", () => {
  const long = `begin${"x".repeat(10_000)}ended`;
  const expected = ["short", "10010:begin…ended", "after"];
  const whole = Buffer.from(`short\n${long}\nafter\n`);
  expect(linesOf([whole])).toEqual(expected);
  for (const size of [1, 100, 511, 513, 4_096, 4_097, 9_000]) {
    const pieces = Array.from({ length: Math.ceil(whole.length / size) }, (_one, at) =>
      whole.subarray(at * size, (at + 1) * size),
    );
    expect(linesOf(pieces)).toEqual(expected);
  }
});

test("a message is told from noise, and what two readers could read differently is a fault", () => {
  const read = (text: string) => readMessage(Buffer.from(text));
  expect(read('{"jsonrpc":"2.0","id":1,"result":{}}')).toMatchObject({
    kind: "message",
    answers: 1,
  });
  expect(read(' {"jsonrpc":"2.0","id":"a","error":{"code":1,"message":"x"}}')).toMatchObject({
    kind: "message",
    answers: "a",
  });
  expect(read('{"jsonrpc":"2.0","id":1,"method":"ping"}')).toMatchObject({
    kind: "message",
    answers: null,
  });
  for (const text of [
    "Server is running",
    "[1,2]",
    "{not json",
    '{"level":"info","msg":"x"}',
    '{"level":1,"level":2}',
    "42",
  ])
    expect(read(text), text).toEqual({ kind: "noise" });
  const deep = `${'{"a":'.repeat(70)}1${"}".repeat(70)}`;
  for (const result of [
    '{"a":1,"a":2}',
    '{"__proto__":1}',
    '{"a":1e400}',
    '{"a":9007199254740993}',
    deep,
  ])
    expect(read(`{"jsonrpc":"2.0","id":7,"result":${result}}`), result).toMatchObject({
      kind: "fault",
      id: 7,
    });
  expect(read('{"jsonrpc":"2.0","method":"notifications/x","params":{"a":1,"a":2}}')).toMatchObject(
    { kind: "fault", id: null },
  );
  expect(read('{"jsonrpc":"2.0","id":8,"result":{"a":tru}}')).toMatchObject({
    kind: "fault",
    id: 8,
  });
  expect(read('{"jsonrpc":"2.0","id":8}')).toMatchObject({ kind: "fault", id: 8 });
});

test("the id of an answer is found at either end, and never inside of it", () => {
  const cases: [string, string, string | number | null][] = [
    ['{"jsonrpc":"2.0","id":12,"result":{"text":"xxx', 'xxx"}}', 12],
    ['{"id":"a-1","result":{"text":"xxx', 'xxx"}}', "a-1"],
    ['{"result":{"id":5,"text":"xxx', 'xxx"},"jsonrpc":"2.0","id":13}', 13],
    ['{"result":{"text":"xxx', 'xxx"},"id":13,"jsonrpc":"2.0"}\r', 13],
    ['{"result":{"text":"xxx', 'xxx","id":5}}', null],
    ['{"result":{"text":"xxx', 'xxx\\",\\"id\\":5}"}}', null],
    ['{"jsonrpc":"2.0","method":"notifications/x","params":{"text":"xxx', '"},"id":5}', null],
    ["xxx", "xxx", null],
  ];
  for (const [head, tail, id] of cases) expect(idIn(head, tail), tail).toBe(id);
});
