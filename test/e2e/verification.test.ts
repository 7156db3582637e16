// A verification of the ledger and how far it is: one at a time, joined by whoever asks the same.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { conforms, newUser, trpcClient, trpcFailure } from "../fixtures/contract.ts";

describe("verification of the ledger", { timeout: 60_000 }, () => {
  let app: StartedApp;
  let reads = 0;
  let hold: PromiseWithResolvers<void> | null = null;
  beforeAll(async () => {
    app = await startApp({
      // Slows the reading down, so that it is seen under way.
      wrapStore: (store) => ({
        ...store,
        ledger: {
          ...store.ledger,
          async agreement(question) {
            reads++;
            await hold?.promise;
            return store.ledger.agreement(question);
          },
        },
      }),
    });
    for (let i = 0; i < 20; i++)
      await app.api("POST", "/executions", { body: { name: "system/time" } });
  });
  afterAll(() => app.close());

  const progress = async () => {
    const { status, body } = await app.api("GET", "/audit/verify/progress");
    expect(status).toBe(200);
    conforms("audit.getVerification", body);
    return body as { state: string; seq: number; head: number; ok: boolean | null };
  };
  const verify = (body: object = {}) => app.api("POST", "/audit/verify", { body });

  test("nothing before the first one; then how far it is, and how it ended", async () => {
    expect(await progress()).toMatchObject({ state: "idle", seq: 0, ok: null });
    hold = Promise.withResolvers();
    const first = verify();
    while ((await progress()).seq === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    const during = await progress();
    expect(during).toMatchObject({ state: "running", ok: null });
    expect(during.seq).toBe(during.head);
    const second = verify();
    const other = await verify({ anchors: ["x"] });
    expect([other.status, other.body.reason]).toEqual([409, "still_running"]);
    hold.resolve();
    hold = null;
    const [one, two] = [await first, await second];
    expect(one.body).toMatchObject({ ok: true });
    expect(two.body).toEqual(one.body);
    expect(reads).toBe(1);
    expect(await progress()).toMatchObject({ state: "done", ok: true, fault: null });
    expect((await verify()).body.ok).toBe(true);
    expect(reads).toBe(2);
  });

  test("what cannot be begun fails with its reason", async () => {
    expect((await verify({ anchors: ["x"] })).status).toBe(400);
    expect(await progress()).toMatchObject({
      state: "failed",
      fault: expect.stringContaining("anchor 1") as string,
    });
  });

  test("over tRPC, for administrators only", async () => {
    const over = await trpcClient(app).audit.getVerification.query();
    expect(over.state).toBe("failed");
    const ann = await newUser(app, "ann");
    const failure = await trpcFailure(trpcClient(app, ann).audit.getVerification.query());
    expect(failure.error.reason).toBe("admin_only");
  });
});
