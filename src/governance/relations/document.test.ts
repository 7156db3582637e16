import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { relationsDocument } from "./document.ts";
import type { DocumentVersion } from "../../contract/document.ts";
import type { Relations } from "./relation.ts";

const shipped = readFileSync(join(import.meta.dirname, "../../../governance/schema.zed"), "utf8");
const written: string[] = [];
const relations = {
  schema: () => Promise.resolve(shipped),
  writeSchema: (text: string) => Promise.resolve({ revision: String(written.push(text)) }),
} as Pick<Relations, "schema" | "writeSchema"> as Relations;
let inForce: DocumentVersion | null = null;
const { check, apply } = relationsDocument(() => relations, {
  inState: () => Promise.resolve(inForce),
});

test("L05: the shipped schema has all that the gate asks", async () => {
  expect(await check({ "schema.zed": shipped })).toEqual([]);
});

test("a schema without what the gate asks, another file, and a text that is none are refused with their place", async () => {
  expect(await check({ "schema.zed": "definition user {}\n" })).toMatchObject([
    { message: "the definition tool is missing" },
    { message: "the definition tenant is missing" },
  ]);
  const without = shipped.replaceAll(/\bview\b/g, "seeing");
  expect(await check({ "schema.zed": without })).toMatchObject([
    { message: "tool has no relation or permission view" },
  ]);
  expect(
    await check({
      "schema.zed": "definition user {}\n\ndefinition tool {\n  relation x: nobody\n}\n",
    }),
  ).toMatchObject([{ file: "schema.zed", line: 4 }]);
  expect(await check({ "other.zed": "" })).toMatchObject([
    { file: "other.zed" },
    { message: "the schema is missing" },
  ]);
});

test("takes effect when it is published, not when it is followed; a trial is refused", async () => {
  const document = (text: string) => ({
    kind: "relations" as const,
    version: 1,
    state: "enforced" as const,
    files: { "schema.zed": text },
    hash: "",
    note: "",
    createdBy: "x",
    createdAt: 0,
    enforcedAt: 0,
  });
  inForce = document(shipped);
  await apply("enforced", inForce);
  expect(written).toEqual([]);
  inForce = { ...inForce, version: 2 };
  await apply("enforced", document("definition user {}"));
  expect(written).toEqual(["definition user {}"]);
  await apply("shadow", null);
  await expect(apply("shadow", document(shipped))).rejects.toMatchObject({
    fault: { code: "BAD_REQUEST" },
  });
});
