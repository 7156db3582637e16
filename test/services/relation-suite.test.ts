// The suite of the relation port on a real SpiceDB: the same promises as the embedded engine keeps.
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { relationSuite } from "../../src/governance/relations/relation.suite.ts";
import { openSpicedbRelations } from "../../src/governance/relations/spicedb.ts";
import { emptied, spicedbOfTest } from "../fixtures/spicedb.ts";

/** The server answers from its cache of the last seconds, whatever has ended meanwhile. */
const CACHED_MS = 6_000;

const server = spicedbOfTest();
if (server !== null) {
  beforeAll(() => server.start());
  afterAll(() => server.stop());
  relationSuite("SpiceDB", async () => {
    const relations = openSpicedbRelations(server.address(), {});
    await emptied(relations, "definition nobody {}\n");
    return { relations, pass: (ms) => wait(ms + CACHED_MS), dispose: () => relations.close() };
  });
} else {
  const start = "OSTIARY_TEST_SPICEDB is not set: use `npm run test:services`";
  test.skipIf(!process.env["CI"])(`relation suite on SpiceDB: ${start}`, () =>
    expect.unreachable(start),
  );
}
