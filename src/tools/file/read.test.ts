import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openBench, type Bench } from "../../../test/fixtures/tool-bench.ts";
import read from "./read.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
  put("text.txt", "one\ntwo\nthree\n");
});
afterAll(() => bench.close());

function put(name: string, content: string | Uint8Array): void {
  writeFileSync(join(bench.workspace, name), content);
}
const numbered = (count: number): string =>
  Array.from({ length: count }, (_, index) => `line ${index + 1}\n`).join("");

test("a text file comes back with everything about it", async () => {
  bench.notes.length = 0;
  expect(await bench.run(read, { path: "text.txt" })).toEqual({
    path: "text.txt",
    content: "one\ntwo\nthree\n",
    encoding: "utf-8",
    startLine: 1,
    endLine: 3,
    totalLines: 3,
    sizeBytes: 14,
    sha256: createHash("sha256").update("one\ntwo\nthree\n").digest("hex"),
    modified: expect.stringMatching(/^\d{4}-.*Z$/) as string,
    binary: false,
    mime: "text/plain",
    lineEnding: "lf",
    truncated: false,
  });
  expect(bench.notes).toEqual([{ filesTouched: ["text.txt"], bytes: 14 }]);
});

test("absolute, dotted and home spellings of the same file", async () => {
  mkdirSync(join(bench.workspace, "sub"));
  const absolute = join(bench.workspace, "text.txt");
  for (const path of [
    absolute,
    "./text.txt",
    "sub/../text.txt",
    "sub/..//./text.txt",
    "$HOME/../workspace/text.txt",
    "~/../workspace/text.txt",
  ])
    expect((await bench.run(read, { path }))["path"]).toBe("text.txt");
});

describe("lines", () => {
  test("offset and limit give a part, nextOffset leads on to the end", async () => {
    put("long.txt", numbered(4_500));
    let content = "";
    let offset: unknown = 1;
    const parts: unknown[] = [];
    while (offset !== undefined) {
      const part = await bench.run(read, { path: "long.txt", offset: offset as number });
      content += part["content"] as string;
      parts.push([part["startLine"], part["endLine"], part["truncated"]]);
      offset = part["nextOffset"];
    }
    expect(content).toBe(numbered(4_500));
    expect(parts).toEqual([
      [1, 2_000, true],
      [2_001, 4_000, true],
      [4_001, 4_500, false],
    ]);
  });

  test("the last lines", async () => {
    put("log.txt", `${numbered(10)}no newline at the end`);
    const tail = await bench.run(read, { path: "log.txt", tailLines: 2 });
    expect(tail).toMatchObject({
      content: "line 10\nno newline at the end",
      startLine: 10,
      endLine: 11,
      totalLines: 11,
      truncated: false,
    });
    expect(await bench.run(read, { path: "log.txt", tailLines: 5_000 })).toMatchObject({
      startLine: 1,
      endLine: 11,
    });
  });

  test("with numbers", async () => {
    const output = await bench.run(read, {
      path: "text.txt",
      offset: 2,
      limit: 1,
      lineNumbers: true,
    });
    expect(output).toMatchObject({ content: "     2\ttwo\n", nextOffset: 3, truncated: true });
  });

  test("an empty file has none", async () => {
    put("empty.txt", "");
    for (const input of [{}, { tailLines: 3 }, { offset: 1 }])
      expect(await bench.run(read, { path: "empty.txt", ...input })).toMatchObject({
        content: "",
        startLine: 1,
        endLine: 0,
        totalLines: 0,
        truncated: false,
        lineEnding: "none",
      });
  });

  test("an offset behind the end is refused with the number of lines", async () => {
    const fault = await bench.fault(read, { path: "text.txt", offset: 4 });
    expect(fault).toMatchObject({ code: "EXECUTION_FAILED", reason: "offset_past_end" });
    expect(fault.message).toContain("3 lines");
  });

  test("line endings are told and kept", async () => {
    for (const [content, lineEnding] of [
      ["a\r\nb\r\n", "crlf"],
      ["a\nb\r\n", "mixed"],
      ["a\rb", "cr"],
      ["ab", "none"],
      ["\n", "lf"],
    ] as const) {
      put("endings.txt", content);
      expect(await bench.run(read, { path: "endings.txt" })).toMatchObject({ content, lineEnding });
    }
  });
});

