// Figures by time over REST, tRPC and the command line: whose they are, whole ranges, and what is refused.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { runBin } from "../fixtures/bin.ts";
import { conforms, newUser, trpcClient, trpcFailure } from "../fixtures/contract.ts";

const HOUR = 3_600_000;

interface Bucket {
  readonly at: string;
  readonly total: number;
  readonly failed: number;
  readonly durations: { readonly p95: number } | null;
  readonly approvals: { asked: number; decided: number; averageWaitMs: number | null };
}

describe("figures by time", { timeout: 60_000 }, () => {
  let app: StartedApp;
  let ann: string;
  // At noon, so that no bucket of a day ends meanwhile.
  let clock = Math.floor(Date.now() / (24 * HOUR)) * 24 * HOUR - 12 * HOUR;
  const began = clock;

  const call = async (minute: number, body: object, key = ann) => {
    clock = began + minute * 60_000;
    return (await app.api("POST", "/executions", { key, body: { wait: false, ...body } })).body;
  };
  const series = async (query: string, key = app.adminKey) => {
    const answer = await app.api("GET", `/metrics/series${query}`, { key });
    if (answer.status === 200) conforms("metrics.getSeries", answer.body);
    return answer;
  };
  const filled = (body: { buckets: Bucket[] }) =>
    body.buckets
      .filter(({ total }) => total > 0)
      .map(({ at, total }) => [(Date.parse(at) - began) / 60_000, total]);

  beforeAll(async () => {
    app = await startApp({ now: () => clock });
    ann = await newUser(app, "ann", { level: "admin", capsuleId: "all" });
    const relationship = "tenant:local#shell_executor@user:ann";
    await app.api("POST", "/relationships", {
      body: { changes: [{ operation: "touch", relationship }] },
    });
    await call(1, { name: "system/time", wait: true });
    await call(2, { name: "system/time", wait: true });
    await call(2, { name: "system/echo", arguments: {} });
    await call(65, { name: "system/echo", arguments: { text: "x" }, wait: true });
    await call(66, { name: "no/such" }, app.adminKey);
    const held = await call(70, { name: "shell/exec", arguments: { command: "rm -r x" } });
    clock += 90_000;
    const id = held.approval.id as string;
    const denied = await app.api("POST", `/approvals/${id}/deny`, { body: { comment: "no" } });
    expect(denied.status).toBe(200);
    clock = began + 100 * 60_000;
  });
  afterAll(() => app.close());

  test("every bucket of the range is there, with how calls ended and how long they took", async () => {
    const { body } = await series("?userId=ann&unit=hour");
    expect(body.buckets).toHaveLength(24);
    expect(filled(body)).toEqual([
      [0, 3],
      [60, 2],
    ]);
    const [first, second] = body.buckets.slice(-2) as Bucket[];
    expect(first).toMatchObject({ total: 3, failed: 1, approvals: { asked: 0 } });
    expect(second?.approvals).toEqual({ asked: 1, decided: 1, averageWaitMs: 90_000 });
    expect(body.total).toMatchObject({ total: 5, success: 3 });
    expect(body.errors).toEqual({
      codes: [
        { code: "BAD_REQUEST", count: 1 },
        { code: "FORBIDDEN", count: 1 },
      ],
      isCut: false,
    });
  });

  test("minutes and days of the whole tenant, or of one tool", async () => {
    const from = new Date(began).toISOString();
    const minutes = await series(`?userId=*&unit=minute&startDate=${from}`);
    expect(minutes.body.buckets).toHaveLength(101);
    expect(filled(minutes.body)).toEqual([
      [1, 1],
      [2, 2],
      [65, 1],
      [66, 1],
      [70, 1],
    ]);
    expect(minutes.body.countedFrom).toBe(from);
    const tool = await series(`?userId=*&toolName=system_time&startDate=${from}`);
    expect(tool.body.total).toMatchObject({ total: 2, success: 2 });
    const days = await series("?userId=*&unit=day");
    expect(days.body.total.total).toBe(6);
  });

  test("others get their own, and nobody else's", async () => {
    const { body } = await series("", ann);
    expect(body.total.total).toBe(5);
    for (const whose of ["*", "owner"]) {
      const refused = await series(`?userId=${whose}`, ann);
      expect([refused.status, refused.body.reason]).toEqual([403, "admin_only"]);
    }
    expect((await series("?userId=owner")).body.total.total).toBe(1);
  });

  test("a range of too many buckets, or one that ends before it begins, is refused by field", async () => {
    const long = await series("?unit=minute&startDate=2026-01-01&endDate=2026-01-02");
    expect([long.status, long.body.errors[0]]).toMatchObject([
      400,
      { path: "/startDate", message: expect.stringContaining("at most 500 buckets") as string },
    ]);
    const turned = await series("?startDate=2026-02-01&endDate=2026-01-01");
    expect([turned.status, turned.body.errors[0].path]).toEqual([400, "/endDate"]);
    const future = await series("?startDate=2999-01-01");
    expect([future.status, future.body.errors[0].path]).toEqual([400, "/startDate"]);
    expect((await series("?unit=second")).body.errors[0].path).toBe("/unit");
  });

  test("over tRPC, and at the command line", async () => {
    const over = await trpcClient(app).metrics.getSeries.query({ userId: "*", unit: "day" });
    expect(over.total.total).toBe(6);
    const refused = await trpcFailure(
      trpcClient(app, ann).metrics.getSeries.query({ userId: "owner" }),
    );
    expect(refused.error.reason).toBe("admin_only");
    const cli = await runBin(
      [
        "history",
        "series",
        "--user",
        "*",
        "--unit",
        "day",
        "--server",
        app.url,
        "--key",
        "env:KEY",
      ],
      { env: { KEY: app.adminKey } },
    );
    expect([cli.code, cli.stdout]).toEqual([
      0,
      expect.stringMatching(/^DAY +CALLS +SUCCESS[^]*T00:00:00.000Z +6 +3 /),
    ]);
  });
});
