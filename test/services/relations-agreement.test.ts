// The embedded engine against a real SpiceDB on random schemas, relationships and questions: the same schemas are
// accepted, the same answers given. Another seed: OSTIARY_SEED=7.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AppError } from "../../src/contract/errors.ts";
import { openEmbeddedRelations } from "../../src/governance/relations/embedded/index.ts";
import type { CheckRequest, Relations } from "../../src/governance/relations/relation.ts";
import { openSpicedbRelations } from "../../src/governance/relations/spicedb.ts";
import { openStore, type Store } from "../../src/storage/store/store.ts";
import { generateWorld, type World } from "../agreement/relations-generator.ts";
import { emptied, spicedbOfTest } from "../fixtures/spicedb.ts";

const WORLDS = 150;
const NOBODY = "definition nobody {}\n";
const server = spicedbOfTest();

if (server !== null) {
  describe("embedded and SpiceDB agree", () => {
    const dataDir = mkdtempSync(join(tmpdir(), "ostiary-agreement-"));
    let store: Store;
    let embedded: Relations;
    let spicedb: Relations;
    beforeAll(async () => {
      await server.start();
      store = await openStore("sqlite:ostiary.db", { dataDir });
      embedded = await openEmbeddedRelations({
        store,
        now: Date.now,
        schema: { load: () => Promise.resolve(NOBODY) },
      });
      spicedb = openSpicedbRelations(server.address(), {});
    });
    afterAll(async () => {
      await spicedb.close();
      await embedded.close();
      await store.close();
      await server.stop();
      rmSync(dataDir, { recursive: true });
    });

    const accepted = (work: Promise<unknown>): Promise<boolean> =>
      work.then(
        () => true,
        (cause: unknown) => {
          if (cause instanceof AppError && cause.code === "BAD_REQUEST") return false;
          throw cause;
        },
      );
    const settle = async (relations: Relations, world: World): Promise<boolean> => {
      await emptied(relations, NOBODY);
      if (!(await accepted(relations.writeSchema(world.schema)))) return false;
      await relations.write(
        world.relationships.map((relationship) => ({ operation: "touch", relationship })),
      );
      return true;
    };
    /** Expired ones are not read back, but stay in the server: under a schema without ends they would count again. */
    const clear = (world: World) =>
      spicedb.write(
        world.relationships.map((relationship) => ({ operation: "delete", relationship })),
      );
    const ask = async (relations: Relations, request: CheckRequest): Promise<string> => {
      try {
        return (await relations.check(request)).has;
      } catch (cause) {
        if (cause instanceof AppError) return cause.code;
        throw cause;
      }
    };

    test(`R035: the same answers in ${WORLDS} random worlds`, { timeout: 300_000 }, async () => {
      const first = Number(process.env["OSTIARY_SEED"] ?? 1);
      const seen: Record<string, number> = {};
      const count = (what: string): void => void (seen[what] = (seen[what] ?? 0) + 1);
      for (let seed = first; seed < first + WORLDS; seed += 1) {
        const world = generateWorld(seed);
        const fine = await settle(spicedb, world);
        expect(await settle(embedded, world), `seed ${seed}: the schema\n${world.schema}`).toBe(
          fine,
        );
        count(fine ? "accepted" : "refused");
        if (!fine) continue;
        const answers = await spicedb.checkMany(world.checks);
        for (const [i, request] of world.checks.entries()) {
          const answer = answers[i]?.has ?? "nothing";
          expect(await ask(embedded, request), `seed ${seed}: ${JSON.stringify(request)}`).toBe(
            answer,
          );
          count(answer);
        }
        await clear(world);
      }
      console.log(`agreement from seed ${first}: ${JSON.stringify(seen)}`);
      // Worlds that say "no" to everything would agree as well.
      expect(
        (seen["yes"] ?? 0) + (seen["no"] ?? 0) + (seen["conditional"] ?? 0),
      ).toBeGreaterThanOrEqual(2_000);
      expect(seen["yes"]).toBeGreaterThan(100);
      expect(seen["conditional"]).toBeGreaterThan(10);
      expect(seen["refused"]).toBeGreaterThan(10);
    });

    test("a world that differs in one relationship is noticed", async () => {
      const world: World = {
        schema: "definition user {}\n\ndefinition tool {\n  relation owner: user\n}\n",
        relationships: [
          {
            resource: { type: "tool", id: "t1" },
            relation: "owner",
            subject: { type: "user", id: "u1" },
          },
        ],
        checks: [],
      };
      await settle(spicedb, world);
      await settle(embedded, { ...world, relationships: [] });
      const request = {
        resource: { type: "tool", id: "t1" },
        permission: "owner",
        subject: { type: "user", id: "u1" },
      };
      expect(await ask(spicedb, request)).not.toBe(await ask(embedded, request));
      await clear(world);
    });
  });
} else {
  const start = "OSTIARY_TEST_SPICEDB is not set: use `npm run test:services`";
  test.skipIf(!process.env["CI"])(`agreement with SpiceDB: ${start}`, () =>
    expect.unreachable(start),
  );
}
