// The escape suite of the files power, run through the tools that use it.
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { dirname, join, resolve } from "node:path";
import { Worker } from "node:worker_threads";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { governanceOf, shippedFiles } from "../../../../test/fixtures/governance.ts";
import { openBench, type Bench } from "../../../../test/fixtures/tool-bench.ts";
import { asOrdinaryUser } from "../../../../test/fixtures/user.ts";
import { AppError, type Fault } from "../../../contract/errors.ts";
import list from "../../../tools/file/list.ts";
import read from "../../../tools/file/read.ts";
import type { FilesPower } from "../../../contract/powers/files.ts";
import type { GovernanceOptions } from "../../../governance/rules/create.ts";
import { filesPower } from "./files.ts";

const CANARY = "CANARY-7f3a";
const CORPUS = resolve(
  import.meta.dirname,
  "../../../../../shared/corpora/traversal/traversal.txt",
);

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
  put("workspace/inside.txt", "inside");
  put("workspace/dir/inside.txt", "inside");
  put("outside/secret.txt", CANARY);
  put(`outside/${CANARY}.txt`, CANARY);
  put("workspace-evil/secret.txt", CANARY);
  put("home/.ssh/id_ed25519", CANARY);
  // Where the lines of the corpus lead, seen from the workspace.
  for (const name of [
    "etc/passwd",
    "etc/issue",
    "etc/shadow",
    "boot.ini",
    "windows/win.ini",
    "windows/system32/drivers/etc/hosts",
    "{FILE}",
  ])
    put(name, CANARY);
});
afterAll(() => bench.close());

