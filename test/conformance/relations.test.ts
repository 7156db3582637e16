import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openEmbeddedRelations } from "../../src/governance/relations/embedded/index.ts";
import { openStore } from "../../src/storage/store/store.ts";
import { caseFiles, readCase, runCase } from "./relations-cases.ts";

const FOLDER = "../shared/corpora/spicedb/testconfigs";
const isPresent = existsSync(FOLDER);

describe.skipIf(!isPresent)(
  isPresent ? "SpiceDB's own cases" : `skipped: ${FOLDER} is absent`,
  () => {
    test("R035: are answered by the embedded engine as SpiceDB answers them", async () => {
      const dataDir = mkdtempSync(join(tmpdir(), "ostiary-relations-"));
      const store = await openStore("sqlite:ostiary.db", { dataDir });
      const schema = { load: () => Promise.resolve("") };
      const relations = await openEmbeddedRelations({ store, now: Date.now, schema });
      const outcomes = [];
      for (const path of caseFiles(FOLDER))
        outcomes.push(...(await runCase(readCase(path, FOLDER), relations)));
      await store.close();
      rmSync(dataDir, { recursive: true });
      expect(outcomes.length).toBeGreaterThan(0);
      expect(outcomes.filter(({ status }) => status !== "passed")).toEqual([]);
    }, 60_000);
  },
);
