// What follows a failure: a second attempt where it can do no harm, a breaker per tool, everything else goes on.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { defineTool, toolError, type Tool, type ToolDefinition } from "../../src/contract/tool.ts";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { openHouse } from "../fixtures/open-house.ts";

/** A small file system of its own needs root; elsewhere the test is skipped, and the report says so. */
const CAN_MOUNT = ((): boolean => {
  const probe = mkdtempSync(join(tmpdir(), "ostiary-mount-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", probe], { stdio: "ignore" });
    execFileSync("umount", [probe], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  } finally {
    rmSync(probe, { recursive: true, force: true });
  }
})();

/** What each tool does next; answers how often its handler was entered. */
const scripts = new Map<string, { runs: number; next: () => unknown }>();
const scripted = (
  name: string,
  more: Partial<ToolDefinition<z.ZodObject, z.ZodObject, never>>,
): Tool =>
  defineTool({
    name,
    description: "Does what the test says. For tests only.",
    input: z.strictObject({ n: z.number().optional() }),
    output: z.strictObject({ ok: z.boolean() }),
    risk: "safe",
    effects: "read_only",
    needs: [],
    timeoutMs: 5_000,
    examples: [{}],
    async run() {
      const script = scripts.get(name) ?? { runs: 0, next: () => ({ ok: true }) };
      script.runs++;
      scripts.set(name, script);
      await Promise.resolve();
      return script.next() as { ok: boolean };
    },
    ...more,
  });

const play = (name: string, next: () => unknown): { runs: number } => {
  const script = { runs: 0, next };
  scripts.set(name, script);
  return script;
};
const well = (): unknown => ({ ok: true });
const breaks = (): never => {
  throw new Error("a bug");
};
const connectFailed = (): never => {
  throw toolError("connect_failed", "nobody listens there");
};

let app: StartedApp;
beforeAll(async () => {
  app = await startApp({
    tools: [
      scripted("system/broken", {}),
      scripted("system/reads", {}),
      scripted("system/writes", { effects: "system_write", idempotent: false }),
      scripted("system/neighbour", {}),
    ],
  });
});
afterAll(() => app.close());

const call = async (name: string, args: object = {}) =>
  (await app.api("POST", "/executions", { body: { name, arguments: args } })).body;
const metrics = async (): Promise<string> =>
  (
    await fetch(`${app.url}/metrics`, { headers: { authorization: `Bearer ${app.adminKey}` } })
  ).text();

describe("R166 C40: a second attempt of a native tool", () => {
  test("a broken connection of an idempotent tool is tried once more, and the record says so", async () => {
    let failures = 1;
    const script = play("system/reads", () => (failures-- > 0 ? connectFailed() : well()));
    const done = await call("system/reads");
    expect(done).toMatchObject({ status: "success", result: { ok: true } });
    expect(script.runs).toBe(2);
    const record = await app.api("GET", `/executions/${done.executionId}`);
    expect(JSON.stringify(record.body)).toContain('"attempts":2');
  });

  test("and only once", async () => {
    const script = play("system/reads", connectFailed);
    const done = await call("system/reads");
    expect(done).toMatchObject({
      status: "failed",
      errorReason: "connect_failed",
      metadata: { attempts: 2 },
    });
    expect(script.runs).toBe(2);
  });

  test("a tool with effects is not tried again, nor is what a second attempt cannot mend", async () => {
    const writes = play("system/writes", connectFailed);
    await call("system/writes");
    expect(writes.runs).toBe(1);
    const reads = play("system/reads", () => {
      throw toolError("path_not_found", "it does not exist");
    });
    await call("system/reads");
    expect(reads.runs).toBe(1);
  });
});

