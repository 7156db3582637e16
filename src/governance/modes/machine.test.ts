import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { machineSensors } from "./machine.ts";

const folder = mkdtempSync(join(tmpdir(), "ostiary-machine-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const limit = (max: string, current: number, stat: string) => {
  writeFileSync(join(folder, "memory.max"), `${max}\n`);
  writeFileSync(join(folder, "memory.current"), `${current}\n`);
  writeFileSync(join(folder, "memory.stat"), stat);
};

test("reads processor, memory and disk in percent", async () => {
  const machine = machineSensors({ dataDir: folder, cgroup: folder });
  // Some work, so that the machine's own clock moves.
  const until = performance.now() + 50;
  while (performance.now() < until) Math.sqrt(performance.now());
  const reading = await machine.read();
  for (const value of Object.values(reading)) {
    expect(value).toBeGreaterThan(0);
    expect(value).toBeLessThanOrEqual(100);
  }
});

test("the limit of a container counts, without the file pages that can be dropped", async () => {
  const machine = machineSensors({ dataDir: folder, cgroup: folder });
  limit("1000", 1_100, "anon 900\ninactive_file 105\nactive_file 5\n");
  expect((await machine.read()).memory).toBe(99.5);
  limit("1000", 5_000, "anon 900\n");
  expect((await machine.read()).memory).toBe(100);
  limit("max", 1_100, "inactive_file 0\n");
  expect((await machine.read()).memory).toBeLessThan(100);
});

test("a folder that is not there, and a clock that stands still, are null", async () => {
  const machine = machineSensors({ dataDir: join(folder, "absent") });
  expect((await machine.read()).disk).toBeNull();
  const [, second] = await Promise.all([machine.read(), machine.read()]);
  expect(second.cpu === null || second.cpu >= 0).toBe(true);
});
