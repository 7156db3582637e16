import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HAS_BOX } from "../../../test/fixtures/programs.ts";
import { openBench, type Bench } from "../../../test/fixtures/tool-bench.ts";
import { openWeb } from "../../../test/fixtures/web.ts";
import python from "./python.ts";
import script from "./script.ts";

describe.skipIf(!HAS_BOX)("scripts", { timeout: 60_000 }, () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench();
  });
  afterAll(() => bench.close());

  test.each([
    ["sh", 'echo "$# $1"'],
    ["bash", 'a=("$@"); echo "${#a[@]} ${a[0]}"'],
    ["node", "const a = process.argv.slice(2); console.log(a.length, a[0])"],
    ["python", "import sys; print(len(sys.argv) - 1, sys.argv[1])"],
  ])("%s gets its arguments as they are", async (interpreter, text) => {
    const ended = await bench.run(script, { script: text, interpreter, args: ["a; $(id)", "b"] });
    expect(ended).toMatchObject({
      stdout: "2 a; $(id)\n",
      stderr: "",
      exitCode: 0,
      filesWritten: [],
    });
  });

  test("node is the server's own, in both kinds of modules", async () => {
    for (const text of [
      "console.log(process.version)",
      'import { version } from "node:process"; console.log(version)',
    ])
      expect(await bench.run(script, { script: text, interpreter: "node" })).toMatchObject({
        stdout: `${process.version}\n`,
      });
  });

  test("what it writes stays and is listed", async () => {
    const ended = await bench.run(script, {
      script: "mkdir -p out; echo 1 > out/a; echo 22 > out/b; cat",
      stdin: "in",
    });
    expect(ended).toMatchObject({
      stdout: "in",
      filesWritten: [
        { path: "out/a", bytes: 2 },
        { path: "out/b", bytes: 3 },
      ],
    });
    expect(readFileSync(join(bench.workspace, "out/b"), "utf8")).toBe("22\n");
  });

  test("a mistake in it is a result with the interpreter's words", async () => {
    expect(await bench.run(script, { script: "if then" })).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("yntax error") as string,
    });
    const failed = await bench.run(python, { script: "x = 1\nraise ValueError('no')" });
    expect(failed).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining("ValueError: no") as string,
    });
  });

  test("variables and folders are judged as those of exec", async () => {
    expect(await bench.fault(script, { script: "env", env: { LD_PRELOAD: "x" } })).toMatchObject({
      reason: "env_forbidden",
    });
    expect(await bench.fault(script, { script: "env", cwd: "/etc" })).toMatchObject({
      code: "FORBIDDEN",
    });
  });

  test("there is no network unless it is asked for", async () => {
    const text =
      "import socket\ntry:\n  socket.create_connection(('93.184.215.14', 80), 2)\n  print('reached')\nexcept OSError as e:\n  print('refused')";
    expect(await bench.run(python, { script: text })).toMatchObject({ stdout: "refused\n" });
  });

  test("packages of Python that are there, and one that is not", async () => {
    expect(
      await bench.run(python, {
        script: "import json; print(json.dumps([1]))",
        packages: ["json"],
        args: ["x"],
      }),
    ).toMatchObject({ stdout: "[1]\n" });
    expect(await bench.fault(python, { script: "1", packages: ["no-such-package"] })).toMatchObject(
      {
        reason: "package_missing",
        message: expect.stringContaining("no-such-package") as string,
        remedy: expect.stringContaining("package_install") as string,
      },
    );
  });

  test("its time is up, and children go with it", async () => {
    const ended = await bench.run(python, {
      script:
        "import os, signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('begun', flush=True)\nos.fork()\ntime.sleep(60)",
      timeoutSeconds: 5,
    });
    expect(ended).toMatchObject({ stdout: "begun\n", timedOut: true, exitCode: -1 });
  });
});

describe.skipIf(!HAS_BOX)("a script with network", { timeout: 60_000 }, () => {
  const fetching = (url: string): string => `
import urllib.request
try:
    print(urllib.request.urlopen("${url}", timeout=10).status)
except urllib.error.HTTPError as e:
    print(e.code)
except Exception as e:
    print("none")
`;

  test("reaches public hosts through the guard, and nothing else", async () => {
    const web = await openWeb({ names: { "inside.example.org": ["127.0.0.1"] } });
    const bench = await openBench({ egress: web.egress });
    const to = async (url: string) =>
      (await bench.run(python, { script: fetching(url), network: true }))["stdout"];
    expect(await to("http://example.org/")).toBe("200\n");
    expect(bench.notes.at(-1)).toMatchObject({ hosts: ["example.org"], untrusted: true });
    const dialled = web.dialled.length;
    for (const url of [
      "http://127.0.0.1/",
      "http://169.254.169.254/",
      "http://inside.example.org/",
      "http://localhost/",
      "http://example.org:22/",
    ])
      expect([url, await to(url)]).toEqual([url, "403\n"]);
    expect(web.dialled.length).toBe(dialled);
    const direct =
      "import socket\ntry:\n  socket.create_connection(('93.184.215.14', 80), 2)\n  print('reached')\nexcept OSError:\n  print('refused')";
    expect(await bench.run(python, { script: direct, network: true })).toMatchObject({
      stdout: "refused\n",
    });
    await bench.close();
    await web.close();
  });
});
