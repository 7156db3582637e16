import { expect, test } from "vitest";
import { release } from "./release.ts";

test("large memory is gone at once, small memory may have other users and stays", () => {
  const large = new Uint8Array(1_000_000).fill(1);
  release(large.subarray(0, 500_000));
  expect(large.length).toBe(0);

  const pooled = Buffer.from("neighbour");
  release(Buffer.from("mine"));
  release(pooled.subarray(0, 2));
  expect(pooled.toString()).toBe("neighbour");
});
