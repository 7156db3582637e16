// T30: somebody swaps a folder for a link to a twin outside while files are being changed. Nothing of the twin may
// change.
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Worker } from "node:worker_threads";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openBench, type Bench } from "../../../../../test/fixtures/tool-bench.ts";
import { AppError } from "../../../../contract/errors.ts";
import copy from "../../../../tools/file/copy.ts";
import remove from "../../../../tools/file/delete.ts";
import edit from "../../../../tools/file/edit.ts";
import mkdir from "../../../../tools/file/mkdir.ts";
import move from "../../../../tools/file/move.ts";
import search from "../../../../tools/file/search.ts";
import write from "../../../../tools/file/write.ts";

const ROUNDS = 2_000;
const CANARY = "CANARY-7f3a";

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());

function put(name: string, content: string): void {
  const path = join(bench.root, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

/** Every name, content and mode below a folder. */
function picture(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((entry) => {
      const path = join(entry.parentPath, entry.name);
      const { mode, mtimeMs, ino } = statSync(path);
      return `${path} ${mode} ${ino} ${mtimeMs} ${entry.isFile() ? readFileSync(path, "utf8") : ""}`;
    })
    .sort()
    .join("\n");
}

/** Swaps `name` in the workspace between the real thing and a link to its twin outside, as fast as it can. */
function swapper(name: string): Worker {
  // What a call makes in the folder's place meanwhile is put aside.
  const code = `
    const { renameSync, symlinkSync } = require("node:fs");
    const { workerData: { path, twin } } = require("node:worker_threads");
    const move = (from, to) => { try { renameSync(from, to); return true; } catch { return false; } };
    let aside = 0;
    const place = (from) => move(from, path) || (move(path, path + ".aside" + aside++), move(from, path));
    symlinkSync(twin, path + ".link");
    for (;;) {
      move(path, path + ".real"); place(path + ".link");
      move(path, path + ".link"); place(path + ".real");
    }`;
  return new Worker(code, {
    eval: true,
    workerData: { path: join(bench.workspace, name), twin: join(bench.root, "twin", name) },
  });
}

async function attack(
  name: string,
  attempt: (round: number) => Promise<unknown>,
  rounds = ROUNDS,
): Promise<void> {
  const twin = join(bench.root, "twin", name);
  const before = picture(twin);
  expect(before).toContain(CANARY);
  const counts = { done: 0, refused: 0 };
  const swapping = swapper(name);
  try {
    for (let round = 0; round < rounds; round++) {
      await attempt(round).then(
        (output) => {
          counts.done++;
          expect(JSON.stringify(output ?? null)).not.toContain(CANARY);
        },
        (cause: unknown) => {
          if (!(cause instanceof AppError)) throw cause;
          counts.refused++;
        },
      );
    }
  } finally {
    await swapping.terminate();
  }
  console.info(`swap under ${name}: ${rounds} rounds, ${JSON.stringify(counts)}`);
  expect(picture(twin)).toBe(before);
  expect(counts.done).toBeGreaterThan(0);
  expect(counts.refused).toBeGreaterThan(0);
}

const timeout = 240_000;

/** A folder of the workspace and its twin, which holds the same names. */
function pair(name: string, ...files: string[]): void {
  for (const file of files) {
    put(join("workspace", name, file), "inside");
    put(join("twin", name, file), CANARY);
  }
}

test("write", { timeout }, async () => {
  pair("write", "sub/file.txt");
  await attack("write", (round) =>
    bench.run(write, {
      path: round % 2 ? "write/sub/file.txt" : `write/sub/new-${round}.txt`,
      content: `inside ${round}`,
    }),
  );
});

test("edit", { timeout }, async () => {
  pair("edit", "sub/file.txt");
  await attack("edit", async (round) => {
    const [from, to] = round % 2 ? ["inside", "within"] : ["within", "inside"];
    const change = { path: "edit/sub/file.txt", oldContent: from, newContent: to };
    await bench.run(edit, change).catch(async (cause: unknown) => {
      if (!(cause instanceof AppError && cause.fault.reason === "no_match")) throw cause;
      expect(cause.fault.message).not.toContain(CANARY);
      await bench.run(edit, { ...change, oldContent: to, newContent: from });
    });
  });
});

test("move, in and out of the folder", { timeout }, async () => {
  pair("move", "sub/a.txt");
  put("workspace/loose.txt", "inside");
  await attack("move", async (round) => {
    const [from, to] = [`move/sub/a.txt`, "moved.txt"];
    if (round % 2) return bench.run(move, { from, to, overwrite: true });
    return bench.run(move, { from: to, to: from, overwrite: true });
  });
});

test("copy, in and out of the folder", { timeout }, async () => {
  pair("copy", "sub/a.txt");
  put("workspace/copied/a.txt", "inside");
  await attack("copy", async (round) => {
    if (round % 2) {
      await bench.run(copy, { from: "copy/sub", to: "copied", recursive: true, overwrite: true });
      expect(readFileSync(join(bench.workspace, "copied/a.txt"), "utf8")).toBe("inside");
      return null;
    }
    return bench.run(copy, { from: "copied/a.txt", to: "copy/sub/back.txt", overwrite: true });
  });
});

test("delete", { timeout }, async () => {
  pair("delete", "sub/a.txt", "sub/b/c.txt");
  await attack("delete", async (round) => {
    const name = `delete/sub/extra-${round}`;
    if (round % 3 === 0) return bench.run(remove, { path: "delete/sub", recursive: true });
    if (round % 3 === 1) return bench.run(write, { path: "delete/sub/b/c.txt", content: "inside" });
    await bench.run(write, { path: name, content: "inside" });
    return bench.run(remove, { path: name });
  });
});

test("mkdir", { timeout }, async () => {
  pair("mkdir", "sub/a.txt");
  await attack(
    "mkdir",
    (round) => bench.run(mkdir, { path: `mkdir/sub/new-${round}/deeper` }),
    500,
  );
});

test("search", { timeout }, async () => {
  pair("search", "sub/a.txt");
  await attack(
    "search",
    (round) =>
      bench.run(search, { pattern: ".*", path: round % 2 ? "search/sub" : "search/sub/a.txt" }),
    500,
  );
});
