import { describe, expect, test } from "vitest";
import { createReadBudget, type BudgetedStream } from "./read-budget.ts";

const NOTICE = '{"jsonrpc":"2.0","method":"notifications/message","params":{"id":1}}';
const ANSWER = '{"jsonrpc":"2.0","id":1,"result":{}}';
/** Would be a fault if anybody read it. */
const BROKEN = '{"jsonrpc":"2.0","method":"notifications/message","params":';

function opened() {
  const clock = { now: 0 };
  const said: string[] = [];
  const budget = createReadBudget(
    (line) => void said.push(line),
    () => clock.now,
  );
  return { clock, said, budget };
}

const read = (stream: BudgetedStream, text: string): unknown => stream.read(Buffer.from(text));
/** How many of so many are handed on. */
const handedOn = (stream: BudgetedStream, text: string, count: number): number =>
  Array.from({ length: count }, () => read(stream, text)).filter((one) => one !== undefined).length;

describe("what a stream brings besides the answer", () => {
  test("is handed on within the allowance, then dropped, and again later", () => {
    const { clock, budget } = opened();
    const stream = budget.stream();
    expect(handedOn(stream, NOTICE, 5_000)).toBe(1_000);
    clock.now += 500;
    expect(handedOn(stream, NOTICE, 5_000)).toBe(100);
    // Another call is not to blame.
    expect(handedOn(budget.stream(), NOTICE, 10)).toBe(10);
  });

  test("is not even read beyond it, in either order of its members", () => {
    const stream = opened().budget.stream();
    expect(() => read(stream, BROKEN)).toThrow();
    handedOn(stream, NOTICE, 1_000);
    expect(read(stream, BROKEN)).toBeUndefined();
    expect(read(stream, BROKEN.replace('"jsonrpc":"2.0",', ""))).toBeUndefined();
    expect(read(stream, ` { "method" : "notifications/progress", `)).toBeUndefined();
  });

  test.each([
    ["the answer", ANSWER],
    ["the answer with an id written oddly", ANSWER.replace("id", "\\u0069d")],
    [
      "the answer that quotes a notice",
      `{"result":{"text":${JSON.stringify(NOTICE)}},"id":1,"jsonrpc":"2.0"}`,
    ],
    [
      "the answer with a method inside",
      `{"jsonrpc":"2.0","result":{"method":"notifications/message"},"id":1}`,
    ],
    ["an answer of no known shape", `[${NOTICE}]`],
  ])("never takes %s with it", (_, text) => {
    const stream = opened().budget.stream();
    handedOn(stream, NOTICE, 3_000);
    expect(read(stream, text)).toEqual(JSON.parse(text));
  });

  test("is read where it could be an answer, and dropped when it is none", () => {
    const stream = opened().budget.stream();
    const odd = '{"params":{},"method":"notifications/message","jsonrpc":"2.0"}';
    expect(handedOn(stream, odd, 3_000)).toBe(1_000);
    expect(() => read(stream, odd.slice(0, -1))).toThrow();
  });

  test("is told once when it begins to be dropped, and counted at the end of each stream", () => {
    const { said, budget } = opened();
    const [first, second, quiet] = [budget.stream(), budget.stream(), budget.stream()];
    handedOn(first, NOTICE, 1_700);
    handedOn(second, NOTICE, 1_001);
    handedOn(quiet, NOTICE, 50);
    for (const stream of [first, second, quiet]) stream.end();
    first.end();
    expect(said).toEqual([
      "[ostiary] it sends more than 200 messages a second that nobody asked for; the rest is dropped",
      "[ostiary] 700 messages were dropped",
      "[ostiary] 1 messages were dropped",
    ]);
  });
});

describe("the share of our time that a server gets", () => {
  /** Rests as it is told, and counts what it came to. */
  function flood(
    seconds: number,
    streams: number,
    step: (stream: BudgetedStream) => number,
  ): number {
    const { clock, budget } = opened();
    const all = Array.from({ length: streams }, () => ({ stream: budget.stream(), until: 0 }));
    let steps = 0;
    for (; clock.now < seconds * 1_000; clock.now++)
      for (const one of all)
        for (; one.until <= clock.now && steps < 1e6; steps++)
          one.until = clock.now + step(one.stream);
    return steps;
  }
  const notice = (stream: BudgetedStream): number => (read(stream, NOTICE), stream.pauseMs(3));

  test("is bounded, however fast it writes and in however many streams", () => {
    const one = flood(10, 1, notice);
    const many = flood(10, 16, notice);
    expect(one).toBeLessThan(130_000);
    expect(many).toBeLessThan(130_000);
    // And it is not starved.
    expect(one).toBeGreaterThan(30_000);
  });

  test("is the smaller, the more it costs to hand one on", () => {
    const { clock, budget } = opened();
    const stream = budget.stream(4);
    let count = 0;
    for (; notice(stream) === 0; count++) clock.now += 0.001;
    expect(count).toBeLessThan(1_000);
  });

  test("is bounded for empty lines, single bytes and made-up answers too", () => {
    expect(flood(10, 1, (stream) => stream.pauseMs(1_000))).toBeLessThan(1_000);
    expect(flood(10, 1, (stream) => stream.pauseMs(0))).toBeLessThan(500_000);
    expect(flood(10, 1, (stream) => (read(stream, ANSWER), stream.pauseMs(2)))).toBeLessThan(
      50_000,
    );
  });

  test("does not count what was asked for: large answers are never held up", () => {
    const { budget } = opened();
    const large = `{"jsonrpc":"2.0","id":1,"result":{"text":"${"x".repeat(1_000_000)}"}}`;
    const rests = Array.from({ length: 1_000 }, () => {
      const stream = budget.stream();
      read(stream, large);
      return stream.pauseMs(4);
    });
    expect(Math.max(...rests)).toBe(0);
  });
});