describe("R165 F11: the breaker of a native tool", { timeout: 20_000 }, () => {
  test("opens after five failures in a row, says when to come back, and leaves other tools alone", async () => {
    const script = play("system/broken", breaks);
    for (let n = 0; n < 5; n++)
      expect(await call("system/broken")).toMatchObject({ errorReason: "unexpected" });
    const refused = await call("system/broken");
    expect(refused).toMatchObject({
      status: "failed",
      errorCode: "UNAVAILABLE",
      errorReason: "circuit_open",
      retryAfterSeconds: 30,
    });
    expect(script.runs).toBe(5);
    play("system/neighbour", well);
    expect(await call("system/neighbour")).toMatchObject({ status: "success" });
    expect(await metrics()).toContain('ostiary_tool_breaker_state{tool="system/broken"} 2');
    const ready = (await (await fetch(`${app.url}/readyz`)).json()) as { checks: object[] };
    expect(ready).toMatchObject({ ready: true });
    expect(ready.checks).toContainEqual(
      expect.objectContaining({
        name: "tools",
        reason: expect.stringContaining("failed repeatedly: 1;") as string,
      }),
    );
  });
});

describe("R121: five kinds of failure, each with its own code", () => {
  const kindOf = async (name: string, args: object, more: object = {}) => {
    const body = { name, arguments: args, ...more };
    const { status, body: told } = await app.api("POST", "/executions", { body });
    return [status, told.code ?? told.errorCode, told.reason ?? told.errorReason];
  };

  test("permission, validation, timeout, exception", async () => {
    const forbidden = await kindOf("file/read", { path: "/etc/shadow" });
    expect(forbidden.slice(0, 2)).toEqual([403, "FORBIDDEN"]);
    const invalid = [400, "BAD_REQUEST", "invalid_arguments"];
    expect(await kindOf("system/reads", { n: "one" })).toEqual(invalid);
    play("system/writes", () => new Promise(() => undefined));
    const slow = await kindOf("system/writes", {}, { timeout: 1_000 });
    expect(slow).toEqual([200, "TIMEOUT", "timeout"]);
    play("system/reads", breaks);
    expect(await kindOf("system/reads", {})).toEqual([200, "EXECUTION_FAILED", "unexpected"]);
  });

  test("exhaustion: of the memory that one call may have, without a change of the mode", async () => {
    play("system/reads", () => {
      throw Object.assign(new Error("heap"), { code: "ERR_WORKER_OUT_OF_MEMORY" });
    });
    const told = await call("system/reads");
    expect(told).toMatchObject({
      errorCode: "UNAVAILABLE",
      errorReason: "resource_exhausted",
      metadata: { exhausted: "call_memory" },
    });
    expect(JSON.stringify(told)).not.toContain("heap");
    expect((await app.api("GET", "/mode")).body).toMatchObject({ mode: "NORMAL" });
  });
});

describe.skipIf(!CAN_MOUNT)("R121 R078: a real full disk", { timeout: 60_000 }, () => {
  test("fails the call cleanly, moves the mode to DEGRADED with the cause, and the next calls are answered", async () => {
    const disk = mkdtempSync(join(tmpdir(), "ostiary-full-"));
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=256k", "tmpfs", disk]);
    const house = await startApp({ flags: { governance: openHouse(), workspace: disk } });
    try {
      const write = (bytes: number) =>
        house.api("POST", "/executions", {
          body: {
            name: "file/write",
            arguments: { path: join(disk, "a.txt"), content: "x".repeat(bytes) },
          },
        });
      expect((await write(1_000)).body).toMatchObject({ status: "success" });
      const { body: full } = await write(1_000_000);
      expect(full).toMatchObject({
        status: "failed",
        errorCode: "UNAVAILABLE",
        errorReason: "resource_exhausted",
        metadata: { exhausted: "disk" },
      });
      expect(statSync(join(disk, "a.txt")).size).toBe(1_000);
      await expect
        .poll(async () => (await house.api("GET", "/mode")).body, { timeout: 20_000 })
        .toMatchObject({ mode: "DEGRADED", by: "sensor:disk" });
      const { reason } = (await house.api("GET", "/mode")).body as { reason: string };
      expect(reason).toContain(`the disk was full: file/write, ${full.executionId}`);
      const audit = await house.api("GET", "/audit?action=mode.changed");
      expect(JSON.stringify(audit.body)).toContain("the disk was full: file/write");
      const echo = { name: "system/echo", arguments: { text: "still here" } };
      expect((await house.api("POST", "/executions", { body: echo })).body).toMatchObject({
        status: "success",
      });
    } finally {
      await house.close();
      execFileSync("umount", ["-l", disk]);
      rmSync(disk, { recursive: true, force: true });
    }
  });
});