function put(name: string, content: string): string {
  const path = join(bench.root, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return path;
}

const power = (
  settings: Partial<GovernanceOptions> = {},
  rules: Readonly<Record<string, string>> = {},
): Pick<FilesPower, "read" | "list"> => {
  const { workspace, home, dataDir } = bench;
  const governance = governanceOf({ workspace, home, dataDir, ...settings }, shippedFiles(rules));
  const rulesFor = governance.filesFor;
  return filesPower({ rulesFor })(bench.call(), new AbortController().signal);
};

async function faultOf(promise: Promise<unknown>): Promise<Fault> {
  const cause: unknown = await promise.then(
    (value) => new Error(`expected a fault, got ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
  if (cause instanceof AppError) return cause.fault;
  throw cause;
}

const readFault = (path: string): Promise<Fault> => bench.fault(read, { path });

describe("traversal", () => {
  /** Once percent-decoded, as leniently as a careless server would. */
  const decode = (text: string): string => {
    const bytes = Buffer.from(text, "utf8").toString("latin1");
    const raw = bytes.replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
    return Buffer.from(raw, "latin1").toString("utf8");
  };

  let refusedBySchema = 0;

  /** True when the tool answered with something from outside the workspace, or with a foreign fault. */
  async function escapes(tool: typeof read, path: string): Promise<boolean> {
    try {
      const input = tool === list ? { path, includeHidden: true } : { path };
      const output = await bench.run(tool, input);
      const text = JSON.stringify(output);
      const shown = output["path"] as string;
      return text.includes(CANARY) || text.includes("root:x:0") || /^(\/|\.\.)/.test(shown);
    } catch (cause) {
      if (cause instanceof Error && cause.name === "ZodError") refusedBySchema++;
      else if (!(cause instanceof AppError)) return true;
      else if (!["FORBIDDEN", "EXECUTION_FAILED"].includes(cause.code)) return true;
      return false;
    }
  }

  test.skipIf(!existsSync(CORPUS))(
    "no line of the corpus leads out, raw, once or twice decoded",
    { timeout: 120_000 },
    async () => {
      const lines = readFileSync(CORPUS, "utf8")
        .split("\n")
        .filter((line) => line !== "" && !line.startsWith("#"));
      const escaped: string[] = [];
      let tried = 0;
      for (const line of lines) {
        const forms = new Set([
          line,
          decode(line),
          decode(decode(line)),
          line.replaceAll("\\", "/"),
        ]);
        for (const path of forms) {
          tried += 2;
          if (await escapes(read, path)) escaped.push(`read ${path}`);
          if (await escapes(list, path)) escaped.push(`list ${path}`);
        }
      }
      console.info(
        `traversal corpus: ${lines.length} lines, ${tried} calls (${refusedBySchema} refused by the schema), ${escaped.length} escaped`,
      );
      expect(escaped).toEqual([]);
      expect(lines.length).toBeGreaterThan(1_000);
      expect(refusedBySchema).toBeLessThan(tried / 100);
    },
  );

  test("the control inside the root is read and listed", async () => {
    expect(await bench.run(read, { path: "dir/../inside.txt" })).toMatchObject({
      content: "inside",
    });
    expect(await bench.run(list, { path: "dir/.." })).toMatchObject({ path: "." });
  });

  test("a canary would be noticed", async () => {
    put("workspace/planted.txt", CANARY);
    expect(await escapes(read, "planted.txt")).toBe(true);
    rmSync(join(bench.workspace, "planted.txt"));
  });

  test.each([
    "..",
    "../",
    "../outside/secret.txt",
    "dir/../../outside/secret.txt",
    "./../outside/secret.txt",
    "dir/./../../outside",
    "../workspace-evil/secret.txt",
    "missing/../../outside/secret.txt",
    "....//outside",
    "/",
    "//",
    "/tmp/..",
    "~",
    "$HOME",
    "${HOME}/x",
    "~/../outside/secret.txt",
    "inside.txt/../../outside/secret.txt",
  ])("%s does not lead out", async (path) => {
    expect(await escapes(read, path)).toBe(false);
    expect(await escapes(list, path)).toBe(false);
  });

  test("~user, $HOMER and encoded dots are plain names", async () => {
    for (const path of [
      "~root/x",
      "$HOMER",
      "%2e%2e/outside",
      "..%2foutside",
      "\u2025/x",
      "．．/outside",
    ])
      expect(await readFault(path)).toMatchObject({ reason: "path_not_found" });
  });

  test("control characters are refused before anything else", async () => {
    for (const path of [
      "inside.txt\0.png",
      "a\nb",
      "a\u001bb",
      "\u0085",
      "\u007f",
      "/etc/passwd\0",
    ]) {
      const fault = await readFault(path);
      expect(fault).toMatchObject({ code: "FORBIDDEN", reason: "path_forbidden" });
      expect(fault.message).toContain("control characters");
      expect(fault.message).not.toMatch(/\p{Cc}/u);
    }
  });

  test("a sibling whose name starts like the workspace is outside", async () => {
    const path = join(bench.root, "workspace-evil/secret.txt");
    expect(await readFault(path)).toMatchObject({ reason: "path_not_allowed" });
  });

  test("unicode names and names with blanks work", async () => {
    for (const name of [
      "日本語.txt",
      " leading and trailing ",
      "a\u0301.txt",
      "\u{1f600}",
      "-rf",
      "*",
    ]) {
      put(`workspace/${name}`, "inside");
      expect(await bench.run(read, { path: name })).toMatchObject({
        path: name,
        content: "inside",
      });
    }
  });
});

describe("what is refused says nothing about what is there", () => {
  test("existing or not: the same answer", async () => {
    const pairs = [
      ["../outside/secret.txt", "../outside/absent.txt"],
      ["../outside", "../absent"],
      ["~/.ssh/id_ed25519", "~/.ssh/absent"],
      ["/etc/passwd", "/etc/absent"],
      [join(bench.dataDir, "store.db"), join(bench.dataDir, "absent")],
    ] as const;
    for (const [there, absent] of pairs) {
      for (const tool of [read, list]) {
        const one = await bench.fault(tool, { path: there });
        const other = await bench.fault(tool, { path: absent });
        const text = (fault: Fault, path: string) =>
          JSON.stringify(fault).replaceAll(JSON.stringify(path).slice(1, -1), "PATH");
        expect(text(one, there)).toBe(text(other, absent));
        expect(one.code).toBe("FORBIDDEN");
      }
    }
  });

  test("links that lead out: the same answer, whatever they lead to", async () => {
    symlinkSync(join(bench.root, "outside/secret.txt"), join(bench.workspace, "to-file"));
    symlinkSync(join(bench.root, "outside"), join(bench.workspace, "to-dir"));
    symlinkSync(join(bench.root, "outside/absent"), join(bench.workspace, "to-none"));
    for (const path of [
      "to-file",
      "to-dir",
      "to-none",
      "to-dir/secret.txt",
      "to-dir/absent",
      "to-file/x",
    ])
      for (const tool of [read, list])
        expect(await bench.fault(tool, { path })).toMatchObject({
          code: "FORBIDDEN",
          reason: "path_not_allowed",
          message: `Path ${path} not in allowed paths`,
        });
  });
});

describe("links", () => {
  const link = (target: string, name: string): void =>
    symlinkSync(target, join(bench.workspace, name));

  test("inside the workspace they are followed, and the real path is shown", async () => {
    link("dir", "alias");
    link("alias/inside.txt", "chain");
    link(join(bench.workspace, "inside.txt"), "absolute");
    expect(await bench.run(read, { path: "alias/inside.txt" })).toMatchObject({
      path: "dir/inside.txt",
    });
    expect(await bench.run(read, { path: "chain" })).toMatchObject({
      path: "dir/inside.txt",
      content: "inside",
    });
    expect(await bench.run(read, { path: "absolute" })).toMatchObject({ path: "inside.txt" });
    expect(await bench.run(list, { path: "alias" })).toMatchObject({ path: "dir", total: 1 });
  });

  test.each([
    ["../outside/secret.txt", "path_not_allowed"],
    ["../outside/../outside/secret.txt", "path_not_allowed"],
    ["/etc/passwd", "path_forbidden"],
    ["/proc/self/environ", "path_forbidden"],
    ["/proc/self/root/etc/passwd", "path_forbidden"],
    ["/dev/zero", "path_forbidden"],
    ["../home/.ssh/id_ed25519", "path_forbidden"],
    ["../data/store.db", "path_forbidden"],
    ["..", "path_not_allowed"],
    ["/", "path_not_allowed"],
  ])("a link to %s is refused as %s", async (target, reason) => {
    link(target, "trap");
    try {
      for (const path of ["trap", "dir/../trap", "trap/."])
        expect(await readFault(path)).toMatchObject({ code: "FORBIDDEN", reason });
    } finally {
      rmSync(join(bench.workspace, "trap"));
    }
  });

  test("a link out of the workspace and back is refused", async () => {
    symlinkSync(bench.workspace, join(bench.root, "outside/back"));
    link("../outside/back/inside.txt", "there-and-back");
    expect(await readFault("there-and-back")).toMatchObject({ reason: "path_not_allowed" });
  });

  test("circles and dangling links end", async () => {
    link("circle-b", "circle-a");
    link("circle-a", "circle-b");
    link("nowhere", "dangling");
    expect(await readFault("circle-a")).toMatchObject({ reason: "path_not_found" });
    expect(await readFault("dangling")).toMatchObject({ reason: "path_not_found" });
  });

  test("a listing shows links and does not go through them", async () => {
    const { entries } = await bench.run(list, { path: ".", recursive: true });
    const paths = (entries as { path: string }[]).map(({ path }) => path);
    expect(paths).toContain("to-dir");
    expect(paths.some((path) => path.startsWith("to-dir/"))).toBe(false);
    expect(entries).toContainEqual(
      expect.objectContaining({ path: "absolute", target: "inside.txt" }),
    );
  });

  test("a workspace that is reached by a link itself works under both names", async () => {
    const named = join(bench.root, "named-workspace");
    symlinkSync(bench.workspace, named);
    const files = power({ workspace: named });
    for (const path of [
      "inside.txt",
      join(named, "inside.txt"),
      join(bench.workspace, "inside.txt"),
    ])
      expect((await files.read(path, { maxBytes: 100 })).path).toBe("inside.txt");
    expect(await faultOf(files.read("../outside/secret.txt", { maxBytes: 100 }))).toMatchObject({
      code: "FORBIDDEN",
    });
  });
});

describe("kinds", () => {
  test("a directory, a pipe, a socket and a device are no files", { timeout: 5_000 }, async () => {
    execFileSync("mkfifo", [join(bench.workspace, "pipe")]);
    const server = createServer().listen(join(bench.workspace, "socket"));
    await new Promise((done) => server.once("listening", done));
    const kinds = ["dir", "pipe", "socket"];
    try {
      execFileSync("mknod", [join(bench.workspace, "device"), "c", "1", "5"], { stdio: "ignore" });
      kinds.push("device");
    } catch {
      console.info("device not tested: making one needs privileges");
    }
    for (const path of kinds)
      expect(await readFault(path)).toMatchObject({
        code: "EXECUTION_FAILED",
        reason: "not_a_file",
      });
    const { entries } = await bench.run(list, { path: "." });
    for (const name of kinds.slice(1))
      expect(entries).toContainEqual(expect.objectContaining({ name, type: "other" }));
    server.close();
  });

  test("a hard link is a file of the workspace like any other", async () => {
    linkSync(join(bench.workspace, "inside.txt"), join(bench.workspace, "hard"));
    expect(await bench.run(read, { path: "hard" })).toMatchObject({ content: "inside" });
  });

  test("what the user may not open is permission_denied", async () => {
    put("workspace/closed.txt", "x");
    execFileSync("chmod", ["000", join(bench.workspace, "closed.txt")]);
    for (const folder of [bench.workspace, dirname(bench.workspace)]) chmodSync(folder, 0o755);
    const fault = await asOrdinaryUser(() => readFault("closed.txt"));
    expect(fault).toMatchObject({ reason: "permission_denied" });
  });

  test("names beyond what the system takes do not exist", async () => {
    expect(await readFault("x".repeat(300))).toMatchObject({ reason: "path_not_found" });
    expect(await readFault("a/".repeat(2_000))).toMatchObject({ reason: "path_not_found" });
    const fault = await readFault("y".repeat(4_000));
    expect(fault.message.length).toBeLessThan(300);
  });
});

describe("C11: forbidden beats allowed", () => {
  test("every rule holds, existing or not, with the home folder as workspace", async () => {
    const files = power({ workspace: bench.home });
    const list =
      /^ {2}forbidden:\n((?: {4}- .*\n)+)/m.exec(shippedFiles()["tools.yaml"] ?? "")?.[1] ?? "";
    const forbidden = [...list.matchAll(/- (\$HOME\/\S+|\/\S+)/g)].map(([, rule = ""]) => rule);
    for (const rule of forbidden) {
      for (const path of [
        rule,
        `${rule}/below`,
        rule.replace("$HOME", "~"),
        rule.replace("$HOME", bench.home),
      ]) {
        const fault = await faultOf(files.read(path, { maxBytes: 100 }));
        expect([path, fault.reason]).toEqual([path, "path_forbidden"]);
        expect(fault.message).toContain(rule);
      }
    }
    expect(forbidden).toEqual(
      expect.arrayContaining([
        "$HOME/.ssh",
        "$HOME/.aws",
        "$HOME/.bashrc",
        "/etc",
        "/proc",
        "/dev",
      ]),
    );
  });

  test("components are compared: .sshx and .ssh.txt are not .ssh", async () => {
    put("home/.sshx/a", "fine");
    put("home/.ssh.txt", "fine");
    const files = power({ workspace: bench.home });
    for (const path of [".sshx/a", ".ssh.txt"])
      expect(Buffer.from((await files.read(path, { maxBytes: 100 })).bytes).toString()).toBe(
        "fine",
      );
  });

  test("a listing leaves out what is forbidden", async () => {
    const files = power({ workspace: bench.home });
    const all = { depth: 5, includeHidden: true, maxEntries: 100 };
    const { entries } = await files.list(".", all);
    expect(entries.map(({ path }) => path)).toContain(".sshx/a");
    expect(entries.filter(({ path }) => /^\.ssh(\/|$)/.test(path))).toEqual([]);
  });

  test("case is folded where the file system does", async () => {
    const folded = power({ workspace: bench.home, caseInsensitive: true });
    for (const path of [".SSH/id_ed25519", "~/.Ssh/x", "/ETC/passwd", "/Proc/self/environ"])
      expect(await faultOf(folded.read(path, { maxBytes: 100 }))).toMatchObject({
        reason: "path_forbidden",
      });
    const shouted = join(bench.root.toUpperCase(), "HOME/.sshx/a");
    expect((await folded.read(shouted, { maxBytes: 100 })).path).toBe(".sshx/a");
    const exact = power({ workspace: bench.home, caseInsensitive: false });
    expect(await faultOf(exact.read(".SSH/x", { maxBytes: 100 }))).toMatchObject({
      reason: "path_not_found",
    });
  });

  test("the data directory is forbidden inside a workspace, and a workspace inside it is allowed", async () => {
    const above = power({ workspace: bench.root });
    expect(await faultOf(above.read("data/store.db", { maxBytes: 1e7 }))).toMatchObject({
      reason: "path_forbidden",
    });
    put("data/workspaces/one/note.txt", "fine");
    put("data/workspaces/two/note.txt", CANARY);
    const within = power({ workspace: join(bench.dataDir, "workspaces/one") });
    expect((await within.read("note.txt", { maxBytes: 100 })).path).toBe("note.txt");
    for (const path of ["../../store.db", "../two/note.txt", "..", join(bench.dataDir, "store.db")])
      expect(await faultOf(within.read(path, { maxBytes: 100 }))).toMatchObject({
        reason: "path_forbidden",
      });
    const same = power({ workspace: bench.dataDir });
    expect(await faultOf(same.read("store.db", { maxBytes: 100 }))).toMatchObject({
      reason: "path_forbidden",
    });
  });

  test("the configuration is forbidden inside the workspace, by any of its names", async () => {
    const config = put("workspace/ostiary.yaml", CANARY);
    symlinkSync("ostiary.yaml", join(bench.workspace, "settings"));
    const files = power({ configFiles: [config, join(bench.workspace, "later.yaml")] });
    for (const path of ["ostiary.yaml", config, "settings", "later.yaml"]) {
      const fault = await faultOf(files.read(path, { maxBytes: 100 }));
      expect(fault).toMatchObject({ code: "FORBIDDEN", reason: "path_forbidden" });
      expect(fault.message).toBe(`Path ${path} is forbidden: the server's own configuration`);
    }
    rmSync(config);
  });

  test("a folder that an administrator adds is allowed and shown as it is", async () => {
    const outside = join(bench.root, "outside");
    const files = power(
      {},
      { "allowed:\n    - $WORKSPACE": `allowed:\n    - $WORKSPACE\n    - ${outside}` },
    );
    const file = await files.read("../outside/secret.txt", { maxBytes: 100 });
    expect(file.path).toBe(join(realpathSync(outside), "secret.txt"));
    expect(
      await faultOf(files.read("../workspace-evil/secret.txt", { maxBytes: 100 })),
    ).toMatchObject({ reason: "path_not_allowed" });
  });

  test("the limits of the rules hold whatever the tool asks", async () => {
    const files = power(
      {},
      {
        "read_mb: 10, write_mb: 10, list_entries: 10000, visited_entries: 200000":
          "read_mb: 0.001, write_mb: 10, list_entries: 2, visited_entries: 3",
      },
    );
    put("workspace/kilobytes.txt", "x".repeat(1_049));
    expect(await faultOf(files.read("kilobytes.txt", { maxBytes: 10_000 }))).toMatchObject({
      code: "FORBIDDEN",
      reason: "size_exceeded",
    });
    const listing = await files.list(".", { depth: 5, includeHidden: true, maxEntries: 100 });
    expect(listing.entries.length).toBeLessThanOrEqual(2);
    expect(listing.truncated).toBe(true);
  });
});

