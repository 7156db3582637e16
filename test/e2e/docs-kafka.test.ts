// The examples of docs/kafka.md, executed.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { loadConfig } from "../../src/config/config.ts";

const PAGE = readFileSync(join(import.meta.dirname, "../../docs/kafka.md"), "utf8");
const example = (language: string): string => {
  const code = new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(PAGE)?.[1];
  if (code === undefined) throw new Error(`the page has no example in ${language}`);
  return code;
};

test("the setting is one", async () => {
  const folder = mkdtempSync(join(tmpdir(), "ostiary-docs-"));
  try {
    const file = join(folder, "ostiary.yaml");
    writeFileSync(file, example("yaml"));
    const { config } = await loadConfig({
      file,
      env: { KAFKA_PASSWORD: "pw" },
      flags: { dataDir: join(folder, "data") },
    });
    expect(config.sink).toContain(":pw@a.example:9093,b.example:9093/audit.events");
    expect(config.sinkFrom).toBe("start");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("the recipe takes every event once, whatever comes again", () => {
  const isNew = runInNewContext(`${example("js")}; isNew`) as (id: string) => boolean;
  const ids = [
    "a:t:1",
    "a:t:2",
    "b:t:1",
    "a:t:1",
    "a:t:2",
    "a:t:3",
    "a:t:x:1",
    "b:t:1",
    "log:7",
    "log:7",
    "log:8",
  ];
  expect(ids.filter(isNew)).toEqual([
    "a:t:1",
    "a:t:2",
    "b:t:1",
    "a:t:3",
    "a:t:x:1",
    "log:7",
    "log:8",
  ]);
});
