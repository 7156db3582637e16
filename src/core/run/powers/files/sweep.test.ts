import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { sweepScratch } from "./sweep.ts";

const NOW = Date.UTC(2026, 0, 10);
const DAY = 24 * 60 * 60;

test("scratch folders without a change for a day go, others stay, links lead nowhere", async () => {
  const root = mkdtempSync(join(tmpdir(), "ostiary-sweep-"));
  const at = (name: string): string => join(root, name);
  const put = (name: string, secondsAgo: number): void => {
    mkdirSync(dirname(at(name)), { recursive: true });
    writeFileSync(at(name), "x");
    for (let path = at(name); path !== root; path = dirname(path))
      utimesSync(path, NOW / 1000 - secondsAgo, NOW / 1000 - secondsAgo);
  };
  put("outside/kept.txt", 3 * DAY);
  put("scratch/t/u/new/deep/file", 3 * DAY);
  utimesSync(at("scratch/t/u/new/deep/file"), NOW / 1000 - 60, NOW / 1000 - 60);
  put("scratch/t/u/old/executions/e1/file", 2 * DAY);
  symlinkSync(at("outside"), at("scratch/t/u/old/link"));
  utimesSync(at("scratch/t/u/old"), NOW / 1000 - 2 * DAY, NOW / 1000 - 2 * DAY);
  symlinkSync(at("outside"), at("scratch/t/u/session-link"));
  // A link has a time of its own, so this folder counts as used today by the clock of the machine: take a later now.
  expect(await sweepScratch(at("scratch"), NOW)).toBeLessThanOrEqual(1);
  expect(existsSync(at("scratch/t/u/new/deep/file"))).toBe(true);
  const later = Date.now() + 2 * DAY * 1000;
  await sweepScratch(at("scratch"), later);
  expect(existsSync(at("scratch/t/u/old"))).toBe(false);
  expect(existsSync(at("scratch/t/u/new"))).toBe(false);
  expect(readFileSync(at("outside/kept.txt"), "utf8")).toBe("x");
  expect(await sweepScratch(at("absent"), NOW)).toBe(0);
});
