// Programs that run unasked: only with arguments whose meaning is known, and in a box in which a mistake costs nothing.
import { chmodSync, chownSync, existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { until } from "../fixtures/contract.ts";
import { governanceWith } from "../fixtures/open-house.ts";
import { HAS_BOX } from "../fixtures/programs.ts";

const UID = 12_345;

async function start(change: Record<string, string> = {}): Promise<StartedApp> {
  const app = await startApp({ flags: { governance: governanceWith(change) } });
  writeFileSync(join(app.workspace, "in"), "b\na\n");
  writeFileSync(
    join(app.workspace, "evil"),
    "#!/bin/sh\necho STARTED; echo x > made-by-evil; cat\n",
  );
  chmodSync(join(app.workspace, "evil"), 0o755);
  // The folder itself is in the box, as it is for a server that runs as an ordinary user.
  if (process.getuid?.() === 0)
    for (const name of ["", "in", "evil"]) chownSync(join(app.workspace, name), UID, UID);
  return app;
}

const FILES = ["evil", "in"];

describe.skipIf(!HAS_BOX)("A3: the run list", { timeout: 60_000 }, () => {
  let app: StartedApp;
  beforeAll(async () => {
    app = await start();
  });
  afterAll(() => app.close());
  const exec = (args: object) =>
    app.api("POST", "/executions", { body: { name: "shell/exec", arguments: args } });

  test.each([
    [["sort", "--random-source", "--", "-o", "out", "in"]],
    [["rg", "-e", "--", "--pre", "sh", "x"]],
    [["uniq", "--", "in", "-out"]],
    [["sort", "-k", "--", "-o", "out", "in"]],
    [["sort", "-t", "--", "--compress-program", "./evil", "in"]],
    [["rg", "-g", "--", "--pre=./evil", "x"]],
    [["tail", "-n", "--", "--pid", "1", "in"]],
    [["date", "-d", "--", "--set", "now"]],
  ])("A3: %j runs only if somebody agrees", async (command) => {
    const { body } = await app.api("POST", "/explain", {
      body: { tool: "shell/exec", arguments: { command } },
    });
    const gates = body.gates as { stage: string; verdict: string }[];
    expect(gates.find(({ verdict }) => verdict !== "allow")).toMatchObject({
      verdict: expect.stringMatching(/hold|deny/) as string,
    });
    expect(readdirSync(app.workspace).sort()).toEqual(FILES);
  });

  test("A3: control: what is known runs unasked, with threads where it has them", async () => {
    for (const [command, stdout] of [
      [["sort", "in"], "a\nb\n"],
      ["sort -r in", "b\na\n"],
      [["grep", "-c", "-e", "a", "in"], "1\n"],
      [["rg", "--no-heading", "-N", "-e", "a", "in"], "a\n"],
      [["jq", "-nc", "[1]"], "[1]\n"],
      [["uniq", "-c", "--", "in"], "      1 b\n      1 a\n"],
    ] as const) {
      if (command[0] === "rg" && !existsSync("/usr/bin/rg")) continue;
      if (command[0] === "jq" && !existsSync("/usr/bin/jq")) continue;
      expect((await exec({ command })).body).toMatchObject({
        status: "success",
        result: { stdout },
      });
    }
  });

  test("A3: control: what a person agreed to may write", async () => {
    const made = await app.api("POST", "/users", {
      body: { id: "boss", name: "boss", role: "admin" },
    });
    expect(made.status).toBe(201);
    const { body: key } = await app.api("POST", "/keys", {
      body: { userId: "boss", name: "test", scopes: ["*"], level: "admin", capsuleId: "all" },
    });
    const held = await exec({ command: ["touch", "made"] });
    const { id } = (held.body as { approval: { id: string } }).approval;
    const agreed = await app.api("POST", `/approvals/${id}/approve`, {
      body: {},
      key: (key as { secret: string }).secret,
    });
    expect(agreed.body).toMatchObject({ state: "approved" });
    await until(() => existsSync(join(app.workspace, "made")), 20_000);
  });
});

describe.skipIf(!HAS_BOX)("A3: a grammar that is mistaken", { timeout: 60_000 }, () => {
  let app: StartedApp;
  beforeAll(async () => {
    // Says that these were harmless, which they are not: only the box is left.
    app = await start({
      "    rg: [--pre, --pre-glob, --hostname-bin, -z, --search-zip]\n": "",
      "    sort: [-o, --output, -T, --temporary-directory, --compress-program, --files0-from]\n":
        "",
      "  max_operands: { uniq: 1 }\n": `  max_operands: {}
  grammar:
    rg: { flags: "-n", values: "-e --pre" }
    sort: { values: "-o -T -S --compress-program" }
    uniq: { flags: "-c" }
`,
    });
  });
  afterAll(() => app.close());

  test.each([
    [["sort", "-o", "out", "in"]],
    [["sort", "-o", "in", "in"]],
    [["uniq", "in", "out"]],
    [["rg", "--pre", "./evil", "-e", "a", "in"]],
    [["rg", "--pre", "sh", "-e", "a", "evil"]],
  ])("A3: %j runs, and can neither write nor start anything", async (command) => {
    if (command[0] === "rg" && !existsSync("/usr/bin/rg")) return;
    const { body } = await app.api("POST", "/executions", {
      body: { name: "shell/exec", arguments: { command } },
    });
    expect(body).toMatchObject({ status: "success" });
    expect(body.result.exitCode).not.toBe(0);
    expect(body.result.stdout).not.toContain("STARTED");
    expect(readdirSync(app.workspace).sort()).toEqual(FILES);
  });

  test("A3: a program on the list without a grammar asks", async () => {
    const other = await start({ "jq]\n": "jq, tac]\n" });
    try {
      const { body } = await other.api("POST", "/explain", {
        body: { tool: "shell/exec", arguments: { command: ["tac", "in"] } },
      });
      expect(JSON.stringify(body)).toContain("nothing says which options of tac are harmless");
    } finally {
      await other.close();
    }
  });
});
