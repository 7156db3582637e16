// move, copy, mkdir and delete: whole trees, and what may not be planted or taken with them.
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { openBench, type Bench } from "../../../test/fixtures/tool-bench.ts";
import { asOrdinaryUser } from "../../../test/fixtures/user.ts";
import type { JsonObject } from "../../contract/call.ts";
import copy from "./copy.ts";
import remove from "./delete.ts";
import mkdir from "./mkdir.ts";
import move from "./move.ts";
import write from "./write.ts";

let bench: Bench | null = null;
const b = (): Bench => bench as Bench;
beforeEach(async () => {
  await bench?.close();
  bench = await openBench();
  mkdirSync(join(bench.root, "outside"));
  writeFileSync(join(bench.root, "outside/canary"), "CANARY");
});
afterAll(() => bench?.close());

const at = (name: string): string => join(b().workspace, name);
const text = (name: string): string => readFileSync(at(name), "utf8");
function put(name: string, content = name): void {
  mkdirSync(dirname(at(name)), { recursive: true });
  writeFileSync(at(name), content);
}
const reason = async (tool: typeof move, input: JsonObject): Promise<string> =>
  (await b().fault(tool, input)).reason;

describe("move", () => {
  test("a file and a directory", async () => {
    put("a.txt");
    expect(await b().run(move, { from: "a.txt", to: "b.txt" })).toEqual({
      from: "a.txt",
      to: "b.txt",
      overwritten: false,
    });
    expect([existsSync(at("a.txt")), text("b.txt")]).toEqual([false, "a.txt"]);
    put("dir/sub/c.txt");
    await b().run(move, { from: "dir", to: "moved" });
    expect(text("moved/sub/c.txt")).toBe("dir/sub/c.txt");
    expect(b().notes.at(-1)).toEqual({ filesTouched: ["dir", "moved"] });
  });

  test("what is there is replaced only when asked, a directory never", async () => {
    put("a.txt");
    put("b.txt");
    mkdirSync(at("dir"));
    expect(await b().fault(move, { from: "a.txt", to: "b.txt" })).toMatchObject({
      code: "CONFLICT",
      reason: "already_exists",
    });
    expect(await reason(move, { from: "a.txt", to: "dir", overwrite: true })).toBe(
      "already_exists",
    );
    expect(await reason(move, { from: "dir", to: "a.txt", overwrite: true })).toBe(
      "already_exists",
    );
    expect(await b().run(move, { from: "a.txt", to: "b.txt", overwrite: true })).toMatchObject({
      overwritten: true,
    });
    expect(text("b.txt")).toBe("a.txt");
  });

  test("a link is moved itself", async () => {
    put("target.txt");
    symlinkSync("target.txt", at("link"));
    await b().run(move, { from: "link", to: "other-link" });
    expect([readlinkSync(at("other-link")), text("target.txt")]).toEqual([
      "target.txt",
      "target.txt",
    ]);
  });

  test("absent, into itself, the workspace itself, outside", async () => {
    put("dir/a.txt");
    expect(await reason(move, { from: "absent", to: "x" })).toBe("path_not_found");
    expect(await reason(move, { from: "dir/a.txt", to: "no/such/x" })).toBe("path_not_found");
    expect(await reason(move, { from: "dir", to: "dir/in" })).toBe("into_itself");
    expect(await reason(move, { from: ".", to: "x" })).toBe("path_forbidden");
    expect(await reason(move, { from: "dir/a.txt", to: "../outside/x" })).toBe("path_not_allowed");
    expect(await reason(move, { from: "../outside/canary", to: "x" })).toBe("path_not_allowed");
    expect(existsSync(at("dir/a.txt"))).toBe(true);
  });

  test("nothing is planted by moving: hooks, configuration, links and files in the place of folders", async () => {
    put("x/hooks/pre-commit");
    expect(await b().fault(move, { from: "x", to: ".git" })).toMatchObject({
      code: "FORBIDDEN",
      reason: "path_forbidden",
    });
    put("y/config");
    expect(await reason(move, { from: "y", to: ".git" })).toBe("path_forbidden");
    put("z/git/hooks/pre-commit");
    mkdirSync(at("repo"));
    expect(await reason(move, { from: "z/git", to: "repo/.git" })).toBe("path_forbidden");
    symlinkSync("x", at("link"));
    expect(await reason(move, { from: "link", to: ".git" })).toBe("path_forbidden");
    put("gitfile", "gitdir: x\n");
    expect(await reason(move, { from: "gitfile", to: ".git" })).toBe("path_forbidden");
    expect(await reason(move, { from: "gitfile", to: ".env" })).toBe("path_forbidden");
    expect(existsSync(at(".git"))).toBe(false);
    put("plain/HEAD");
    expect(await reason(move, { from: "plain", to: ".git" })).toBe("path_forbidden");
  });

  test("nothing protected is moved away", async () => {
    put("repo/.git/config");
    put("repo/readme");
    expect(await reason(move, { from: "repo/.git", to: "repo/git" })).toBe("path_forbidden");
    expect(await reason(move, { from: "repo", to: "other" })).toBe("path_forbidden");
    expect(existsSync(at("repo/.git/config"))).toBe(true);
  });

  test("a write and a move at the same time plant nothing either", async () => {
    for (let round = 0; round < 50; round++) {
      rmSync(at(".git"), { recursive: true, force: true });
      mkdirSync(at("w"), { recursive: true });
      await Promise.allSettled([
        b().run(write, { path: "w/config", content: "planted" }),
        b().run(move, { from: "w", to: ".git" }),
      ]);
      expect(existsSync(at(".git/config"))).toBe(false);
      rmSync(at("w"), { recursive: true, force: true });
    }
  });

  test("to another file system", async (context) => {
    mkdirSync(at("small"));
    try {
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", at("small")], {
        stdio: "ignore",
      });
    } catch {
      return context.skip("a file system cannot be mounted here");
    }
    try {
      put("dir/a.txt");
      put("f.txt");
      await b().run(move, { from: "dir", to: "small/dir" });
      await b().run(move, { from: "f.txt", to: "small/f.txt" });
      expect([text("small/dir/a.txt"), text("small/f.txt")]).toEqual(["dir/a.txt", "f.txt"]);
      expect([existsSync(at("dir")), existsSync(at("f.txt"))]).toEqual([false, false]);
    } finally {
      execFileSync("umount", [at("small")]);
    }
  });
});

