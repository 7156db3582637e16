// Checkpoints come while the server runs, not only when it stops: by the number of events and by the time.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";

const NEVER_EVENTS = "1000000";
const NEVER_SECONDS = "86400";

describe("checkpoints of a running server", () => {
  let app: StartedApp;
  afterEach(() => app.close());

  const start = async (events: string, seconds: string): Promise<void> => {
    app = await startApp({
      flags: { "audit.checkpointEvents": events, "audit.checkpointSeconds": seconds },
    });
  };
  const call = async (times: number): Promise<void> => {
    const body = { name: "system/echo", arguments: { text: "counted" } };
    for (let i = 0; i < times; i++)
      expect((await app.api("POST", "/executions", { body })).status).toBe(200);
  };
  /** What the door says of the ledger; asking makes no checkpoint. */
  const verified = async (): Promise<{ ok: boolean; checkpoints: number; unanchored?: number }> =>
    (await app.api("POST", "/audit/verify", { body: {} })).body;
  const inFile = (): number => {
    const file = join(app.dataDir, "checkpoints.ndjson");
    return existsSync(file) ? readFileSync(file, "utf8").split("\n").length - 1 : 0;
  };
  const grown = (past: number) =>
    expect.poll(inFile, { timeout: 15_000, interval: 100 }).toBeGreaterThan(past);

  test("item 15: one is made after so many events", async () => {
    await start("20", NEVER_SECONDS);
    await call(15);
    await grown(0);
    const first = inFile();
    await call(15);
    await grown(first);
    const verdict = await verified();
    expect(verdict).toMatchObject({ ok: true });
    expect(verdict.checkpoints).toBeGreaterThan(1);
  });

  test("item 15: one is made so long after an event that none covers", async () => {
    await start(NEVER_EVENTS, "1");
    await grown(0);
    const first = inFile();
    await call(1);
    await grown(first);
    expect(await verified()).toMatchObject({ ok: true });
  });

  test("item 15: none is made where nothing is written", async () => {
    await start(NEVER_EVENTS, NEVER_SECONDS);
    await call(3);
    expect(await verified()).toMatchObject({ ok: true, checkpoints: 0 });
    expect(inFile()).toBe(0);
  });
});
