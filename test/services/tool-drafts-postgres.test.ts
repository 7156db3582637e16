// Two instances on one PostgreSQL: a drafted tool that one links runs at the other at once, and no longer once it is
// unlinked; of decisions at the same moment one counts.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { newUser } from "../fixtures/contract.ts";
import { testDatabase, type TestDatabase } from "../fixtures/postgres.ts";
import { HAS_BOX } from "../fixtures/programs.ts";

const server = process.env["OSTIARY_TEST_POSTGRES"];
const adminKey = "k".repeat(40);

const start = "OSTIARY_TEST_POSTGRES is not set: use `npm run test:services`";
if (!server && process.env["CI"]) test(`postgres: ${start}`, () => expect.unreachable(start));

const draft = (answer: number, replaces?: string): object => ({
  name: "system/answer",
  description: "Answers a number, always the same one.",
  schema: { type: "object", properties: {} },
  config: { kind: "code", language: "js", source: `export default () => ({ n: ${answer} });\n` },
  tests: [{ input: {}, output: { n: answer } }],
  ...(replaces === undefined ? {} : { replaces }),
});

describe.skipIf(!server || !HAS_BOX)("drafted tools on PostgreSQL", { timeout: 180_000 }, () => {
  let database: TestDatabase;
  let one: StartedApp;
  let two: StartedApp;
  let member: string;
  beforeAll(async () => {
    database = await testDatabase(server ?? "");
    const flags = { store: database.address, adminKey };
    one = await startApp({ flags });
    two = await startApp({ flags });
    await post(one, "/capsules", { id: "lab", name: "Lab", capabilities: [] });
    const asOwner: StartedApp = {
      ...one,
      api: (method, path, options) => one.api(method, path, { key: adminKey, ...options }),
    };
    member = await newUser(asOwner, "ann", { capsuleId: "lab", scopes: ["*"] });
  }, 60_000);
  afterAll(async () => {
    await one.close();
    await two.close();
    await database.drop();
  });

  const post = (app: StartedApp, path: string, body: object = {}, key = adminKey) =>
    app.api("POST", path, { key, body });
  const answer = async (app: StartedApp) => {
    const body = { name: "system/answer", arguments: {} };
    const { status, body: told } = await post(app, "/executions", body, member);
    return status === 200 ? told.result : status;
  };

  test("linked, replaced and unlinked at one instance, it is so at the other", async () => {
    const first = (await post(one, "/tool-drafts", draft(1))).body;
    expect(first).toMatchObject({ version: "1.0.0", tests: { passed: 1 } });
    expect([await answer(one), await answer(two)]).toEqual([404, 404]);
    const linked = await post(two, `/tool-drafts/${first.id}/link`, {
      capsules: ["lab"],
      risk: "safe",
    });
    expect(linked.status).toBe(200);
    expect([await answer(one), await answer(two)]).toEqual([{ n: 1 }, { n: 1 }]);

    const next = (await post(two, "/tool-drafts", draft(2, "1.0.0"))).body;
    expect((await post(one, `/tool-drafts/${next.id}/link`, { risk: "safe" })).status).toBe(200);
    expect([await answer(one), await answer(two)]).toEqual([{ n: 2 }, { n: 2 }]);
    expect((await post(two, `/tool-drafts/${first.id}/rollback`)).status).toBe(200);
    expect([await answer(one), await answer(two)]).toEqual([{ n: 1 }, { n: 1 }]);

    expect((await post(one, `/tool-drafts/${first.id}/unlink`)).status).toBe(200);
    expect([await answer(one), await answer(two)]).toEqual([404, 404]);
  });

  test("two that draft the next version or decide at the same moment: one of them does", async () => {
    const drafted = await Promise.all(
      [one, two].map((app) => post(app, "/tool-drafts", draft(3, "1.1.0"))),
    );
    expect(drafted.map(({ status }) => status).sort()).toEqual([201, 409]);
    const { id } = drafted.find(({ status }) => status === 201)?.body ?? {};
    const decided = await Promise.all([
      post(one, `/tool-drafts/${id}/link`, { capsules: ["lab"], risk: "safe" }),
      post(two, `/tool-drafts/${id}/reject`),
    ]);
    expect(decided.map(({ status }) => status).sort()).toEqual([200, 409]);
  });
});
