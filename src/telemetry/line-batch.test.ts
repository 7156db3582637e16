import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { lineBatch } from "./line-batch.ts";

/** A stream with room for so many characters that nobody has read yet. */
function streamOf(room: number) {
  const written: string[] = [];
  let listener = (): void => undefined;
  return {
    written,
    read: () => void (room += written.join("").length),
    write(text: string) {
      if (text.length > room) return listener();
      room -= text.length;
      written.push(text);
    },
    flushSync: () => undefined,
    on(_event: "drop", told: () => void) {
      listener = told;
    },
  };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());
const turn = async (): Promise<void> => void (await vi.advanceTimersByTimeAsync(50));

describe("lines of calls", () => {
  test("that come together are one write", async () => {
    const stream = streamOf(100);
    const batch = lineBatch(
      () => stream,
      () => 5,
    );
    batch.add("a\n");
    batch.add("b\n");
    expect(stream.written).toEqual([]);
    await turn();
    batch.add("c\n");
    await turn();
    expect(stream.written).toEqual(["a\nb\n", "c\n"]);
  });

  test("that nobody takes are counted, and told when there is room again", async () => {
    const stream = streamOf(3);
    const batch = lineBatch(
      () => stream,
      () => 5,
    );
    for (const lines of [["a\n"], ["b\n", "c\n"], ["d\n"]]) {
      for (const line of lines) batch.add(line);
      await turn();
    }
    expect(stream.written).toEqual(["a\n"]);
    for (let n = 0; n < 100; n++) stream.read();
    batch.add("e\n");
    await turn();
    const [, told = ""] = stream.written;
    const [notice = "", line] = told.split("\n");
    expect([JSON.parse(notice), line]).toEqual([
      { level: 40, time: 5, app: "ostiary", lines: 3, msg: "tool_call_lines_lost" },
      "e",
    ]);
  });

  test("are written at once when there are many", () => {
    const stream = streamOf(100_000);
    const batch = lineBatch(
      () => stream,
      () => 5,
    );
    const line = `${"x".repeat(999)}\n`;
    for (let n = 0; n < 66; n++) batch.add(line);
    expect(stream.written).toEqual([line.repeat(66)]);
  });

  test("are written before the end", () => {
    const stream = streamOf(100);
    const batch = lineBatch(
      () => stream,
      () => 5,
    );
    batch.add("last\n");
    batch.close();
    expect(stream.written).toEqual(["last\n"]);
  });
});
