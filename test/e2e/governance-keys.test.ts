// The keys and texts of governance files as other agents write them, read as they stand.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runBin } from "../fixtures/bin.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { governanceWith } from "../fixtures/open-house.ts";

const WRITE_FILE = `  write_file:
    category: "system_write"
    allowed_in_modes: ["NORMAL"]
    requires_approval_in_modes: ["ALERT", "DEGRADED", "RECOVERY"]
    forbidden_in_modes: ["LOCKDOWN"]
    allowed_paths:
      - "$HOME/Dev/personal_agent/**"
      - "$HOME/Documents/agent_workspace/**"
      - "$WORKSPACE/out/**"
    forbidden_paths:
      - "/System/**"
      - "/Library/**"
      - "$HOME/.ssh/**"
      - "**/*.key"
    max_file_size_mb: 0.001
  system/echo:
    category: essential_health_check
    allowed_in_modes: [NORMAL, ALERT, LOCKDOWN]
    requires_approval_in_modes: [ALERT]
    forbidden_in_modes: [LOCKDOWN]
  calculator:
    rate_limit_per_hour: 1
`;

let app: StartedApp;
beforeAll(async () => {
  const governance = governanceWith({ "\ntools:\n": `\ntools:\n${WRITE_FILE}` });
  app = await startApp({ flags: { governance } });
});
afterAll(() => app.close());

const write = (path: string, content = "x") =>
  app.api("POST", "/executions", { body: { name: "write_file", arguments: { path, content } } });
const rules = async (tool: string) =>
  (await app.api("GET", `/tools/${tool}`)).body.tool.rulesByMode;

describe("item 4: the keys of a tool", () => {
  test("R077: three lists of modes are one rule for each; forbidden beats approval, and approval beats allowed", async () => {
    expect(await rules("file/write")).toEqual({
      NORMAL: "run",
      ALERT: "approval",
      DEGRADED: "approval",
      RECOVERY: "approval",
      LOCKDOWN: "no",
    });
    // A mode that no list names is a no.
    expect(await rules("system/echo")).toEqual({
      NORMAL: "run",
      ALERT: "approval",
      DEGRADED: "no",
      RECOVERY: "no",
      LOCKDOWN: "no",
    });
  });

  test("R077: the line that decided is named", async () => {
    const asked = { tool: "system/echo", arguments: { text: "x" }, mode: "LOCKDOWN" };
    const { gates } = (await app.api("POST", "/explain", { body: asked })).body;
    const mode = (gates as { stage: string; ruleText?: string }[]).find(
      ({ stage }) => stage === "mode",
    );
    expect(mode?.ruleText).toBe("forbidden_in_modes: [LOCKDOWN]");
  });

  test("R096 R099: paths are allowed and forbidden as they are written", async () => {
    expect((await write("out/a.txt")).body.status).toBe("success");
    const outside = await write("elsewhere.txt");
    expect(outside).toMatchObject({
      status: 403,
      body: { reason: "path_not_allowed", detail: "Path elsewhere.txt not in allowed paths" },
    });
    const forbidden = await write("out/a.key");
    expect(forbidden.body).toMatchObject({
      reason: "path_forbidden",
      detail: "Path out/a.key is forbidden: **/*.key",
    });
    expect((await write("~/.ssh/id")).body.detail).toContain("Path ~/.ssh/id is forbidden");
    const asked = {
      tool: "write_file",
      arguments: { path: "~/Dev/personal_agent/a.txt", content: "x" },
    };
    const { gates } = (await app.api("POST", "/explain", { body: asked })).body;
    const judged = (gates as { stage: string; verdict: string }[]).find(
      ({ stage }) => stage === "arguments",
    );
    expect(judged?.verdict).toBe("allow");
  });

  test("R098: a file may be as large as is written", async () => {
    expect((await write("out/b.txt", "x".repeat(1_000))).body.status).toBe("success");
    expect((await write("out/b.txt", "x".repeat(1_100))).body.reason).toBe("size_exceeded");
  });

  test("R077: faults name the line: modes written twice, a wrong class, an unknown mode, a tool under two names", async () => {
    const faults = async (lines: string): Promise<string> => {
      const folder = governanceWith({ "\ntools:\n": `\ntools:\n${lines}` });
      const { stdout, stderr } = await runBin(["governance", "check", folder], {
        env: { OSTIARY_DATA_DIR: app.dataDir },
      });
      return `${stdout}${stderr}`;
    };
    expect(
      await faults("  file/read: { modes: { NORMAL: run }, allowed_in_modes: [NORMAL] }\n"),
    ).toMatch(
      /tools\.yaml:\d+:\d+ tools\.file\/read\.allowed_in_modes: takes modes or the lists of modes, not both/,
    );
    expect(await faults("  file/read: { category: system_write }\n")).toMatch(
      /tools\.file\/read\.category: file\/read is of the class read_only; leave the key out/,
    );
    expect(await faults("  file/read: { allowed_in_modes: [NORMA] }\n")).toMatch(
      /expected one of NORMAL, .* did you mean NORMAL\?/,
    );
    expect(await faults("  read_file: { risk: safe }\n  file/read: { risk: safe }\n")).toMatch(
      /tools\.file\/read: there is an entry for file\/read already/,
    );
  }, 60_000);
});

describe("item 4: the texts of refusals", () => {
  test("a used-up window", async () => {
    const call = () =>
      app.api("POST", "/executions", {
        body: { name: "calculator", arguments: { expression: "1 + 1" } },
      });
    await call();
    expect(await call()).toMatchObject({
      status: 429,
      body: { detail: expect.stringMatching(/^Rate limit exceeded: 1 calls per hour/) as string },
    });
  });

  test("a mode that forbids", async () => {
    writeFileSync(join(app.workspace, "a.txt"), "x");
    await app.api("PUT", "/mode", { body: { mode: "LOCKDOWN", reason: "drill" } });
    expect((await write("out/c.txt")).body).toMatchObject({
      reason: "mode_forbids",
      detail: expect.stringMatching(/^Tool not allowed in LOCKDOWN mode: file\/write /) as string,
    });
    await app.api("PUT", "/mode", { body: { mode: "NORMAL", reason: "over" } });
  });
});
