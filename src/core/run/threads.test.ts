import { afterEach, expect, test } from "vitest";
import { openThreads, ThreadOverflow, type Threads } from "./threads.ts";

type Task = "answer" | "loop" | "grow";

/** A thread that does as it is told. */
const ENTRY = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort, threadId } from "node:worker_threads";
    parentPort.on("message", (task) => {
      while (task === "loop");
      for (const kept = []; task === "grow"; ) kept.push(new Array(100_000).fill(kept.length));
      parentPort.postMessage(threadId);
    });
  `)}`,
);

let threads: Threads<Task, number>;
const open = (): void => {
  threads = openThreads({ name: "test", entry: ENTRY, atOnce: 1, ofOneOwner: 1, memoryMb: 32 });
};
afterEach(() => threads.close());

const ask = (task: Task, signal = AbortSignal.timeout(30_000)): Promise<number> =>
  threads.with("somebody", signal, (put) => put(task));

test("B10: a thread that does not end by itself ends with its call, and the next call gets a new one", async () => {
  open();
  const first = await ask("answer");
  expect(await ask("answer")).toBe(first);
  await expect(ask("loop", AbortSignal.timeout(50))).rejects.toThrow(/timeout/);
  // There is one place: it can only be had because the loop was ended.
  expect(await ask("answer")).not.toBe(first);
});

test("B10: a thread that takes too much memory is that call's own fault", async () => {
  open();
  await expect(ask("grow")).rejects.toBeInstanceOf(ThreadOverflow);
  expect(await ask("answer")).toBeGreaterThan(0);
});
