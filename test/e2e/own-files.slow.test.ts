// What the server keeps for itself, placed where tools work: it refuses to start, or holds it in place in every box.
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { runBin, startServer, type RunningServer } from "../fixtures/bin.ts";
import { openHouse } from "../fixtures/open-house.ts";
import { HAS_BOX } from "../fixtures/programs.ts";

const AS_ROOT = process.getuid?.() === 0;
const UID = 12_345;

describe("A2: the server's own folders in a workspace", { timeout: 60_000 }, () => {
  let root = "";
  const at = (...names: string[]): string => join(root, ...names);
  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), "ostiary-apart-"));
    mkdirSync(at("work/var"), { recursive: true });
    mkdirSync(at("elsewhere"));
  });
  const mounted: string[] = [];
  afterEach(() => {
    for (const place of mounted.splice(0)) execFileSync("umount", [place]);
  });
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  const serve = (env: Record<string, string>, ...args: string[]) =>
    runBin(["serve", "--port", "0", ...args], { env: { OSTIARY_WORKSPACE: at("work"), ...env } });
  const refused = async (
    dataDir: string,
    env: Record<string, string> = {},
    args: string[] = [],
  ) => {
    const { code, stderr } = await serve({ OSTIARY_DATA_DIR: dataDir, ...env }, ...args);
    expect(stderr).toMatch(/lies in the workspace/);
    expect(code).not.toBe(0);
    return stderr;
  };

  test("A2: a data directory below the workspace is refused, and not made", async () => {
    const told = await refused(at("work/var/ostiary"));
    expect(told).toContain("--data-dir");
    expect(existsSync(at("work/var/ostiary"))).toBe(false);
    await refused(at("work/.ostiary"));
  });

  test("A2: the same by a link to it, and by a link to the workspace", async () => {
    symlinkSync(at("work/var"), at("link"));
    await refused(at("link/ostiary"));
    symlinkSync(at("work"), at("other-name"));
    await refused(at("work/var/ostiary"), { OSTIARY_WORKSPACE: at("other-name") });
    await refused(at("elsewhere/../work/x"));
  });

  test("A2: with a folder for each session, below which they would come to lie", () =>
    refused(at("work/ostiary"), { OSTIARY_WORKSPACE_PER_SESSION: "true" }));

  test("A2: the database alone in the workspace", () =>
    refused(at("data-1"), { OSTIARY_STORE: `sqlite:${at("work/var/o.db")}` }));

  test.skipIf(!AS_ROOT)("A2: by a mount that has another name", async () => {
    const bind = (from: string, to: string): void => {
      mkdirSync(to, { recursive: true });
      execFileSync("mount", ["--bind", from, to]);
      mounted.push(to);
    };
    bind(at("work/var"), at("mounted"));
    await refused(at("mounted/ostiary"));
    mkdirSync(at("data-2"));
    bind(at("data-2"), at("work/shown"));
    await refused(at("data-2"));
  });

  test("A2: a configuration that a link in the workspace leads to", async () => {
    mkdirSync(at("work/real-conf"));
    writeFileSync(at("work/real-conf/ostiary.yaml"), "log: { level: error }\n");
    symlinkSync("real-conf", at("work/conf"));
    await refused(at("data-3"), {}, ["--config", at("work/conf/ostiary.yaml")]);
  });

  test("A2: control: a workspace inside the data directory, and folders side by side", async () => {
    for (const workspace of [at("data-4/workspace"), at("work")]) {
      const server = await startServer(["--port", "0"], {
        env: { OSTIARY_WORKSPACE: workspace, OSTIARY_DATA_DIR: at("data-4") },
      });
      expect(await server.stop()).toBe(0);
    }
  });
});

describe.skipIf(!HAS_BOX || !AS_ROOT)(
  "A2: a configuration in the workspace of an ordinary user",
  { timeout: 120_000 },
  () => {
    let root = "";
    let server: RunningServer;
    const key = "ADMIN-0123456789-0123456789-0123456789";
    const at = (...names: string[]): string => join(root, ...names);
    const call = async (name: string, args: object) => {
      const response = await fetch(`${server.url}/api/v1/executions`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ name, arguments: args }),
      });
      return { status: response.status, text: await response.text() };
    };
    const script = (text: string) => call("shell/script", { script: text });

    beforeAll(async () => {
      root = mkdtempSync(join(tmpdir(), "ostiary-own-"));
      chmodSync(root, 0o711);
      for (const folder of ["work", "work/a", "work/a/conf", "work/rules"]) mkdirSync(at(folder));
      cpSync(openHouse(), at("work/rules/governance"), { recursive: true });
      writeFileSync(
        at("work/a/conf/ostiary.yaml"),
        `adminKey: \${file:./admin.key}\ngovernance: ${at("work/rules/governance")}\nlog: { level: error }\n`,
      );
      writeFileSync(at("work/a/conf/admin.key"), `${key}\n`);
      execFileSync("chown", ["-R", `${UID}:${UID}`, at("work")]);
      server = await startServer(["--port", "0", "--config", at("work/a/conf/ostiary.yaml")], {
        env: { OSTIARY_WORKSPACE: at("work"), OSTIARY_DATA_DIR: at("data") },
      });
    });
    afterAll(async () => {
      await server.stop();
      rmSync(root, { recursive: true, force: true });
    });

    test("A2: no folder above it can be moved in a box, and it is not seen there", async () => {
      for (const move of [
        "mv a b",
        "mv a/conf a/c2",
        "mv a/conf/ostiary.yaml x",
        "mv rules r2",
        "mv rules/governance rules/g2",
        "rm -rf a rules",
        "ln a/conf/ostiary.yaml y",
      ])
        await script(`${move}; true`);
      expect([
        existsSync(at("work/a/conf/ostiary.yaml")),
        existsSync(at("work/rules/governance/tools.yaml")),
      ]).toEqual([true, true]);
      expect((await script("cat a/conf/ostiary.yaml a/conf/admin.key")).text).not.toContain(
        "ADMIN-0",
      );
    });

    test("A2: nor by the file tools, under its own or any other name", async () => {
      for (const [tool, args] of [
        ["file/move", { from: "a", to: "b" }],
        ["file/move", { from: "a/conf", to: "c" }],
        ["file/copy", { from: "a", to: "b", recursive: true }],
        ["file/copy", { from: "a/conf/admin.key", to: "k" }],
        ["file/read", { path: "a/conf/admin.key" }],
        ["file/read", { path: "a/conf/ostiary.yaml" }],
      ] as const)
        expect([tool, args, (await call(tool, args)).text]).toEqual([
          tool,
          args,
          expect.stringContaining("path_forbidden"),
        ]);
      linkSync(at("work/a/conf/admin.key"), at("work/second"));
      expect((await call("file/read", { path: "second" })).text).not.toContain("ADMIN-0");
      rmSync(at("work/second"));
    });

    test("A2: control: what lies beside it can be read, written and moved", async () => {
      expect(
        (await script("echo hi > a/conf/note && mv a/conf/note a/note && cat a/note")).text,
      ).toContain("hi");
      expect((await call("file/read", { path: "a/note" })).status).toBe(200);
    });
  },
);
