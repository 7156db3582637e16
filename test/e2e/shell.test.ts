// The shell tools over the wire: who may, what asks, what is refused, and how a call ends that takes too long.
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { HAS_BOX } from "../fixtures/programs.ts";

describe.skipIf(!HAS_BOX)("shell tools", { timeout: 60_000 }, () => {
  let app: StartedApp;
  beforeAll(async () => {
    app = await startApp();
    mkdirSync(join(app.workspace, "sub"));
    writeFileSync(join(app.workspace, "note.txt"), "inside\n");
    writeFileSync(join(app.workspace, "sub/deep.txt"), "deep\n");
  });
  afterAll(() => app.close());

  const call = (name: string, args: object, more: object = {}) =>
    app.api("POST", "/executions", { body: { name, arguments: args, ...more } });
  const gates = async (
    tool: string,
    args: object,
  ): Promise<Record<string, Record<string, unknown>>> => {
    const { body } = await app.api("POST", "/explain", { body: { tool, arguments: args } });
    return Object.fromEntries(
      (body.gates as Record<string, unknown>[]).map((gate) => [gate["stage"], gate]),
    ) as Record<string, Record<string, unknown>>;
  };

  test("the owner runs a listed program without being asked, in the sandbox", async () => {
    const done = await call("shell/exec", { command: ["cat", "note.txt"] });
    expect(done).toMatchObject({
      status: 200,
      body: { status: "success", result: { stdout: "inside\n", exitCode: 0 } },
    });
    const inSub = await call("shell/exec", {
      command: ["cat", "../note.txt", "deep.txt"],
      cwd: "sub",
    });
    expect(inSub.body).toMatchObject({ result: { stdout: "inside\ndeep\n" } });
  });

  test("R117: gate, box, start, run, end, answer: and nothing of the box is left, whatever the end", async () => {
    const box = join(app.dataDir, "sandbox");
    const entries = () => (existsSync(box) ? readdirSync(box, { recursive: true }).length : 0);
    await call("shell/exec", { command: ["cat", "note.txt"] });
    const before = entries();
    const ends = {
      success: await call("shell/exec", { command: ["cat", "note.txt"] }),
      failed: await call("shell/exec", { command: ["cat", "absent.txt"] }),
      timeout: await call(
        "shell/exec",
        { command: ["tail", "-f", "note.txt"] },
        { timeout: 1_000 },
      ),
    };
    for (const [end, { body }] of Object.entries(ends)) {
      const { events } = (await app.api("GET", `/audit?execution=${body.executionId}&order=oldest`))
        .body;
      const actions = events.map(({ action }: { action: string }) => action);
      expect([end, actions[0], actions.length]).toEqual([end, "tool.execution.start", 2]);
      const { execution } = (await app.api("GET", `/executions/${body.executionId}`)).body;
      expect(execution.gates.at(-1)).toMatchObject({ stage: "approval", verdict: "allow" });
    }
    await expect.poll(entries).toBe(before);
  });

  test("other programs, variables, network, paths from another folder: a person is asked", async () => {
    for (const args of [
      { command: ["node", "-e", "1"] },
      { command: ["cat"], stdin: "x", env: { SOME: "x" } },
      { command: ["sh"], stdin: "id" },
      { command: ["cat", "note.txt"], network: true },
      { command: ["cat", "../../x"], cwd: "sub" },
      { command: "ls | sh" },
    ])
      expect([args, (await gates("shell/exec", args))["approval"]?.["verdict"]]).toEqual([
        args,
        "hold",
      ]);
    expect(
      (await gates("shell/exec", { command: ["cat"], env: { LANG: "C", TZ: "UTC" } }))[
        "approval"
      ]?.["verdict"],
    ).toBe("allow");
    for (const tool of ["shell/script", "shell/python"])
      expect((await gates(tool, { script: "1" }))["approval"]?.["verdict"]).toBe("hold");
    expect((await gates("shell/lint", { path: "note.txt" }))["approval"]?.["verdict"]).toBe(
      "allow",
    );
    expect(
      (await gates("shell/lint", { path: "note.txt", fix: true }))["approval"]?.["verdict"],
    ).toBe("hold");
  });

  test("C17: a program that takes too long ends as timed out, with what it said", async () => {
    writeFileSync(join(app.workspace, "long.txt"), "x\n");
    const ended = await call("shell/exec", {
      command: ["tail", "-f", "long.txt"],
      timeoutSeconds: 1,
    });
    expect(ended.body).toMatchObject({ status: "cancelled", cancelReason: "timeout" });
    expect(JSON.stringify(ended.body)).toContain("its time was up");
    const cut = await call(
      "shell/exec",
      { command: ["tail", "-f", "long.txt"] },
      { timeout: 1_000 },
    );
    expect(cut.body).toMatchObject({ status: "cancelled", cancelReason: "timeout" });
  });

  test("the owner has the permissions that the tools ask for; windows of the hour are counted", async () => {
    const gate = await gates("shell/exec", { command: ["ls"] });
    expect(gate["level"]).toMatchObject({ verdict: "allow" });
    expect(
      (await gates("system/package_install", { manager: "npm", name: "x", version: "1.0.0" }))[
        "level"
      ],
    ).toMatchObject({ verdict: "allow" });
    expect(app.doors.registry.get("shell/exec")?.requiredPermissions).toEqual([
      "tool:shell:execute",
    ]);
  });

  // Last: eight refusals within a minute slow this user down.
  test("denied variables, programs and folders are refused without appeal", async () => {
    const refused = async (args: object) =>
      (await call("shell/exec", args)).body as { reason: string };
    for (const name of ["PATH", "LD_PRELOAD", "GIT_SSH", "http_proxy"])
      expect(await refused({ command: ["ls"], env: { [name]: "x" } })).toMatchObject({
        code: "FORBIDDEN",
        reason: "env_forbidden",
      });
    expect(await refused({ command: ["sudo", "ls"] })).toMatchObject({
      reason: "command_forbidden",
    });
    expect(await refused({ command: "ls; sudo ls" })).toMatchObject({
      reason: "command_forbidden",
    });
    expect(await refused({ command: ["ls"], cwd: "/etc" })).toMatchObject({
      reason: "path_forbidden",
    });
    expect(await refused({ command: ["ls"], cwd: "../.." })).toMatchObject({
      reason: "path_not_allowed",
    });
    expect(await refused({ command: [] })).toMatchObject({ code: "BAD_REQUEST" });
    expect(await refused({ command: ["ls"], uid: 0 })).toMatchObject({
      code: "BAD_REQUEST",
      reason: "unknown_parameter",
    });
  });
});
