// The whole path with relations judged by a SpiceDB server: it decides, and without it nothing is decided (scoreboard
// 8).
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp, type StartedApp } from "../fixtures/app.ts";
import { newUser, until } from "../fixtures/contract.ts";
import { spicedbServer, type SpicedbServer } from "../fixtures/spicedb.ts";

const bin = process.env["OSTIARY_TEST_SPICEDB_BIN"];
/** The gate's limit for this engine, and the slack that threats §6 allows. */
const LIMIT_MS = 500 + 50;

if (bin) {
  describe("the gate on SpiceDB", () => {
    let server: SpicedbServer;
    let app: StartedApp;
    let ann: string;
    beforeAll(async () => {
      server = await spicedbServer(bin);
      await server.start();
      app = await startApp({ flags: { relations: server.address } });
      ann = await newUser(app, "ann");
    });
    afterAll(async () => {
      await app.close();
      await server.stop();
    });

    const call = (name = "system/echo") =>
      app.api("POST", "/executions", { key: ann, body: { name, arguments: { text: "x" } } });
    const change = (operation: string, relationship: string) =>
      app.api("POST", "/relationships", { body: { changes: [{ operation, relationship }] } });

    test("a member runs what members may; a grant taken back is gone before the answer", async () => {
      expect((await call()).status).toBe(200);
      const member = "tenant:local#member@user:ann";
      for (let i = 0; i < 20; i++) {
        expect((await change("delete", member)).status).toBe(200);
        expect((await call()).status).toBe(404);
        expect((await change("touch", member)).status).toBe(200);
        expect((await call()).status).toBe(200);
      }
      const { body } = await app.api("GET", "/relationships/schema");
      expect(body).toMatchObject({ engine: "spicedb" });
    });

    const denied = async (work: () => Promise<{ status: number; body: { reason?: string } }>) => {
      const began = performance.now();
      const { status, body } = await work();
      expect([status, body.reason]).toEqual([503, "engine_unavailable"]);
      return performance.now() - began;
    };
    const list = () => app.api("GET", "/tools", { key: ann });

    /**
     * All are refused. Only the middle is held against the clock: on a busy machine the tail measures the machine,
     * not the gate.
     */
    const refusedInTime = async (times: number) => {
      const ms: number[] = [];
      for (let i = 0; i < times; i++)
        ms.push(
          ...(await Promise.all([
            denied(() => call()),
            denied(() => call("no/tool")),
            denied(list),
          ])),
        );
      expect(ms.sort((a, b) => a - b)[Math.floor(ms.length / 2)]).toBeLessThan(LIMIT_MS);
    };

    test("frozen: every call, of real and invented names, and every listing is refused; then it goes on", async () => {
      expect((await call()).status).toBe(200);
      server.freeze();
      await refusedInTime(15);
      server.thaw();
      await until(async () => (await call()).status === 200, 10_000);
    });

    test("stopped: the same, and administrators are told", async () => {
      await server.stop();
      await denied(() => call());
      await refusedInTime(150);
      await denied(() => change("touch", "tenant:local#member@user:ann"));
      await denied(() => app.api("GET", "/relationships"));
      await denied(() =>
        app.api("POST", "/relationships/check", {
          body: { resource: "tool:a", permission: "execute", subject: "user:ann" },
        }),
      );
    });
  });
} else {
  const start = "OSTIARY_TEST_SPICEDB_BIN is not set: use `npm run test:services`";
  test.skipIf(!process.env["CI"])(`the gate on SpiceDB: ${start}`, () => expect.unreachable(start));
}
