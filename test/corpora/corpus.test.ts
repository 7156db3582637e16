import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { holds, readCorpus, tell, type CorpusResult } from "./corpus.ts";

const folder = mkdtempSync(join(tmpdir(), "ostiary-corpus-"));
const file = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};

test("lines are taken as they are; comments and empty lines are not entries", () => {
  expect(readCorpus(file("a.txt", "# source\n\n ../x \n\t\n/y\r\n"))).toEqual([
    " ../x ",
    "\t",
    "/y\r",
  ]);
});

test("JSON arrays hold texts or objects", () => {
  expect(readCorpus(file("b.json", '["", "# not a comment", {"input":"x"}]'))).toEqual([
    "",
    "# not a comment",
    '{"input":"x"}',
  ]);
  expect(() => readCorpus(file("c.json", "{}"))).toThrow("expected a JSON array");
});

const fine: CorpusResult = {
  tried: 2,
  contained: 2,
  escaped: [],
  controls: { tried: 1, failed: [] },
};

test("it holds only when all was tried, nothing escaped and the controls worked", () => {
  expect(holds(fine)).toBe(true);
  expect(holds({ ...fine, contained: 1, escaped: ["read ../x"] })).toBe(false);
  expect(holds({ ...fine, contained: 1 })).toBe(false);
  expect(holds({ ...fine, tried: 0, contained: 0 })).toBe(false);
  expect(holds({ ...fine, controls: { tried: 0, failed: [] } })).toBe(false);
  expect(holds({ ...fine, controls: { tried: 1, failed: ["read"] } })).toBe(false);
});

test("one line tells it", () => {
  expect(tell("traversal", 1, fine, 1.4)).toBe(
    "traversal: 1 entries, 2 tried, 2 contained, 0 escaped; controls 1 of 1; 1 s",
  );
});
