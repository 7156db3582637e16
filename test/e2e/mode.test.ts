// The mode over every surface: REST, tRPC, the command line, the stream, and what a running house makes of it.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { runBin } from "../fixtures/bin.ts";
import { conforms, newUser, trpcClient, trpcFailure, until } from "../fixtures/contract.ts";

interface Told {
  event: string;
  data: {
    mode: string;
    from: string;
    reason: string;
    by: string;
    until: string | null;
    at: string;
  };
}

/** Events of the stream that are about the mode, until it is closed. */
async function listen(app: StartedApp, key: string, after?: number) {
  const stop = new AbortController();
  const told: Told[] = [];
  const response = await fetch(
    `${app.url}/api/v1/events${after === undefined ? "" : `?after=${after}`}`,
    { headers: { authorization: `Bearer ${key}` }, signal: stop.signal },
  );
  const reading = (async () => {
    let text = "";
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      text += new TextDecoder().decode(chunk);
      const blocks = text.split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks) {
        const [, event] = /^event: (mode\..+)$/m.exec(block) ?? [];
        const [, data] = /^data: (.+)$/m.exec(block) ?? [];
        if (event !== undefined && data !== undefined)
          told.push({ event, data: JSON.parse(data) as Told["data"] });
      }
    }
  })().catch(() => undefined);
  return { told, close: () => (stop.abort(), reading) };
}

describe("the operating mode", () => {
  let app: StartedApp;
  let ann: string;
  beforeAll(async () => {
    app = await startApp();
    ann = await newUser(app, "ann", { capsuleId: "starter" });
  });
  afterAll(() => app.close());

  const put = (body: object, key = app.adminKey) => app.api("PUT", "/mode", { key, body });
  const cli = (...words: string[]) =>
    runBin(["mode", ...words], { env: { OSTIARY_DATA_DIR: app.dataDir } });

  test("R076: everybody may know it, administrators alone may switch it", async () => {
    const seen = await app.api("GET", "/mode", { key: ann });
    expect(seen).toMatchObject({
      status: 200,
      body: { mode: "NORMAL", until: null, proposal: null },
    });
    expect(seen.body).not.toHaveProperty("sensors");
    conforms("mode.getMode", seen.body);
    const full = await app.api("GET", "/mode");
    conforms("mode.getMode", full.body);
    expect(full.body.sensors).toHaveLength(8);
    expect(full.body.rules).toHaveLength(5);
    const refused = await put({ mode: "ALERT", reason: "x" }, ann);
    expect(refused).toMatchObject({
      status: 403,
      body: { code: "FORBIDDEN", reason: "admin_only" },
    });
    expect((await app.api("GET", "/mode", { key: null })).status).toBe(401);
  });

  test("R076: a switch holds for the very next call, is told to every listener and stands in the record", async () => {
    const head = await app.app.store.log.head();
    const [mine, theirs] = [await listen(app, ann), await listen(app, app.adminKey)];
    const answer = await put({ mode: "LOCKDOWN", reason: "drill" });
    expect(answer).toMatchObject({ status: 200, body: { mode: "LOCKDOWN", by: "owner" } });
    conforms("mode.switchMode", answer.body);
    const info = await app.api("POST", "/executions", { key: ann, body: { name: "system/info" } });
    expect(info.body).toMatchObject({ status: "success", result: { mode: "LOCKDOWN" } });
    await until(() => mine.told.length > 0 && theirs.told.length > 0);
    for (const { told } of [mine, theirs])
      expect(told).toMatchObject([
        {
          event: "mode.changed",
          data: { mode: "LOCKDOWN", from: "NORMAL", reason: "drill", by: "owner", until: null },
        },
      ]);
    await Promise.all([mine.close(), theirs.close()]);
    const resumed = await listen(app, ann, head);
    await until(() => resumed.told.length > 0);
    expect(resumed.told[0]?.data.mode).toBe("LOCKDOWN");
    await resumed.close();
  });

  test("F07: LOCKDOWN leads through RECOVERY, over tRPC too", async () => {
    const client = trpcClient(app);
    const failure = await trpcFailure(
      client.mode.switchMode.mutate({ mode: "NORMAL", reason: "x" }),
    );
    expect(failure.error).toMatchObject({ code: "CONFLICT", reason: "mode_order" });
    expect(
      await client.mode.switchMode.mutate({ mode: "RECOVERY", reason: "stable" }),
    ).toMatchObject({ mode: "RECOVERY" });
    expect(
      await client.mode.switchMode.mutate({ mode: "NORMAL", reason: "checked" }),
    ).toMatchObject({ mode: "NORMAL" });
    expect(await trpcClient(app, ann).mode.getMode.query()).toMatchObject({ mode: "NORMAL" });
  });

  test("names every faulty field", async () => {
    const { status, body } = await put({ mode: "CALM", reason: "", forSeconds: 5 });
    expect(status).toBe(400);
    expect(body.errors.map(({ path }: { path: string }) => path)).toEqual([
      "/mode",
      "/reason",
      "/forSeconds",
    ]);
  });

  test("the command line shows and switches it, and asks for a reason", async () => {
    const switched = await cli("alert", "--reason", "odd traffic", "--for", "30m", "--json");
    expect(switched.code).toBe(0);
    expect(switched.json()).toMatchObject({
      mode: "ALERT",
      reason: "odd traffic",
      revertTo: "NORMAL",
    });
    const shown = await cli();
    expect(shown.stdout).toMatch(/^ALERT {2}.*\n {3}why {6}odd traffic\n/);
    expect(shown.stdout).toContain(", then NORMAL");
    expect((await cli("--sensors")).stdout).toMatch(/cpu .*\n/);
    const silent = await cli("NORMAL");
    expect(silent.code).toBe(2);
    expect(silent.stderr).toContain("repeat with --reason");
    expect((await cli("CALM", "--reason", "x")).code).toBe(2);
    await cli("lockdown", "--reason", "x");
    const order = await cli("normal", "--reason", "x", "--json");
    expect(order.code).toBe(1);
    expect(order.json()).toMatchObject({ code: "CONFLICT", reason: "mode_order" });
  });

  test("the mode survives a restart", async () => {
    const first = await startApp({ listen: false });
    const admin = await first.callerOf(first.adminKey);
    await first.doors.mode.switch(admin, { mode: "DEGRADED", reason: "over night" });
    await first.stop();
    const second = await startApp({ dataDir: first.dataDir, listen: false });
    expect(second.doors.mode.current()).toMatchObject({ mode: "DEGRADED", reason: "over night" });
    await second.close();
  });
});
