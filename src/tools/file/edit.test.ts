import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openBench, type Bench } from "../../../test/fixtures/tool-bench.ts";
import edit from "./edit.ts";
import read from "./read.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());

const at = (name: string): string => join(bench.workspace, name);
const text = (name: string): string => readFileSync(at(name), "utf8");
const put = (name: string, content: string | Buffer): void => writeFileSync(at(name), content);

test("one place is replaced, and the change is shown", async () => {
  put("a.txt", "one\ntwo\nthree\n");
  bench.notes.length = 0;
  const output = await bench.run(edit, { path: "a.txt", oldContent: "two", newContent: "2" });
  expect(output).toMatchObject({
    path: "a.txt",
    replacements: 1,
    applied: true,
    diff: "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three",
  });
  expect(text("a.txt")).toBe("one\n2\nthree\n");
  expect((await bench.run(read, { path: "a.txt" }))["sha256"]).toBe(output["sha256"]);
  expect(bench.notes[0]).toEqual({ filesTouched: ["a.txt"] });
});

test("several edits build on each other; all or none", async () => {
  put("b.txt", "alpha beta gamma\n");
  const edits = [
    { oldContent: "alpha", newContent: "one" },
    { oldContent: "one beta", newContent: "1 2" },
  ];
  expect(await bench.run(edit, { path: "b.txt", edits })).toMatchObject({ replacements: 2 });
  expect(text("b.txt")).toBe("1 2 gamma\n");
  const failing = [
    { oldContent: "gamma", newContent: "3" },
    { oldContent: "absent", newContent: "x" },
  ];
  const fault = await bench.fault(edit, { path: "b.txt", edits: failing });
  expect(fault.reason).toBe("no_match");
  expect(fault.message).toContain("edits[1].oldContent");
  expect(text("b.txt")).toBe("1 2 gamma\n");
});

test("no match shows the nearest lines", async () => {
  put("near.ts", 'import x from "y";\nconst answer = compute(41, 2);\nexport default answer;\n');
  const fault = await bench.fault(edit, {
    path: "near.ts",
    oldContent: "const answer = compute(42, 2);",
    newContent: "x",
  });
  expect(fault).toMatchObject({ code: "EXECUTION_FAILED", reason: "no_match" });
  expect(fault.message).toContain('line 2: "const answer = compute(41, 2);"');
  expect(fault.message).toContain("nothing was changed");
  expect(
    (await bench.fault(edit, { path: "near.ts", oldContent: "%%%%", newContent: "x" })).message,
  ).not.toContain("nearest");
});

test("several matches are refused with their lines; replaceAll takes them all", async () => {
  put("many.txt", "x\ny\nx\nx y x\n");
  const fault = await bench.fault(edit, { path: "many.txt", oldContent: "x", newContent: "z" });
  expect(fault).toMatchObject({ code: "CONFLICT", reason: "several_matches" });
  expect(fault.message).toContain("4 times");
  expect(fault.message).toContain("lines 1, 3, 4, 4");
  const all = await bench.run(edit, {
    path: "many.txt",
    oldContent: "x",
    newContent: "$&",
    replaceAll: true,
  });
  expect(all["replacements"]).toBe(4);
  expect(text("many.txt")).toBe("$&\ny\n$&\n$& y $&\n");
});

test("a stale checksum refuses", async () => {
  put("stale.txt", "a");
  expect(
    await bench.fault(edit, {
      path: "stale.txt",
      oldContent: "a",
      newContent: "b",
      expectedSha256: "0".repeat(64),
    }),
  ).toMatchObject({ code: "CONFLICT", reason: "stale" });
  expect(text("stale.txt")).toBe("a");
});

test("a dry run shows and writes nothing", async () => {
  put("dry.txt", "a\n");
  const output = await bench.run(edit, {
    path: "dry.txt",
    oldContent: "a",
    newContent: "b",
    dryRun: true,
  });
  expect(output).toMatchObject({
    applied: false,
    replacements: 1,
    diff: "@@ -1,1 +1,1 @@\n-a\n+b",
  });
  expect(text("dry.txt")).toBe("a\n");
});

test("a byte-order mark, line ends and mode bits stay", async () => {
  put("bom.txt", Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from("a\r\nb\r\nc\r\n")]));
  chmodSync(at("bom.txt"), 0o640);
  await bench.run(edit, { path: "bom.txt", oldContent: "a\nb\n", newContent: "1\n2\n" });
  expect(readFileSync(at("bom.txt")).toString("latin1")).toBe("\xef\xbb\xbf1\r\n2\r\nc\r\n");
  expect(statSync(at("bom.txt")).mode & 0o777).toBe(0o640);
});

describe("bad input", () => {
  test.each([
    [{ oldContent: "a" }],
    [{ newContent: "a" }],
    [{}],
    [{ oldContent: "a", newContent: "a" }],
    [{ oldContent: "a", newContent: "\udc00" }],
    [{ oldContent: "a", newContent: "b", edits: [{ oldContent: "a", newContent: "b" }] }],
  ])("%j is invalid", async (input) => {
    put("bad.txt", "a");
    expect(await bench.fault(edit, { path: "bad.txt", ...input })).toMatchObject({
      code: "BAD_REQUEST",
      reason: "invalid_arguments",
    });
    expect(text("bad.txt")).toBe("a");
  });

  test("binary files, directories, absent and forbidden ones", async () => {
    put("bin", Buffer.from([0, 1, 2]));
    put("latin1.txt", Buffer.from("caf\xe9", "latin1"));
    mkdirSync(at("dir"));
    const change = { oldContent: "a", newContent: "b" };
    expect(await bench.fault(edit, { path: "bin", ...change })).toMatchObject({
      reason: "binary_file",
    });
    expect(await bench.fault(edit, { path: "latin1.txt", ...change })).toMatchObject({
      reason: "binary_file",
    });
    expect(await bench.fault(edit, { path: "dir", ...change })).toMatchObject({
      reason: "not_a_file",
    });
    expect(await bench.fault(edit, { path: "absent", ...change })).toMatchObject({
      reason: "path_not_found",
    });
    expect(await bench.fault(edit, { path: "/etc/passwd", ...change })).toMatchObject({
      reason: "path_forbidden",
    });
    put(".env", "a");
    expect(await bench.fault(edit, { path: ".env", ...change })).toMatchObject({
      code: "FORBIDDEN",
      reason: "path_forbidden",
    });
    expect(text(".env")).toBe("a");
  });
});
