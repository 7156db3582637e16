// The embedded engine over SQLite: the port's suite, and what only it promises.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { emptied } from "../../test/fixtures/spicedb.ts";
import { openStore, type Store } from "../store/store.ts";
import { openEmbeddedRelations } from "./embedded/index.ts";
import { relationSuite } from "./relation.suite.ts";

const NOBODY = "definition nobody {}\n";
const dataDir = mkdtempSync(join(tmpdir(), "ostiary-relations-"));
let store: Store;
beforeAll(async () => {
  store = await openStore("sqlite:ostiary.db", { dataDir });
});
afterAll(async () => {
  await store.close();
  rmSync(dataDir, { recursive: true });
});

relationSuite("embedded, SQLite", async () => {
  let ahead = 0;
  const relations = await openEmbeddedRelations({
    store,
    now: () => Date.now() + ahead,
    schema: { load: () => Promise.resolve(NOBODY) },
  });
  return {
    relations,
    pass: async (ms) => void (ahead += ms),
    async dispose() {
      await emptied(relations, NOBODY);
      await relations.close();
    },
  };
});
