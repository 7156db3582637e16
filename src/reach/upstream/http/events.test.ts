import { describe, expect, test } from "vitest";
import { eventReader } from "./events.ts";

/** Data and lines of all events, from pieces of such a size. */
function eventsOf(text: string, size: number, maxBytes = 1_000): [string | null, string[]][] {
  const found: [string | null, string[]][] = [];
  const read = eventReader(
    maxBytes,
    (data, lines) => void found.push([data?.toString() ?? null, lines.map(String)]),
  );
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) read(bytes.subarray(at, at + size));
  return found;
}

const TEXT =
  ': hello\n\nevent: message\nid: 7\ndata: {"a":"ü"}\n\nid: 8\ndata:\n\r\ndata:1\r\ndata: 2\r\n\r\nretry: 5\n\n\ndata: unfinished';

describe("events", () => {
  test.each([1, 2, 3, 7, 64, 1_000])("come whole from pieces of %i bytes", (size) => {
    expect(eventsOf(TEXT, size)).toEqual([
      ['{"a":"ü"}', ["event: message", "id: 7", 'data: {"a":"ü"}']],
      [null, ["id: 8", "data:"]],
      ["1\n2", ["data:1", "data: 2"]],
      [null, ["retry: 5"]],
    ]);
  });

  test("are larger than the limit when one line is, or all of them together, before they end", () => {
    const tooLarge = expect.objectContaining({ kind: "too_large" }) as Error;
    expect(() => eventsOf("x".repeat(1_001), 10)).toThrow(tooLarge);
    expect(() => eventsOf(`data: ${"x".repeat(1_001)}`, 2_000)).toThrow(tooLarge);
    expect(() => eventsOf("id: 1\n".repeat(300), 100)).toThrow(tooLarge);
    expect(eventsOf(`data: ${"x".repeat(900)}\n\n`.repeat(5), 100)).toHaveLength(5);
  });

  test.each([1, 4, 1_000])(
    "whose lines end with a lone CR are refused, in pieces of %i bytes",
    (size) => {
      expect(() => eventsOf("data: 1\rdata: 2\r\r", size)).toThrow(
        expect.objectContaining({ kind: "protocol" }) as Error,
      );
    },
  );

  test("of single bytes, thousands of them, are put together", () => {
    const long = "y".repeat(5_000);
    expect(eventsOf(`data: ${long}\n\n`, 1, 10_000)).toEqual([[long, [`data: ${long}`]]]);
  });

  test("how many lines a piece had is told", () => {
    const read = eventReader(100, () => undefined);
    expect([
      read(Buffer.from("\n\n: x\nda")),
      read(Buffer.from("ta: 1")),
      read(Buffer.from("\n\n")),
    ]).toEqual([3, 0, 2]);
  });
});
