// How the server is, for signed-in callers and for administrators, and the doctor's checks as data.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { runBin } from "../fixtures/bin.ts";
import { conforms, newUser, trpcClient, trpcFailure } from "../fixtures/contract.ts";
import { slowTool } from "../fixtures/slow-tool.ts";

describe("health and doctor over the API", { timeout: 120_000 }, () => {
  let app: StartedApp;
  let ann: string;
  beforeAll(async () => {
    app = await startApp({ tools: [slowTool({ runs: [] })] });
    ann = await newUser(app, "ann");
  });
  afterAll(() => app.close());

  test("everybody who is signed in sees the parts, administrators also what runs", async () => {
    await app.api("POST", "/executions", {
      body: { name: "system/slow", arguments: { ms: 60_000 }, wait: false },
    });
    const { status, body } = await app.api("GET", "/health");
    expect(status).toBe(200);
    conforms("health.getHealth", body);
    expect(body).toMatchObject({ ready: true, mode: "NORMAL" });
    expect(body.checks.map(({ name }: { name: string }) => name)).toContain("store");
    expect(body.load).toMatchObject({ active: 1, running: 1, outboxPending: null, tools: [] });
    expect(body.load.ledger.head).toBeGreaterThan(0);
    const theirs = await app.api("GET", "/health", { key: ann });
    expect([theirs.status, theirs.body.load]).toEqual([200, undefined]);
    expect((await app.api("GET", "/health", { key: null })).status).toBe(401);
  });

  test("the doctor's checks are those of the command line, and for administrators only", async () => {
    const { status, body } = await app.api("GET", "/doctor");
    expect(status).toBe(200);
    conforms("health.getDoctor", body);
    const names = (from: { checks: { name: string }[] }) => from.checks.map(({ name }) => name);
    const cli = await runBin(["doctor", "--json", "--data-dir", app.dataDir]);
    expect(names(body)).toEqual(names(cli.json()));
    const found = new Map(
      (body.checks as { name: string; status: string; detail: string }[]).map((one) => [
        one.name,
        one,
      ]),
    );
    expect(found.get("server")).toMatchObject({
      status: "ok",
      detail: expect.stringContaining(app.url) as string,
    });
    expect(JSON.stringify(body)).not.toContain("repair");
    const refused = await app.api("GET", "/doctor", { key: ann });
    expect([refused.status, refused.body.reason]).toEqual([403, "admin_only"]);
  });

  test("over tRPC", async () => {
    const over = await trpcClient(app).health.getHealth.query();
    expect(over.load?.slots).toBeGreaterThan(0);
    const both = await Promise.all([
      trpcClient(app).health.getDoctor.query(),
      trpcClient(app).health.getDoctor.query(),
    ]);
    expect(both[0]).toEqual(both[1]);
    const failure = await trpcFailure(trpcClient(app, ann).health.getDoctor.query());
    expect(failure.error.reason).toBe("admin_only");
  });
});