describe("copy", () => {
  test("a file, without its execute bit", async () => {
    put("a.sh");
    chmodSync(at("a.sh"), 0o755);
    expect(await b().run(copy, { from: "a.sh", to: "b.sh" })).toEqual({
      from: "a.sh",
      to: "b.sh",
      files: 1,
      bytes: 4,
    });
    expect([text("b.sh"), statSync(at("b.sh")).mode & 0o777]).toEqual(["a.sh", 0o644]);
  });

  test("a directory with all that is in it", async () => {
    put("dir/a.txt");
    put("dir/sub/b.txt");
    symlinkSync("a.txt", at("dir/link"));
    expect(await reason(copy, { from: "dir", to: "twin" })).toBe("is_directory");
    expect(await b().run(copy, { from: "dir", to: "twin", recursive: true })).toEqual({
      from: "dir",
      to: "twin",
      files: 3,
      bytes: 22,
    });
    expect([text("twin/a.txt"), text("twin/sub/b.txt"), readlinkSync(at("twin/link"))]).toEqual([
      "dir/a.txt",
      "dir/sub/b.txt",
      "a.txt",
    ]);
    expect(await reason(copy, { from: "dir", to: "twin", recursive: true })).toBe("already_exists");
  });

  test("conflicts and bad paths", async () => {
    put("a.txt");
    put("b.txt");
    put("dir/x");
    execFileSync("mkfifo", [at("pipe")]);
    expect(await b().fault(copy, { from: "a.txt", to: "b.txt" })).toMatchObject({
      code: "CONFLICT",
      reason: "already_exists",
    });
    await b().run(copy, { from: "a.txt", to: "b.txt", overwrite: true });
    expect(text("b.txt")).toBe("a.txt");
    expect(await reason(copy, { from: "absent", to: "x" })).toBe("path_not_found");
    expect(await reason(copy, { from: "a.txt", to: "no/x" })).toBe("path_not_found");
    expect(await reason(copy, { from: "a.txt", to: "dir", overwrite: true })).toBe("not_a_file");
    expect(await reason(copy, { from: "dir", to: "dir/in", recursive: true })).toBe("into_itself");
    expect(await reason(copy, { from: "dir", to: "a.txt", recursive: true, overwrite: true })).toBe(
      "already_exists",
    );
    expect(await reason(copy, { from: "pipe", to: "x" })).toBe("not_a_file");
    expect(await reason(copy, { from: "a.txt", to: "../outside/x" })).toBe("path_not_allowed");
    expect(await reason(copy, { from: "../outside/canary", to: "x" })).toBe("path_not_allowed");
    expect(await reason(copy, { from: "/etc/passwd", to: "x" })).toBe("path_forbidden");
  });

  test("nothing is planted, and links that lead out are not carried along", async () => {
    put("x/hooks/pre-commit");
    expect(await reason(copy, { from: "x", to: ".git", recursive: true })).toBe("path_forbidden");
    put("gitfile", "gitdir: x\n");
    expect(await reason(copy, { from: "gitfile", to: ".git" })).toBe("path_forbidden");
    put("repo/.env", "SECRET=1");
    expect(await reason(copy, { from: "repo", to: "repo2", recursive: true })).toBe(
      "path_forbidden",
    );
    put("links/ok");
    symlinkSync(join(b().root, "outside/canary"), at("links/out"));
    expect(await reason(copy, { from: "links", to: "links2", recursive: true })).toBe(
      "path_forbidden",
    );
    expect(await reason(copy, { from: "links/out", to: "x2" })).toBe("path_not_allowed");
    expect([".git", "repo2", "x2"].filter((name) => existsSync(at(name)))).toEqual([]);
  });

  test("a second name of a file that lies under a forbidden path is neither copied nor read", async () => {
    writeFileSync(join(b().dataDir, "admin.key"), "CANARY");
    linkSync(join(b().dataDir, "admin.key"), at("innocent.txt"));
    expect(await reason(copy, { from: "innocent.txt", to: "x" })).toBe("path_forbidden");
    expect(
      (await b().fault((await import("./read.ts")).default, { path: "innocent.txt" })).reason,
    ).toBe("path_forbidden");
  });
});

