// A crowd before a budget on PostgreSQL: exactly as many run as it has places, and the others are told so.
import type { Outcome } from "../../src/contract/call.ts";
import { expect, test } from "vitest";
import { startApp } from "../fixtures/app.ts";
import { testDatabase } from "../fixtures/postgres.ts";

const server = process.env["OSTIARY_TEST_POSTGRES"];
const start = "OSTIARY_TEST_POSTGRES is not set: use `npm run test:services`";
if (!server && process.env["CI"]) test(`postgres: ${start}`, () => expect.unreachable(start));

test.skipIf(!server)(
  "C38 L12: 1,000 calls at once with a budget of 100: exactly 100 run",
  async () => {
    const id = `free_${Date.now()}`;
    const database = await testDatabase(server ?? "");
    const app = await startApp({
      flags: { store: database.address, "rateLimit.enabled": "false" },
    });
    try {
      await app.api("POST", "/users", { body: { id, name: id, plan: "free" } });
      const { body } = await app.api("POST", "/keys", {
        body: { userId: id, name: "k", scopes: ["*"] },
      });
      const caller = await app.callerOf(body.secret as string);
      // The calls of others on this server count for the same tenant.
      const usage = await app.doors.budgets.usage(caller);
      const left = 100 - (usage.find(({ metric }) => metric === "tool_calls")?.used ?? 0);
      // A stage that a crowded machine makes too slow refuses and has taken nothing: that call is made again.
      const insist = async (): Promise<Outcome> => {
        const end = await app.app.engine.execute(caller, {
          name: "system/echo",
          arguments: { text: "x" },
          entry: "rest",
        });
        return end.error?.code === "UNAVAILABLE" ? insist() : end;
      };
      const ends = await Promise.all(Array.from({ length: 1_000 }, insist));
      const ran = ends.filter(({ success }) => success).length;
      const told = ends.filter(({ error }) => error?.code === "BUDGET_EXHAUSTED").length;
      expect(left).toBeGreaterThan(0);
      expect([ran, told]).toEqual([left, 1_000 - left]);
    } finally {
      await app.close();
      await database.drop();
    }
  },
  60_000,
);
