import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { resolveProgram } from "./program.ts";

let home: string;
/** A file with its folders; executable where it begins like a script. */
const put = (path: string, text = ""): string => {
  const file = join(home, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  if (text.startsWith("#!")) chmodSync(file, 0o755);
  return file;
};
const ro = (...paths: string[]) => paths.map((path) => ({ path, access: "ro" }));
const NODE = "#!/usr/bin/env node\n";

beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), "ostiary-program-"));
  put(
    "app/node_modules/@who/server/package.json",
    '{"version":"1.2.3","bin":{"server":"dist/cli.js"}}',
  );
  put("app/node_modules/@who/server/dist/cli.js", NODE);
  put("app/node_modules/broken/package.json", "{");
  put("app/docs/readme");
  put("project/package.json", "{}");
  put("project/dist/index.js");
  put("bare/server.mjs");
  put("venv/pyvenv.cfg");
  put("venv/bin/python3", "#!/bin/sh\n");
  put("tools/run", "#!/bin/sh\n");
  put("tools/plain", "text");
  mkdirSync(join(home, "app/node_modules/.bin"));
  symlinkSync("../@who/server/dist/cli.js", join(home, "app/node_modules/.bin/server"));
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

test("a script below node_modules becomes absolute, and all modules are seen", async () => {
  const app = join(home, "app");
  const cli = join(app, "node_modules/@who/server/dist/cli.js");
  expect(
    await resolveProgram(
      [
        "node",
        "--no-warnings",
        "-r",
        "x",
        "node_modules/@who/server/dist/cli.js",
        "docs",
        "./docs",
        "./none",
      ],
      app,
    ),
  ).toEqual({
    argv: ["node", "--no-warnings", "-r", "x", cli, "docs", join(app, "docs"), "./none"],
    folders: ro(join(app, "node_modules")),
  });
});

test("a command that is a script for Node runs on our Node, links resolved", async () => {
  const app = join(home, "app");
  const expected = {
    argv: ["node", join(app, "node_modules/@who/server/dist/cli.js"), "a"],
    folders: ro(join(app, "node_modules")),
  };
  expect(await resolveProgram(["node_modules/.bin/server", "a"], app)).toEqual(expected);
  expect(
    await resolveProgram(["server", "a"], "/", { path: join(app, "node_modules/.bin") }),
  ).toEqual(expected);
});

test("npx of an installed package starts that package, from any folder of the project", async () => {
  const app = join(home, "app");
  const expected = {
    argv: ["node", join(app, "node_modules/@who/server/dist/cli.js"), "a"],
    folders: ro(join(app, "node_modules")),
  };
  for (const words of [
    ["-y", "@who/server"],
    ["@who/server@latest"],
    ["@who/server@1.2.3"],
    ["--package=@who/server", "server"],
  ])
    expect(
      await resolveProgram(["npx", ...words, "a"], join(app, "docs")),
      words.join(" "),
    ).toEqual(expected);
});

test("npx of another package is refused without network, and the way out is named", async () => {
  const app = join(home, "app");
  for (const name of ["@who/server@2.0.0", "absent", "broken", "../x"])
    await expect(resolveProgram(["npx", "-y", name], app), name).rejects.toMatchObject({
      fault: {
        code: "BAD_REQUEST",
        message: expect.stringContaining("is not installed") as unknown,
        remedy: expect.stringMatching(/--network registry.*npm install/) as unknown,
      },
    });
  const npx = put("tools/npx", "#!/bin/sh\n");
  expect(
    await resolveProgram([npx, "-y", "absent"], app, { network: { hosts: ["*"] } }),
  ).toMatchObject({ argv: [npx, "-y", "absent"] });
});

test("a script of a project is seen with the project, a lone one with its folder", async () => {
  expect(await resolveProgram(["node", "dist/index.js"], join(home, "project"))).toEqual({
    argv: ["node", join(home, "project/dist/index.js")],
    folders: ro(join(home, "project")),
  });
  expect(await resolveProgram(["node", "server.mjs"], join(home, "bare"))).toMatchObject({
    folders: ro(join(home, "bare")),
  });
  const lone = join(tmpdir(), `${home.split("/").at(-1) ?? ""}.mjs`);
  writeFileSync(lone, "");
  expect(await resolveProgram(["node", lone], "/")).toMatchObject({ folders: ro(lone) });
  rmSync(lone);
});

test("a Python of its own folder is seen with its library; the system's needs nothing", async () => {
  put("bare/main.py");
  expect(await resolveProgram(["../venv/bin/python3", "main.py"], join(home, "bare"))).toEqual({
    argv: [join(home, "venv/bin/python3"), join(home, "bare/main.py")],
    folders: ro(join(home, "venv"), join(home, "bare")),
  });
  expect(await resolveProgram(["sh", "-c", "true"], home)).toEqual({
    argv: [expect.stringMatching(/^(\/usr)?\/bin\/sh$/), "-c", "true"],
    folders: [],
  });
});

test("outside of a box nothing has to be seen", async () => {
  expect(await resolveProgram(["./run"], join(home, "tools"), { isolation: "none" })).toEqual({
    argv: [join(home, "tools/run")],
    folders: [],
  });
});

test("what cannot be started is refused, with a remedy", async () => {
  const cases: [string[], string][] = [
    [[], "expected a program"],
    [[" "], "expected a program"],
    [["no-such-program-here"], "was not found"],
    [["./absent"], "does not exist"],
    [["./tools"], "got a folder"],
    [["./tools/plain"], "cannot be executed"],
    [["node", "absent.js"], "does not exist"],
    [["npx"], "expected the name of a package"],
  ];
  for (const [argv, words] of cases)
    await expect(resolveProgram(argv, home), argv.join(" ")).rejects.toMatchObject({
      fault: {
        code: "BAD_REQUEST",
        message: expect.stringContaining(words) as unknown,
        remedy: expect.any(String) as unknown,
      },
    });
});
