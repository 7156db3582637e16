import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openBench, type Bench } from "../../../test/fixtures/tool-bench.ts";
import { asOrdinaryUser } from "../../../test/fixtures/user.ts";
import write from "./write.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());

const at = (name: string): string => join(bench.workspace, name);
const text = (name: string): string => readFileSync(at(name), "utf8");
function put(name: string, content: string | Buffer): void {
  mkdirSync(dirname(at(name)), { recursive: true });
  writeFileSync(at(name), content);
}
const SHA_OF_ONE = "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b";

test("a new file, with the directories above it", async () => {
  bench.notes.length = 0;
  expect(await bench.run(write, { path: "a/b/new.txt", content: "1" })).toEqual({
    path: "a/b/new.txt",
    created: true,
    bytes: 1,
    sha256: SHA_OF_ONE,
  });
  expect(text("a/b/new.txt")).toBe("1");
  expect(bench.notes).toEqual([{ filesTouched: ["a/b/new.txt"], bytes: 1 }]);
  expect(statSync(at("a/b/new.txt")).mode & 0o7777).toBe(0o644);
});

test("what is replaced is told: its checksum and the difference", async () => {
  put("old.txt", "one\ntwo\nthree\n");
  const output = await bench.run(write, { path: "old.txt", content: "one\n2\nthree\n" });
  expect(output).toMatchObject({ created: false, diff: "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three" });
  expect(output["previousSha256"]).toMatch(/^[0-9a-f]{64}$/);
  put("long.txt", "x\n".repeat(500));
  const long = await bench.run(write, { path: "long.txt", content: "y\n".repeat(500) });
  expect((long["diff"] as string).split("\n").length).toBe(201);
  expect(long["diff"]).toContain("more lines");
});

test("append adds at the end, and makes the file when there is none", async () => {
  await bench.run(write, { path: "log.txt", content: "1", mode: "append" });
  const { bytes, created } = await bench.run(write, {
    path: "log.txt",
    content: "é",
    mode: "append",
  });
  expect([text("log.txt"), bytes, created]).toEqual(["1é", 2, false]);
});

test("create refuses what exists, and leaves it", async () => {
  put("there.txt", "mine");
  expect(
    await bench.fault(write, { path: "there.txt", content: "x", mode: "create" }),
  ).toMatchObject({ code: "CONFLICT", reason: "already_exists" });
  expect(text("there.txt")).toBe("mine");
});

test("a stale checksum refuses, the right one in either case writes", async () => {
  put("hashed.txt", "1");
  expect(
    await bench.fault(write, { path: "hashed.txt", content: "2", expectedSha256: "0".repeat(64) }),
  ).toMatchObject({ code: "CONFLICT", reason: "stale" });
  expect(
    await bench.fault(write, { path: "absent.txt", content: "2", expectedSha256: SHA_OF_ONE }),
  ).toMatchObject({ reason: "stale" });
  expect(existsSync(at("absent.txt"))).toBe(false);
  await bench.run(write, {
    path: "hashed.txt",
    content: "2",
    expectedSha256: SHA_OF_ONE.toUpperCase(),
  });
  expect(text("hashed.txt")).toBe("2");
});

test("bytes as base64; what is none is refused", async () => {
  await bench.run(write, { path: "bytes.bin", content: "AP/+", encoding: "base64" });
  expect([...readFileSync(at("bytes.bin"))]).toEqual([0, 255, 254]);
  for (const content of ["AP/", "A P/", "AP_-", "AP/+="])
    expect(
      await bench.fault(write, { path: "bytes.bin", content, encoding: "base64" }),
    ).toMatchObject({
      code: "BAD_REQUEST",
      reason: "invalid_arguments",
      errors: [{ path: "/content" }],
    });
});

test("half a surrogate pair cannot be written as text", async () => {
  expect(await bench.fault(write, { path: "half.txt", content: "a\ud83d" })).toMatchObject({
    code: "BAD_REQUEST",
  });
  expect(existsSync(at("half.txt"))).toBe(false);
});

