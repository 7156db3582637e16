import { expect, test } from "vitest";
import { groups, type Result } from "./group.ts";

/** A writer whose commits are settled by hand. */
function hand(ahead = 1, most = Infinity) {
  const commits: { items: number; settle: (ok: boolean) => void }[] = [];
  const queue = groups(
    (_flat, items) =>
      new Promise<Result[]>((resolve, reject) =>
        commits.push({
          items,
          settle: (ok) =>
            ok ? resolve(Array.from({ length: items }, (_, i) => i)) : reject(new Error("locked")),
        }),
      ),
    { ahead, fullAt: Infinity, most },
  );
  const push = () =>
    queue
      .push((flat) => flat.push("x"))
      .then(
        () => "written",
        () => "refused",
      );
  const turn = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  return { commits, push, turn, queue };
}

test("what queues up during one commit is the next group", async () => {
  const { commits, push, turn } = hand();
  const first = push();
  await turn();
  const rest = [push(), push(), push()];
  commits[0]?.settle(true);
  await turn();
  expect(commits.map(({ items }) => items)).toEqual([1, 3]);
  commits[1]?.settle(true);
  expect(await Promise.all([first, ...rest])).toEqual(Array(4).fill("written"));
});

test("after a failure nobody waits: one attempt at a time, the others are refused at once", async () => {
  const { commits, push, turn, queue } = hand();
  const sent = push();
  await turn();
  const unsent = [push(), push()];
  commits[0]?.settle(false);
  expect(await Promise.all([sent, ...unsent])).toEqual(["refused", "refused", "refused"]);
  expect(queue.failing()).toBe(true);

  const attempt = [push(), push()];
  await turn();
  expect(commits.map(({ items }) => items)).toEqual([1, 2]);
  expect(await push()).toBe("refused");
  commits[1]?.settle(true);
  expect(await Promise.all(attempt)).toEqual(["written", "written"]);
  const after = push();
  await turn();
  commits[2]?.settle(true);
  expect(await after).toBe("written");
  expect(queue.failing()).toBe(false);
});

test("a crowd goes in groups of the largest size, in order; a failure refuses them all", async () => {
  const { commits, push, turn, queue } = hand(1, 3);
  const crowd = Array.from({ length: 8 }, push);
  for (let i = 0; i < 3; i++) {
    await turn();
    commits[i]?.settle(true);
  }
  expect(await Promise.all(crowd)).toEqual(Array(8).fill("written"));
  expect(commits.map(({ items }) => items)).toEqual([3, 3, 2]);

  const refused = Array.from({ length: 8 }, push);
  await turn();
  commits[3]?.settle(false);
  expect(await Promise.all(refused)).toEqual(Array(8).fill("refused"));
  await queue.drain();
});
