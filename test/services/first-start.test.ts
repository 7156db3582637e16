// Several instances started at once on an empty database, each with a data directory of its own.
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startServer } from "../fixtures/bin.ts";
import { testDatabase } from "../fixtures/postgres.ts";

const server = process.env["OSTIARY_TEST_POSTGRES"];
const INSTANCES = 4;
const ROUNDS = 5;

const start = "OSTIARY_TEST_POSTGRES is not set: use `npm run test:services`";
if (!server && process.env["CI"]) test(`postgres: ${start}`, () => expect.unreachable(start));

describe.skipIf(!server)("the first start", { timeout: 600_000 }, () => {
  const round = async (adminKey: string | null): Promise<void> => {
    const database = await testDatabase(server ?? "");
    const dirs = Array.from({ length: INSTANCES }, () =>
      mkdtempSync(join(tmpdir(), "ostiary-first-")),
    );
    const env = {
      OSTIARY_STORE: database.address,
      ...(adminKey ? { OSTIARY_ADMIN_KEY: adminKey } : {}),
    };
    const starts = await Promise.allSettled(
      dirs.map((dir) => startServer(["--port", "0"], { env: { ...env, OSTIARY_DATA_DIR: dir } })),
    );
    const running = starts.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
    try {
      expect(
        starts.flatMap((each) => (each.status === "rejected" ? [String(each.reason)] : [])),
      ).toEqual([]);
      const keys = await database.query<{ name: string }>("select name from keys order by name");
      expect(keys.map(({ name }) => name)).toEqual(["admin", "cli"]);
      const capsules = await database.query<{ id: string }>("select id from capsules order by id");
      expect(capsules.map(({ id }) => id)).toEqual(["all", "starter"]);
      const enforced = await database.query<{ kind: string; count: number }>(
        "select kind, count(*)::int as count from documents where state = 'enforced' group by kind order by kind",
      );
      expect(enforced.map(({ count }) => count)).toEqual([1, 1, 1]);
      const made = dirs.map((dir) => join(dir, "admin.key")).filter((file) => existsSync(file));
      expect(made).toHaveLength(adminKey === null ? 1 : 0);
      const key = adminKey ?? readFileSync(made[0] ?? "", "utf8").trim();
      for (const { url } of running) {
        await expect
          .poll(async () => (await fetch(`${url}/readyz`)).status, { timeout: 30_000 })
          .toBe(200);
        const call = () =>
          fetch(`${url}/api/v1/executions`, {
            method: "POST",
            headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
            body: JSON.stringify({ name: "system/echo", arguments: { text: "hello" } }),
          });
        await expect.poll(async () => (await call()).status, { timeout: 30_000 }).toBe(200);
      }
      // Whoever did not make the key says where it is.
      const elsewhere = running.filter(({ stderr }) => stderr().includes("OSTIARY_ADMIN_KEY"));
      expect(elsewhere).toHaveLength(adminKey === null ? INSTANCES - 1 : 0);
    } finally {
      await Promise.all(running.map((each) => each.stop()));
      await database.drop();
      for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
    }
  };

  test(`item 17: ${INSTANCES} at once on an empty database, ${ROUNDS} times: all are ready, and there is one administrator key`, async () => {
    for (let i = 0; i < ROUNDS; i++) await round(null);
  });

  test("item 17: the same with a preset key: it is stored once", () => round("k".repeat(40)));
});