test("mode bits stay, and an execute bit is never given", async () => {
  put("tool.sh", "#!/bin/sh\n");
  chmodSync(at("tool.sh"), 0o750);
  await bench.run(write, { path: "tool.sh", content: "#!/bin/sh\nexit 0\n" });
  expect(statSync(at("tool.sh")).mode & 0o7777).toBe(0o750);
  put("setuid", "x");
  chmodSync(at("setuid"), 0o4755);
  await bench.run(write, { path: "setuid", content: "y" });
  expect(statSync(at("setuid")).mode & 0o7777).toBe(0o755);
  await bench.run(write, { path: "new.sh", content: "#!/bin/sh\n" });
  expect(statSync(at("new.sh")).mode & 0o111).toBe(0);
});

test("a file with a second name is replaced, not changed: the other name keeps the old content", async () => {
  mkdirSync(join(bench.root, "elsewhere"));
  writeFileSync(join(bench.root, "elsewhere/original"), "original");
  linkSync(join(bench.root, "elsewhere/original"), at("second"));
  await bench.run(write, { path: "second", content: "changed" });
  expect(text("second")).toBe("changed");
  expect(readFileSync(join(bench.root, "elsewhere/original"), "utf8")).toBe("original");
  await bench.run(write, { path: "second", content: "+", mode: "append" });
  expect(readFileSync(join(bench.root, "elsewhere/original"), "utf8")).toBe("original");
});

test("a link inside is written through, one that leads out is refused", async () => {
  put("target.txt", "old");
  symlinkSync("target.txt", at("inner-link"));
  expect(await bench.run(write, { path: "inner-link", content: "new" })).toMatchObject({
    path: "target.txt",
  });
  expect(lstatSync(at("inner-link")).isSymbolicLink()).toBe(true);
  symlinkSync(join(bench.root, "outside.txt"), at("out-link"));
  expect(await bench.fault(write, { path: "out-link", content: "x" })).toMatchObject({
    code: "FORBIDDEN",
    reason: "path_not_allowed",
  });
  expect(existsSync(join(bench.root, "outside.txt"))).toBe(false);
});

test.each([
  [".git/hooks/pre-commit", "path_forbidden"],
  ["deep/.git/config", "path_forbidden"],
  [".env", "path_forbidden"],
  ["a/.env.local", "path_forbidden"],
  [".npmrc", "path_forbidden"],
  [".vscode/tasks.json", "path_forbidden"],
  ["lib/evil.so", "path_forbidden"],
  ["/etc/cron.d/x", "path_forbidden"],
  ["~/.bashrc", "path_forbidden"],
  ["../outside.txt", "path_not_allowed"],
  ["/tmp/x", "path_not_allowed"],
  ["a\0b", "path_forbidden"],
  ["\ud800", "path_forbidden"],
  [".", "path_forbidden"],
])("%j is refused as %s", async (path, reason) => {
  expect(await bench.fault(write, { path, content: "x" })).toMatchObject({
    code: "FORBIDDEN",
    reason,
  });
});

test("no file can stand where a rule speaks of what is below: a .git file would lead git elsewhere", async () => {
  expect(
    await bench.fault(write, { path: "sub/.git", content: "gitdir: ../planted\n" }),
  ).toMatchObject({ reason: "path_forbidden" });
  expect(existsSync(at("sub/.git"))).toBe(false);
  expect(
    await bench.fault(write, { path: ".git/HEAD", content: "ref: refs/heads/main\n" }),
  ).toMatchObject({ reason: "path_forbidden" });
});

test("directories, devices and files as directories", async () => {
  mkdirSync(at("folder"));
  execFileSync("mkfifo", [at("pipe")]);
  put("plain.txt", "x");
  expect(await bench.fault(write, { path: "folder", content: "x" })).toMatchObject({
    reason: "not_a_file",
  });
  expect(await bench.fault(write, { path: "pipe", content: "x" })).toMatchObject({
    reason: "not_a_file",
  });
  expect(await bench.fault(write, { path: "plain.txt/x", content: "x" })).toMatchObject({
    reason: "not_a_directory",
  });
  expect(
    await bench.fault(write, { path: "no/such/x", content: "x", createDirectories: false }),
  ).toMatchObject({ reason: "path_not_found" });
  expect(await bench.fault(write, { path: "x".repeat(300), content: "x" })).toMatchObject({
    reason: "path_not_found",
  });
});

