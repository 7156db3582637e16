// Administrators at the command line when the key is in no file: it was set in the environment, or in the settings.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { runBin, startServer, type RunningServer } from "../fixtures/bin.ts";

const KEY = "a-key-of-our-own-0123456789-abcdefghijk";

describe("item 5: `approvals list` when the key came from elsewhere", { timeout: 60_000 }, () => {
  let dataDir: string;
  let server: RunningServer | null = null;
  const serve = async (env: Record<string, string>): Promise<void> => {
    server = await startServer(["--port", "0", "--data-dir", dataDir], { env });
    expect(existsSync(join(dataDir, "admin.key"))).toBe(false);
    // Something to find.
    const asked = await cli(["call", "file/write", "path=a.md", "content=b", "--no-wait"]);
    expect(asked.code).toBe(4);
  };
  const cli = (args: string[], env: Record<string, string> = {}) =>
    runBin([...args, "--data-dir", dataDir], { env });

  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), "ostiary-preset-"));
  });
  afterEach(async () => {
    await server?.stop();
    server = null;
    rmSync(dataDir, { recursive: true, force: true });
  });

  test("the same variable here and there: it lists, and decides", async () => {
    await serve({ OSTIARY_ADMIN_KEY: KEY });
    const env = { OSTIARY_ADMIN_KEY: KEY };
    const listed = (await cli(["approvals", "list", "--json"], env)).json();
    expect(listed.items).toMatchObject([
      { requester: "cli", toolName: "file/write", mayDecide: true },
    ]);
    const agreed = await cli(["approvals", "approve", listed.items[0].id as string], env);
    expect([agreed.code, agreed.stdout]).toEqual([0, expect.stringContaining("approved")]);
    const shown = await cli(["runs", "show", listed.items[0].executionId as string]);
    expect([shown.code, shown.stdout]).toEqual([0, expect.stringMatching(/userId\s+cli/)]);
  });

  test("set in the settings file: the commands read it there, too", async () => {
    writeFileSync(join(dataDir, "ostiary.yaml"), `adminKey: ${KEY}\n`);
    await serve({});
    const listed = (await cli(["approvals", "list", "--json"])).json();
    expect(listed.items).toHaveLength(1);
  });

  test("not known here: it says where the key is, and what to do", async () => {
    await serve({ OSTIARY_ADMIN_KEY: KEY });
    const refused = await cli(["approvals", "list"]);
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toMatch(/preset for the server/);
    expect(refused.stderr).toMatch(/set OSTIARY_ADMIN_KEY here/);
  });
});
