import { mkdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openBench, type Bench } from "../../../test/fixtures/tool-bench.ts";
import type { JsonObject } from "../../contract/call.ts";
import list from "./list.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
  put("b.txt", "22", 2_000);
  put("a.txt", "1", 3_000);
  put(".hidden", "h", 1_000);
  put("src/main.ts", "4444", 4_000);
  put("src/deep/er/x.ts", "5", 5_000);
  put(".git/config", "c", 1_000);
  symlinkSync("a.txt", join(bench.workspace, "link"));
});
afterAll(() => bench.close());

function put(name: string, content: string, seconds: number): void {
  const path = join(bench.workspace, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  utimesSync(path, seconds, seconds);
}

const names = async (input: JsonObject): Promise<string[]> =>
  ((await bench.run(list, { path: ".", ...input }))["entries"] as { path: string }[]).map(
    (entry) => entry.path,
  );

test("a directory with type, size and time", async () => {
  bench.notes.length = 0;
  const time = expect.any(String) as string;
  expect(await bench.run(list, { path: "." })).toEqual({
    path: ".",
    entries: [
      {
        path: "a.txt",
        name: "a.txt",
        type: "file",
        sizeBytes: 1,
        modified: "1970-01-01T00:50:00.000Z",
      },
      {
        path: "b.txt",
        name: "b.txt",
        type: "file",
        sizeBytes: 2,
        modified: "1970-01-01T00:33:20.000Z",
      },
      { path: "link", name: "link", type: "link", sizeBytes: 5, modified: time, target: "a.txt" },
      {
        path: "src",
        name: "src",
        type: "dir",
        sizeBytes: expect.any(Number) as number,
        modified: time,
      },
    ],
    total: 4,
    truncated: false,
  });
  expect(bench.notes).toEqual([{ filesTouched: ["."] }]);
});

test("what is below, down to the depth", async () => {
  const all = [
    "a.txt",
    "b.txt",
    "link",
    "src",
    "src/deep",
    "src/deep/er",
    "src/deep/er/x.ts",
    "src/main.ts",
  ];
  expect(await names({ recursive: true })).toEqual(all);
  expect(await names({ recursive: true, depth: 2 })).toEqual([
    "a.txt",
    "b.txt",
    "link",
    "src",
    "src/deep",
    "src/main.ts",
  ]);
  expect(await names({ recursive: true, depth: 1 })).toEqual(["a.txt", "b.txt", "link", "src"]);
  expect(await names({ path: "src", recursive: true })).toEqual(
    all.filter((name) => name.startsWith("src/")),
  );
});

test("hidden names on request, with what is in hidden folders", async () => {
  expect(await names({ includeHidden: true })).toContain(".hidden");
  expect(await names({ includeHidden: true, recursive: true })).toContain(".git/config");
});

test("only files, only directories, not both", async () => {
  expect(await names({ filesOnly: true })).toEqual(["a.txt", "b.txt"]);
  expect(await names({ directoriesOnly: true, recursive: true })).toEqual([
    "src",
    "src/deep",
    "src/deep/er",
  ]);
  const fault = await bench.fault(list, { path: ".", filesOnly: true, directoriesOnly: true });
  expect(fault).toMatchObject({ code: "BAD_REQUEST", reason: "invalid_arguments" });
});

test("a pattern is matched against the name, or with a slash against the path below", async () => {
  expect(await names({ pattern: "*.ts", recursive: true })).toEqual([
    "src/deep/er/x.ts",
    "src/main.ts",
  ]);
  expect(await names({ pattern: "src/*.ts", recursive: true })).toEqual(["src/main.ts"]);
  expect(await names({ path: "src", pattern: "deep/**", recursive: true })).toEqual([
    "src/deep/er",
    "src/deep/er/x.ts",
  ]);
});

test("order", async () => {
  const files = { recursive: true, filesOnly: true };
  expect(await names({ ...files, sort: "modified" })).toEqual([
    "src/deep/er/x.ts",
    "src/main.ts",
    "a.txt",
    "b.txt",
  ]);
  expect(await names({ ...files, sort: "size" })).toEqual([
    "src/main.ts",
    "b.txt",
    "a.txt",
    "src/deep/er/x.ts",
  ]);
});

test("more entries than asked for are counted, and the first by order are kept", async () => {
  const output = await bench.run(list, {
    path: ".",
    recursive: true,
    filesOnly: true,
    sort: "modified",
    maxEntries: 1,
  });
  expect(output).toMatchObject({ entries: [{ name: "x.ts" }], total: 4, truncated: true });
});

test.each([
  ["a.txt", "EXECUTION_FAILED", "not_a_directory"],
  ["missing", "EXECUTION_FAILED", "path_not_found"],
  ["..", "FORBIDDEN", "path_not_allowed"],
  ["../data", "FORBIDDEN", "path_forbidden"],
  ["/proc/self", "FORBIDDEN", "path_forbidden"],
])("%s: %s / %s", async (path, code, reason) => {
  expect(await bench.fault(list, { path })).toMatchObject({ code, reason });
});

test("an abort ends a long listing within 100 ms", async () => {
  for (let folder = 0; folder < 60; folder++) {
    mkdirSync(join(bench.workspace, `many/${folder}`), { recursive: true });
    for (let file = 0; file < 150; file++)
      writeFileSync(join(bench.workspace, `many/${folder}/${file}`), "");
  }
  const controller = new AbortController();
  const running = bench.run(
    list,
    { path: "many", recursive: true, maxEntries: 10_000 },
    { signal: controller.signal },
  );
  await new Promise((resolve) => setTimeout(resolve, 5));
  const before = performance.now();
  controller.abort("user");
  await expect(running).rejects.toBe("user");
  expect(performance.now() - before).toBeLessThan(100);
  const whole = await bench.run(list, { path: "many", recursive: true, maxEntries: 10_000 });
  expect(whole).toMatchObject({ total: 9_060, truncated: false });
});
