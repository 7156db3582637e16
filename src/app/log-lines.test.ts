import { expect, test } from "vitest";
import { readableLine } from "./log-lines.ts";

test("item 16: a log line on a terminal is one readable line", () => {
  const record = {
    level: 40,
    time: 0,
    app: "ostiary",
    msg: "tool_call_blocked",
    tool: "file/read",
    why: "two words",
    list: [1],
  };
  expect(readableLine(`${JSON.stringify(record)}\n`)).toMatch(
    /^\d\d:\d\d:\d\d WARN {2}tool_call_blocked {2}tool=file\/read why="two words" list=\[1\]\n$/,
  );
});

test("item 16: an error keeps its stack, a long value is cut, other text stays as it is", () => {
  const error = {
    level: 50,
    time: 0,
    msg: "failed",
    err: { message: "no", stack: "Error: no\n    at here" },
  };
  expect(readableLine(JSON.stringify(error))).toMatch(
    /ERROR failed\n {4}Error: no\n {8}at here\n$/,
  );
  expect(
    readableLine(JSON.stringify({ level: 30, msg: "m", text: "x".repeat(500) })).length,
  ).toBeLessThan(300);
  expect(readableLine("plain\n")).toBe("plain\n");
});

test("item 16: control characters cannot change the terminal", () => {
  const line = readableLine(JSON.stringify({ level: 30, msg: "m", text: "\u001b[2J" }));
  expect(line).not.toContain("\u001b");
});