test("what the server's user may not write is permission_denied", async () => {
  put("closed/file.txt", "x");
  chmodSync(at("closed"), 0o555);
  for (const folder of [bench.root, bench.workspace]) chmodSync(folder, 0o755);
  const fault = await asOrdinaryUser(() =>
    bench.fault(write, { path: "closed/file.txt", content: "y" }),
  );
  expect(fault).toMatchObject({ code: "EXECUTION_FAILED", reason: "permission_denied" });
  expect(JSON.stringify(fault)).not.toContain(bench.root);
});

test("a full disk is resource_exhausted, the old file stays and nothing is left behind", async (context) => {
  const small = at("small");
  mkdirSync(small);
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", small], { stdio: "ignore" });
  } catch {
    return context.skip("a small file system cannot be mounted here");
  }
  try {
    writeFileSync(join(small, "old.txt"), "old");
    const fault = await bench.fault(write, { path: "small/old.txt", content: "x".repeat(200_000) });
    expect(fault).toMatchObject({ code: "UNAVAILABLE", reason: "resource_exhausted" });
    expect(fault.message).toContain("disk is full");
    expect(readdirSync(small)).toEqual(["old.txt"]);
    expect(readFileSync(join(small, "old.txt"), "utf8")).toBe("old");
  } finally {
    execFileSync("umount", [small]);
  }
});

test("more than the rules allow is size_exceeded, also by appending", async () => {
  const tight = await openBench({ rules: { "write_mb: 10": "write_mb: 0.001" } });
  try {
    expect(await tight.fault(write, { path: "x.txt", content: "x".repeat(1_100) })).toMatchObject({
      code: "FORBIDDEN",
      reason: "size_exceeded",
    });
    await tight.run(write, { path: "y.txt", content: "y".repeat(1_000) });
    expect(
      await tight.fault(write, { path: "y.txt", content: "y".repeat(100), mode: "append" }),
    ).toMatchObject({ reason: "size_exceeded" });
    expect(readdirSync(tight.workspace)).toEqual(["y.txt"]);
  } finally {
    await tight.close();
  }
});

test("what is made in somebody's folder belongs to them", async () => {
  if (process.getuid?.() !== 0) return;
  mkdirSync(at("theirs"));
  execFileSync("chown", ["65534:65534", at("theirs")]);
  await bench.run(write, { path: "theirs/sub/new.txt", content: "x" });
  for (const name of ["theirs/sub", "theirs/sub/new.txt"])
    expect([statSync(at(name)).uid, statSync(at(name)).gid]).toEqual([65_534, 65_534]);
  put("ours-by-name.txt", "x");
  execFileSync("chown", ["65534:65534", at("ours-by-name.txt")]);
  await bench.run(write, { path: "ours-by-name.txt", content: "y" });
  expect(statSync(at("ours-by-name.txt")).uid).toBe(65_534);
});

test("of two that write at once from the same state one is told", async () => {
  put("both.txt", "1");
  const results = await Promise.all(
    ["2", "3"].map((content) =>
      bench.run(write, { path: "both.txt", content, expectedSha256: SHA_OF_ONE }).then(
        () => content,
        () => "told",
      ),
    ),
  );
  expect(results.filter((one) => one === "told")).toHaveLength(1);
  expect(results).toContain(text("both.txt"));
});

test("the scratch folder is the session's own, made with its first use, and nobody else's", async () => {
  const written = await bench.run(
    write,
    { path: "$SCRATCH/note.txt", content: "mine" },
    { sessionId: "one" },
  );
  expect(written["path"]).toBe("$SCRATCH/note.txt");
  const folder = join(bench.dataDir, "scratch/tenant/alice/one");
  expect(readFileSync(join(folder, "note.txt"), "utf8")).toBe("mine");
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  const other = { sessionId: "two", caller: { userId: "bob" } };
  expect(
    await bench.fault(write, { path: join(folder, "note.txt"), content: "x" }, other),
  ).toMatchObject({ reason: "path_forbidden" });
  expect(
    await bench.fault(write, { path: "$SCRATCH/../../../../store.db", content: "x" }),
  ).toMatchObject({ reason: "path_forbidden" });
});