describe("mkdir", () => {
  test("makes directories, and says whether it did", async () => {
    expect(await b().run(mkdir, { path: "a/b/c" })).toEqual({ path: "a/b/c", created: true });
    expect(await b().run(mkdir, { path: "a/b/c" })).toEqual({ path: "a/b/c", created: false });
    expect(await b().run(mkdir, { path: "." })).toEqual({ path: ".", created: false });
    expect(statSync(at("a/b/c")).mode & 0o777).toBe(0o755);
  });

  test("a file in its place, a missing parent, refused places", async () => {
    put("file");
    expect(await b().fault(mkdir, { path: "file" })).toMatchObject({
      code: "CONFLICT",
      reason: "already_exists",
    });
    expect(await reason(mkdir, { path: "file/sub" })).toBe("not_a_directory");
    expect(await reason(mkdir, { path: "x/y", recursive: false })).toBe("path_not_found");
    expect(await reason(mkdir, { path: "../outside/x" })).toBe("path_not_allowed");
    expect(await reason(mkdir, { path: ".git/hooks" })).toBe("path_forbidden");
    expect(await reason(mkdir, { path: "a/.vscode/x" })).toBe("path_forbidden");
    expect(await reason(mkdir, { path: "a/.git" })).toBe("path_forbidden");
  });
});

describe("delete", () => {
  test("files, links and empty directories", async () => {
    put("a.txt");
    expect(await b().run(remove, { path: "a.txt" })).toEqual({
      path: "a.txt",
      type: "file",
      files: 1,
      bytes: 5,
    });
    symlinkSync(join(b().root, "outside/canary"), at("link"));
    expect(await b().run(remove, { path: "link" })).toMatchObject({ type: "link" });
    expect(readFileSync(join(b().root, "outside/canary"), "utf8")).toBe("CANARY");
    mkdirSync(at("empty"));
    expect(await b().run(remove, { path: "empty" })).toEqual({
      path: "empty",
      type: "dir",
      files: 0,
      bytes: 0,
    });
  });

  test("a directory with content only when asked, and what its links lead to stays", async () => {
    put("dir/a.txt");
    put("dir/sub/b.txt");
    put("kept/c.txt");
    symlinkSync("../kept", at("dir/link"));
    symlinkSync(join(b().root, "outside"), at("dir/out"));
    expect(await reason(remove, { path: "dir" })).toBe("directory_not_empty");
    expect(await b().run(remove, { path: "dir", recursive: true })).toMatchObject({
      type: "dir",
      files: 4,
    });
    expect([existsSync(at("dir")), text("kept/c.txt")]).toEqual([false, "kept/c.txt"]);
    expect(readFileSync(join(b().root, "outside/canary"), "utf8")).toBe("CANARY");
  });

  test("the workspace, what is outside, what is protected, and a directory that holds it", async () => {
    put("repo/.git/hooks/pre-commit");
    put("repo/readme");
    for (const path of [".", "repo/.git/hooks", "repo/.git/hooks/pre-commit", "/etc/hostname"])
      expect([path, await reason(remove, { path, recursive: true })]).toEqual([
        path,
        "path_forbidden",
      ]);
    expect(await reason(remove, { path: "..", recursive: true })).toBe("path_not_allowed");
    expect(await reason(remove, { path: "../outside/canary" })).toBe("path_not_allowed");
    expect(await reason(remove, { path: "repo", recursive: true })).toBe("path_forbidden");
    expect(existsSync(at("repo/readme"))).toBe(true);
    expect(await reason(remove, { path: "absent" })).toBe("path_not_found");
  });

  test("only with the right checksum, where one is given", async () => {
    put("one", "1");
    expect(await b().fault(remove, { path: "one", expectedSha256: "0".repeat(64) })).toMatchObject({
      code: "CONFLICT",
      reason: "stale",
    });
    await b().run(remove, {
      path: "one",
      expectedSha256: "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b",
    });
    expect(existsSync(at("one"))).toBe(false);
  });

  test("what the server's user may not change", async () => {
    put("closed/a.txt");
    chmodSync(at("closed"), 0o555);
    for (const folder of [b().root, b().workspace]) chmodSync(folder, 0o755);
    expect((await asOrdinaryUser(() => b().fault(remove, { path: "closed/a.txt" }))).reason).toBe(
      "permission_denied",
    );
    expect(lstatSync(at("closed/a.txt")).isFile()).toBe(true);
  });

  test("a whole directory always asks a person", () => {
    expect(remove.escalations).toEqual([{ argument: "/recursive", equals: true, approval: true }]);
  });
});
