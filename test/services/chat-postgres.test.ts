// Chat on PostgreSQL, and turns that another instance goes on with.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { chatSuite } from "../fixtures/chat.suite.ts";
import { until } from "../fixtures/contract.ts";
import { openModelServer } from "../fixtures/models.ts";
import { testDatabase, type TestDatabase } from "../fixtures/postgres.ts";
import { startChild } from "../fixtures/server-child.ts";

const server = process.env["OSTIARY_TEST_POSTGRES"];
const start = "OSTIARY_TEST_POSTGRES is not set: use `npm run test:services`";
if (!server && process.env["CI"]) test(`postgres: ${start}`, () => expect.unreachable(start));

describe.skipIf(!server)("chat on PostgreSQL", () => {
  const databases: TestDatabase[] = [];
  const fresh = async (): Promise<string> => {
    const database = await testDatabase(server ?? "");
    databases.push(database);
    return database.address;
  };
  afterAll(async () => {
    for (const database of databases) await database.drop();
  });

  chatSuite({ flags: async () => ({ store: await fresh() }) });

  test("the instance dies while a turn waits: another one goes on after the yes", async () => {
    const models = await openModelServer();
    models.script(({ results }) =>
      results.length === 0
        ? { calls: [{ name: "memory_clear", arguments: { namespace: "user", dryRun: true } }] }
        : { text: "done elsewhere" },
    );
    const store = await fresh();
    const folders = ["a", "b"].map((name) => mkdtempSync(join(tmpdir(), `ostiary-${name}-`)));
    const settings = {
      store,
      models: { main: { provider: "openai", url: models.url, apiKey: "x" } },
    };
    for (const folder of folders)
      writeFileSync(join(folder, "ostiary.yaml"), JSON.stringify(settings), { mode: 0o600 });
    const [dataA = "", dataB = ""] = folders;
    const a = await startChild(dataA);
    try {
      await a.api("POST", "/users", { id: "writer", name: "writer" });
      const wanted = {
        userId: "writer",
        name: "k",
        scopes: ["*"],
        level: "admin",
        capsuleId: "all",
      };
      const { secret } = (await a.api("POST", "/keys", wanted)).body as { secret: string };
      const adminKey = (await a.api("POST", "/keys", { ...wanted, userId: "owner" })).body as {
        secret: string;
      };
      const headers = (key: string) => ({
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
      });
      const response = await fetch(`${a.url}/api/chat`, {
        method: "POST",
        headers: headers(secret),
        body: JSON.stringify({ message: "Forget." }),
      });
      const held = (await response.json()) as {
        turnId: string;
        toolCalls: { approval: { id: string } }[];
      };
      expect(response.status).toBe(202);
      const b = await startChild(dataB);
      try {
        await a.kill();
        const id = held.toolCalls[0]?.approval.id ?? "";
        const yes = await fetch(`${b.url}/api/v1/approvals/${id}/approve`, {
          method: "POST",
          headers: headers(adminKey.secret),
          body: "{}",
        });
        expect(yes.status).toBe(200);
        const turn = async () => {
          const answer = await fetch(`${b.url}/api/v1/turns/${held.turnId}`, {
            headers: headers(secret),
          });
          return (await answer.json()) as Record<string, unknown>;
        };
        await until(async () => (await turn())["endedAt"] !== null, 60_000);
        expect(await turn()).toMatchObject({ status: "success", reply: "done elsewhere" });
      } finally {
        await b.stop();
      }
    } finally {
      await a.kill();
      await models.close();
      for (const folder of folders) rmSync(folder, { recursive: true, force: true });
    }
  }, 180_000);
});