describe("C11: races", () => {
  /** Swaps `name` in the workspace between the real thing and a link to a twin outside, as fast as it can. */
  function swapper(name: string): { stop(): Promise<unknown> } {
    const path = join(bench.workspace, name);
    const code = `
      const { renameSync, symlinkSync } = require("node:fs");
      const { workerData: w } = require("node:worker_threads");
      symlinkSync(w.twin, w.path + ".link");
      for (;;) {
        renameSync(w.path, w.path + ".real"); renameSync(w.path + ".link", w.path);
        renameSync(w.path, w.path + ".link"); renameSync(w.path + ".real", w.path);
      }`;
    const worker = new Worker(code, {
      eval: true,
      workerData: { path, twin: join(bench.root, "twin", name) },
    });
    return { stop: () => worker.terminate() };
  }

  async function attack(name: string, attempt: () => Promise<string>): Promise<void> {
    const counts = { inside: 0, refused: 0, canary: 0 };
    const swapping = swapper(name);
    try {
      for (let round = 0; round < 2_000; round++) {
        const text = await attempt().catch((cause: unknown) => {
          if (!(cause instanceof AppError)) throw cause;
          return "";
        });
        counts[text === "" ? "refused" : text.includes(CANARY) ? "canary" : "inside"]++;
      }
    } finally {
      await swapping.stop();
    }
    console.info(`swap of ${name}: ${JSON.stringify(counts)}`);
    expect(counts.canary).toBe(0);
    expect(counts.inside).toBeGreaterThan(0);
    expect(counts.refused).toBeGreaterThan(0);
  }

  test("the file is swapped for a link", { timeout: 60_000 }, async () => {
    put("workspace/raced.txt", "inside");
    put("twin/raced.txt", CANARY);
    await attack(
      "raced.txt",
      async () => (await bench.run(read, { path: "raced.txt" }))["content"] as string,
    );
  });

  test("a folder above is swapped for a link", { timeout: 60_000 }, async () => {
    put("workspace/raced/sub/file.txt", "inside");
    put("twin/raced/sub/file.txt", CANARY);
    await attack(
      "raced",
      async () => (await bench.run(read, { path: "raced/sub/file.txt" }))["content"] as string,
    );
  });

  test("a listed folder is swapped for a link", { timeout: 60_000 }, async () => {
    put("workspace/listed/sub/file.txt", "inside");
    put(`twin/listed/sub/${CANARY}.txt`, CANARY);
    await attack("listed", async () =>
      JSON.stringify((await bench.run(list, { path: "listed/sub", recursive: true }))["entries"]),
    );
  });

  test("a folder below the listed one is swapped for a link", { timeout: 60_000 }, async () => {
    put("workspace/walked/inner/file.txt", "inside");
    put(`twin/walked/inner/${CANARY}.txt`, CANARY);
    await attack("walked/inner", async () => {
      const { entries } = await bench.run(list, { path: "walked", recursive: true });
      const paths = JSON.stringify((entries as { path: string }[]).map(({ path }) => path));
      return paths.includes("inner/") ? paths : "";
    });
  });
});

test("nothing of ours is left open", () => {
  if (process.platform !== "linux") return;
  const open = execFileSync("ls", ["-l", `/proc/${process.pid}/fd`]).toString();
  expect(open).not.toContain(bench.workspace);
});
