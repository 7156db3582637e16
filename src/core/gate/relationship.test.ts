import { expect, test } from "vitest";
import { ask, testPowers } from "../../../test/fixtures/gate.ts";
import type { CheckResult } from "../../governance/relations/relation.ts";
import { relationship } from "./relationship.ts";
import type { GatePowers } from "./stage.ts";

type Answers = Record<"view" | "execute", CheckResult["has"]>;

/** The same answers at once, and later as a server gives them. */
const engines = ({ view, execute }: Answers): { relations: GatePowers["relations"] }[] => {
  const answer = (permission: string): CheckResult => ({
    has: permission === "view" ? view : execute,
  });
  const { relations } = testPowers();
  return [
    { relations: { ...relations, check: ({ permission }) => answer(permission) } },
    { relations: { ...relations, check: ({ permission }) => Promise.resolve(answer(permission)) } },
  ];
};

const table: [Answers, "view" | "execute", object][] = [
  [{ view: "yes", execute: "yes" }, "execute", { kind: "allow" }],
  [{ view: "yes", execute: "no" }, "view", { kind: "allow" }],
  [{ view: "yes", execute: "no" }, "execute", { code: "FORBIDDEN", reason: "permission_missing" }],
  [
    { view: "yes", execute: "conditional" },
    "execute",
    { code: "FORBIDDEN", reason: "permission_missing" },
  ],
  [{ view: "no", execute: "yes" }, "execute", { code: "NOT_FOUND" }],
  [{ view: "conditional", execute: "yes" }, "view", { code: "NOT_FOUND" }],
];

test("R035: a yes to view shows, a yes to execute runs, anything else is a no", async () => {
  for (const [answers, action, expected] of table) {
    for (const powers of engines(answers)) {
      expect(await ask(relationship, { action }, powers)).toMatchObject(expected);
      const explained = await ask(relationship, { action, suppose: {} }, powers);
      expect(explained).toMatchObject({
        ...expected,
        rule: "tool:system/probe#execute@user:ada",
        read: { view: answers.view, execute: answers.execute },
      });
    }
  }
});

test("C23: the engine is asked about names that are no tool, and says no", async () => {
  const asked: string[] = [];
  const relations: GatePowers["relations"] = {
    ...testPowers().relations,
    check({ resource }) {
      asked.push(resource.id);
      return { has: "yes" };
    },
  };
  const unknown = { tool: null, requestedName: "no such/'tool" };
  expect(ask(relationship, unknown, { relations })).toMatchObject({
    code: "NOT_FOUND",
    message: "Tool 'no such/'tool' not found",
  });
  expect(asked).toEqual(["none/none"]);
  expect(await ask(relationship, { ...unknown, suppose: {} }, { relations })).toMatchObject({
    code: "NOT_FOUND",
  });
});

test("the refusal says how the right is granted", () => {
  const [now] = engines({ view: "yes", execute: "no" });
  expect(ask(relationship, {}, now)).toMatchObject({
    remedy: expect.stringContaining("tool:system/probe#executor@user:ada") as string,
  });
});
