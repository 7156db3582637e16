import { describe, expect, test } from "vitest";
import { compile, load } from "../index.ts";
import { parseModule, parseQuery } from "../parse/module.ts";
import { GROUP_NAMES } from "./group-names.ts";
import { groupsIn, loadGroup } from "./groups.ts";
import { JSON_SCHEMA } from "./json-schema/builtins.ts";
import type { GroupName } from "./group-names.ts";

const GROUPS = Object.keys(GROUP_NAMES) as GroupName[];

const groupsOf = (text: string): GroupName[] => [
  ...groupsIn([parseModule("t.rego", `package t\n\n${text}\n`, "v1")], []),
];

describe("groups of built-ins", () => {
  test.each(GROUPS)("%s has the names that its table lists", async (group) => {
    const names = (await loadGroup(group)).map(({ name }) => name);
    expect(names.sort()).toEqual([...GROUP_NAMES[group]].sort());
  });

  test.each([
    ["p if graphql.is_valid(input.q, input.s)", ["graphql"]],
    ['p := graphql["is_valid"](input.q, input.s)', ["graphql"]],
    ['p := crypto["x\\u003509"].parse_certificates(input.c)', ["x509"]],
    ["p if { some x in json.match_schema(input.a, input.b)[1]; x }", ["json-schema"]],
    ["p if every x in input.xs { strings.render_template(x, {}) }", ["templates"]],
    ["p := [y | y := strings.render_template(input.t, {})]", ["templates"]],
    ['p := $"{strings.render_template(input.t, {})}"', ["templates"]],
    ["p if not crypto.parse_private_keys(input.k)", ["x509"]],
    ["p if { q with json.match_schema as true }", ["json-schema"]],
    ["p if { q with lower as strings.render_template }", ["templates"]],
    ["p := 1 if false else := json.verify_schema(input.s)", ["json-schema"]],
    ["f(x) := json.verify_schema(x)", ["json-schema"]],
    ["p := input.graphql.parse", []],
    ['p := "graphql.parse" # graphql.parse(x)', []],
    ["p if json.is_valid(input.x)", []],
  ])("`%s` mentions %j", (text, groups) => {
    expect(groupsOf(text)).toEqual(groups);
  });

  test("queries mention them too", () => {
    expect([...groupsIn([], [parseQuery("q", "x := json.verify_schema({})", "v1")])]).toEqual([
      "json-schema",
    ]);
  });
});

const SOURCES = {
  "t.rego": 'package t\n\np := strings.render_template("{{.a}}", {"a": 1})\n',
};

describe("load", () => {
  test("has the groups that the policy mentions", async () => {
    const loaded = await load(SOURCES);
    expect(loaded.ok && loaded.policy.evaluate("data.t.p")).toMatchObject({ value: "1" });
  });

  test("has the groups that the queries mention", async () => {
    const query = "x := json.verify_schema({})[0]";
    const loaded = await load({}, { queries: [query, "not a query ("] });
    if (!loaded.ok) throw new Error(loaded.errors[0]?.message);
    const evaluation = loaded.policy.evaluate(query);
    expect(evaluation.ok && evaluation.solutions[0]?.bindings.get("x")).toBe(true);
  });

  test("lists what is wrong instead of throwing", async () => {
    expect(await load({ "a.rego": "package" })).toMatchObject({ ok: false });
    const deep = `package a\n\np := 1 if false${" else := 2 if false".repeat(50_000)}\n`;
    expect(await load({ "a.rego": deep })).toMatchObject({ ok: false });
  });
});

describe("compile", () => {
  test("names the group that is missing", () => {
    expect(compile(SOURCES)).toMatchObject({
      ok: false,
      errors: [
        {
          code: "rego_type_error",
          line: 3,
          message:
            'undefined function strings.render_template (the group of built-ins "templates" is not loaded)',
        },
      ],
    });
  });

  test("takes a group that the caller imported", () => {
    const sources = { "t.rego": "package t\n\np := json.verify_schema({})[0]\n" };
    const compiled = compile(sources, { builtins: JSON_SCHEMA });
    expect(compiled.ok && compiled.policy.evaluate("data.t.p")).toMatchObject({ value: true });
  });
});
