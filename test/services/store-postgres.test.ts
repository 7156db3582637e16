import { randomUUID } from "node:crypto";
import pg from "pg";
import { describe, expect, test } from "vitest";
import { openStore } from "../../src/storage/store/store.ts";
import { storeSuite } from "../../src/storage/store/store.suite.ts";

const server = process.env["OSTIARY_TEST_POSTGRES"];

async function on(address: string, sql: string): Promise<void> {
  const client = new pg.Client(address);
  await client.connect();
  await client.query(sql).finally(() => client.end());
}

async function database(address: string) {
  const name = `test_${randomUUID().replaceAll("-", "")}`;
  await on(address, `create database ${name}`);
  const url = new URL(address);
  url.pathname = `/${name}`;
  return {
    address: url.href,
    dataDir: "",
    exec: (sql: string) => on(url.href, sql),
    dispose: () => on(address, `drop database ${name} with (force)`),
  };
}

if (server) {
  storeSuite("postgres", () => database(server));

  describe("opening", () => {
    const refused = (address: string) =>
      openStore(address, { dataDir: "" }).then(
        () => expect.unreachable("it opened"),
        (cause: unknown) => (cause as Error).message,
      );
    const changed = (change: (url: URL) => void) => {
      const url = new URL(server);
      change(url);
      return url.href;
    };

    test("a wrong password, database or port is one sentence without the password", async () => {
      const wrong = await refused(changed((url) => (url.password = "sesame")));
      expect(wrong).toMatch(
        /^cannot open the store postgres:\/\/ostiary@127.*the password is wrong/,
      );
      expect(wrong).not.toContain("sesame");
      expect(await refused(changed((url) => (url.pathname = "/none")))).toMatch(
        /does not exist; create it/,
      );
      expect(await refused(changed((url) => (url.port = "1")))).toMatch(/nothing answers there/);
    });

    test("a changed migration is refused", async () => {
      const ground = await database(server);
      await (await openStore(ground.address, { dataDir: "" })).close();
      await ground.exec("update migrations set checksum = 'abc'");
      expect(await refused(ground.address)).toMatch(
        /migration 1 \(initial\) was applied with checksum abc/,
      );
      await ground.dispose();
    });

    test("a lost connection rejects what waits; the next append opens a new one", async () => {
      const ground = await database(server);
      const store = await openStore(ground.address, { dataDir: "" });
      const e = {
        tenantId: "t",
        at: 0,
        action: "server.started",
        actor: "a",
        executionId: null,
        body: "{}",
      } as const;
      expect(await store.log.append(e)).toBe(1);
      await on(
        server,
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'ostiary'",
      );
      const settled = await store.log.append(e).catch((cause: unknown) => String(cause));
      if (typeof settled === "string") expect(settled).toMatch(/cannot be written/);
      await expect
        .poll(() => store.log.append(e).catch(() => 0), { timeout: 10_000 })
        .toBeGreaterThan(1);
      await store.ping();
      await store.close();
      await ground.dispose();
    });
  });
} else {
  const start = "OSTIARY_TEST_POSTGRES is not set: use `npm run test:services`";
  test.skipIf(!process.env["CI"])(`postgres: ${start}`, () => expect.unreachable(start));
}