describe("maxBytes", () => {
  test("whole lines as long as they fit", async () => {
    const output = await bench.run(read, { path: "text.txt", maxBytes: 9 });
    expect(output).toMatchObject({
      content: "one\ntwo\n",
      endLine: 2,
      nextOffset: 3,
      truncated: true,
    });
    const tail = await bench.run(read, { path: "text.txt", maxBytes: 11, tailLines: 3 });
    expect(tail).toMatchObject({
      content: "two\nthree\n",
      startLine: 2,
      endLine: 3,
      truncated: true,
    });
    expect(tail).not.toHaveProperty("nextOffset");
  });

  test("a line that is too long is cut between characters", async () => {
    put("wide.txt", "é\u{1f600}x".repeat(10));
    for (let maxBytes = 1; maxBytes < 20; maxBytes++) {
      const output = await bench.run(read, { path: "wide.txt", maxBytes });
      const content = output["content"] as string;
      expect(output["truncated"]).toBe(true);
      expect(Buffer.byteLength(content)).toBeLessThanOrEqual(maxBytes);
      expect("é\u{1f600}x".repeat(10).startsWith(content)).toBe(true);
      expect(content.isWellFormed()).toBe(true);
    }
  });

  test("more than 10 MiB is refused, 10 MiB is not", async () => {
    put("limit.txt", Buffer.alloc(10_485_760, "x"));
    expect(await bench.run(read, { path: "limit.txt" })).toMatchObject({
      sizeBytes: 10_485_760,
      truncated: true,
    });
    put("huge.txt", Buffer.alloc(10_485_761, "x"));
    const fault = await bench.fault(read, { path: "huge.txt", maxBytes: 1 });
    expect(fault).toMatchObject({ code: "FORBIDDEN", reason: "size_exceeded" });
    expect(fault.message).toContain("10485760");
  });
});

describe("binary and encodings", () => {
  const png = Buffer.from("89504e470d0a1a0a0000000d", "hex");

  test("binary content is a result with type and hint", async () => {
    const samples = {
      "a.png": png,
      "nul.txt": Buffer.from("a\0b"),
      "latin1.txt": Buffer.from([0x63, 0x61, 0x66, 0xe9]),
      "utf16.txt": Buffer.from("\ufeffhi", "utf16le"),
      "half.txt": Buffer.from("é").subarray(0, 1),
    };
    for (const [name, bytes] of Object.entries(samples)) {
      put(name, bytes);
      const output = await bench.run(read, { path: name });
      expect(output).toMatchObject({
        binary: true,
        content: null,
        startLine: null,
        endLine: null,
        totalLines: null,
        truncated: false,
      });
      expect(output["hint"]).toContain("base64");
    }
    expect((await bench.run(read, { path: "a.png" }))["mime"]).toBe("image/png");
  });

  test("a NUL behind the first 8 KiB is still text", async () => {
    put("late-nul.txt", `${"x".repeat(8_192)}\0`);
    expect(await bench.run(read, { path: "late-nul.txt" })).toMatchObject({ binary: false });
  });

  test("base64 and hex give the bytes", async () => {
    put("a.png", png);
    expect(await bench.run(read, { path: "a.png", encoding: "base64" })).toMatchObject({
      content: png.toString("base64"),
      binary: true,
      truncated: false,
    });
    expect(await bench.run(read, { path: "a.png", encoding: "hex", maxBytes: 4 })).toMatchObject({
      content: "89504e47",
      truncated: true,
    });
  });

  test("a byte-order mark is dropped", async () => {
    put("bom.txt", "\ufeffhello");
    expect(await bench.run(read, { path: "bom.txt" })).toMatchObject({
      content: "hello",
      sizeBytes: 8,
    });
  });

  test("arguments that do not go together are refused", async () => {
    const inputs = [
      { tailLines: 1, offset: 2 },
      { encoding: "hex", offset: 2 },
      { encoding: "base64", tailLines: 2 },
      { encoding: "hex", lineNumbers: true },
    ];
    for (const input of inputs)
      expect(await bench.fault(read, { path: "text.txt", ...input })).toMatchObject({
        code: "BAD_REQUEST",
        reason: "invalid_arguments",
      });
  });
});

describe("paths", () => {
  test.each([
    ["missing.txt", "EXECUTION_FAILED", "path_not_found"],
    ["text.txt/x", "EXECUTION_FAILED", "path_not_found"],
    [".", "EXECUTION_FAILED", "not_a_file"],
    ["../data/store.db", "FORBIDDEN", "path_forbidden"],
    ["../elsewhere", "FORBIDDEN", "path_not_allowed"],
    ["/etc/passwd", "FORBIDDEN", "path_forbidden"],
    ["~/.ssh/id_ed25519", "FORBIDDEN", "path_forbidden"],
    ["a\0b", "FORBIDDEN", "path_forbidden"],
  ])("%s: %s / %s", async (path, code, reason) => {
    const fault = await bench.fault(read, { path });
    expect(fault).toMatchObject({ code, reason });
    const isNamed = [path, JSON.stringify(path)].some((name) => fault.message.includes(name));
    expect(isNamed, fault.message).toBe(true);
    expect(fault.remedy).toBeTruthy();
  });
});
