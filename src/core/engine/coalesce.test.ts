import { expect, test } from "vitest";
import { testPowers } from "../../../test/fixtures/gate.ts";
import type { CheckRequest, CheckResult } from "../../governance/relations/relation.ts";
import { coalesceChecks } from "./coalesce.ts";

const about = (id: string): CheckRequest => ({
  resource: { type: "tool", id },
  permission: "view",
  subject: { type: "user", id: "ada" },
});

const ask = async (
  relations: ReturnType<typeof coalesceChecks>,
  id: string,
): Promise<CheckResult> => relations.check(about(id));

/** An engine elsewhere, which notes how often it was asked. */
function remote(answer: (requests: readonly CheckRequest[]) => Promise<CheckResult[]>) {
  const asked: string[][] = [];
  const relations = coalesceChecks({
    ...testPowers().relations,
    revision: null,
    checkMany(requests) {
      asked.push(requests.map(({ resource }) => resource.id));
      return answer(requests);
    },
  });
  return { relations, asked };
}

test("an engine in this process is asked as before", () => {
  const { relations } = testPowers();
  expect(coalesceChecks(relations)).toBe(relations);
});

test("what is asked in one moment is one question, and each gets its own answer", async () => {
  const { relations, asked } = remote(async (requests) =>
    requests.map(({ resource }) => ({ has: resource.id === "b" ? "no" : "yes" })),
  );
  const answers = await Promise.all(["a", "b", "c"].map((id) => ask(relations, id)));
  expect(answers.map(({ has }) => has)).toEqual(["yes", "no", "yes"]);
  await relations.check(about("d"));
  expect(asked).toEqual([["a", "b", "c"], ["d"]]);
  expect(await relations.checkMany([about("e")])).toEqual([{ has: "yes" }]);
  expect(await relations.expand({ type: "tool", id: "a" }, "view")).toMatchObject({ name: "view" });
});

test("an engine that is out, throws or leaves one out fails those who asked", async () => {
  const out = remote(() => Promise.reject(new Error("gone")));
  const all = await Promise.allSettled(["a", "b"].map((id) => ask(out.relations, id)));
  expect(all.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  const broken = remote(() => {
    throw new Error("broken");
  });
  await expect(broken.relations.check(about("a"))).rejects.toThrow("broken");
  const short = remote(async () => [{ has: "yes" }]);
  const [first, second] = await Promise.allSettled(
    ["a", "b"].map((id) => ask(short.relations, id)),
  );
  expect(first).toMatchObject({ status: "fulfilled", value: { has: "yes" } });
  expect(second).toMatchObject({
    status: "rejected",
    reason: { message: expect.stringContaining("unanswered") as string },
  });
});
