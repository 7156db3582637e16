import { hostname, userInfo } from "node:os";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openBench, type Bench } from "../../../test/fixtures/tool-bench.ts";
import info from "./info.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());

test("tells about program and platform", async () => {
  expect(await bench.run(info, {})).toEqual({
    name: "ostiary",
    version: "0.1.0",
    node: process.versions.node,
    platform: process.platform,
    arch: process.arch,
    cpus: expect.any(Number) as number,
    uptimeSeconds: expect.any(Number) as number,
    mode: "NORMAL",
    timezone: expect.any(String) as string,
  });
});

test("tells no host name and no user name", async () => {
  const values = Object.values(await bench.run(info, {})).map(String);
  expect(values).not.toContain(hostname());
  expect(values).not.toContain(userInfo().username);
});
