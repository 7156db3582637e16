// Runs SpiceDB's own case files against the embedded engine, and against a real server where one is given:
//   npm run conformance:relations -- <folder>      (OSTIARY_TEST_SPICEDB=spicedb+insecure://:token@host:port)
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { openStore } from "../../src/storage/store/store.ts";
import { openEmbeddedRelations } from "../../src/governance/relations/embedded/index.ts";
import type { Relations } from "../../src/governance/relations/relation.ts";
import { caseFiles, readCase, runCase, type Outcome } from "./relations-cases.ts";

const given = process.argv[2];
const folder = resolve(given ?? "../shared/corpora/spicedb/testconfigs");
const files = existsSync(folder) ? caseFiles(folder) : [];
if (files.length === 0) {
  console.error(`${existsSync(folder) ? "no case files (*.yaml) in" : "absent:"} ${folder}`);
  process.exit(given === undefined ? 1 : 2);
}

async function run(relations: Relations): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const path of files) {
    try {
      outcomes.push(...(await runCase(readCase(path, folder), relations)));
    } catch (cause) {
      const reason = `cannot be read as a case: ${(cause as Error).message}`;
      outcomes.push({ file: path, text: "the file", status: "skipped", reason });
    }
  }
  return outcomes;
}

function summary(engine: string, outcomes: readonly Outcome[]): string {
  for (const { file, text, status, reason } of outcomes)
    if (status !== "passed")
      console.log(`${engine}: ${status.toUpperCase()} ${file}: ${text}: ${reason}`);
  const count = (status: Outcome["status"]): number =>
    outcomes.filter((one) => one.status === status).length;
  if (count("failed") > 0) process.exitCode = 1;
  return `${count("passed")} passed, ${count("failed")} failed, ${count("skipped")} skipped`;
}

const address = process.env["OSTIARY_TEST_SPICEDB"];
if (address === undefined) {
  console.log("spicedb: not run (OSTIARY_TEST_SPICEDB is not set)");
} else {
  const { openSpicedbRelations } = await import("../../src/governance/relations/spicedb.ts");
  const server = openSpicedbRelations(address, {});
  console.log(`spicedb: ${summary("spicedb", await run(server))}`);
  await server.close();
}

const dataDir = mkdtempSync(join(tmpdir(), "ostiary-relations-"));
const store = await openStore("sqlite:ostiary.db", { dataDir });
const schema = { load: () => Promise.resolve("") };
const embedded = await run(await openEmbeddedRelations({ store, now: Date.now, schema }));
await store.close();
rmSync(dataDir, { recursive: true });
console.log(`embedded, ${files.length} files:`);
console.log(summary("embedded", embedded));
